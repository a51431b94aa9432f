"""What a submission tries to do to the machine, with bubblewrap and without it."""

import json
import os
import stat
import time
from pathlib import Path

import pytest

from tools.course import shield
from tools.course.kernel import Kernel, Limits
from tools.course.line import Ended

pytestmark = [
    pytest.mark.course,
    pytest.mark.skipif(not shield.version(), reason="THIS SYSTEM HAS NO LANDLOCK: no submission was run"),
]
LIMITS = Limits(cell=30, memory=600, disk=50, shield="basic")


@pytest.fixture(params=["bubblewrap", "landlock"])
def walls(request, monkeypatch) -> str:
    """Both shields, where both are here."""
    if request.param == "bubblewrap" and not shield.bubblewrap():
        pytest.skip("bubblewrap is not installed, or may not work here")
    if request.param == "landlock":
        monkeypatch.setattr(shield, "bubblewrap", lambda: None)
    return request.param


def tried(*names: str) -> str:
    """A cell that says for each expression what came of it."""
    lines = ["import ctypes, json, mmap, os, socket, time", "said = {}"]
    for index, name in enumerate(names):
        lines += ["try:", f"    said[{index}] = repr({name})"]
        lines += ["except Exception as error:", f"    said[{index}] = type(error).__name__"]
    return "\n".join([*lines, "print(json.dumps(said))"])


def test_what_landlock_lets_through_the_filter_does_not(walls, tmp_path):
    """Modes, times and labels of files elsewhere, memory without a name, sockets to other machines and to the host."""
    victim = tmp_path / "victim"
    victim.write_text("x")
    os.chmod(victim, 0o644)
    before = victim.stat()
    path = repr(str(victim))
    calls = [
        *(f"os.chmod({path}, 0o777)", f"os.utime({path}, (1, 1))"),
        *(f"os.setxattr({path}, 'user.a', b'b')", f"os.chown({path}, 1, 1)"),
        *("os.memfd_create('a')", "socket.socket(40, socket.SOCK_STREAM)", "socket.socket(socket.AF_INET)"),
        *("socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)", "ctypes.CDLL(None).unshare(0x10000000)", "os.listdir('/')"),
        *("ctypes.CDLL(None).ptrace(16, 1, 0, 0)", "os.mknod('device', 0o60644, 1)"),
    ]
    with Kernel(LIMITS) as kernel:
        outputs, _ = kernel.run(tried(*calls), 30)
    said = list(json.loads(outputs[0]["text"]).values())
    after = victim.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_mtime_ns, after.st_uid) == (0o644, before.st_mtime_ns, before.st_uid)
    assert os.listxattr(victim) == []
    assert said[4:] == ["PermissionError", "OSError", "OSError", "OSError", "-1", "PermissionError", "-1", "PermissionError"]


FLOODS = {
    "unlinked": """
files = []
for i in range(40):
    f = open(f"{i}", "wb")
    os.unlink(f"{i}")
    f.write(bytes(10_000_000))
    f.flush()
    files.append(f)
    time.sleep(0.05)
time.sleep(5)""",
    "empty": """
for i in range(400_000):
    open(f"{i}", "w").close()
time.sleep(5)""",
    "nested": """
for i in range(1500):
    os.mkdir("d")
    os.chdir("d")
for i in range(20):
    open(str(i), "wb").write(bytes(10**7))
    time.sleep(0.05)
time.sleep(5)""",
    "memory": """
m = mmap.mmap(-1, 10**10)
for i in range(0, 10**10, 4096):
    m[i] = 1""",
    "many": """
for _ in range(6):
    if not os.fork():
        x = bytearray(200_000_000)
        time.sleep(20)
time.sleep(8)""",
}


@pytest.mark.parametrize("flood", FLOODS)
def test_no_flood_gets_far(walls, flood):
    """Deleted files, empty files, nested folders and memory of all kinds end with an error, or with the process that did it."""
    with Kernel(LIMITS) as kernel:
        start = time.monotonic()
        try:
            outputs, _ = kernel.run("import mmap, os, time\n" + FLOODS[flood], 60)
            errors = [output["ename"] for output in outputs if output["output_type"] == "error"]
        except Ended as end:
            errors = [str(end)]
        said = " ".join([*errors, kernel.reason])
        assert any(word in said for word in ("OSError", "MemoryError", "more than", "more files")), said
        room = kernel.home / "room"
        used = sum(path.stat().st_blocks * 512 for path in room.rglob("*") if path.is_file()) if room.exists() else 0
        assert used < 3 * LIMITS.disk * 2**20
        assert time.monotonic() - start < 60
    assert not kernel.home.exists()


def test_the_program_of_the_filter_stops_what_it_names():
    """The bytes as the kernel reads them: right architecture first, and every call that is refused is in it."""
    code = shield.program()
    assert len(code) % 8 == 0
    assert len(code) // 8 < 4096
    column, _ = shield.ARCHITECTURES["x86_64"]
    values = {int.from_bytes(code[i + 4 : i + 8], "little") for i in range(0, len(code), 8)}
    if shield.platform.machine() == "x86_64":
        assert {pair[column] for pair in (*shield.REFUSED.values(), *shield.PRETENDED.values())} <= values


def test_folders_that_are_nested_deeply_are_removed(tmp_path):
    """What a submission left behind goes, however deep."""
    with Kernel(LIMITS, tmp_path) as kernel:
        kernel.run("import os\nfor i in range(30):\n    os.mkdir('d')\n    os.chdir('d')", 20)
    assert list(Path(tmp_path).iterdir()) == []
