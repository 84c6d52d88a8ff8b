"""What the scripts here have in common on their command lines."""

from __future__ import annotations

import argparse


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Described by the first line of a script."""
    return argparse.ArgumentParser(description=(doc or "").split("\n")[0])


def add_target(made: argparse.ArgumentParser) -> None:
    """What is compiled for: this machine's GPU, or what is named."""
    made.add_argument("--target", default="cuda", help="(%(default)s)")


def add_draws(made: argparse.ArgumentParser, count: int) -> None:
    """How many programs are drawn, and from where on."""
    made.add_argument("--seed", type=int, default=0, help="of the first program (%(default)s)")
    made.add_argument("--count", type=int, default=count, help="programs (%(default)s)")
