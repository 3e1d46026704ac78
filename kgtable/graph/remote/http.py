"""HTTP to a SPARQL endpoint: credentials, time limits, retries, no redirects."""

from __future__ import annotations

import gzip
import http.client
import os
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from http import HTTPStatus
from threading import Lock
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import (
    AbstractDigestAuthHandler,
    HTTPErrorProcessor,
    HTTPPasswordMgr,
    Request,
    build_opener,
    parse_http_list,
    parse_keqv_list,
)

from kgtable.errors import ConfigError, RemoteStoreError, UsageError
from kgtable.version import __version__

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


_BUSY = frozenset({429, 502, 503})
_LONGEST_WAIT = 60.0
_PIECE = 1 << 20


@dataclass(frozen=True)
class HttpPolicy:
    """How long to wait: `timeout` seconds for a whole answer, `retries` more tries while it is busy."""

    timeout: float = 120.0
    retries: int = 4
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class HttpReply:
    """An answer: its status, its headers, its body."""

    status: int
    headers: Message
    body: bytes

    @property
    def media_type(self) -> str:
        """The type of the body in small letters, "" where none is given."""
        return (self.headers.get("content-type") or "").partition(";")[0].strip().lower()


def checked_url(url: str) -> str:
    """The URL of an endpoint; raises `UsageError` unless it is http(s) and free of a password."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound or any(ord(c) <= 32 or ord(c) > 126 for c in url):
        raise UsageError(f"{url!r} is not the URL of an endpoint.", hint="Give one like https://host/sparql.")
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "A user name or password in the URL would be saved and shown.",
            hint=f"Set {USER} and {TOKEN} in the environment instead.",
        )
    return url


class _EveryStatus(HTTPErrorProcessor):
    """Gives replies of every status as they are.

    So a redirect, which could carry credentials and queries elsewhere, is reported, not followed.
    """

    def http_response(self, request: Request, response: Any) -> Any:
        return response

    https_response = http_response


def send(
    method: str,
    url: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str],
    login: Login | None = None,
    policy: HttpPolicy,
) -> HttpReply:
    """The answer to a request, whatever its status; asks again while the endpoint says it is busy.

    Only for requests that may be repeated. Raises `RemoteStoreError` where no whole answer comes.
    """
    request = Request(url, data=body, method=method, headers=dict(headers))  # noqa: S310 - checked_url
    request.add_header("User-Agent", f"kgtable/{__version__}")
    request.add_header("Accept-Encoding", "gzip")
    for attempt in range(policy.retries + 1):
        last = attempt == policy.retries
        try:
            reply = _logged_in(request, login, policy.timeout)
        except (ConnectionResetError, http.client.RemoteDisconnected) as error:
            if last:
                raise RemoteStoreError(
                    f"{url} broke off the connection.", hint="See the log of the endpoint."
                ) from error
            policy.sleep(_wait(None, attempt))
            continue
        if last or reply.status not in _BUSY:
            return reply
        policy.sleep(_wait(reply.headers.get("retry-after"), attempt))
    raise AssertionError("the last attempt returns or raises")


def _wait(retry_after: str | None, attempt: int) -> float:
    """Seconds to wait: what the endpoint asks for, at most a minute, or twice as long each time."""
    if retry_after is not None and retry_after.strip().isdecimal():
        return min(float(retry_after), _LONGEST_WAIT)
    return 0.5 * 2.0**attempt


def _logged_in(request: Request, login: Login | None, timeout: float) -> HttpReply:
    """The answer to a request that says who asks, in the way the endpoint wants to hear it."""
    if login is None:
        return _once(request, timeout)
    if login.is_unsure and request.data is not None:
        # An endpoint that wants a digest may hang up while a body without one is still on its way.
        login.learn(_once(Request(request.full_url, method="HEAD"), timeout).headers)  # noqa: S310
    request.add_unredirected_header("Authorization", login.header(request))
    reply = _once(request, timeout)
    if reply.status == HTTPStatus.UNAUTHORIZED and login.learn(reply.headers):
        request.add_unredirected_header("Authorization", login.header(request))
        reply = _once(request, timeout)
    return reply


def _once(request: Request, timeout: float) -> HttpReply:
    url, deadline = request.full_url, time.monotonic() + timeout
    opener = build_opener(_EveryStatus())
    try:
        with opener.open(request, timeout=timeout) as response:
            body = _read(response, deadline)
            return HttpReply(response.status, response.headers, _unpacked(body, response.headers))
    except TimeoutError as error:
        raise _too_slow(url, timeout) from error
    except (ConnectionResetError, http.client.RemoteDisconnected):
        raise
    except URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise _too_slow(url, timeout) from error
        if isinstance(error.reason, ConnectionResetError):
            raise error.reason from error
        raise RemoteStoreError(
            f"{url} cannot be reached: {error.reason}.", hint="Is the endpoint running, and the URL right?"
        ) from error
    except (http.client.HTTPException, EOFError, zlib.error, OSError) as error:
        raise RemoteStoreError(
            f"The answer of {url} broke off or is damaged: {type(error).__name__}.",
            hint="Ask again, or ask for less at once.",
        ) from error


def _too_slow(url: str, timeout: float) -> RemoteStoreError:
    return RemoteStoreError(
        f"{url} gave no whole answer within {timeout:g} seconds.",
        hint="Ask for less, for example with LIMIT, or allow more time.",
    )


def _read(response: Any, deadline: float) -> bytes:
    pieces = []
    while piece := response.read1(_PIECE):
        if time.monotonic() > deadline:
            raise TimeoutError
        pieces.append(piece)
    if getattr(response, "length", None):
        raise http.client.IncompleteRead(b"")
    return b"".join(pieces)


def _unpacked(body: bytes, headers: Message) -> bytes:
    encoding = (headers.get("content-encoding") or "identity").strip().lower()
    return gzip.decompress(body) if encoding in ("gzip", "x-gzip") and body else body
