"""Each system call that the filter stops has a row: it is asked for with it, and without it, where it would have gone on."""

import functools
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from course import kernel, shield

pytestmark = [
    pytest.mark.course,
    pytest.mark.skipif(not shield.filtered(), reason="there is no filter of system calls for this processor"),
]
NO, HERE, PATH = -1, "/proc/1", "/nothing/at/all"  # no pointer, file or flag; a folder that is no mount; a file that is nowhere
BAD = (NO,) * 6
# The arguments with which a call changes nothing, whoever asks, and says whether the one who asks may.
ROWS = {
    **dict.fromkeys(("process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp", "bpf", "setns"), BAD),
    **dict.fromkeys(("perf_event_open", "io_uring_setup", "io_uring_enter", "io_uring_register", "keyctl", "add_key"), BAD),
    **dict.fromkeys(("request_key", "fsconfig", "mount_setattr", "personality", "semget", "mq_open"), BAD),
    **dict.fromkeys(("init_module", "finit_module", "kexec_load", "kexec_file_load", "adjtimex"), BAD),
    **dict.fromkeys(("sethostname", "setdomainname", "open_by_handle_at", "quotactl"), BAD),
    **{"memfd_create": ("a", 0), "memfd_secret": (0,), "shmget": (0, 0, 0), "msgget": (1, 0), "ptrace": (0,)},
    **{"userfaultfd": (1,), "unshare": (shield.NEWUSER,), "mount": ("none", HERE, "nothing", 0, 0), "umount2": (HERE, 0)},
    **{"chroot": ("/",), "pivot_root": (HERE, HERE), "move_mount": BAD, "open_tree": (-100, "/", 1), "fsmount": BAD},
    **{"fsopen": ("nothing", 0), "fspick": (-100, "/", NO), "swapon": (PATH, 0), "swapoff": (PATH,), "acct": (PATH,)},
    **{"reboot": (0,) * 4, "delete_module": ("nothing", 0), "iopl": (3,), "ioperm": (0x80, 1, 1), "mknod": (PATH, 0o60644, 1)},
    **{"mknodat": (-100, PATH, 0o60644, 1), "name_to_handle_at": (-100, "/", NO, NO, 0), "syslog": (10, 0, 0)},
    **{"clock_settime": (0, NO), "settimeofday": (0, 0)},
}
FILES = {  # these pretend: the file is not there, and with the filter all seems well
    **{"chmod": (PATH, 0o777), "fchmod": (NO, 0), "fchmodat": (-100, PATH, 0), "chown": (PATH, 1, 1), "fchown": (NO, 1, 1)},
    **{"lchown": (PATH, 1, 1), "fchownat": (-100, PATH, 1, 1, 0), "utime": (PATH, 0), "utimes": (PATH, 0)},
    **{"futimesat": (-100, PATH, 0), "utimensat": (-100, PATH, 0, 0), "setxattr": (PATH, "user.a", "b", 1, 0)},
    **{"lsetxattr": (PATH, "user.a", "b", 1, 0), "fsetxattr": (NO, "user.a", "b", 1, 0), "removexattr": (PATH, "user.a")},
    **{"lremovexattr": (PATH, "user.a"), "fremovexattr": (NO, "user.a")},
}
ASK = """
import ctypes, errno, json, os, runpy, sys
calls, shield = json.loads(sys.argv[1]), sys.argv[2]
if shield:
    runpy.run_path(shield, run_name="shield")["sieve"]()
libc, said = ctypes.CDLL(None, use_errno=True), {}
for name, (number, *arguments) in calls.items():
    there, here = os.pipe()
    if not (child := os.fork()):
        ctypes.set_errno(0)
        sent = [ctypes.c_char_p(each.encode()) if isinstance(each, str) else ctypes.c_long(each) for each in arguments]
        failed = libc.syscall(ctypes.c_long(number), *sent) == -1
        os.write(here, (errno.errorcode[ctypes.get_errno()] if failed else "done").encode())
        os._exit(0)
    os.close(here)
    os.waitpid(child, 0)
    said[name] = os.read(there, 99).decode() or "killed"
    os.close(there)
print(json.dumps(said))
"""


@functools.cache
def answers(walls: str) -> dict[str, str]:
    """What the kernel says to each call: with the `filter`, behind `bubblewrap` without it, or to whoever runs the tests."""
    column, _ = shield.ARCHITECTURES[platform.machine()]
    known = {name: pair[column] for name, pair in (shield.REFUSED | shield.PRETENDED).items()}
    calls = {name: (known[name], *row) for name, row in (ROWS | FILES).items() if known.get(name) is not None}
    ask = [sys.executable, "-I", "-c", ASK, json.dumps(calls), shield.__file__ if walls == "filter" else ""]
    if walls == "bubblewrap":
        with tempfile.TemporaryDirectory() as home:
            ask = [*shield.wrapped(shield.bubblewrap(), [*kernel.SYSTEM, *kernel.PYTHON], home, 10), *ask]
            return json.loads(subprocess.run(ask, capture_output=True, text=True, check=True).stdout)
    return json.loads(subprocess.run(ask, capture_output=True, text=True, check=True, cwd=Path("/")).stdout)


def test_each_call_that_is_stopped_has_a_row():
    assert (set(ROWS), set(FILES)) == (set(shield.REFUSED), set(shield.PRETENDED))


@pytest.mark.parametrize("name", shield.REFUSED)
def test_a_call_is_refused_that_would_have_gone_on(name):
    """Behind bubblewrap, or where no namespace is to be had: there a submission asks with the rights of whoever grades."""
    if name not in answers("filter"):
        pytest.skip("this processor has no such call")
    assert answers("filter")[name] == "EPERM"
    without = {answers(walls)[name] for walls in ("bubblewrap", "nothing") if walls == "nothing" or shield.bubblewrap()}
    if without <= {"EPERM", "ENOSYS"}:
        pytest.skip("this kernel does not have it, or asks for more rights than whoever runs the tests has")
    assert "killed" not in without


@pytest.mark.parametrize("name", shield.PRETENDED)
def test_a_call_does_nothing_and_says_that_all_is_well(name):
    if name not in answers("filter"):
        pytest.skip("this processor has no such call")
    assert answers("filter")[name] == "done"
    assert answers("nothing")[name] in ("ENOENT", "EBADF")
