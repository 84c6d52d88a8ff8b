"""Programs of others that a compilation runs."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from ..errors import CompileError

_LIMIT_SECONDS = 600


def run(command: Sequence[str], what: str) -> subprocess.CompletedProcess[str]:
    """Runs ``command`` and waits for it; Ctrl-C ends it. Raises CompileError, about ``what``,
    where it does not run or takes too long; its exit status is the caller's to judge."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_LIMIT_SECONDS,
            check=False,
        )  # fmt: skip
    except OSError as error:
        raise CompileError(f"{what} does not run: {error.strerror or error}") from None
    except subprocess.TimeoutExpired:
        raise CompileError(f"{what} took longer than {_LIMIT_SECONDS} s and was stopped") from None
