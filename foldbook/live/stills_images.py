"""Stills of the live figures on networks that read images, and on what they look at; stills.py says what they are for.

>>> from foldbook.live import live
>>> live("comparison").still[:39]
'<img alt="The curves of two networks, o'
"""

from __future__ import annotations

import functools

import numpy as np
import torch

from foldnet import data, plots
from foldnet.growth.moments import SecondMoment
from foldnet.growth.neurons import optimal_neurons
from foldnet.nets import ReLUNet

from .stills_boolean import BLACK, NOTE, ORANGE


def draw_images(state: dict) -> str:
    """`kind` ("dense", "linear"), `optimizer` ("gd", "adam") and `steps` of training, at most 300, from the start of `seed`;
    `digit`, from 0, or `ink`, 64 numbers from 0 to 1. Good ones: as it begins; `steps=300`, `kind="linear", steps=300`.
    """
    images = data.digits()
    shown = state["ink"] or images.x_train[state["digit"]]
    fig, ax = plots.subplots(figsize=(2.6, 2.6))
    ax.imshow(np.reshape(shown, (8, 8)), cmap="gray_r", vmin=0, vmax=1)
    ax.axis("off")
    what = f"A handwritten {images.y_train[state['digit']]}" if not state["ink"] else "A painted digit"
    return plots.image(fig, f"{what} of 8 × 8 pixels, at which a network has a linear map for each of ten answers.{NOTE}", "png")


@functools.cache
def lacking(images: int, ridge: float) -> torch.Tensor:
    """What the best neurons read, a row each, for a network that knows nothing yet and the first so many small digits."""
    some = data.digits()
    x, y = torch.as_tensor(some.x_train[:images]).double(), torch.as_tensor(some.y_train[:images])
    empty = ReLUNet.random((64, 1, 10))
    empty = empty.with_vector(torch.zeros_like(empty.vector()))
    moment = SecondMoment.with_ridge(x, ridge)
    return optimal_neurons(empty, 0, x, y, loss="cross_entropy", moment=moment, old="kept", signs=False).incoming


def draw_mnist(state: dict) -> str:
    """How many `images` the neurons are made for (10 to 150), the `ridge`, a share of the mean square of a pixel, and which
    `neuron` is shown, from 1. Good ones: as it begins; `ridge=0.1`; `images=150`.
    """
    reads = lacking(state["images"], state["ridge"])[state["neuron"] - 1].reshape(8, 8).numpy()
    fig, ax = plots.subplots(figsize=(2.6, 2.6))
    ax.imshow(reads, cmap=plots.signed(), vmin=-np.abs(reads).max(), vmax=np.abs(reads).max())
    ax.axis("off")
    alt = f"What the best neuron for {state['images']} digits reads: one square of colour for each of 64 pixels."
    return plots.image(fig, alt + NOTE, "png")


def draw_sensitivity(state: dict) -> str:
    """`look` ("valley", "ramp", "random"), its `seed`, and the `angle` of the arrow in degrees. Good ones: as it begins."""
    fig, ax = plots.subplots(figsize=(3.2, 3.2))
    way = 0.7 * np.array([np.cos(np.deg2rad(state["angle"])), np.sin(np.deg2rad(state["angle"]))])
    ax.annotate("", way, -way, arrowprops={"color": ORANGE})
    ax.set(xlim=(-1, 1), ylim=(-1, 1), xticks=[], yticks=[], aspect="equal")
    return plots.image(fig, f"An arrow in the plane: one direction out of many, in which a function may change.{NOTE}")


def draw_comparison(state: dict) -> str:
    """Where the source `bends` (at most five), its `seed`, and `other`, that of the target. Good ones: as it begins;
    `bends=[0]`.
    """
    fig, ax = plots.subplots(figsize=(6.4, 1.6))
    ax.plot([-2, 2], [0, 0], color=BLACK)
    for bend in state["bends"]:
        ax.plot(bend, 0, "o", color=ORANGE)
    ax.set(xlim=(-2, 2), yticks=[], xlabel="$x$")
    many = len(state["bends"])
    alt = f"The curves of two networks, one of them with {many} bends, which is to be told in the words of the other."
    return plots.image(fig, alt + NOTE)
