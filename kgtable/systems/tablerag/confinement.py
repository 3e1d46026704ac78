"""Limits on a process that runs a model's code: memory, processor time, files, system calls.

Imports the standard library alone: inside the sandbox there is nothing else of kgtable.
"""

from __future__ import annotations

import ctypes
import platform
import signal
import struct
import sys

MEBIBYTE = 1 << 20

_CLONE_THREAD = 0x00010000
_EPERM, _ENOSYS = 1, 38
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_NO_NEW_PRIVILEGES, _SET_FILTER, _FILTER = 38, 22, 2

_MACHINES: dict[str, tuple[int, int, int, tuple[int, ...]]] = {
    "x86_64": (
        0xC000003E, 56, 435,
        # fork vfork execve execveat; socket socketpair connect bind listen accept; kill tkill tgkill ptrace
        (57, 58, 59, 322, 41, 53, 42, 49, 50, 43, 288, 62, 200, 234, 101,
         # mount umount2 unshare setns pivot_root chroot; bpf perf_event_open; keys; io_uring; userfaultfd
         165, 166, 272, 308, 155, 161, 321, 298, 248, 249, 250, 425, 426, 427, 323,
         # memfd_create process_vm_*; modules; reboot kexec; personality; pidfd_*; handles; shm, msg, sem
         319, 310, 311, 175, 313, 176, 169, 246, 320, 135, 424, 434, 438, 303, 304, 29, 68, 64),
    ),
    "aarch64": (
        0xC00000B7, 220, 435,
        (221, 281, 198, 199, 203, 200, 201, 202, 242, 129, 130, 131, 117,
         40, 39, 97, 268, 41, 51, 280, 241, 217, 218, 219, 425, 426, 427, 282,
         279, 270, 271, 105, 273, 106, 142, 104, 294, 92, 424, 434, 438, 264, 265, 194, 186, 190),
    ),
}  # fmt: skip
"""By machine: the audit number of its architecture, ``clone``, ``clone3``, and the system calls refused."""


def limit_resources(memory: int, seconds: int, *, files: int | None = None) -> None:
    """Bound the memory and processor time of this process, and forbid it to write files or dump core.

    `files` is how many files it may have open, those that are open now among them.
    """
    if sys.platform == "win32":
        return
    import resource

    limits = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
    ]
    if files is not None:
        limits.append((resource.RLIMIT_NOFILE, files))
    for kind, value in limits:
        resource.setrlimit(kind, (value, value))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def filter_system_calls() -> bool:
    """Permanently forbid this process to create processes, sockets, signals and mounts (seccomp).

    Threads may be made. Returns whether the filter is in force: on Linux on x86-64 and ARM64.
    """
    known = _MACHINES.get(platform.machine())
    if not sys.platform.startswith("linux") or known is None or sys.maxsize < 2**32:
        return False
    architecture, clone, clone3, refused = known
    refuse = _ERRNO | _EPERM
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, 0x40000000),  # the other numbering of x86-64
        (_RETURN, 0, 0, _KILL),
    ]
    for number in refused:
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, refuse)]
    program += [
        (_EQUAL, 0, 1, clone3),
        (_RETURN, 0, 0, _ERRNO | _ENOSYS),  # the C library then takes clone
        (_EQUAL, 0, 3, clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_ANY_BIT, 1, 0, _CLONE_THREAD),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    held = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(held))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    return bool(library.prctl(_SET_FILTER, _FILTER, header, 0, 0) == 0)
