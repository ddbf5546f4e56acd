"""Strict emulations of real LLM endpoints on loopback: each refuses, answers and bills as the real one does.

    with serve("gemini", thinking=900) as server:
        ...                                # point a client at server.url, with the key KEY
        server.requests, server.answered   # requests to a model, and those that were answered
        server.refused, server.errors      # requests that were refused (errors inside HTTP 200 too), and their bodies
        server.longest_cut                 # tokens of the longest prompt of which the model saw only a part
        server.cached_share                # the part of all input that was read from the prompt cache
        server.bill(Prices(1.0, 5.0))      # what the provider truly charges, in money; stats() has the tokens
        server.log                         # every request with its status, body and bill

Every endpoint takes `latency`; those with accounts take `key` (None: any) and `empty_after` (answers until the money is
gone); most take `thinking` (tokens of hidden reasoning) and local servers `context`. The classes say what else. By
agreement every model exists unless its name has "unknown" in it.

They are built from vendors' documentation, SDKs and dated reports; no real endpoint was asked. Tokens are characters
divided by four. `fake_llm` is for faults of the network and of replies; these are for the rules of each provider. A
family is a class that says what it refuses (`check`) and what is its own about a reply; `base` has the server and the
counters, `chat` what all imitators of OpenAI share, and `labelling` answers that the judges accept.
"""

from __future__ import annotations

from typing import Any

from endpoints.anthropic import AnthropicEmulator, FoundryEmulator
from endpoints.azure import AzureEmulator
from endpoints.base import KEY, Emulator, EndpointStats, LogEntry, Prices
from endpoints.gemini import GeminiEmulator
from endpoints.hosted import (
    DeepSeekEmulator,
    GroqEmulator,
    LiteLLMEmulator,
    MistralEmulator,
    TogetherEmulator,
    XaiEmulator,
)
from endpoints.local_servers import LlamaCppEmulator, LmStudioEmulator
from endpoints.ollama import OllamaEmulator
from endpoints.openai import OpenAIEmulator
from endpoints.openrouter import OpenRouterEmulator
from endpoints.vllm import VllmEmulator

__all__ = ["ENDPOINTS", "KEY", "Emulator", "EndpointStats", "LogEntry", "Prices", "serve"]

ENDPOINTS: dict[str, type[Emulator]] = {
    "anthropic": AnthropicEmulator,
    "azure": AzureEmulator,
    "deepseek": DeepSeekEmulator,
    "foundry": FoundryEmulator,
    "gemini": GeminiEmulator,
    "groq": GroqEmulator,
    "litellm": LiteLLMEmulator,
    "llamacpp": LlamaCppEmulator,
    "lmstudio": LmStudioEmulator,
    "mistral": MistralEmulator,
    "ollama": OllamaEmulator,
    "openai": OpenAIEmulator,
    "openrouter": OpenRouterEmulator,
    "together": TogetherEmulator,
    "vllm": VllmEmulator,
    "xai": XaiEmulator,
}


def serve(name: str, **options: Any) -> Emulator:
    """The endpoint of that name, for a `with` block; options are those of its class."""
    return ENDPOINTS[name](**options)
