"""Other projects' programs: ``tools/dev foreign DIR``. Every function of every .mlir file below a
folder goes through each pass of redfuse-opt and through the compiler, in processes that may die;
a table says how many compile, how many are refused, and why. 1 if one crashes, hangs, or ends in an
error that is no redfuse.Error."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from pool import run

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))
from devlib.passes import every  # noqa: E402

SCRIPT = Path(__file__).with_name("foreign_worker.py")
SPLIT = re.compile(r"^\s*// -----.*$", re.M)
ALIAS = re.compile(r"^\s*[#!][\w.$-]+\s*=.*$", re.M)
FUNCTION = re.compile(r"^\s*func\.func\b", re.M)
NAME = re.compile(r"@([\w.$-]+|\"[^\"]*\")")
CALL = re.compile(r"\bcall\s+@([\w.$-]+)")
TOKENS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[{}]')
BROKEN = ("crash", "hang", "raw")


def body_end(text: str, start: int) -> int:
    """Where the braces that open after ``start`` have closed and a line ends."""
    depth = 0
    for token in TOKENS.finditer(text, start):
        depth += (token[0] == "{") - (token[0] == "}")
        rest = text[token.end() :].split("\n", 1)[0].strip()
        if token[0] == "}" and depth == 0 and not rest.startswith(("{", "->", "attributes")):
            return token.end()
    return len(text)


def functions(section: str) -> Iterator[tuple[str, str]]:
    """Functions of a part of a file, each a module with the aliases and functions that it needs."""
    aliases = "\n".join(ALIAS.findall(section))
    found: dict[str, str] = {}
    at = 0
    while match := FUNCTION.search(section, at):
        end = body_end(section, match.end())
        text = section[match.start() : end]
        if name := NAME.search(text):
            found[name[1]] = text
        at = max(end, match.end())
    for name, text in found.items():
        needed, waiting = {name: text}, [text]
        while waiting:
            for called in CALL.findall(waiting.pop()):
                if called in found and called not in needed:
                    needed[called] = found[called]
                    waiting.append(found[called])
        if "{" in text:
            yield name, "\n".join([aliases, *needed.values()]) + "\n"


def programs(folder: Path) -> Iterator[tuple[str, str, str]]:
    """(where, name, text) of all functions."""
    for path in sorted(folder.rglob("*.mlir")):
        text = path.read_text(errors="replace")
        for number, section in enumerate(SPLIT.split(text)):
            for name, program in functions(section):
                if "tensor<" in program or "memref<" in program or "vector<" in program:
                    yield f"{path.relative_to(folder)}:{number}", name, program


def passes() -> list[str]:
    """Every pass of the project, by its flag."""
    return [one.flag for one in every()]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="tools/dev foreign", description=__doc__.split("\n")[0])
    add = made.add_argument
    add("folder", type=Path, help="with .mlir files, of another project's tests for example")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    add("--seconds", type=float, default=120, help="for one function (120)")
    add("--count", type=int, default=0, help="functions at most, spread over the files (0: all)")
    add("--out", type=Path, help="the record (build/foreign/NAME.json)")
    return made


def main() -> int:
    """0 if none breaks anything."""
    given = parser().parse_args()
    if not given.folder.is_dir():
        raise SystemExit(f"tools/dev foreign: {given.folder} is no folder")
    found = list(programs(given.folder))
    if given.count and len(found) > given.count:
        found = [found[i * len(found) // given.count] for i in range(given.count)]
    steps = passes()
    tasks = [{"id": i, "entry": name, "text": text, "steps": [*steps, "unfused", "fused"]}
             for i, (_, name, text) in enumerate(found)]  # fmt: skip
    answers = list(watched(run(tasks, given.jobs, SCRIPT, given.seconds), len(tasks)))
    # What took its process with it says not at which step it was.
    broken = [a for a in answers if a.get("kind") in BROKEN]
    single = [{**tasks[a["id"]], "steps": [s]} for a in broken for s in tasks[a["id"]]["steps"]]
    ends = [a for a in run(single, given.jobs, SCRIPT, given.seconds) if a.get("kind") in BROKEN]
    out = given.out or ROOT / "build" / "foreign" / f"{given.folder.resolve().name}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"answers": answers, "ends": ends, "where": found}))
    print(table(answers))
    for answer in ends:
        where, name, _ = found[answer["id"]]
        at = answer.get("steps", answer.get("at"))
        print(f"{answer['kind']}: {where} @{name} in {at}: {answer['detail'][:300]}")
    print(f"{out}: {len(answers)} functions, {len(broken)} that crash, hang or end in a raw error")
    return int(bool(broken))


def watched(answers: Iterator[dict], total: int) -> Iterator[dict]:
    """With a line of progress."""
    for number, answer in enumerate(answers, 1):
        if number % 20 == 0 or number == total:
            print(f"\r{number} of {total} functions   ", end="", file=sys.stderr, flush=True)
        yield answer
    print(file=sys.stderr)


def table(answers: list[dict]) -> str:
    """How many do what, and the reasons, the most frequent first."""
    kinds: Counter[str] = Counter()
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for answer in answers:
        kind = answer.get("kind", "")
        if kind in BROKEN:
            kinds[kind] += 1
            continue
        for step, (outcome, reason) in answer["outcomes"].items():
            kinds[f"{step}: {outcome}"] += 1
            if reason:
                reasons[f"{step}: {outcome}"][reason] += 1
    made = ["| functions | what becomes of them |", "|---|---|"]
    for kind, count in sorted(kinds.items()):
        made.append(f"| {count} | {kind} |")
    for kind, counted in sorted(reasons.items()):
        made += ["", f"{kind}, because of"]
        made += [f"  {n:4}  {reason}" for reason, n in counted.most_common(25)]
    return "\n".join(made)


if __name__ == "__main__":
    sys.exit(main())
