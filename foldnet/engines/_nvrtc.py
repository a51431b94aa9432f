"""CUDA kernels from their text: compiled by NVRTC, which comes with torch for CUDA, kept on disk, started by the driver.

Both libraries are called by ctypes, so that nothing has to be installed and no compiler be there. (Triton comes with torch too,
but its blocks, whose sides are powers of two, hold no network in the registers of one thread: what makes small networks fast.)
"""

from __future__ import annotations

import ctypes
import glob
import hashlib
import os
import sys
import tempfile
from functools import cache
from pathlib import Path

import torch

# Registers count, denormal numbers do not: divisions and roots of float32 are the fast ones. Nothing here changes float64.
OPTIONS = ("--std=c++17", "--ftz=true", "--prec-sqrt=false", "--prec-div=false")


class KernelError(RuntimeError):
    """NVRTC or the driver is not there, or refused what it was given."""


def kernel(source: str, device: torch.device):
    """The function `train` of this text on that device: call it with a ctypes structure, how many blocks, how many threads.

    It has come to an end when the call does, unless it is told not to `wait`: then what comes next on the stream waits."""
    with torch.cuda.device(device):
        index = torch.cuda.current_device()
    return _loaded(source, index)


@cache
def _loaded(source: str, index: int):
    driver = _driver()
    with torch.cuda.device(index):
        _make_current(driver, index)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        image = compiled(source, torch.cuda.get_device_capability(index))
        _ask(driver.cuModuleLoadData(ctypes.byref(module), image), "the driver does not load the kernel")
        _ask(driver.cuModuleGetFunction(ctypes.byref(function), module, b"train"), "the kernel has no function")

    def start(task: ctypes.Structure, blocks: int, threads: int, wait: bool = True) -> None:
        with torch.cuda.device(index):
            _make_current(driver, index)
            stream = torch.cuda.current_stream()
            arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.pointer(task), ctypes.c_void_p))
            sizes = (blocks, 1, 1, threads, 1, 1, 0)
            started = driver.cuLaunchKernel(function, *sizes, ctypes.c_void_p(stream.cuda_stream), arguments, None)
            _ask(started, "the kernel does not start")
            if wait:
                stream.synchronize()

    return start


# ---- text to machine code ----------------------------------------------------------------------------------------------


def compiled(source: str, capability: tuple[int, int]) -> bytes:
    """Machine code for a GPU of this capability, or what its driver translates; from the disk where it was made before."""
    library = _nvrtc()
    version = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(*map(ctypes.byref, version))
    options = _target(library, 10 * capability[0] + capability[1]), *OPTIONS
    key = "\n".join((source, *options, *(str(v.value) for v in version)))
    file = folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.bin"
    try:
        return file.read_bytes()
    except OSError:
        pass
    image = _compile(library, source, options)
    try:  # whole or not at all, whoever else writes it
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as part:
            part.write(image)
        os.replace(part.name, file)
    except OSError:  # no place to keep it
        pass
    return image


def folder() -> Path:
    """Where compiled kernels are kept."""
    base = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return Path(base or Path.home() / ".cache") / "foldnet" / "kernels"


def _target(library, capability: int) -> str:
    """The GPU's own code where this NVRTC knows it, otherwise the newest one that it does know, for the driver to translate."""
    count = ctypes.c_int()
    _ask(library.nvrtcGetNumSupportedArchs(ctypes.byref(count)), "NVRTC does not say what it compiles for")
    known = (ctypes.c_int * count.value)()
    _ask(library.nvrtcGetSupportedArchs(known), "NVRTC does not say what it compiles for")
    if capability in known:
        return f"--gpu-architecture=sm_{capability}"
    older = [k for k in known if k <= capability]
    if not older:
        raise KernelError(f"this NVRTC compiles for no GPU as old as capability {capability / 10}")
    return f"--gpu-architecture=compute_{max(older)}"


def _compile(library, source: str, options: tuple[str, ...]) -> bytes:
    program = ctypes.c_void_p()
    made = library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"foldnet.cu", 0, None, None)
    _ask(made, "NVRTC takes no program")
    try:
        texts = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
        if library.nvrtcCompileProgram(program, len(options), texts):
            log = _read(library, "ProgramLog", program).decode(errors="replace")
            raise KernelError(f"NVRTC does not compile the kernel: {log}")
        return _read(library, "CUBIN" if "sm_" in options[0] else "PTX", program)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _read(library, what: str, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    _ask(getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), f"NVRTC gives no {what}")
    text = ctypes.create_string_buffer(size.value)
    _ask(getattr(library, f"nvrtcGet{what}")(program, text), f"NVRTC gives no {what}")
    return text.raw


# ---- the two libraries -------------------------------------------------------------------------------------------------


@cache
def _nvrtc() -> ctypes.CDLL:
    """NVRTC of torch's CUDA: by its name where it is loaded or on the path, otherwise among the packages beside torch."""
    major = (torch.version.cuda or "").split(".")[0]
    beside = Path(torch.__file__).parent
    if sys.platform == "win32":
        names, patterns = [], [beside / "lib" / f"nvrtc64_{major}*_0.dll"]
    else:
        names = [f"libnvrtc.so.{major}"]
        patterns = [beside.parent / "nvidia" / "*" / "lib" / f"libnvrtc.so.{major}*", beside / "lib" / "libnvrtc*.so*"]
    found = [file for pattern in patterns for file in sorted(glob.glob(str(pattern))) if "builtins" not in file]
    for name in names + found:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise KernelError(f"there is no NVRTC for CUDA {torch.version.cuda} beside torch {torch.__version__}")


@cache
def _driver() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError as error:
        raise KernelError(f"there is no CUDA driver: {error}") from None


def _make_current(driver, index: int) -> None:
    """Torch's own context of the device, in this thread: a thread that has not used the device yet has none."""
    context = ctypes.c_void_p()
    _ask(driver.cuCtxGetCurrent(ctypes.byref(context)), "the driver has no context")
    if not context.value:
        torch.cuda.synchronize(index)
        _ask(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), index), "the device has no context")
        _ask(driver.cuCtxSetCurrent(context), "the context is not taken")


def _ask(status: int, complaint: str) -> None:
    if status:
        raise KernelError(f"{complaint} (error {status})")
