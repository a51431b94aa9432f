"""Answers travel as plain data. This file is copied beside every submission: it holds no secret and is trusted by nobody.

In the submission's process `reply` has one value; the judge encodes arguments and decodes results. Nothing but numbers, texts,
arrays, networks and the facts of a figure crosses; no object, no code, no pickle.
"""

from __future__ import annotations

import base64
import math
from fractions import Fraction

import numpy as np

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex128")


class Code:
    """An argument that is a function: its text, which the other side evaluates, as in `Code("lambda x: x**2")`."""

    def __init__(self, text: str):
        self.text = text


class Opaque:
    """What stands for a result that is no plain data: it equals nothing and is no number."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def encode(value) -> object:
    """Plain data as JSON can hold it; whatever is not plain becomes `Opaque`."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else {"is": "opaque", "text": "a number of more than 64 bits"}
    if isinstance(value, Fraction):
        try:
            return encode(float(value))
        except OverflowError:
            return {"is": "opaque", "text": "a number that is too large"}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"is": "float", "text": str(value)}
    if isinstance(value, np.ndarray) and value.dtype == object and any(type(v) is Fraction for v in value.flat):
        return encode(value.tolist())
    if isinstance(value, (list, tuple)):
        return {"is": type(value).__name__ if type(value) in (list, tuple) else "list", "items": [encode(v) for v in value]}
    if isinstance(value, dict):
        return {"is": "dict", "items": [[encode(k), encode(v)] for k, v in value.items()]}
    if isinstance(value, Code):
        return {"is": "code", "text": value.text}
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.name in DTYPES:
        data: np.ndarray = np.ascontiguousarray(value)
        return {
            "is": "array",
            "dtype": data.dtype.name,
            "shape": list(np.shape(value)),
            "data": base64.b64encode(data.data).decode(),
        }
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if kind in ("torch.Tensor", "torch.nn.parameter.Parameter"):
        return {"is": "tensor", "array": encode(value.detach().cpu().numpy())}
    if kind == "foldnet.nets.ReLUNet":
        parts = [[encode(p) for p in part] for part in (value.weights, value.biases)]
        return {"is": "net", "weights": parts[0], "biases": parts[1], "leak": float(value.leak)}
    if kind == "matplotlib.figure.Figure":
        common = [text.get_text() for legend in value.legends for text in legend.get_texts()]
        return {"is": "figure", "axes": [encode(_axes(axes, common)) for axes in value.axes]}
    return {"is": "opaque", "text": f"an object of the type {type(value).__name__}"}


def _axes(axes, common: list[str]) -> dict:
    """What a test may ask of a plot: its words, its scales and the points of its lines; a legend of the figure is its own too."""
    legend = axes.get_legend()
    return {
        "title": axes.get_title(),
        "xlabel": axes.get_xlabel(),
        "ylabel": axes.get_ylabel(),
        "xscale": axes.get_xscale(),
        "yscale": axes.get_yscale(),
        "legend": [*(text.get_text() for text in (legend.get_texts() if legend else ())), *common],
        "lines": [np.array([line.get_xdata(), line.get_ydata()], dtype=float) for line in axes.get_lines()],
        "bars": len(axes.patches),
    }


def decode(data, names: dict | None = None):
    """The value that was encoded. Code is evaluated among `names`, and refused where there are none: the judge takes no code."""
    if not isinstance(data, dict):
        if isinstance(data, list):
            raise ValueError("a list without its kind is no answer")
        return data
    kind = data.get("is")
    if kind == "float":
        return float(data["text"])
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(decode(v, names) for v in data["items"])
    if kind == "dict":
        return {decode(k, names): decode(v, names) for k, v in data["items"]}
    if kind == "array":
        return _array(data)
    if kind == "tensor":
        import torch

        return torch.from_numpy(_array(data["array"]))
    if kind == "net":
        from foldnet.nets import ReLUNet

        return ReLUNet([decode(w) for w in data["weights"]], [decode(b) for b in data["biases"]], float(data["leak"]))
    if kind == "figure":
        return [decode(axes) for axes in data["axes"]]
    if kind == "opaque":
        return Opaque(str(data["text"])[:200])
    if kind == "code" and names is not None:
        return eval(data["text"], names)
    raise ValueError(f"no answer is of the kind {str(kind)[:40]!r}")


def _array(data: dict) -> np.ndarray:
    if data["dtype"] not in DTYPES:
        raise ValueError("an array holds numbers")
    shape = tuple(int(n) for n in data["shape"])
    return np.frombuffer(bytearray(base64.b64decode(data["data"])), dtype=data["dtype"]).reshape(shape)


# ---- in the submission's process -----------------------------------------------------------------------------------------


def reply(asked: dict) -> dict:
    """The answer to one question of the judge: the value of a name, or of a call; or the error that it raised."""
    import __main__

    try:
        if not hasattr(__main__, asked["name"]):
            raise NameError(f"{asked['name']} is not defined")
        value = getattr(__main__, asked["name"])
        if "args" in asked:
            if not callable(value):
                raise TypeError(f"{asked['name']} is not a function any more")
            args = [decode(a, vars(__main__)) for a in asked["args"]]
            value = value(*args, **{k: decode(v, vars(__main__)) for k, v in asked["kwargs"].items()})
        return {"value": encode(value)}
    except KeyboardInterrupt:
        return {"error": "TimeoutError", "says": "it was stopped"}
    except Exception as error:  # a submission may raise anything
        return {"error": type(error).__name__, "says": str(error)[:300]}
