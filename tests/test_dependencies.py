"""What kgtable is made from: free licences, vendored files as recorded, an SBOM that names all of it."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import dependencies  # noqa: E402

VENDORED = ROOT / "kgtable" / "server" / "static" / "vendor"


def test_vendored_files_are_those_recorded() -> None:
    lines = (VENDORED / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    recorded = {name: digest for digest, name in (line.split() for line in lines)}
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDORED.iterdir()
        if path.name not in ("SHA256SUMS", "LICENSES.txt")
    }
    assert found == recorded


def test_every_package_has_a_free_licence() -> None:
    found = dependencies.packages(["all"])
    assert [(package.name, package.licence) for package in found.values() if not package.is_free] == []
    direct = {package.name for package in found.values() if package.direct}
    assert direct >= {"pyoxigraph", "lxml", "pyarrow", "rdflib", "openpyxl"}
    assert "numpy" in found["pandas"].needs


@pytest.mark.parametrize(
    ("licence", "free"),
    [
        ("MIT License", True),
        ("LGPL-3.0-or-later", True),
        ("GNU Lesser General Public License v3", True),
        ("GPL-3.0-only", False),
        ("GNU General Public License v3 (GPLv3)", False),
        ("GNU Affero General Public License v3", False),
        ("unknown", False),
        ("Proprietary", False),
    ],
)
def test_which_licences_are_free(licence: str, free: bool) -> None:
    assert dependencies.Package("x", "1", licence, True, (), "").is_free is free


def test_the_sbom_names_packages_and_scripts() -> None:
    found = dependencies.packages()
    document = dependencies.sbom(found)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    references = [part["bom-ref"] for part in document["components"]]
    assert len(set(references)) == len(references)
    named = {document["metadata"]["component"]["bom-ref"], *references}
    for entry in document["dependencies"]:
        assert entry["ref"] in named
        assert named.issuperset(entry["dependsOn"])
    by_name = {part["name"]: part for part in document["components"]}
    assert by_name["pyoxigraph"]["purl"] == f"pkg:pypi/pyoxigraph@{found['pyoxigraph'].version}"
    assert by_name["codemirror"]["version"] == _pinned("codemirror")
    assert by_name["cytoscape"]["version"] == _pinned("cytoscape")
    script = by_name["kgtable/server/static/vendor/cytoscape.min.js"]
    assert script["hashes"][0]["content"] in (VENDORED / "SHA256SUMS").read_text(encoding="ascii")


def _pinned(name: str) -> str:
    text = (ROOT / "scripts" / "vendor_assets").read_text(encoding="utf-8")
    match = re.search(rf"^{name}=(\S+)$", text, re.MULTILINE)
    assert match is not None
    return match[1]


def test_the_base_installation_reads_asks_and_serves_without_pyarrow_and_torch(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    absent.mkdir()
    for name in ("pyarrow", "torch", "sentence_transformers", "duckdb", "sklearn", "mcp"):
        (absent / f"{name}.py").write_text("raise ImportError", encoding="utf-8")
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "ports.csv").write_text(
        "Port,Fees (EUR million)\nNorrvik,198.75\nTern Bay,61\n", encoding="utf-8"
    )
    (folder / "old.parquet").write_bytes(b"PAR1")
    code = (
        "import kgtable, kgtable.server.views.explorer, kgtable.systems.methods\n"
        f"with kgtable.build({str(folder)!r}, {str(tmp_path / 'graph')!r}) as graph:\n"
        "    print(graph.info()['errors'])\n"
        "    print(graph.ask('Which port had the highest fees?', model='none').text)\n"
        "    try: graph.sql('SELECT 1')\n"
        "    except kgtable.MissingExtraError as error: print(error)\n"
    )
    paths = os.pathsep.join((str(absent), str(ROOT)))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    errors, answer, sql = done.stdout.splitlines()
    assert "pip install 'kgtable[parquet]'" in errors
    assert answer == "Norrvik"
    assert "pip install 'kgtable[sql]'" in sql
    assert "lexical" not in done.stderr
