"""Where the book's claims and stored results lie: in the repository, or inside the installed package."""

from pathlib import Path


def book() -> Path:
    """The folder that holds `plan.yml`, `claims/` and `data/`."""
    here = Path(__file__).resolve().parent
    for folder in (here.parent / "book", here / "_book"):
        if (folder / "plan.yml").is_file():
            return folder
    raise FileNotFoundError(
        f"foldbook at {here} has no plan.yml of the book beside it: install it again, or work in a clone of the repository"
    )


def repository() -> Path:
    """The root of the clone; raises where foldbook was installed from a wheel."""
    root = Path(__file__).resolve().parent.parent
    if not (root / "_toc.yml").is_file():
        raise FileNotFoundError("this needs a clone of the repository: the installed package has no book beside it")
    return root
