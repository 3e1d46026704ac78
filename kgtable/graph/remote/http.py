"""HTTP to a SPARQL endpoint: credentials, limits of time and size, retries, no redirects."""

from __future__ import annotations

import base64
import gzip
import json
import os
import time
import weakref
import zlib
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from threading import Lock
from urllib.parse import quote, urlsplit

import httpx

from kgtable.errors import ConfigError, RemoteStoreError, UsageError
from kgtable.llm.deadline import keeps_deadlines, within
from kgtable.resources import __version__

TOKEN, USER, ORIGINS = "KGTABLE_SPARQL_TOKEN", "KGTABLE_SPARQL_USER", "KGTABLE_SPARQL_ORIGIN"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Credentials:
    """A bearer token, or a user name with a password."""

    secret: str = field(repr=False)
    user: str | None = None


def credentials_for(url: str, environment: Mapping[str, str] = os.environ) -> Credentials | None:
    """Read the credentials from the environment, if they are meant for this URL.

    ``KGTABLE_SPARQL_ORIGIN`` names the origins (``https://host``) they may go to; without it they go
    to this machine alone. Raises `ConfigError` if they are set and it is not said that they are
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


class Login(httpx.Auth):
    """Credentials at one endpoint, sent as it wants them: a bearer token, basic or digest (RFC 7616).

    A name and a password go as basic until the endpoint asks for a digest. May be used from several
    threads.
    """

    def __init__(self, credentials: Credentials) -> None:
        self._secret, self._user = credentials.secret, credentials.user
        self._basic = httpx.BasicAuth(self._user or "", self._secret)
        self._digest = httpx.DigestAuth(self._user or "", self._secret)
        self._wants_digest = False
        self._is_unsure = self._user is not None
        self._lock = Lock()

    def masked(self, text: bytes) -> bytes:
        """The text without the secret, in any of the forms in which an endpoint may repeat what it got."""
        pair = f"{self._user or ''}:{self._secret}".encode()
        forms = (self._secret, quote(self._secret, safe=""), json.dumps(self._secret)[1:-1])
        for form in (*(form.encode() for form in forms), base64.b64encode(pair)):
            text = text.replace(form, b"***")
        return text

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """See `httpx.Auth`; one thread at a time updates the endpoint's state."""
        flow = self.auth_flow(request)
        with self._lock:
            outgoing = next(flow)
        while True:
            response = yield outgoing
            with self._lock:
                try:
                    outgoing = flow.send(response)
                except StopIteration:
                    return
                except (httpx.ProtocolError, NotImplementedError, KeyError, ValueError) as error:
                    raise RemoteStoreError(
                        f"{request.url} asks for a kind of digest that is not supported.",
                        hint=f"Let it take a token, or a name and a password over https ({USER}, {TOKEN}).",
                    ) from error

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """The request with its credentials, repeated if the endpoint answers with a challenge."""
        if self._user is None:
            request.headers["Authorization"] = f"Bearer {self._secret}"
            yield request
            return
        if self._is_unsure and request.headers.get("content-length", "0") != "0":
            # An endpoint that wants a digest may hang up while a body without one is still on its way.
            probe = httpx.Request("HEAD", request.url)
            self._answer(probe, (yield probe))
        if self._wants_digest:
            yield from self._digest.auth_flow(request)
            return
        answer = self._answer(request, (yield next(self._basic.auth_flow(request))))
        if answer is not None:
            yield answer

    def _answer(self, request: httpx.Request, response: httpx.Response) -> httpx.Request | None:
        """The request with a digest where the response asks for one."""
        self._is_unsure = False
        flow = self._digest.auth_flow(request)
        next(flow)
        try:
            answer = flow.send(response)
        except StopIteration:
            return None
        self._wants_digest = True
        return answer


_BUSY = frozenset({429, 502, 503})
_LONGEST_WAIT = 60.0
_MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class HttpPolicy:
    """Limits of a request: time, retries, size of the reply.

    `timeout` are the seconds for a whole reply, `retries` the further tries while the endpoint is busy.
    `most_sent` bounds the bytes of a reply as sent, `most_unpacked` as unpacked; beyond `ratio_from`
    bytes it may unpack to at most `most_ratio` times what was sent.
    """

    timeout: float = 120.0
    retries: int = 4
    sleep: Callable[[float], None] = time.sleep
    most_sent: int = 512 * _MEBIBYTE
    most_unpacked: int = 2_048 * _MEBIBYTE
    most_ratio: int = 200
    ratio_from: int = 64 * _MEBIBYTE


@dataclass(frozen=True)
class HttpReply:
    """A whole reply: its status, its headers, its unpacked body."""

    status: int
    headers: httpx.Headers
    body: bytes
    location: str = ""

    @property
    def media_type(self) -> str:
        """The type of the body in small letters, "" if none is given."""
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()


def checked_url(url: str) -> str:
    """Check the URL of an endpoint; raises `UsageError` unless it is http(s) without a password."""
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


class _BrokenConnectionError(Exception):
    """The endpoint hung up before its reply began."""


class EndpointClient:
    """Requests to an endpoint over kept connections. May be used from several threads."""

    def __init__(self, policy: HttpPolicy | None = None) -> None:
        self._policy = policy or HttpPolicy()
        self._client: httpx.Client | None = None
        self._opening = Lock()

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        with self._opening:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _open(self) -> httpx.Client:
        with self._opening:
            if self._client is None:
                # A redirect could carry credentials and queries elsewhere: it is reported, not followed.
                self._client = keeps_deadlines(
                    httpx.Client(
                        follow_redirects=False,
                        timeout=self._policy.timeout,
                        headers={"User-Agent": f"kgtable/{__version__}", "Accept-Encoding": "gzip"},
                    )
                )
                weakref.finalize(self, self._client.close)
            return self._client

    def send(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        login: Login | None = None,
    ) -> HttpReply:
        """Send a request and return the reply with any status; retry while the endpoint is busy.

        Only for requests that may be repeated. Raises `RemoteStoreError` if no whole reply comes.
        """
        # httpx's own retries are for connections that cannot be opened, not for endpoints that are busy.
        policy = self._policy
        for attempt in range(policy.retries + 1):
            last = attempt == policy.retries
            try:
                reply = self._walked_through(method, url, body, headers or {}, login)
            except _BrokenConnectionError as error:
                if last:
                    raise RemoteStoreError(
                        f"{url} broke off the connection.", hint="See the log of the endpoint."
                    ) from error
                policy.sleep(_wait(None, attempt))
                continue
            if last or reply.status not in _BUSY:
                break
            policy.sleep(_wait(reply.headers.get("retry-after"), attempt))
        if login is None or reply.status < 300:
            return reply
        # An error may repeat the credentials.
        location = login.masked(reply.location.encode("utf-8", "replace")).decode("utf-8", "replace")
        return replace(reply, body=login.masked(reply.body), location=location)

    def _walked_through(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], login: Login | None
    ) -> HttpReply:
        """Send a request with its credentials.

        The client would walk through the login by itself, but reads the replies on the way whole.
        """
        try:
            request = self._open().build_request(method, url, content=body, headers=headers)
        except httpx.InvalidURL as error:
            raise _unreachable(url, error) from error
        if login is None:
            return self._once(request, url)
        flow = login.sync_auth_flow(request)
        outgoing = next(flow)
        while True:
            reply = self._once(outgoing, url)
            try:
                outgoing = flow.send(httpx.Response(reply.status, headers=reply.headers, request=outgoing))
            except StopIteration:
                return reply

    def _once(self, request: httpx.Request, url: str) -> HttpReply:
        policy = self._policy
        try:
            with within(policy.timeout):
                try:
                    response = self._open().send(request, stream=True)
                except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError) as error:
                    raise _BrokenConnectionError from error
                with closing(response):
                    body = _bounded(response.iter_raw(), policy.most_sent, url)
            found = response.headers
            unpacked = _unpacked(body, response, policy, url)
            return HttpReply(response.status_code, found, unpacked, found.get("location", ""))
        except (TimeoutError, httpx.TimeoutException) as error:
            raise RemoteStoreError(
                f"{url} gave no whole answer within {policy.timeout:g} seconds.",
                hint="Ask for less, for example with LIMIT, or allow more time.",
            ) from error
        except (httpx.RemoteProtocolError, httpx.ReadError, EOFError, zlib.error, OSError) as error:
            raise RemoteStoreError(
                f"The answer of {url} broke off or is damaged: {type(error).__name__}.",
                hint="Ask again, or ask for less at once.",
            ) from error
        except (httpx.TransportError, UnicodeError) as error:  # a host name that cannot be written
            raise _unreachable(url, error) from error


def _unreachable(url: str, error: Exception) -> RemoteStoreError:
    return RemoteStoreError(
        f"{url} cannot be reached: {str(error) or type(error).__name__}.",
        hint="Is the endpoint running, and the URL right?",
    )


def _wait(retry_after: str | None, attempt: int) -> float:
    """Seconds to wait: as the endpoint asks, at most a minute, or twice as long each time."""
    if retry_after is not None and retry_after.strip().isdecimal():
        return min(float(retry_after), _LONGEST_WAIT)
    return 0.5 * 2.0**attempt


def _bounded(pieces: Iterable[bytes], most: int, url: str, how: str = "") -> bytes:
    """The pieces as one, within a limit of size."""
    kept, size = [], 0
    for piece in pieces:
        size += len(piece)
        if size > most:
            raise RemoteStoreError(
                f"The answer of {url} is larger than {most:,} bytes{how}.", hint="Ask for less at once."
            )
        kept.append(piece)
    return b"".join(kept)


def _unpacked(body: bytes, response: httpx.Response, policy: HttpPolicy, url: str) -> bytes:
    """Unpack the body within the limit of size.

    httpx would unpack on the way, but takes data that breaks off for whole (measured with 0.28: N-Triples
    of 100,000 lines, as gzip without its last 1 to 120,000 bytes, gave twelve short answers of twelve and
    no error), and unpacks what is packed twice: 1,831 bytes to 1 GiB.
    """
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if not body or encoding == "identity":
        return body
    if encoding not in ("gzip", "x-gzip"):
        raise RemoteStoreError(
            f"{url} answered in the encoding {encoding!r}, which was not asked for.",
            hint="Let it answer unpacked, or as gzip.",
        )
    most = min(policy.most_unpacked, max(policy.ratio_from, len(body) * policy.most_ratio))
    with gzip.GzipFile(fileobj=BytesIO(body)) as packed:
        return _bounded(iter(partial(packed.read, _MEBIBYTE), b""), most, url, " unpacked")
