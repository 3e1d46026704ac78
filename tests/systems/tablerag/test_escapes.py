"""Attempts to break out of the process in which Python by a model runs."""

from __future__ import annotations

import hashlib
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgtable
from kgtable.answering.evidence import Evidence
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.systems.tablerag import code_actions
from kgtable.systems.tablerag.code_actions import PythonActions, SandboxError

SECRET = "sk-of-nobody"
needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


@pytest.fixture(scope="module")
def opened(graph_folder: Path) -> Iterator[KnowledgeGraph]:
    with kgtable.open(graph_folder) as graph:
        yield graph


def evidence(graph: KnowledgeGraph) -> Evidence:
    return Evidence(Retrieval("?", (), (ScoredTable("orders", 1.0),)), graph.reader)


@pytest.fixture(scope="module")
def secret() -> Iterator[None]:
    """A key in the environment of whoever starts the processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGTABLE_API_KEY", SECRET)
        yield


@pytest.fixture(scope="module")
def python(opened: KnowledgeGraph, secret: None) -> Iterator[PythonActions]:
    actions = PythonActions(evidence(opened), ["orders"], seconds=1.0)
    yield actions
    actions.close()


@pytest.fixture(scope="module")
def listener() -> Iterator[socket.socket]:
    """A port that would notice a connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def digest(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return found.hexdigest()


@pytest.fixture(autouse=True)
def untouched(graph_folder: Path, listener: socket.socket, tmp_path: Path) -> Iterator[None]:
    """Nothing of the graph changes, nobody connects, no file appears."""
    (tmp_path / "bait.csv").write_text("secret\nbait-text\n", encoding="utf-8")
    before = digest(graph_folder)
    yield
    assert digest(graph_folder) == before
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bait.csv"]


PYTHON = {
    "read a file": "open('{folder}/bait.csv').read()",
    "read a system file": "open('/etc/passwd').read()",
    "read with pandas": "pd.read_csv('{folder}/bait.csv')",
    "write a file": "open('/tmp/out', 'w')",
    "write over a package": "open('/site/pandas/__init__.py', 'a')",
    "write over the worker": "open('/worker/kgtable/systems/tablerag/confinement.py', 'w')",
    "processes of the system": "open('/proc/self/environ').read()",
    "other processes": "import os\nos.listdir('/proc')",
    "devices": "open('/dev/mem', 'rb')",
    "network": "import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)",
    "network by a socket": "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "a pair of sockets": "import socket\nsocket.socketpair()",
    "fork": "import os\nos.fork()",
    "a shell": "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'id'])",
    "another program": "import os, sys\nos.execv(sys.executable, ['python'])",
    "spawn": "import os, sys\nos.posix_spawn(sys.executable, ['python'], {{}})",
    "classes": (
        "found = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close']\n"
        "found[0].__init__.__globals__['popen']('id').read()"
    ),
    "memory": "bytearray(8 << 30)",
    "memory of numpy": "np.ones((1 << 30,))",
    "signals to the first process": "import os\nos.kill(1, 9)",
    "signals to the parent": "import os\nos.kill(os.getppid(), 9)",
    "signals to itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "a root of its own": "import os\nos.chroot('/site')",
    "more resources": "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
}


WRITTEN = """
import os, sysconfig
made = []
for folder, _, _ in os.walk("/"):
    for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("/", path), lambda path: open(path, "x").close()):
        try:
            make(os.path.join(folder, "made"))
            made.append(folder)
        except OSError:
            pass
" ".join(made) or "no"
"""
SEEN = """
import os, sysconfig
standard = os.path.realpath(sysconfig.get_path("stdlib"))
for top in ("/lib", "/lib64", "/usr/lib", "/usr/lib64"):
    for folder, _, names in os.walk(top):
        if not folder.startswith(standard):
            print(*names)
"""


@needs_bwrap
@pytest.mark.parametrize("name", PYTHON)
def test_python_does_not_escape(name: str, python: PythonActions, listener: socket.socket, tmp_path: Path) -> None:
    found = python.run(PYTHON[name].format(folder=tmp_path, port=listener.getsockname()[1]))
    assert found.text.startswith("Error: "), found.text
    assert "ended" not in found.text
    assert "bait-text" not in found.text
    assert python.run("len(T1)").text == "6"


LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
CTYPES = {
    "fork": "libc.fork()", "system": "libc.system(b'id > /tmp/out')", "a call by number": "libc.syscall(57)",
    "namespaces": "libc.unshare(0x10000000)", "mounts": "libc.mount(b'none', b'/site', b'tmpfs', 0, None)",
    "tracing": "libc.ptrace(16, 1, 0, 0)", "a file in memory": "libc.memfd_create(b'x', 0)",
    "a socket": "libc.socket(2, 1, 0)",
}  # fmt: skip


@needs_bwrap
@pytest.mark.parametrize("name", CTYPES)
def test_python_does_not_escape_by_the_c_library(name: str, python: PythonActions) -> None:
    assert python.run(LIBC + CTYPES[name]).text in ("-1", "32512")


@needs_bwrap
def test_the_variables_of_the_sandbox_hold_no_secret(python: PythonActions) -> None:
    told = python.run("import os\nstr(dict(os.environ))").text
    assert SECRET not in told
    assert "KGTABLE" not in told


@needs_bwrap
def test_the_sandbox_is_read_only_with_libraries_alone(python: PythonActions) -> None:
    written = python.run(WRITTEN).text
    assert written == "no", written
    found = set(python.run(SEEN).text.split())
    assert {name for name in found if ".so" not in name} == set()
    assert found


@needs_bwrap
def test_the_graph_is_not_in_the_sandbox(python: PythonActions, graph_folder: Path) -> None:
    assert python.run(f"import os\nos.path.exists({str(graph_folder)!r})").text == "no"
    assert "Error" in python.run("import kgtable.api").text
    assert "Error" in python.run("import duckdb").text


@needs_bwrap
@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()",
        "import os\nos._exit(0)",
        "import ctypes\nctypes.string_at(0)",
        "import os\nfor n in range(3, 60):\n    try: os.write(n, b'{}\\n{}\\n')\n"
        "    except OSError: pass\nwhile True: pass",
    ],
    ids=["endless loop", "endless recursion", "exit", "crash", "forged replies"],
)  # fmt: skip
def test_python_that_ends_its_process_is_told(code: str, python: PythonActions) -> None:
    assert python.run(code).text.startswith("Error: ")
    python.run("1")
    assert python.run("len(T1)").text == "6"


@needs_bwrap
def test_huge_output_of_python_is_cut(python: PythonActions) -> None:
    assert len(python.run("print('x' * 10**7)\n'y' * 10**7").text) < 5_000
    assert "… cut" in python.run("list(range(10**6))").text
    assert len(python.run("raise ValueError('z' * 10**7)").text) < 1_000


@needs_bwrap
def test_a_thread_bomb_is_bounded(python: PythonActions) -> None:
    bomb = "import threading, time\nfor _ in range(10**5): threading.Thread(target=time.sleep, args=(60,)).start()"
    assert python.run(bomb).text.startswith("Error: ")
    python.close()
    assert python.run("len(T1)").text == "6"


def test_without_bubblewrap_python_is_refused(opened: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_actions.shutil, "which", lambda name: None)
    actions = PythonActions(evidence(opened), ["orders"])
    with pytest.raises(SandboxError, match="bubblewrap, which is not installed"):
        actions.run("1")
