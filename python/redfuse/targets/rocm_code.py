"""``python -m redfuse.targets.rocm_code IR CHIP LEVEL FORMAT OBJECT``: machine code of LLVM IR for
an AMD GPU, for the pass ``redfuse-rocdl-to-binary``. FORMAT is ``isa`` (assembly) or ``bin``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import Error
from .rocm import code_object


def main(words: Sequence[str]) -> str | None:
    """Writes the object; what is wrong, in words."""
    source, chip, level, form, target = words
    try:
        image, listing, _ = code_object(Path(source).read_text(), chip, int(level))
    except Error as error:
        return str(error)
    Path(target).write_bytes(image if form == "bin" else listing.encode())
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
