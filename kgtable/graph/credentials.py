"""Who asks a SPARQL endpoint: credentials that go nowhere else, told in the way the endpoint wants."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from threading import Lock
from urllib.parse import urlsplit
from urllib.request import (
    AbstractDigestAuthHandler,
    HTTPPasswordMgr,
    Request,
    parse_http_list,
    parse_keqv_list,
)

from kgtable.errors import ConfigError

TOKEN, USER, ORIGINS = "KGTABLE_SPARQL_TOKEN", "KGTABLE_SPARQL_USER", "KGTABLE_SPARQL_ORIGIN"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Credentials:
    """What proves who asks: a bearer token, or with a user name a password."""

    secret: str = field(repr=False)
    user: str | None = None


def credentials_for(url: str, environment: Mapping[str, str] = os.environ) -> Credentials | None:
    """The credentials in the environment, if they are meant for this URL.

    ``KGTABLE_SPARQL_ORIGIN`` names the origins (``https://host``) they may go to; without it they go
    to this machine alone. Raises `ConfigError` where they are set and it is not said that they are
    for this host: a graph directory from someone else must not be able to collect them.
    """
    secret = environment.get(TOKEN)
    if not secret:
        return None
    parts = urlsplit(url)
    allowed = environment.get(ORIGINS, "").split()
    origin = f"{parts.scheme}://{parts.netloc}"
    if origin not in (entry.rstrip("/") for entry in allowed) and parts.hostname not in _LOOPBACK:
        raise ConfigError(
            f"{TOKEN} is set, and {origin} is not among the origins it is for.",
            hint=f"Set {ORIGINS}={origin} to send it there, or unset {TOKEN}.",
        )
    return Credentials(secret, environment.get(USER) or None)


class _Passwords(HTTPPasswordMgr):
    """The same name and password for every realm: `credentials_for` has looked at the address."""

    def __init__(self, credentials: Credentials) -> None:
        super().__init__()
        self._credentials = credentials

    def find_user_password(self, realm: str | None, authuri: str) -> tuple[str | None, str | None]:
        return self._credentials.user, self._credentials.secret


class Login:
    """Credentials at one endpoint, and how it wants them: as they are, or as a digest (RFC 7616).

    May be used from several threads.
    """

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._challenge: dict[str, str] | None = None
        self._lock = Lock()
        self._digests = AbstractDigestAuthHandler(_Passwords(credentials))
        self.is_unsure = credentials.user is not None
        """Whether the endpoint was not heard yet on how it wants a name and a password."""

    def learn(self, headers: Message) -> bool:
        """Hears the endpoint's answer; whether it wants a digest by a challenge not met before."""
        self.is_unsure = False
        for text in headers.get_all("www-authenticate") or ():
            scheme, _, parameters = text.partition(" ")
            challenge = parse_keqv_list(parse_http_list(parameters)) if scheme.lower() == "digest" else {}
            if self._credentials.user is not None and challenge and challenge != self._challenge:
                self._challenge = challenge
                return True
        return False

    def header(self, request: Request) -> str:
        """The value of the ``Authorization`` header for a request."""
        user, secret = self._credentials.user, self._credentials.secret
        if user is None:
            return f"Bearer {secret}"
        if self._challenge is not None:
            with self._lock:
                return f"Digest {self._digests.get_authorization(request, self._challenge)}"
        return "Basic " + b64encode(f"{user}:{secret}".encode()).decode("ascii")
