"""What stands for `google.colab` where a submission runs: it can be imported, and whatever is called in it does nothing."""

from unittest.mock import MagicMock


def __getattr__(name: str) -> MagicMock:
    if name.startswith("__"):
        raise AttributeError(name)
    return MagicMock(name=f"google.colab.{name}")
