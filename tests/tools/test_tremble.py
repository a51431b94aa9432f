"""Lines that hang on the last digit are found, rounded ones are not; noise is small, and is there."""

import subprocess
import sys

import nbformat
import pytest

from tools import tremble

FIRM = "import numpy as np\nimport torch\nprint(round(float(torch.full((10,), 0.1).double().sum()), 3))"
SOFT = "x = torch.arange(1, 1000).double()\nprint(float((1 / x).sum()))"
OTHERS = [
    "print(float(np.mean(1 / x.numpy())))",
    "from foldnet import ReLUNet\nReLUNet.random((2, 3, 1))(torch.ones(1, 2)).item()",
]


@pytest.fixture(scope="module")
def chapter(tmp_path_factory):
    path = tmp_path_factory.mktemp("book") / "small.ipynb"
    cells = [nbformat.v4.new_markdown_cell("# Small"), *map(nbformat.v4.new_code_cell, (FIRM, SOFT, *OTHERS))]
    cells.append(nbformat.v4.new_code_cell("print(float(x.sum() / 7))", metadata={"tags": ["nbval-ignore-output"]}))
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    nbformat.write(tremble.executed(path, 1, None), path)
    return path


def test_only_lines_that_hang_on_the_last_digit_are_listed(chapter):
    assert tremble.trembling(chapter, 1, None) == []
    found = tremble.trembling(chapter, 1, seed=1)
    assert [number for number, _, _ in found] == [2, 3, 4]
    for _, was, now in found:
        assert was != now
        assert float(now) == pytest.approx(float(was), rel=1e-12)


def test_a_cell_that_raises_is_listed_with_its_error(chapter, tmp_path):
    notebook = nbformat.read(chapter, as_version=4)
    notebook.cells[1].source = "import torch\nimport numpy as np\nassert float((torch.ones(3).double() / 3).sum()) == 1"
    notebook.cells[1].outputs = []
    nbformat.write(notebook, tmp_path / "x.ipynb")
    assert (1, "0 lines", "1 lines") in tremble.trembling(tmp_path / "x.ipynb", 1, seed=2)


def test_noise_is_a_few_units_of_the_last_digit_and_training_goes_on():
    code = (
        "import numpy as np, torch\nfrom foldnet import ReLUNet\nfrom foldnet.train import fit\nfrom tools import noise\n"
        "a, v = torch.eye(3).double() / 3, np.ones(9) / 9\nbefore = ReLUNet.random((1, 4, 1)).vector()\nnoise.on(3)\n"
        "off = [((a @ a) / (a * a) - 1).diagonal().abs().max().item(), abs(np.sum(v) - 1)]\n"
        "off.append((ReLUNet.random((1, 4, 1)).vector() / before - 1).abs().max().item())\n"
        "assert all(o < 3e-15 for o in off) and any(o > 0 for o in off), off\n"
        "half = np.arange(8) % 2 == 0\n"  # sums of whole numbers are the same everywhere
        "assert np.mean(half) == torch.as_tensor(half).double().mean() == 0.5 and np.sum(half * 3.0) == 12\n"
        "x = torch.linspace(-1, 1, 9).double()[:, None]\n"
        "for engine in ('torch', 'fused'):\n"
        "    run = fit(ReLUNet.random((1, 4, 1), batch=3), x, x.abs(), epochs=50, engine=engine, progress=False)\n"
        "    assert (run.final_loss < run.loss[0]).all()\n"
        "assert torch.func.jacrev(lambda p: (p @ a).sum())(torch.ones(3).double()).shape == (3,)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_lines_are_compared_whether_they_came_before_a_figure_or_after():
    out, show = nbformat.v4.new_output, {"text/plain": "a figure"}
    lines = [out("stream", text="one\n"), out("stream", text="two\n"), out("display_data", data=show)]
    cells = [nbformat.v4.new_code_cell(outputs=outputs) for outputs in (lines, [lines[0], lines[2], lines[1]])]
    assert tremble.text(cells[0]) == tremble.text(cells[1]) == ["one", "two", "a figure"]
