"""What numba keeps of a kernel is used while it is right, and no longer: what it calls may stand in other files."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import foldnet
from foldnet import _compiled

PACKAGE = Path(foldnet.__file__).parent
KERNELS = sorted(p for p in PACKAGE.rglob("*.py") if "@compiled" in p.read_text(encoding="utf-8"))

KERNEL = "from .._compiled import compiled\nfrom .{} import {}\n@compiled\ndef {}(x):\n    return {}\n"
FILES = {
    "outer.py": KERNEL.format("inner", "inner", "outer", "inner(x) + 1"),
    "inner.py": KERNEL.format("deep.less", "LESS", "inner", "10 * x - LESS"),
    "deep/less.py": "LESS = 0\n",
}
ASK = "from foldnet.wing.outer import outer; print(outer(2), *(sum(n.values()) for n in outer.stats[1:]))"


@pytest.fixture
def package(tmp_path):
    """A package with a kernel that calls another, which takes a constant from a third file."""
    home = tmp_path / "first/foldnet"
    (home / "wing/deep").mkdir(parents=True)
    (home / "__init__.py").touch()
    for name in ("_compiled.py", "_progress.py"):
        shutil.copy(PACKAGE / name, home)
    for name, text in FILES.items():
        (home / "wing" / name).write_text(text)
    return home


def asked(package: Path) -> tuple[int, int, int]:
    """In a process of its own: the kernel's value, how often it was found and how often it had to be compiled."""
    fresh = {"PYTHONDONTWRITEBYTECODE": "1"}  # Python itself looks at a file's length and second only
    settings = {**os.environ, **fresh, "PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": ""}
    done = subprocess.run([sys.executable, "-c", ASK], env=settings, capture_output=True, text=True, cwd=package, timeout=600)
    assert done.returncode == 0, done.stderr
    value, hits, misses = map(int, done.stdout.split())
    return value, hits, misses


def kept(package: Path) -> list[str]:
    return sorted(p.name for p in package.rglob("*.nb?"))


def test_a_kernel_is_compiled_anew_when_what_it_calls_has_changed(package):
    assert asked(package) == (21, 0, 1)
    assert asked(package) == (21, 1, 0)
    before = kept(package)
    assert len(before) == 4  # two kernels, each with an index and a compiled form

    for name, old, new, value in [
        ("wing/inner.py", "10 * x", "30 * x", 61),
        ("wing/deep/less.py", "LESS = 0", "LESS = 7", 54),
        ("wing/outer.py", "@compiled", "# a line\n@compiled", 54),
    ]:
        path = package / name
        path.write_text(path.read_text().replace(old, new))
        assert asked(package) == (value, 0, 1)
        assert kept(package) == before


def test_what_is_kept_holds_in_a_clone_with_other_times_and_not_in_one_with_other_code(package, tmp_path):
    assert asked(package) == (21, 0, 1)
    clone = tmp_path / "second/foldnet"
    shutil.copytree(package, clone)
    for path in clone.rglob("*.py"):
        os.utime(path, (1e9, 1e9))
    assert asked(clone) == (21, 1, 0)
    (clone / "wing/deep/less.py").write_text("LESS = 1\n")
    assert asked(clone) == (20, 0, 1)
    assert asked(package) == (21, 1, 0)


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.stem)
def test_all_that_a_kernel_imports_is_looked_at(path):
    """Names of the package come by `from .module import name`, the form that is understood."""
    found = _compiled.sources(path)
    assert path in found
    assert PACKAGE / "_compiled.py" in found
    for file, text in found.items():
        imports = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Import, ast.ImportFrom))]
        ours = [n for n in imports if getattr(n, "level", 0) or "foldnet" in ast.unparse(n)]
        assert len(ours) == len(_compiled.RELATIVE.findall(text.decode())), file


# ---- plain Python while nothing is compiled ------------------------------------------------------------------------------

FIRST = """
import sys, time, numba
from numba.core import event
seen = []
class Told(event.Listener):
    def on_start(self, event): seen.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass
event.register("numba:compile", Told())
import torch
from foldnet import deep_spline, of, regions, ReLUNet
begin = time.process_time()
model = ReLUNet.random((2, 16, 16, 1), seed=0)
faces = len(regions(model)), len(of(model.to_sequential()).regions())
bends = len(deep_spline(ReLUNet.random((1, 16, 16, 1), seed=0)).place)
print(*faces, bends, time.process_time() - begin, *seen)
"""


def test_the_first_small_picture_compiles_nothing(tmp_path):
    settings = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", FIRST], env=settings, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    faces, traced, bends, seconds, *compiled = done.stdout.split()
    assert not compiled
    assert faces == traced == "177"
    assert int(bends) == 30
    assert float(seconds) < 2


def test_plain_and_compiled_kernels_agree():
    from foldnet._plain import plain
    from foldnet.geometry import _layer_kernel, regions
    from foldnet.splines import _depth_kernel, depth

    plane, line = (foldnet.ReLUNet.random((n, 9, 9, 1), seed=3) for n in (2, 1))
    found = []
    for how in (lambda kernel: kernel, plain):
        with pytest.MonkeyPatch.context() as patched:
            for module, name in ((_layer_kernel, "draw"), (_depth_kernel, "splines")):
                patched.setattr(module, name, how(getattr(module, name)))
            patched.setattr("foldnet._plain.ready", lambda kernel: True)
            found.append((regions.regions(plane), depth.deep_spline(line)))
    (one, spline), (two, other) = found
    for name in ("starts", "corners", "sides", "edges", "edge_faces", "layer", "neuron"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    for name in ("vertices", "values"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-12)
    for name in ("vertex", "layer", "neuron", "switches"):
        np.testing.assert_array_equal(getattr(spline, name), getattr(other, name))
    np.testing.assert_allclose(spline.place, other.place, rtol=1e-12)
