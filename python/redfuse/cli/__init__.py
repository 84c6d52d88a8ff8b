"""The command ``redfuse``: thin commands over the Python API.

Results go to stdout, progress and messages to stderr. Exit codes: 0 fine, 1 a check failed, 2
anything else, 128 and the number of the signal that ended it (130: Ctrl-C).
"""

from __future__ import annotations

import errno
import signal
import sys
import warnings
from typing import Any

_INTERRUPTED = 128 + signal.SIGINT
# Why what is written to stdout may find no room.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
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
        _say(MISSING)
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
        _say(f"redfuse: error: {error}")
        return 2
    except KeyboardInterrupt:
        _say("redfuse: interrupted")
        return _INTERRUPTED
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 2
    except BrokenPipeError:
        _close_quietly()
        return 2
    except OSError as error:
        # Of a file with a name, whoever wrote it has said so.
        if error.filename is not None or error.errno not in _FULL:
            return _usage_error(error)
        _close_quietly()
        _say(f"redfuse: error: cannot write the output: {error.strerror}")
        return 2
    except MemoryError:
        _say("redfuse: error: not enough memory")
        return 2
    except Exception as error:  # usage errors of the command line, whatever library typer builds on
        return _usage_error(error)


def _say(text: str) -> None:
    """On stderr, unless nothing can be written there either: the exit code says it then."""
    try:
        if sys.stderr is not None:
            print(text, file=sys.stderr, flush=True)
    except OSError:
        sys.stderr = None


def _usage_error(error: Any) -> int:
    code = getattr(error, "exit_code", None)
    if code is None:
        _say(f"redfuse: internal error: {type(error).__name__}: {error}")
        _say("redfuse: please report this with the program that caused it")
        return 2
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        if context is not None:
            _say(context.get_usage())
        _say(f"redfuse: error: {error.format_message()}")
        return 2
    return int(code)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print(f"redfuse: warning: {message}", file=sys.stderr)


def _close_quietly() -> None:
    """After a reader like ``head`` has gone: nothing more can be written, and that is no
    traceback."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
