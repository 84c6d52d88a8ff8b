"""Random cascades as a hypothesis strategy, which shrinks what fails."""

from __future__ import annotations

from typing import Any

from generate import Choices, generate
from hypothesis import strategies as st
from program import Program


@st.composite
def programs(draw: Any) -> Program:
    """A program with results."""
    program = generate(Choices(lambda low, high: draw(st.integers(low, high))))
    return program
