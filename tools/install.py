"""Make `.venv` as requirements.txt says, with foldnet itself in it: called by the Makefile, with any Python from 3.11 on.

`python -m tools.install lab` adds JupyterLab on demand, and `print` adds Typst and pandoc. Only the standard library is
at hand here. The pip log goes to pip.log in the environment; a line every few seconds says how far it is.

By hand and not by uv: this runs before there is an environment, with a Python that has pip and may have nothing else.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = {
    "book": (ROOT / ".venv", ROOT / "requirements.txt"),
    "lab": (ROOT / ".venv", ROOT / "requirements-lab.txt"),
    "print": (ROOT / ".venv", ROOT / "requirements-print.txt"),
}
STEPS = ("Collecting", "Downloading", "Installing", "Using")
EVERY = 15  # seconds between two lines of progress


def main(which: str = "book") -> int:
    venv, requirements = ENVIRONMENTS[which]
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    ready = venv / (".ready" if which == "book" else f".{which}")
    if which != "book" and ready.is_file() and ready.stat().st_mtime >= requirements.stat().st_mtime and works(venv):
        return 0
    if not works(venv):
        print(f"making {venv.name} with Python {platform.python_version()}", flush=True)
        if subprocess.run([sys.executable, "-m", "venv", "--clear", venv]).returncode:
            return 1
    pins = [line for line in requirements.read_text().splitlines() if "==" in line]
    index = os.environ.get("TORCH_INDEX") if which == "book" else None
    if which == "book" and platform.system() == "Linux" and platform.machine() == "x86_64" and not index and not configured(pip):
        print("note: pip will take torch with CUDA here, some gigabytes; the README says how TORCH_INDEX= avoids that")
    print(f"installing {len(pins)} packages; the first time takes some minutes", flush=True)
    extra = ["--extra-index-url", index] if index else []
    if not logged([*pip, "install", "--progress-bar", "off", *extra, "-r", str(requirements)], venv / "pip.log"):
        print(f"make: pip could not install {requirements.name}; the lines above are the end of {venv.name}/pip.log")
        return 1
    ours = [["install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", str(ROOT)]] if which == "book" else []
    for command in ours:
        if subprocess.run([*pip, *command]).returncode:
            return 1
    checked = subprocess.run([*pip, "check"], capture_output=True, text=True).stdout
    wrong, others = sorted_out(checked, {pin.split("==")[0].lower() for pin in pins} | {"foldnet"})
    for line in others:
        print(f"note: {line} (pip says so; the book does not ask for it)")
    for line in wrong:
        print(f"make: {line}")
    if not wrong:
        ready.touch()
    return bool(wrong)


def sorted_out(checked: str, ours: set[str]) -> tuple[list[str], list[str]]:
    """What `pip check` says about the packages that we pin, and about others.

    Of what torch brings along for a GPU some is never right (a package for another platform), and nothing here uses it.
    """
    lines = [line for line in checked.splitlines() if line and not line.startswith("No broken")]
    wrong = [line for line in lines if line.split()[0].lower().replace("_", "-") in ours]
    return wrong, [line for line in lines if line not in wrong]


def works(venv: Path) -> bool:
    """Whether there is an environment whose Python still starts (the one it was made from may be gone)."""
    try:
        return subprocess.run([venv / "bin" / "python", "-m", "pip", "--version"], capture_output=True).returncode == 0
    except OSError:
        return False


def configured(pip: list[str]) -> bool:
    """Whether pip is already told to look elsewhere, in its settings or in the environment."""
    listed = subprocess.run([*pip, "config", "list"], capture_output=True, text=True).stdout
    return any(word in listed for word in ("index-url", "find-links"))


def logged(command: list[str], log: Path) -> bool:
    """Run a command into a log, saying now and then how far it is; on failure show the end of the log."""
    start, packages, lines = time.monotonic(), 0, []
    done = threading.Event()

    def progress():
        while not done.wait(EVERY):
            last = next((line for line in reversed(lines) if line.startswith(STEPS)), "")
            print(f"  {time.monotonic() - start:4.0f} s  {packages} packages found  {last.split(':')[0][:80]}", flush=True)

    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    threading.Thread(target=progress, daemon=True).start()
    try:
        with log.open("w") as file:
            for line in process.stdout or ():
                file.write(line)
                lines.append(line.strip())
                packages += line.startswith(("Collecting", "Processing"))
        code = process.wait()
    except BaseException:
        process.terminate()
        raise
    finally:
        done.set()
    if code:
        print("\n".join(lines[-25:]))
    return code == 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
