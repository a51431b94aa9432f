"""What stands between a submission and the machine: `python -I shield.py SETTINGS -- COMMAND ...`, standard library only.

The wall is bubblewrap, where it is installed: its own file system, of which it may write to one folder, its own processes,
network and user. Without it there are namespaces, and a list of the only folders it may read or write (Landlock). With either,
the command starts with limits on memory, files and time, an environment that holds nothing of ours, and a filter of system calls
(seccomp). SETTINGS is JSON: environment, folder, read, write, memory (MB), file (MB), tasks, seconds, whether bubblewrap is
around us, and whether the shield may be missing.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import json
import os
import platform
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys

NEWUSER, NEWPID, NEWNET, NEWIPC = 0x10000000, 0x20000000, 0x40000000, 0x08000000
NO_NEW_PRIVILEGES, PARENT_DEATH_SIGNAL = 38, 1
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
# Landlock's rights in the order of their bits; later kernels know more of them
RIGHTS = (
    *("execute", "write_file", "read_file", "read_dir", "remove_dir", "remove_file", "make_char", "make_dir", "make_reg"),
    *("make_sock", "make_fifo", "make_block", "make_sym", "refer", "truncate", "ioctl_dev"),
)
BIT = {name: 1 << i for i, name in enumerate(RIGHTS)}
KNOWN_BY = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # version of Landlock: how many of these rights it knows
READ = BIT["execute"] | BIT["read_file"] | BIT["read_dir"]
FILE_RIGHTS = BIT["execute"] | BIT["write_file"] | BIT["read_file"] | BIT["truncate"] | BIT["ioctl_dev"]

# Calls that seccomp stops: by number on x86-64 and on 64-bit ARM, None where there is no such call. Each has a row in
# tests/test_filter.py, which asks for it without the filter too. Some would go on only for root where no namespace is to be
# had, as under SHIELD=basic in some containers.
PRETENDED = {  # mode, owner, times and labels of files, which Landlock lets through: nothing happens, and all seems well
    **{"chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "chown": (92, None), "fchown": (93, 55)},
    **{"lchown": (94, None)},
    **{"fchownat": (260, 54), "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88)},
    **{"setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7)},
    **{"removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16)},
}
REFUSED = {  # memory that no limit sees, other processes, mounts, namespaces, keys, the kernel itself
    **{"memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190)},
    **{"mq_open": (240, 180), "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271)},
    **{"process_madvise": (440, 440), "pidfd_getfd": (438, 438), "kcmp": (312, 272), "bpf": (321, 280), "unshare": (272, 97)},
    **{"perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426)},
    **{"io_uring_register": (427, 427), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218)},
    **{"mount": (165, 40)},
    **{"umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "move_mount": (429, 429), "open_tree": (428, 428)},
    **{"fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442)},
    **{"setns": (308, 268), "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "init_module": (175, 105)},
    **{"finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294)},
    **{"acct": (163, 89), "quotactl": (179, 60), "iopl": (172, None), "ioperm": (173, None), "mknod": (133, None)},
    **{"mknodat": (259, 33), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "syslog": (103, 116)},
    **{"personality": (135, 92), "sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170)},
    **{"clock_settime": (227, 112), "adjtimex": (159, 171)},
}
SOCKET, SOCKETPAIR, CLONE, CLONE3, NEWER = (41, 198), (53, 199), (56, 220), (435, 435), 450
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
NAMESPACES = 0x7E020000  # the flags of clone that ask for a namespace

libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """The version of Landlock that this system has; 0 without it."""
    return max(0, libc.syscall(CREATE_RULESET, None, 0, 1)) if sys.platform == "linux" else 0


def separable() -> bool:
    """Whether the system grants a submission its own processes, network and user; tried in a process that ends at once."""
    if sys.platform != "linux":
        return False
    child = os.fork()
    if not child:
        os._exit(0 if separate() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@functools.cache
def bubblewrap() -> str | None:
    """The path of a bubblewrap that works here; None where there is none, or where the system does not let it."""
    path = shutil.which("bwrap") if sys.platform == "linux" else None
    if path:
        tried = subprocess.run([*wrapped(path, ["/"], "/tmp", 1), "true"], capture_output=True)
        path = path if tried.returncode == 0 else None
    return path


def wrapped(bwrap: str, read: list[str], home: str, megabytes: int) -> list[str]:
    """The command line before the command: only these paths, and a folder in memory of this size, which alone can be written to.

    The rest of the new file system is memory as well, without a size; and root could write to /proc/sys, which is the host's.
    """
    shown = [word for path in read if os.path.exists(path) for word in ("--ro-bind", path, path)]
    room = ["--size", str(megabytes * 2**20), "--tmpfs", home]
    system = ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    return [bwrap, "--unshare-all", "--die-with-parent", "--new-session", *shown, *system, *room, "--remount-ro", "/"]


def missing() -> list[str]:
    """What this system does not protect from, each a sentence; nothing where all walls stand."""
    found = []
    if not filtered():
        found.append("There is no filter of system calls for this processor: a submission can change modes and times of files.")
    if not bubblewrap():
        if not version():
            found.append("There is no Landlock (Linux 5.13 or newer has it): a submission can read your files.")
        found.append(
            "bubblewrap (the command bwrap) is not here, or may not work here: a submission shares your file system, with"
            " Landlock alone between them, and for a moment it can fill the disk."
        )
        if not separable():
            found.append("There are no user namespaces: a submission sees other processes and can send UDP.")
    return found


def main() -> int:
    settings, command = json.loads(sys.argv[1]), sys.argv[3:]
    end_with_parent(command)  # whoever ends the judge ends us, and with us all that we started
    apart = settings["wrapped"] or (sys.platform == "linux" and separate())
    child = os.fork()
    if not child:
        if apart and not settings["wrapped"]:  # bubblewrap brings such a process along
            lead(command)
        start(settings, command, apart)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) & 0xFF


def lead(command: list[str]) -> None:
    """Be the first process of a namespace, and return in the second, which runs the command.

    Orphans become children of the first, which must bury them: else each counts as a process as long as the command runs.
    """
    end_with_parent(command)
    child = os.fork()
    if not child:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        ended, status = os.wait()
        if ended == child:  # and with the first all others end
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def end_with_parent(command: list[str]) -> None:
    """From here on this process ends with the one that started it; at once where the judge is gone already.

    It is gone if nobody is at the other end of the line that the command will speak on, which is its last word.
    """
    if sys.platform != "linux":
        return
    libc.prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    line = select.poll()
    line.register(int(command[-1]), 0)  # a line that is cut is told in any case
    if line.poll(0):
        os._exit(1)


def separate() -> bool:
    """Leave the common processes, network and users; whether the system let us."""
    user, group = os.getuid(), os.getgid()
    if libc.unshare(NEWUSER | NEWPID | NEWNET | NEWIPC):
        return False
    try:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    except OSError:
        pass  # nobody then, which is less than we were
    return True


def start(settings: dict, command: list[str], apart: bool) -> None:
    """In the child: limits, fences, and then the command; where we are `apart`, our processes are counted by themselves."""
    end_with_parent(command)  # before anything is written: the folders may be cleared away already
    with contextlib.suppress(OSError):
        os.setsid()
    for folder in settings["folders"]:
        os.makedirs(folder, exist_ok=True)
    for font in settings["fonts"]:
        shutil.copy(font, settings["environment"]["MPLCONFIGDIR"])
    shutil.copytree(*settings["package"])
    os.chdir(settings["folder"])
    limit(settings)
    if apart and counted():
        resource.setrlimit(resource.RLIMIT_NPROC, (settings["tasks"], settings["tasks"]))
    if version() and not settings["wrapped"]:
        fence(settings["read"], settings["write"], version())
    elif not (settings["wrapped"] or settings["bare"]):
        sys.exit("shield: this system has no Landlock, and bubblewrap is not around us")
    if filtered():
        sieve()
    os.execve(command[0], command, settings["environment"])


def limit(settings: dict) -> None:
    megabyte = 2**20
    for what, most in (
        (resource.RLIMIT_DATA, settings["memory"] * megabyte),
        (resource.RLIMIT_FSIZE, settings["file"] * megabyte),
        (resource.RLIMIT_CPU, settings["seconds"]),
        (resource.RLIMIT_NOFILE, 512),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))


def counted() -> bool:
    """Whether the system counts the processes of a user namespace by themselves (Linux 5.14), so that they can be limited."""
    numbers = platform.release().split(".")
    return sys.platform == "linux" and tuple(int(n) for n in numbers[:2] if n.isdigit()) >= (5, 14)


def fence(read: list[str], write: list[str], version: int) -> None:
    """From here on this process and all it starts see these folders and files alone; no TCP, no signal to anybody else."""
    known = (1 << KNOWN_BY.get(version, 16)) - 1
    tcp, scope = (3 if version >= 4 else 0), (3 if version >= 6 else 0)
    attributes = struct.pack("QQQ", known, tcp, scope)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = check(libc.syscall(CREATE_RULESET, attributes, len(attributes), 0))
    for paths, rights in ((read, READ), (write, known & ~BIT["make_char"] & ~BIT["make_block"])):
        for path in filter(os.path.exists, paths):
            allowed = rights & known & (~0 if os.path.isdir(path) else FILE_RIGHTS)
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
            check(libc.syscall(ADD_RULE, ruleset, 1, struct.pack("=Qi", allowed, opened), 0))
            os.close(opened)
    check(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    check(libc.syscall(RESTRICT_SELF, ruleset, 0))


def filtered() -> bool:
    return sys.platform == "linux" and platform.machine() in ARCHITECTURES


def program() -> bytes:
    """The filter as the kernel reads it: classic BPF over the number of a call and its first argument."""
    column, architecture = ARCHITECTURES[platform.machine()]

    def load(offset):
        return struct.pack("=HBBI", 0x20, 0, 0, offset)

    def jump(value, yes, no, code=0x15):  # 0x15: equal, 0x35: greater or equal, 0x45: any of these bits
        return struct.pack("=HBBI", code, yes, no, value)

    def back(value):
        return struct.pack("=HBBI", 0x06, 0, 0, value)

    allow, kill = 0x7FFF0000, 0x80000000

    def error(number):
        return 0x00050000 | number

    lines = [load(4), jump(architecture, 1, 0), back(kill), load(0)]
    lines += [jump(0x40000000, 0, 1, 0x35), back(kill)]  # the calls of x32
    lines += [jump(NEWER, 0, 1, 0x35), back(error(errno.ENOSYS))]  # newer than this list
    for calls, answer in ((PRETENDED, 0), (REFUSED, errno.EPERM), ({"clone3": CLONE3}, errno.ENOSYS)):
        numbers = [pair[column] for pair in calls.values() if pair[column] is not None]
        lines += [line for number in numbers for line in (jump(number, 0, 1), back(error(answer)))]
    for pair in (SOCKET, SOCKETPAIR):  # sockets within the machine alone
        lines += [jump(pair[column], 0, 4), load(16), jump(1, 1, 0), back(error(errno.EAFNOSUPPORT)), back(allow)]
    lines += [jump(CLONE[column], 0, 4), load(16), jump(NAMESPACES, 0, 1, 0x45), back(error(errno.EPERM)), back(allow)]
    return b"".join([*lines, back(allow)])


def sieve() -> None:
    """From here on some system calls are refused, for this process and all it starts."""
    code = ctypes.create_string_buffer(program())
    pointed = struct.pack("HxxxxxxP", len(code.raw) // 8, ctypes.addressof(code))
    check(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    check(libc.prctl(22, 2, pointed, 0, 0))


def check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"shield: the system refused: {os.strerror(ctypes.get_errno())}")
    return result


if __name__ == "__main__":
    sys.exit(main())
