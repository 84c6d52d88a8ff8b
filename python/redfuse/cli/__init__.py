"""The command ``redfuse``: thin commands over the Python API.

Results go to stdout, progress and messages to stderr. Exit codes: 0 fine, 1 a check failed, 2
anything else, 128 and the number of the signal that ended it (130: Ctrl-C).
"""

from __future__ import annotations

import signal
import sys
import warnings
from typing import Any

_INTERRUPTED = 128 + signal.SIGINT
MISSING = (
    "redfuse: the command needs the packages typer and rich: pip install 'redfuse[cli]' "
    "(the Python API works without them)"
)


def main(arguments: list[str] | None = None) -> int:
    """Entry point of the console script; returns the exit code."""
    try:
        import rich  # noqa: F401
        import typer
    except ImportError:
        print(MISSING, file=sys.stderr)
        return 2
    from ..errors import Error
    from ..runtime.signals import ending_commands
    from . import commands

    warnings.showwarning = _show_warning  # type: ignore[assignment]
    app = commands.make_app(typer)
    try:
        with ending_commands():
            code = app(arguments, standalone_mode=False, prog_name="redfuse")
        if code == _INTERRUPTED:  # typer's answer to Ctrl-C
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except Error as error:
        print(f"redfuse: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("redfuse: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 2
    except BrokenPipeError:
        _close_quietly()
        return 2
    except MemoryError:
        print("redfuse: error: not enough memory", file=sys.stderr)
        return 2
    except Exception as error:  # usage errors of the command line, whatever library typer builds on
        return _usage_error(error)


def _usage_error(error: Any) -> int:
    code = getattr(error, "exit_code", None)
    if code is None:
        print(f"redfuse: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        print("redfuse: please report this with the program that caused it", file=sys.stderr)
        return 2
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        if context is not None:
            print(context.get_usage(), file=sys.stderr)
        print(f"redfuse: error: {error.format_message()}", file=sys.stderr)
        return 2
    return int(code)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print(f"redfuse: warning: {message}", file=sys.stderr)


def _close_quietly() -> None:
    """After a reader like ``head`` has gone: nothing more can be written, and that is no
    traceback."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
