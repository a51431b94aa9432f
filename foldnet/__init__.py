"""foldnet: how ReLU networks fold space. The package under the executable book of the same name.

The names most people need are here and are imported when they are first used; the rest stands in the parts, as in
`foldnet.geometry.boundaries`. Importing foldnet does nothing else: no seeds, no styles, no downloads.

>>> import foldnet
>>> net = foldnet.ReLUNet.random((1, 4, 1), seed=0)
>>> foldnet.fit(net, [[0.0], [1.0]], [[1.0], [0.0]], epochs=10, progress=False).net.sizes
(1, 4, 1)
>>> int(foldnet.swaps("0110"))
2
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .nets import ReLUNet

if TYPE_CHECKING:
    from .boolean.swaps import swaps, witness
    from .data import cifar10, digits, mnist
    from .geometry.grid import on_grid
    from .geometry.regions import regions
    from .growth.amplitude import best_amplitude
    from .growth.fold_loop import grow_by_folding
    from .growth.folding import fold, grow
    from .growth.neurons import optimal_neurons, with_neurons
    from .growth.smooth import SmoothNet
    from .growth.tiny import tiny
    from .growth.widen import widen
    from .nets import stack
    from .piecewise.compare import compare
    from .piecewise.net import of
    from .splines.breakpoints import spline
    from .splines.depth import deep_spline
    from .train import fit

__version__ = "1.1.0"

# Each module and the names that it gives to `import foldnet`; the imports above say the same to type checkers.
_NAMES = {
    "boolean.swaps": ("swaps", "witness"),
    "data": ("cifar10", "digits", "mnist"),
    "geometry.grid": ("on_grid",),
    "geometry.regions": ("regions",),
    "growth.amplitude": ("best_amplitude",),
    "growth.fold_loop": ("grow_by_folding",),
    "growth.folding": ("fold", "grow"),
    "growth.neurons": ("optimal_neurons", "with_neurons"),
    "growth.smooth": ("SmoothNet",),
    "growth.tiny": ("tiny",),
    "growth.widen": ("widen",),
    "nets": ("stack",),
    "piecewise.compare": ("compare",),
    "piecewise.net": ("of",),
    "splines.breakpoints": ("spline",),
    "splines.depth": ("deep_spline",),
    "train": ("fit",),
}
_MODULE = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "ReLUNet",
    "SmoothNet",
    "__version__",
    "best_amplitude",
    "cifar10",
    "compare",
    "deep_spline",
    "digits",
    "fit",
    "fold",
    "grow",
    "grow_by_folding",
    "mnist",
    "of",
    "on_grid",
    "optimal_neurons",
    "regions",
    "spline",
    "stack",
    "swaps",
    "tiny",
    "widen",
    "with_neurons",
    "witness",
]


def __getattr__(name: str) -> object:
    """A name of `__all__`, imported at its first use."""
    if name not in _MODULE:
        raise AttributeError(f"module 'foldnet' has no attribute {name!r}; its names are {', '.join(__all__)}")
    value = globals()[name] = getattr(import_module(f".{_MODULE[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
