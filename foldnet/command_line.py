"""What every command of the repository does with its errors.

>>> from foldnet.command_line import answered
>>> answered("foldnet", lambda: 0)
0
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable


def answered(name: str, work: Callable[[], int], after_stop: str = "") -> int:
    """Do what a command was asked for; what can go wrong is told in a sentence, and the exit status says it too.

    `name` opens the sentence, `work` does it and gives the exit status, `after_stop` is what is said after Ctrl+C.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # not every file of Windows has letters for a formula: a ? will do
        sys.stdout.reconfigure(errors="replace")
    try:
        status = work()
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print(f"\n{name}: stopped" + after_stop, file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, as head, has seen enough; what is left must not be written on leaving
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, FileNotFoundError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except OSError as error:  # a disk that is full or may not be written, a file where a folder should be
        print(f"{name}: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""), file=sys.stderr)
        return 1
    except MemoryError:
        print(f"{name}: there is not enough memory for this" + after_stop, file=sys.stderr)
        return 1
