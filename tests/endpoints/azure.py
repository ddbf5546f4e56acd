"""Azure OpenAI: deployments with an API version in the address, and the newer v1 address.

Sources: openai-python's lib/azure.py, openai-python#1724 (`max_completion_tokens` before 2024-12-01-preview), and
learn.microsoft.com on keys and tokens: an Entra token is taken as a bearer only.
"""

from __future__ import annotations

import re
from dataclasses import replace

from endpoints.base import Refused
from endpoints.chat import openai_error
from endpoints.openai import OpenAIEmulator, check_openai_request
from fake_llm.replies import Dialect, ReceivedRequest

DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)/chat/completions")
V1 = "/openai/v1/chat/completions"
DENIED = (
    "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an "
    "active subscription and use a correct regional API endpoint for your resource."
)


class AzureEmulator(OpenAIEmulator):
    """Deployments are named after their model. `url` is the resource's address, `v1_url` that of the v1 API."""

    base_path = ""

    @property
    def v1_url(self) -> str:
        return f"{self.root}/openai/v1"

    def dialect_of(self, path: str) -> Dialect | None:
        return "azure" if path == V1 or DEPLOYMENT.fullmatch(path) else None

    def given_key(self, request: ReceivedRequest) -> str | None:
        key = request.headers.get("api-key")
        if key is not None:
            return None if key.startswith("ey") else key
        return super().given_key(request)

    def wrong_key(self) -> Refused:
        return Refused(401, {"error": {"code": "401", "message": DENIED}})

    def not_found(self, method: str, path: str) -> Refused:
        return Refused(404, {"error": {"code": "404", "message": "Resource not found"}})

    def check(self, request: ReceivedRequest) -> None:
        if found := DEPLOYMENT.fullmatch(request.path):
            version = request.query.get("api-version")
            if version is None:
                raise self.not_found(request.method, request.path)
            request.body["model"] = found[1]
            if version < "2024-12-01" and "max_completion_tokens" in request.body:
                raise openai_error(400, "Unrecognized request argument supplied: max_completion_tokens")
        if "unknown" in str(request.body.get("model")):
            message = (
                "The API deployment for this resource does not exist. If you created the deployment within the last 5 "
                "minutes, please wait a moment and try again."
            )
            raise Refused(404, {"error": {"code": "DeploymentNotFound", "message": message}})
        check_openai_request(replace(request, dialect="openai"))
