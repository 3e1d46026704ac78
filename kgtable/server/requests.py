"""HTTP requests read within limits, and responses sent without Starlette's response objects (for speed)."""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from pyoxigraph import NamedNode
from starlette.types import Message, Receive, Scope, Send

from kgtable.server.negotiation import SHORT_NAMES, is_known, named_type
from kgtable.server.state import CachedResponse
from kgtable.server.workers.messages import Problem, storage_kind
from kgtable.server.workers.process import ResultStream

Parameters: TypeAlias = dict[str, list[str]]
Abandoned: TypeAlias = Callable[[], Awaitable[None]]

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"

BODY_SECONDS = 120
"""How long a client may take to send a body."""

_MAX_FIELDS = 512
_HOST = re.compile(r"[A-Za-z0-9.\-_]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


def header_map(scope: Scope) -> dict[bytes, bytes]:
    """Headers by lower-case name; values of a repeated header joined by commas."""
    headers: dict[bytes, bytes] = {}
    repeated: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        if name in headers:
            repeated.setdefault(name, [headers[name]]).append(value)
        else:
            headers[name] = value
    for name, values in repeated.items():
        headers[name] = b", ".join(values)
    return headers


def text(headers: Mapping[bytes, bytes], name: bytes) -> str:
    """The value of a header, or an empty string."""
    return headers.get(name, b"").decode("latin-1")


def host_of(headers: Mapping[bytes, bytes]) -> str | None:
    """The host that a request names, with its port; None if there is none that can be part of an IRI."""
    host = text(headers, b"host")
    return host if _HOST.fullmatch(host) else None


def origin_of(scope: Scope, headers: Mapping[bytes, bytes]) -> str:
    """Scheme and host of the request, such as ``http://127.0.0.1:7878``."""
    host = host_of(headers)
    if host is None:
        server = scope.get("server") or ("localhost", None)
        host = server[0] if server[1] is None else f"{server[0]}:{server[1]}"
    return f"{scope['scheme']}://{host}"


def media_type(content_type: str) -> str:
    """The media type without parameters. Raises `Problem` for a charset other than UTF-8."""
    name, *parameters = (part.strip() for part in content_type.split(";"))
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        charset = value.strip().strip('"').lower()
        if key.strip().lower() == "charset" and charset not in ("utf-8", "utf8", "us-ascii"):
            raise Problem("unsupported-media-type", f"The body must be UTF-8, not {charset}.")
    return name.lower()


def parameters(encoded: bytes) -> Parameters:
    """Query string or form as lists of values by name. Raises `Problem` if it is not UTF-8."""
    if not encoded:
        return {}
    try:
        pairs = parse_qsl(
            encoded.decode("ascii", "strict") if encoded.isascii() else encoded.decode("utf-8"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MAX_FIELDS,
        )
    except UnicodeDecodeError:
        raise Problem("bad-request", "The parameters are not percent-encoded UTF-8.") from None
    except ValueError:
        raise Problem("bad-request", f"There are more than {_MAX_FIELDS} parameters.") from None
    found: Parameters = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def single(found: Parameters, name: str) -> str | None:
    """The value of a parameter, or None if it is absent. Raises `Problem` if it is repeated."""
    values = found.get(name)
    if values is None:
        return None
    if len(values) > 1:
        raise Problem("bad-request", f"The parameter {name} may be given once, not {len(values)} times.")
    return values[0]


def accepted(found: Parameters, headers: Mapping[bytes, bytes]) -> str:
    """The media types a client takes: the one that ``format=`` or ``output=`` names, else its Accept header.

    Some clients give both, or one several times, next to the header: the first known name counts. Raises
    `Problem` if there are only unknown names.
    """
    header = text(headers, b"accept")
    names = [name for parameter in ("format", "output") for name in found.get(parameter, ()) if name]
    if not names:
        return header
    media_type = next(filter(None, map(named_type, names)), None)
    if media_type is not None:
        return media_type
    if header not in ("", "*/*"):
        return header
    known = sorted(SHORT_NAMES)
    detail = f"{names[0][:100]!r} is not a format. Formats: {', '.join(known)}, or a media type."
    raise Problem("not-acceptable", detail, {"available": known})


def iris(found: Parameters, name: str) -> tuple[str, ...]:
    """The IRIs of a repeatable parameter. Raises `Problem` for a value that is not an absolute IRI."""
    values = found.get(name, ())
    for value in values:
        check_iri(value, name)
    return tuple(values)


def check_iri(value: str, name: str) -> None:
    """Raise `Problem` unless the value is an absolute IRI that does not point to a file."""
    try:
        NamedNode(value if _ABSOLUTE.match(value) else "")
    except ValueError as error:
        detail = f"{name} needs an absolute IRI, not {value[:200]!r} ({error})."
        raise Problem("bad-request", detail) from None
    if value[:5].lower() == "file:":
        raise Problem("remote-access", "IRIs that begin with file: are not allowed on this server.")


async def body(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> bytes:
    """The whole body, for short ones. Raises `Problem` if it is too long or compressed."""
    parts: list[bytes] = []
    await _take(receive, headers, limit, parts.append)
    return b"".join(parts)


async def json_object(receive: Receive, headers: Mapping[bytes, bytes], limit: int, names: set[str]) -> dict[str, Any]:
    """The body as a JSON object with some of these names. Raises `Problem` for any other body."""
    if media_type(text(headers, b"content-type")) != JSON:
        raise Problem("unsupported-media-type", f"Send the request as {JSON}.")
    content = await body(receive, headers, limit)
    try:
        given = json.loads(content)
        json.dumps(given, ensure_ascii=False).encode("utf-8")  # no lone surrogates
    except (ValueError, RecursionError):
        raise Problem("bad-request", "The body is not JSON.") from None
    if not isinstance(given, dict) or not set(given) <= names:
        raise Problem("bad-request", f"The body must be an object with {', '.join(sorted(names))}.")
    return given


@asynccontextmanager
async def saved_body(receive: Receive, headers: Mapping[bytes, bytes], limit: int, folder: Path) -> AsyncIterator[Path]:
    """The body as a file in a folder, removed when the block ends.

    Raises `Problem` if it is too long or compressed, or the disk is full.
    """
    name = None
    try:
        try:
            descriptor, name = tempfile.mkstemp(prefix="upload-", dir=folder)
            with open(descriptor, "wb") as file:
                await _take(receive, headers, limit, file.write)
        except OSError as error:
            raise Problem(storage_kind(error), f"The body could not be saved: {error.strerror}.") from None
        yield Path(name)
    finally:
        if name is not None:
            with suppress(OSError):
                os.unlink(name)


async def _take(receive: Receive, headers: Mapping[bytes, bytes], limit: int, keep: Callable[[bytes], object]) -> None:
    """Hand on the parts of a body. Raises `Problem` if it is too long or compressed."""
    if text(headers, b"content-encoding").strip().lower() not in ("", "identity"):
        raise Problem("unsupported-media-type", "Send the body uncompressed.", {}, {"accept-encoding": "identity"})
    length = text(headers, b"content-length")
    if length.isascii() and length.isdigit() and int(length[:20]) > limit:
        raise _too_long(limit)
    size = 0
    deadline = asyncio.get_running_loop().time() + BODY_SECONDS
    while True:
        message = await _before(deadline, receive)
        if message["type"] == "http.disconnect":
            raise Problem("bad-request", "The client went away before its request was complete.")
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_long(limit)
        keep(part)
        if not message.get("more_body"):
            return


def _too_long(limit: int) -> Problem:
    # Made where it is raised: an error kept in a frame it passed keeps what the frame holds.
    detail = f"The body is longer than {limit:,} bytes."
    return Problem("too-large", detail, {"limit": limit}, {"connection": "close"})


async def _before(deadline: float, receive: Receive) -> Message:
    """The next part of a body. Raises `Problem` if it does not arrive in time."""
    try:
        async with asyncio.timeout_at(deadline):
            return await receive()
    except TimeoutError:
        detail = f"The body took longer than {BODY_SECONDS} seconds."
        raise Problem("request-timeout", detail, {}, {"connection": "close"}) from None


def until_disconnect(receive: Receive) -> Abandoned:
    """Wait until the client closes its connection."""

    async def wait() -> None:
        message: Any = {}
        while message.get("type") != "http.disconnect":
            message = await receive()

    return wait


def not_modified(headers: Mapping[bytes, bytes], tag: str) -> bool:
    """Whether the client has this version already (RFC 9110, section 13.1.2; weak comparison)."""
    return is_known(text(headers, b"if-none-match"), tag)


def answer_headers(content_type: bytes, encoding: bytes | None, tag: str) -> list[tuple[bytes, bytes]]:
    """The headers of a result, the content type first, without the length; `tag` is its entity tag or empty."""
    headers = [(b"content-type", content_type), (b"vary", b"Accept, Accept-Encoding")]
    if encoding is not None:
        headers.append((b"content-encoding", encoding))
    if tag:
        headers.append((b"etag", tag.encode("latin-1")))
        headers.append((b"cache-control", b"no-cache"))
    else:
        headers.append((b"cache-control", b"no-store"))
    return headers


async def send_answer(
    send: Send, answer: CachedResponse, tag: str, *, head: bool = False, gone: Abandoned | None = None
) -> None:
    """Send a response with its entity tag (none if empty); headers only for HEAD.

    `gone` waits until the client is gone; a result that is still being made is then stopped. Raises `Problem`
    where such a result cannot be completed.
    """
    headers = answer_headers(answer.content_type, answer.encoding, tag)
    if answer.stream is None:
        headers.insert(1, (b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if answer.stream is None:
        await send({"type": "http.response.body", "body": b"" if head else answer.body})
        return
    watch = None if gone is None else asyncio.ensure_future(_stop_when(gone, answer.stream))
    try:
        if not head:
            await send({"type": "http.response.body", "body": answer.body, "more_body": True})
            async for part in answer.stream:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        if watch is not None:
            watch.cancel()
        answer.stream.close()


async def _stop_when(gone: Abandoned, stream: ResultStream) -> None:
    await gone()
    stream.close()


async def send_empty(send: Send, status: int, headers: Mapping[str, str] | None = None) -> None:
    """Send a response without a body."""
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in (headers or {}).items()]
    if status not in (204, 304):
        pairs.append((b"content-length", b"0"))
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": b""})


TellEvent: TypeAlias = Callable[[str, bytes], None]
"""How an event is sent by its name."""
LISTENING = 0.5
"""Seconds of silence after which a stream of events checks whether its client is connected."""
COMMENTS_EVERY = 20
"""Number of such checks after which a comment keeps the connection alive."""


async def server_events(
    work: Callable[[TellEvent], Awaitable[None]], is_gone: Callable[[], Awaitable[bool]] | None = None
) -> AsyncIterator[bytes]:
    """The server-sent events that `work` reports, ``problem`` if it raises a `Problem`.

    The work ends where `is_gone` says that the client is gone, and in silence a comment is sent now and then. Without
    `is_gone` the work goes on then, and there are no comments.
    """
    queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    def tell(name: str, data: bytes) -> None:
        queue.put_nowait(b"event: " + name.encode() + b"\ndata: " + data + b"\n\n")

    async def told() -> None:
        try:
            await work(tell)
        except Problem as problem:
            tell("problem", problem.body())
        finally:
            queue.put_nowait(None)

    task = asyncio.create_task(told())
    silent = 0
    try:
        while True:
            try:
                event = await asyncio.wait_for(queue.get(), LISTENING)
            except TimeoutError:
                silent += 1
                if is_gone is not None and await is_gone():
                    return
                if is_gone is not None and silent % COMMENTS_EVERY == 0:
                    yield b": working\n\n"
                continue
            if event is None:
                await task
                return
            silent = 0
            yield event
    finally:
        if is_gone is not None:
            task.cancel()
