"""What kgtable is made from: free licences, vendored files as recorded, an SBOM that names all of it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


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


def test_the_base_installation_reads_asks_and_serves_without_pyarrow_and_torch(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    absent.mkdir()
    for name in ("pyarrow", "torch", "sentence_transformers", "duckdb", "sklearn", "mcp"):
        (absent / f"{name}.py").write_text("raise ImportError", encoding="utf-8")
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "ports.csv").write_text("Port,Fees (EUR million)\nNorrvik,198.75\nTern Bay,61\n", encoding="utf-8")
    (folder / "old.parquet").write_bytes(b"PAR1")
    code = (
        "import kgtable, kgtable.server.views.explorer, kgtable.systems.methods\n"
        f"with kgtable.build({str(folder)!r}, {str(tmp_path / 'graph')!r}) as graph:\n"
        "    print(graph.info()['errors'])\n"
        "    print(graph.ask('Which port had the highest fees?', model='none').text)\n"
        "    try: graph.sql('SELECT 1')\n"
        "    except kgtable.errors.MissingExtraError as error: print(error)\n"
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
