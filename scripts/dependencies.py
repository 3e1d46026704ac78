"""List what kgtable depends on, with versions and licences; check the licences; write a CycloneDX SBOM.

    python scripts/dependencies.py                      a table of all packages, direct ones first
    python scripts/dependencies.py --extra all          with the packages of an extra
    python scripts/dependencies.py --check              exit with 1 for a licence that is not known to be free
    python scripts/dependencies.py --sbom kgtable.cdx.json

Versions and licences are those of the packages that are installed here (importlib.metadata). The SBOM also
names the vendored JavaScript with its hashes. Specification: CycloneDX 1.6 (ECMA-424).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).resolve().parents[1]
VENDORED = PROJECT / "kgtable" / "server" / "static" / "vendor"
FREE = re.compile(
    r"MIT|Apache|BSD|Zlib|ISC|Python Software|PSF|Python-2\.0|MPL|Mozilla|LGPL|Lesser|Unlicense|Public Domain"
    r"|HPND|0BSD|CC0|W3C",
    re.IGNORECASE,
)
"""Licences under which a program may use a package and be licensed as it likes."""
STRICT = re.compile(r"(?<![L\w])A?GPL|Affero|(?<!Lesser )General Public", re.IGNORECASE)

TEXTS = {
    "Permission is hereby granted, free of charge": "MIT",
    "Apache License": "Apache-2.0",
    "Redistribution and use in source and binary forms": "BSD",
    "Mozilla Public License": "MPL-2.0",
    "GNU LESSER GENERAL PUBLIC LICENSE": "LGPL",
}


@dataclass(frozen=True)
class Package:
    """An installed package: whether kgtable asks for it itself, its licence, and what asks for it."""

    name: str
    version: str
    licence: str
    direct: bool
    needs: tuple[str, ...]
    summary: str

    @property
    def purl(self) -> str:
        """Its package URL."""
        return f"pkg:pypi/{self.name}@{self.version}"

    @property
    def is_free(self) -> bool:
        """Whether its licence is known to be free."""
        return FREE.search(self.licence) is not None and (
            STRICT.search(self.licence) is None or "LGPL" in self.licence
        )


def packages(extras: Sequence[str] = ()) -> dict[str, Package]:
    """All packages that kgtable needs, by name. One that is not installed is left out."""
    found: dict[str, Package] = {}
    own = _own_needs(extras)
    direct = {name for name, _ in own}
    todo = list(own)
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while todo:
        name, wanted = todo.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        needs = list(_needs(package.requires or (), wanted))
        todo += needs
        before = found[name].needs if name in found else ()
        names = tuple(sorted({*before, *(need for need, _ in needs)}))
        summary = " ".join((package.metadata.get("Summary") or "").split())
        found[name] = Package(name, package.version, licence(package), name in direct, names, summary)
    return {name: found[name] for name in sorted(found, key=lambda name: (not found[name].direct, name))}


def project() -> dict[str, Any]:
    """What ``pyproject.toml`` says of kgtable."""
    content: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    return content


def _own_needs(extras: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """What kgtable asks for itself, with its extras, which may name each other."""
    about, lines, todo = project(), [], list(extras)
    lines += about["dependencies"]
    while todo:
        for line in about["optional-dependencies"][todo.pop()]:
            if canonicalize_name(Requirement(line).name) == "kgtable":
                todo += Requirement(line).extras
            else:
                lines.append(line)
    return sorted(set(_needs(lines, ())))


def _needs(lines: Iterable[str], extras: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in lines:
        need = Requirement(line)
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            yield canonicalize_name(need.name), tuple(sorted(need.extras))


def licence(package: Distribution) -> str:
    """What a package says of its licence: its expression, its classifiers, its short text, or its file."""
    about = package.metadata
    expression = about.get("License-Expression")
    if expression:
        return str(expression)
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in about.get_all("Classifier") or ()
        if line.startswith("License ::") and line != "License :: OSI Approved"
    ]
    if classifiers:
        return " AND ".join(classifiers)
    stated = str(about.get("License") or "").strip()
    if stated and "\n" not in stated and len(stated) < 80:
        return stated
    files = [
        file for file in package.files or () if re.search(r"licen[cs]e|copying", file.name, re.IGNORECASE)
    ]
    for text in [stated, *(_text(package, file) for file in files)]:
        for words, name in TEXTS.items():
            if words in text:
                return name
    return "unknown"


def _text(package: Distribution, file: Any) -> str:
    try:
        return Path(str(package.locate_file(file))).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def vendored() -> list[dict[str, Any]]:
    """The vendored files and the packages they were built from, as components of an SBOM."""
    listed = (VENDORED / "LICENSES.txt").read_text(encoding="utf-8")
    built_from = re.findall(r"^={100}\n(\S+) (\S+) \((.+)\)$", listed, re.MULTILINE)
    parts = [
        {
            "type": "library",
            "bom-ref": f"pkg:npm/{name.replace('@', '%40')}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:npm/{name.replace('@', '%40')}@{version}",
            "licenses": [{"license": {"name": licence}}],
        }
        for name, version, licence in built_from
    ]
    files = [
        {
            "type": "file",
            "bom-ref": f"file:{path.name}",
            "name": f"kgtable/server/static/vendor/{path.name}",
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}],
        }
        for path in sorted(VENDORED.iterdir())
        if path.suffix in (".js", ".css")
    ]
    return [*parts, *files]


def sbom(found: dict[str, Package]) -> dict[str, Any]:
    """A CycloneDX document of kgtable and what it needs."""
    own = project()["version"]
    root = f"pkg:pypi/kgtable@{own}"
    components = [
        {
            "type": "library",
            "bom-ref": package.purl,
            "name": package.name,
            "version": package.version,
            "description": package.summary,
            "licenses": [{"license": {"name": package.licence}}],
            "purl": package.purl,
        }
        for package in found.values()
    ]
    scripts = vendored()
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": "kgtable",
                "version": own,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "purl": root,
            }
        },
        "components": [*components, *scripts],
        "dependencies": [
            {
                "ref": root,
                "dependsOn": sorted(
                    [
                        *(package.purl for package in found.values() if package.direct),
                        *(part["bom-ref"] for part in scripts),
                    ]
                ),
            },
            *(
                {
                    "ref": package.purl,
                    "dependsOn": [found[need].purl for need in package.needs if need in found],
                }
                for package in found.values()
            ),
        ],
    }


def main() -> None:
    """Print the table, check the licences, write the SBOM."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--extra", action="append", default=[], help="an extra of kgtable, such as all")
    parser.add_argument("--check", action="store_true", help="only name packages without a free licence")
    parser.add_argument("--sbom", type=Path, help="write a CycloneDX document to this file")
    options = parser.parse_args()
    found = packages(options.extra)
    doubtful = [package for package in found.values() if not package.is_free]
    if options.sbom:
        options.sbom.write_text(
            json.dumps(sbom(found), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    if not options.check and not options.sbom:
        print("| package | version | licence | |\n|---|---|---|---|")
        for package in found.values():
            kind = "direct" if package.direct else ""
            print(f"| {package.name} | {package.version} | {package.licence} | {kind} |")
    for package in doubtful:
        print(f"{package.name} {package.version}: {package.licence}", file=sys.stderr)
    sys.exit(bool(doubtful) and options.check)


if __name__ == "__main__":
    main()
