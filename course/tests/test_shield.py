"""What a submission tries to do to the machine, with bubblewrap and without it."""

import json
import os
import re
import socket
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from course import kernel, shield, source
from course.kernel import Kernel, Limits
from course.line import Ended
from foldnet.geometry.regions import regions
from foldnet.nets import ReLUNet

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
        *("socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)", "ctypes.CDLL(None).unshare(0x10000000)"),
        *("ctypes.CDLL(None).ptrace(16, 1, 0, 0)", "os.mknod('device', 0o60644, 1)"),
    ]
    with Kernel(LIMITS) as kernel:
        outputs, _ = kernel.run(tried(*calls), 30)
    said = list(json.loads(outputs[0]["text"]).values())
    after = victim.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_mtime_ns, after.st_uid) == (0o644, before.st_mtime_ns, before.st_uid)
    assert os.listxattr(victim) == []
    assert said[4:] == ["PermissionError", "OSError", "OSError", "OSError", "-1", "-1", "PermissionError"]


def test_nothing_is_written_but_in_its_room_and_nothing_of_ours_is_read(walls, tmp_path):
    """Memory of the new file system has no size, shared memory has none, and to root /proc/sys is the machine's."""
    secret = tmp_path / "secret"
    secret.write_text("nobody reads this")
    places = ["/x", "/tmp/x", "/dev/x", "/dev/shm/x", "/usr/x", "/proc/sys/kernel/core_uses_pid", "/proc/self/oom_score_adj"]
    calls = [f"open({place!r}, 'a')" for place in places]
    calls += [f"open({str(path)!r}).read()" for path in (secret, kernel.ROOT / "course/judge.py", kernel.ROOT / "pyproject.toml")]
    with Kernel(LIMITS) as shielded:
        outputs, _ = shielded.run(tried(*calls, "open('mine', 'w').write('a')", "open('/dev/null', 'w').write('a')"), 30)
    *said, mine, nothing = json.loads(outputs[0]["text"]).values()
    assert (mine, nothing) == ("1", "1")
    told = dict(zip(calls, said))
    refused = ("PermissionError", "OSError", "FileNotFoundError")
    assert {call: word for call, word in told.items() if word not in refused} == {}


def test_where_bubblewrap_is_around_no_landlock_is_needed(monkeypatch):
    monkeypatch.setattr(shield, "version", lambda: 0)
    monkeypatch.setattr(shield, "filtered", lambda: True)
    monkeypatch.setattr(shield, "bubblewrap", lambda: "/usr/bin/bwrap")
    assert shield.missing() == []
    monkeypatch.setattr(shield, "bubblewrap", lambda: None)
    assert "no Landlock" in " ".join(shield.missing())


ELSEWHERE = """
import sys
from course import shield
from course.kernel import Kernel, Limits
if sys.argv[1] == "landlock":
    shield.bubblewrap = lambda: None
cell = f"import sys\\nsys.path.append({sys.argv[2]!r})\\nimport linked\\nprint(linked.value, open({sys.argv[3]!r}).read())"
with Kernel(Limits(cell=30, memory=600, disk=50, shield="basic")) as kernel:
    for output in kernel.run(cell, 30)[0]:
        print(output)
"""


def test_packages_that_lie_elsewhere_are_there_and_what_is_beside_them_is_not(walls, tmp_path):
    """An environment may take its packages from another one's folder, by a file *.pth."""
    packages, secret = tmp_path / "other/site-packages", tmp_path / "other/secret"
    packages.mkdir(parents=True)
    (packages / "linked.py").write_text("value = 41 + 1\nprint('linked', value)")
    secret.write_text("nobody reads this")
    settings = {**os.environ, "PYTHONPATH": str(packages)}
    command = [sys.executable, "-c", ELSEWHERE, walls, str(packages), str(secret)]
    done = subprocess.run(command, cwd=kernel.ROOT, env=settings, capture_output=True, text=True, timeout=300)
    assert "linked 42" in done.stdout, done.stdout + done.stderr
    assert "nobody reads" not in done.stdout
    assert "Error" in done.stdout


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
time.sleep(30)""",
    "empty": """
for i in range(400_000):
    open(f"{i}", "w").close()
time.sleep(30)""",
    "nested": """
for i in range(1500):
    os.mkdir("d")
    os.chdir("d")
for i in range(20):
    open(str(i), "wb").write(bytes(10**7))
    time.sleep(0.05)
time.sleep(30)""",
    "memory": """
m = mmap.mmap(-1, 10**10)
for i in range(0, 10**10, 4096):
    m[i] = 1""",
    "many": """
for _ in range(6):
    if not os.fork():
        x = bytearray(200_000_000)
        time.sleep(60)
os.wait()
time.sleep(1)""",
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
        measured = subprocess.run(["du", "-sk", room], capture_output=True, text=True).stdout.split()  # nothing where it is gone
        used = 1024 * int(measured[0]) if measured else 0
        assert used < 3 * LIMITS.disk * 2**20
        assert time.monotonic() - start < 300
    assert not kernel.home.exists()


FORKS = """
import os, resource, sys, time
names = {"__name__": "shield"}
exec(sys.stdin.read(), names)
assert names["separate"]() and names["counted"]()
if not (child := os.fork()):
    resource.setrlimit(resource.RLIMIT_NPROC, (20, 20))
    for made in range(60):
        try:
            if not os.fork():
                time.sleep(1)
                os._exit(0)
        except BlockingIOError:
            break
    os.write(1, str(made).encode())
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.skipif(not shield.separable() or not shield.counted(), reason="no namespace here counts its processes")
def test_a_namespace_counts_its_processes_for_everybody_but_root():
    """The limit on which the shield relies. Root has none, wherever it is: grading as root is said to be open to it."""

    def forked(**user) -> int:
        text = Path(shield.__file__).read_text(encoding="utf-8")
        command = ["/usr/bin/python3" if user else sys.executable, "-I", "-c", FORKS]
        return int(subprocess.run(command, input=text, text=True, capture_output=True, check=True, cwd="/", **user).stdout)

    if os.geteuid():
        assert forked() < 20
    else:
        assert forked() == 59
        if Path("/usr/bin/python3").exists():
            assert forked(user=65534, group=65534, extra_groups=[]) < 20


@pytest.mark.parametrize("inner", [False, True])
def test_who_starts_when_the_judge_is_gone_writes_nothing(tmp_path, inner):
    """Neither the shield nor the process that it forks: the next run may have cleared the folders away, or be at it."""
    room = tmp_path / "room"
    settings = {"folders": [str(room)], "wrapped": True, "fonts": []}
    judge, line = socket.socketpair()
    judge.close()
    with line:
        fd, script = line.fileno(), shield.__file__
        if inner:
            start = "import json, runpy, sys; names = runpy.run_path(sys.argv[1])"
            command = ["-c", f"{start}; names['start'](json.loads(sys.argv[2]), sys.argv[4:], True)", script]
        else:
            command = [script]
        command = [sys.executable, *command, json.dumps(settings), "--", "x", str(fd)]
        done = subprocess.run(command, pass_fds=[fd], capture_output=True)
    assert (done.returncode, done.stderr) == (1, b"")
    assert not room.exists()


def test_what_python_is_just_keeping_is_not_copied(tmp_path, monkeypatch):
    """Other processes keep compiled code in the package meanwhile: a file that is listed may be gone before it is copied."""
    kept, book = tmp_path / "foldnet/__pycache__", Path(kernel.ROOT / "book")
    kept.mkdir(parents=True)
    for package in ("foldbook", "experiments"):
        (tmp_path / package).mkdir()
    (tmp_path / "book").symlink_to(book)
    (kept / "nets.cpython-311.pyc").write_bytes(b"kept")
    for name in ("nets.cpython-311.pyc.281473", "_layer_kernel.draw-10.py311.nbi.tmp.0123456789abcdef"):
        (kept / name).symlink_to("gone")
    monkeypatch.setattr(kernel, "ROOT", tmp_path)
    with Kernel(LIMITS) as shielded:
        assert [path.name for path in (shielded.home / "library/foldnet/__pycache__").iterdir()] == ["nets.cpython-311.pyc"]


def test_folders_that_are_nested_deeply_are_removed(tmp_path):
    """What a submission left behind goes, however deep: also where the watcher came too late."""
    with Kernel(LIMITS, tmp_path) as kernel:
        make = "import os\nfor i in range({}):\n    os.mkdir('d')\n    os.chdir('d')"
        kernel.run(make.format(30), 20)
        subprocess.run([sys.executable, "-c", make.format(1500)], cwd=kernel.home, check=True)
    assert list(Path(tmp_path).iterdir()) == []


def test_kernels_that_were_compiled_once_are_not_compiled_for_each_submission():
    """A submission has a copy of the package that it may write to, so numba looks into what is kept there."""
    regions(ReLUNet.random((2, 40, 40, 1)))  # too large for plain Python, so compiled here at the latest
    with Kernel(replace(LIMITS, memory=2000)) as kernel:  # torch with CUDA takes 700 MB to begin with
        asked = "from foldnet.geometry import _layer_kernel, regions\nfrom foldnet.nets import ReLUNet\n"
        asked += "regions.regions(ReLUNet.random((2, 3, 1)))\nstats = _layer_kernel.draw.stats\n"
        outputs, stopped = kernel.run(asked + "print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))", 60)
    assert (outputs[0]["text"], stopped) == ("1 0\n", "")


def test_a_submission_has_a_name_and_torch_can_compile_in_it():
    """The list of users is behind the wall; `torch._dynamo` asks who we are, and must not be imported half."""
    with Kernel(replace(LIMITS, memory=2000)) as kernel:
        outputs, stopped = kernel.run("import getpass\nimport torch._dynamo\nprint(getpass.getuser())", 60)
    assert (outputs[0].get("text"), stopped) == ("student\n", "")


def test_what_a_build_of_torch_maps_is_no_memory_of_the_answer(monkeypatch, tmp_path):
    """A CUDA build maps much that nobody touches: what its import counts as is measured, and the limit lies beyond it."""
    assert abs(kernel.data("x = bytearray(300 * 2**20)") - kernel.data("") - 300) <= 3
    assert kernel.data("1 / 0") == 0
    threads = "import os\nx = bytearray(200 * 2**20 * int(os.environ.get('OPENBLAS_NUM_THREADS', 9)))"  # as a library would
    assert kernel.data(threads) - kernel.data("") < 300  # a submission has one thread
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").touch()
    monkeypatch.setattr(kernel, "data", lambda code: 77 if code == "import torch._dynamo" else 0)
    monkeypatch.setattr(
        kernel.importlib.util, "find_spec", lambda name: SimpleNamespace(origin=str(tmp_path / "torch/__init__.py"))
    )
    for line, wanted in (("cuda: Optional[str] = '12.8'", 77), ("cuda = None", 0), ("cuda: Optional[str] = None", 0)):
        (tmp_path / "torch/version.py").write_text(f"__version__ = '2'\n{line}\n")
        kernel.before.cache_clear()
        assert kernel.before() == wanted
    kernel.before.cache_clear()
    taken = "import mmap\nm = mmap.mmap(-1, 700 * 2**20, mmap.MAP_PRIVATE)\nprint('mapped')"
    for more, said in ((0, "error"), (500, "stream")):
        monkeypatch.setattr(kernel, "before", lambda more=more: more)
        with Kernel(LIMITS) as shielded:
            assert [output["output_type"] for output in shielded.run(taken, 30)[0]] == [said]


def test_processes_that_have_ended_are_buried(walls):
    """A photograph that is closed leaves no process behind that would count; and a cell can end its own process."""
    with Kernel(LIMITS) as kernel:
        alive = psutil.Process(kernel.process.pid)
        before = len(alive.children(recursive=True))
        for photo in [kernel.photograph() for _ in range(3)]:
            photo.close()
        until = time.monotonic() + 60
        while len(alive.children(recursive=True)) > before and time.monotonic() < until:
            time.sleep(0.05)
        assert len(alive.children(recursive=True)) == before
        with pytest.raises(Ended, match="it ended its process"):
            kernel.run("import os\nos.kill(os.getpid(), 9)", 30)


@pytest.mark.course
def test_students_are_told_what_they_can_import():
    text = (source.ROOT / "book/assignments/student.md").read_text(encoding="utf-8")
    told = text.split("there are Python's own modules and")[1].split(".")[0]
    names = re.findall(r"`(\w+)`", told)
    assert {"numpy", "torch", "foldnet"} <= set(names)
    with Kernel(Limits(shield="basic")) as kernel:
        outputs, stopped = kernel.run("\n".join(f"import {name}" for name in names), 300)
    assert [output for output in outputs if output["output_type"] == "error"] == []
    assert stopped == ""
