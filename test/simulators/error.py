"""What a simulator raises when a program does what it must not."""

from __future__ import annotations


class SimulationError(Exception):
    """A wrong program: the message names the line of its text and the instruction."""

    def __init__(self, message: str, line: int = 0, text: str = ""):
        self.message, self.line, self.text = message, line, text
        where = f"line {line}: {text}: " if line else ""
        super().__init__(where + message)
