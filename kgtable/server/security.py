"""Access control: tokens, host names, origins, and the security headers of pages."""

from __future__ import annotations

import base64
import hmac
import ipaddress
from collections.abc import Mapping
from urllib.parse import parse_qs, unquote

from starlette.types import Scope

from kgtable.server.options import ServerSettings
from kgtable.server.requests import text
from kgtable.server.workers.messages import Problem

COOKIE = "kgtable-token"

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

SECURITY_HEADERS = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


def is_loopback(host: str) -> bool:
    """Whether a server bound to the host is reachable from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def same_secret(given: str, expected: str | None) -> bool:
    """Compare a token with the secret in constant time; false if there is no secret."""
    if not expected:
        return False
    return hmac.compare_digest(given.encode("utf-8"), expected.encode("utf-8"))


def bearer(headers: Mapping[bytes, bytes]) -> str:
    """The token of the Authorization header: of Bearer, or the password of Basic; else an empty string.

    A browser sends a password that it knows with every request, also with those that other sites' pages make:
    with Basic, such requests count as without.
    """
    scheme, _, value = text(headers, b"authorization").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() != "basic" or _from_elsewhere(headers):
        return ""
    try:
        return base64.b64decode(value.strip(), validate=True).decode("utf-8").partition(":")[2]
    except ValueError:
        return ""


def _from_elsewhere(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a browser sends the request for a page of another origin."""
    if text(headers, b"sec-fetch-site") not in ("", "same-origin", "none"):
        return True
    origin = text(headers, b"origin")
    return bool(origin) and origin.partition("://")[2] != text(headers, b"host")


def require_own_site(settings: ServerSettings, headers: Mapping[bytes, bytes]) -> None:
    """Raise `Problem` if a browser sends the request for a page of another site, unless its origin is allowed."""
    is_foreign = text(headers, b"sec-fetch-site") not in ("", "same-origin", "none")
    if is_foreign and not cors_headers(settings, headers):
        raise Problem("forbidden", "Requests from pages of other sites are not accepted.")


def cookie_token(headers: Mapping[bytes, bytes]) -> str:
    """The read token in a browser's cookie."""
    for part in text(headers, b"cookie").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return unquote(value.strip('"'))
    return ""


def require_write_token(settings: ServerSettings, headers: Mapping[bytes, bytes]) -> None:
    """Raise `Problem` unless the server is writable and the request has the bearer token."""
    if not settings.writable:
        raise Problem("forbidden", "This server was not started with --writable.")
    _require(same_secret(bearer(headers), settings.token), "Writing needs the server's token.", headers)


def may_edit(settings: ServerSettings, headers: Mapping[bytes, bytes]) -> bool:
    """Whether the request may upload tables and decide about columns.

    Another site's page never may. Else the token is enough, from a browser's cookie too; an editable server
    that only this machine reaches, and has no other writing, asks for none.
    """
    if not settings.editable or _from_elsewhere(headers):
        return False
    if is_loopback(settings.host) and not settings.writable:
        return True
    return same_secret(bearer(headers), settings.token) or same_secret(cookie_token(headers), settings.token)


def require_edit(settings: ServerSettings, headers: Mapping[bytes, bytes]) -> None:
    """Raise `Problem` unless the request may upload tables, see `may_edit`."""
    if not settings.editable:
        raise Problem("forbidden", "This server was not started with --editable.")
    if _from_elsewhere(headers):
        raise Problem("forbidden", "Requests from pages of other sites are not accepted.")
    _require(
        may_edit(settings, headers), "Uploading needs the server's token. In a browser, open /?token=… once.", headers
    )


def require_read_token(settings: ServerSettings, headers: Mapping[bytes, bytes]) -> None:
    """Raise `Problem` if reading needs a token (beyond loopback) and the request has none."""
    if is_loopback(settings.host):
        return
    allowed = same_secret(bearer(headers), settings.token) or same_secret(cookie_token(headers), settings.token)
    _require(allowed, "This server needs its token. In a browser, open /?token=… once.", headers)


def _require(allowed: bool, detail: str, headers: Mapping[bytes, bytes]) -> None:
    """Raise `Problem` unless allowed. The header offers Basic to programs only: a browser would ask for a password.

    Basic comes first, since some clients, such as Jena's, read only the first scheme.
    """
    if not allowed:
        schemes = 'Bearer realm="kgtable"'
        if b"sec-fetch-site" not in headers:
            schemes = f'Basic realm="kgtable", charset="UTF-8", {schemes}'
        raise Problem("unauthorized", detail, {}, {"www-authenticate": schemes})


def require_known_host(settings: ServerSettings, headers: Mapping[bytes, bytes]) -> None:
    """Raise `Problem` for an unknown Host header; protects against DNS rebinding."""
    if not is_loopback(settings.host) and not settings.hosts:
        return
    host = text(headers, b"host").lower()
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if is_loopback(name) or name == settings.host or name in settings.hosts or host in settings.hosts:
        return
    detail = f"This server is not known as {name[:100]!r}. Name it with --allow-host if it should be."
    raise Problem("misdirected", detail)


def cors_headers(settings: ServerSettings, headers: Mapping[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """Headers that let pages of an allowed origin read the response."""
    origin = text(headers, b"origin")
    if not settings.origins or not origin:
        return []
    every = "*" in settings.origins
    if not every and origin not in settings.origins:
        return []
    return [
        (b"access-control-allow-origin", b"*" if every else origin.encode("latin-1")),
        (b"access-control-expose-headers", b"ETag, Location, Retry-After"),
        *([] if every else [(b"vary", b"Origin")]),
    ]


def preflight_headers(settings: ServerSettings, headers: Mapping[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """Headers of the response to a CORS preflight request, in addition to `cors_headers`."""
    if not cors_headers(settings, headers):
        return []
    return [
        (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, DELETE, OPTIONS"),
        (b"access-control-allow-headers", b"Accept, Authorization, Content-Type, If-None-Match"),
        (b"access-control-max-age", b"600"),
    ]


def is_login(scope: Scope, settings: ServerSettings) -> bool:
    """Whether a browser presents the token in the address, to be exchanged for a cookie."""
    if scope["path"] != "/" or b"token=" not in scope["query_string"]:
        return False
    given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
    return same_secret(given[0], settings.token)
