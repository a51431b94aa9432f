"""What stands between a submission and the machine: `python -I shield.py SETTINGS -- COMMAND ...`, standard library only.

The command starts with limits on memory, files and time, an environment that holds nothing of ours, its own processes, network
and user (Linux namespaces, where the system grants them) and a list of the only folders it may read or write (Landlock). SETTINGS
is JSON: environment, folder, read, write, memory (MB), file (MB), seconds, and whether the shield may be missing.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
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


def main() -> int:
    settings, command = json.loads(sys.argv[1]), sys.argv[3:]
    if sys.platform == "linux":  # whoever ends the judge ends us, and with us all that we started
        libc.prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    separated = sys.platform == "linux" and separate()
    child = os.fork()
    if not child:
        start(settings, command, separated)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) & 0xFF


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


def start(settings: dict, command: list[str], separated: bool) -> None:
    """In the child: limits, fences, and then the command."""
    os.setsid()
    os.chdir(settings["folder"])
    limit(settings)
    if sys.platform == "linux":
        libc.prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if version():
        fence(settings["read"], settings["write"], version())
    elif not settings["bare"]:
        sys.exit("shield: this system has no Landlock")
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


def check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"shield: Landlock refused: {os.strerror(ctypes.get_errno())}")
    return result


if __name__ == "__main__":
    sys.exit(main())
