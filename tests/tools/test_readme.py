"""What the README promises: its lines on one's own network run as they stand."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_five_lines_of_the_readme_run():
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    exec(code, names)
    assert len(names["pieces"]) > 30
    assert abs(names["pieces"].areas.sum() - 36) < 1e-9


def test_its_pictures_are_there():
    pictures = re.findall(r'<img src="([^"]+)"', (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(pictures) == 2
    assert all((ROOT / picture).is_file() for picture in pictures)
