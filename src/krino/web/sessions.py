"""Who may enter, and which forms are ours: everything here is compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time

SESSION_SECONDS = 7 * 24 * 3600


class Doorkeeper:
    """Knows the token. Sessions and form tokens are signed with a key made from it, so that they outlive a restart;
    without a token the key is drawn anew at each start."""

    def __init__(self, token: str | None) -> None:
        self.locked = token is not None
        secret = (token or secrets.token_urlsafe()).encode("utf-8", "surrogatepass")
        self._token = hashlib.sha256(secret).digest()
        # What is signed is seen by anyone who opens the login page: trying tokens on it must be slow.
        self._key = hashlib.scrypt(secret, salt=b"krino workbench", n=2**14, r=8, p=1)
        self._ended: set[str] = set()
        """Sessions that were logged out of while this server ran."""

    def knows(self, token: str) -> bool:
        """Whether this is the token. Hashed first, so that not even its length shows in the time taken."""
        given = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        return self.locked and hmac.compare_digest(given, self._token)

    def new_session(self) -> str:
        begun = f"{int(time.time())}.{secrets.token_urlsafe(16)}"
        return f"{begun}.{self._signed('session', begun)}"

    def is_session(self, value: str) -> bool:
        begun, _, signature = value.rpartition(".")
        if not self._is_signed("session", begun, signature) or value in self._ended:
            return False
        return 0 <= time.time() - int(begun.partition(".")[0]) < SESSION_SECONDS

    def end_session(self, value: str) -> None:
        if self.is_session(value):
            self._ended.add(value)

    def new_visit(self) -> str:
        """What a browser without a session is known by, so that a form can be told from another site's."""
        return secrets.token_urlsafe(24)

    def form_token(self, visit: str) -> str:
        """Goes into every form. Another port of this machine may see or set the visit's cookie, but cannot sign it."""
        return self._signed("form", visit)

    def is_form_token(self, visit: str, given: str) -> bool:
        return self._is_signed("form", visit, given)

    def _signed(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose} {text}".encode("utf-8", "surrogatepass"), "sha256").hexdigest()

    def _is_signed(self, purpose: str, text: str, signature: str) -> bool:
        return hmac.compare_digest(self._signed(purpose, text).encode(), signature.encode("utf-8", "surrogatepass"))
