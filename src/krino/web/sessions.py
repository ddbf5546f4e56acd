"""Access token, sessions and CSRF tokens. All comparisons take constant time.

Sessions are signed here rather than by Starlette's `SessionMiddleware`: the key must be derived slowly from the token,
logging out must end a session on the server, and CSRF tokens use the same key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time

SESSION_SECONDS = 7 * 24 * 3600


class TokenAuth:
    """Verifies the token and signs sessions. The signing key is derived from the token, so that sessions survive a
    restart; without a token the key is random."""

    def __init__(self, token: str | None) -> None:
        self.requires_token = token is not None
        secret = (token or secrets.token_urlsafe()).encode("utf-8", "surrogatepass")
        self._token = hashlib.sha256(secret).digest()
        # Deriving the key is slow, because anyone can fetch a signature from the login page and try tokens against it.
        self._key = hashlib.scrypt(secret, salt=b"krino workbench", n=2**14, r=8, p=1)
        self._ended: set[str] = set()
        """Sessions that were logged out since the server started."""

    def is_token(self, token: str) -> bool:
        """Whether this is the token. Both are hashed first, so that the time taken does not reveal the length."""
        given = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        return self.requires_token and hmac.compare_digest(given, self._token)

    def new_session(self) -> str:
        """Makes a session: the time it started, a random part, and their signature."""
        started = f"{int(time.time())}.{secrets.token_urlsafe(16)}"
        return f"{started}.{self._sign('session', started)}"

    def is_session(self, value: str) -> bool:
        """Whether this is a session that was signed here, has not expired and was not ended."""
        started, _, signature = value.rpartition(".")
        if not self._is_signed("session", started, signature) or value in self._ended:
            return False
        return 0 <= time.time() - int(started.partition(".")[0]) < SESSION_SECONDS

    def end_session(self, value: str) -> None:
        """Ends a session, so that it is not accepted again while the server runs; ignores anything else."""
        if self.is_session(value):
            self._ended.add(value)

    def new_visit(self) -> str:
        """Makes a random id for a browser, which CSRF tokens are bound to."""
        return secrets.token_urlsafe(24)

    def form_token(self, visit: str) -> str:
        """Makes the CSRF token for all forms of a browser. Another port of this machine can set the visit cookie, but
        cannot sign it."""
        return self._sign("form", visit)

    def is_form_token(self, visit: str, given: str) -> bool:
        return self._is_signed("form", visit, given)

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose} {text}".encode("utf-8", "surrogatepass"), "sha256").hexdigest()

    def _is_signed(self, purpose: str, text: str, signature: str) -> bool:
        return hmac.compare_digest(self._sign(purpose, text).encode(), signature.encode("utf-8", "surrogatepass"))
