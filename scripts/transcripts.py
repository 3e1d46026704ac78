"""Run the console transcripts of README.md and docs/ and compare their output.

A transcript is a fenced block marked ``console``: lines that start with ``$ `` are commands, the lines below
are their output (standard error included). All blocks of one file share a fresh folder with the sample tables
as ``samples/`` and, as in a clone, ``kgtable/samples/``. A ``…`` in the expected output matches any text.

    python scripts/transcripts.py            compare, exit 1 if they differ
    python scripts/transcripts.py --write    replace differing output by the actual one
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHIM = '#!/bin/sh\nexec "{python}" -m kgtable "$@"\n'


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a transcript, its expected output and its actual output."""

    command: str
    expected: str
    printed: str

    @property
    def agrees(self) -> bool:
        """Whether the actual output matches the expected one, with ``…`` as a wildcard."""
        pattern = ".*?".join(re.escape(part) for part in self.expected.split("…"))
        return re.fullmatch(pattern, self.printed, re.DOTALL) is not None


def documents() -> list[Path]:
    """README.md and all pages of docs/, in order."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def steps_of(block: str) -> Iterator[tuple[str, str]]:
    """The commands of a block, each with its expected output."""
    command, expected = "", ""
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            if command:
                yield command, expected
            command, expected = line[2:].rstrip("\n"), ""
        elif command.endswith("\\") and line.startswith("> "):
            command += "\n" + line[2:].rstrip("\n")
        else:
            expected += line
    if command:
        yield command, expected


def run_document(text: str) -> list[tuple[str, list[Step]]]:
    """Run every transcript block of a document."""
    blocks = BLOCK.findall(text)
    if not blocks:
        return []
    with tempfile.TemporaryDirectory() as folder:
        home, binaries = Path(folder, "home"), Path(folder, "bin")
        binaries.mkdir()
        for place in (home / "samples", home / "kgtable" / "samples"):
            shutil.copytree(ROOT / "kgtable" / "samples", place)
        shim = binaries / "kgtable"
        shim.write_text(SHIM.format(python=sys.executable))
        shim.chmod(0o755)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("KGTABLE_", "OPENAI_"))}
        environment = kept | {
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "100",
            "NO_COLOR": "1",
        }
        return [
            (
                block,
                [
                    Step(command, expected, run_command(command, home, environment))
                    for command, expected in steps_of(block)
                ],
            )
            for block in blocks
        ]


def run_command(command: str, folder: Path, environment: dict[str, str]) -> str:
    """The output of a shell command run in `folder`, standard error included."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    return done.stdout.decode()


def rewritten(text: str, ran: list[tuple[str, list[Step]]]) -> str:
    """The document with the actual output wherever it differs from the expected one."""
    for block, steps in ran:
        lines = [
            f"$ {step.command}\n".replace("\\\n", "\\\n> ") + (step.expected if step.agrees else step.printed)
            for step in steps
        ]
        text = text.replace(f"```console\n{block}```", f"```console\n{''.join(lines)}```")
    return text


def main() -> int:
    """Compare or rewrite all documents."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="replace differing output")
    arguments = parser.parse_args()
    failures = 0
    for document in documents():
        text = document.read_text(encoding="utf-8")
        ran = run_document(text)
        differing = [step for _, steps in ran for step in steps if not step.agrees]
        failures += len(differing)
        for step in differing:
            print(f"{document.name}: $ {step.command}\n{step.printed}")
        if arguments.write and differing:
            document.write_text(rewritten(text, ran), encoding="utf-8")
    return 0 if arguments.write or not failures else 1


if __name__ == "__main__":
    sys.exit(main())
