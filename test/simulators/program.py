"""The text of a module in PTX: kernels, their parameters and instructions, each with its line."""

from __future__ import annotations

import functools
import re

from .error import SimulationError


@functools.cache
def width(kind: str) -> int:
    """Bits of a type."""
    if kind.removesuffix("x2") in ("e4m3", "e5m2"):
        return 16 if kind.endswith("x2") else 8
    return 1 if kind == "pred" else int(re.sub(r"\D", "", kind.replace("bf", "")))


def is_type(word: str) -> bool:
    """Whether a word of an op's name says a type."""
    types = r"[bsuf](8|16|32|64|128)|bf16|b?f16x2|pred|(e4m3|e5m2)(x2)?"
    return re.fullmatch(types, word) is not None


class Instruction:
    """One instruction: a guard, the words of the op, operands."""

    def __init__(self, text: str, line: int):
        match = re.match(r"(?:@(!?)(%p\d+)\s+)?([\w.:]+)\s*(.*)$", text, re.S)
        if not match:
            raise SimulationError("not an instruction", line, text)
        self.text, self.line = text, line
        self.negated, self.guard = match[1] == "!", match[2]
        self.op, *self.words = match[3].replace("::", ".").split(".")
        # The type comes last but for a mode of prmt.
        types = self.words[:-1] if self.words[-1:] == ["f4e"] else self.words
        self.kind = types[-1] if types else ""
        self.operands = re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s{}\[\]]+", match[4])
        inside = self.operands if self.op in ("st", "bra") else self.operands[1:]
        self.sources = frozenset(re.findall(r"%[a-z]+\d+", " ".join([self.guard or "", *inside])))
        made = [] if inside is self.operands else self.operands[:1]
        self.targets = frozenset(re.findall(r"%[a-z]+\d+", " ".join(made)))
        self.is_async_store = self.op == "st" and "async" in self.words

    def names(self, number: int) -> list[str]:
        """The registers of an operand: of {a, b} two."""
        return [name.strip() for name in self.operands[number].strip("{}").split(",")]

    def fault(self, message: str) -> SimulationError:
        return SimulationError(message, self.line, self.text)


# Registers of inline assembly, which are declared in scopes of their own.
_LOCAL = {"p": "%p900001", "q": "%p900002", "da": "%rd900001", "db": "%rd900002", "t": "%r900001"}


def _without_scopes(match: re.Match) -> str:
    """Inline assembly with as many lines: a loop that waits is one instruction, registers have names
    that nothing else has."""
    text = match[1]
    if wait := re.search(r"try_wait\.parity\S* p, (\[\S+\]), (\S+);", text):
        text = f"mbarrier.hold {wait[1]}, {wait[2]};" + "\n" * text.count("\n")
        return f"//\n{text}//"
    text = re.sub(r"^[ \t]*[{}][ \t]*$", "", text, flags=re.M)
    text = re.sub(r"\.reg [^;]*;", "", text)
    for name, register in _LOCAL.items():
        text = re.sub(rf"(?<![\w.%]){name}(?![\w.])", register, text)
    return f"//\n{text}//"


class Kernel:
    """A kernel: its parameters as (name, bytes), and its code."""

    def __init__(self, module: Module, name: str):
        pattern = rf"\.entry {re.escape(name)}\((.*?)\)(.*?)\n\{{\n(.*?)\n\}}"
        match = re.search(pattern, module.text, re.S)
        if not match:
            raise SimulationError(f"no kernel {name}")
        self.module, self.name = module, name
        self.parameters: list[tuple[str, int]] = []
        self.arrays: set[str] = set()  # parameters that are bytes in memory
        for line in match[1].split(",\n"):
            field = re.search(r"\.param (?:\.align \d+ )?\.(\w+).*?(\w+)(?:\[(\d+)\])?\s*$", line)
            if field:
                self.parameters.append((field[2], int(field[3] or width(field[1]) // 8)))
                self.arrays |= {field[2]} if field[3] else set()
        cluster = re.search(r"\.reqnctapercluster (\d+), 1, 1", match[2])
        self.cluster = int(cluster[1]) if cluster else 1
        self.code: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.ends: list[int] = []  # for those who execute it
        self._read(match[3], module.text.count("\n", 0, match.start(3)) + 1)
        read = set().union(*(i.sources for i in self.code))
        # What is read and no instruction writes: the compiler's word for bits that do not matter.
        self.undefined = sorted(read - set().union(*(i.targets for i in self.code)))

    def _read(self, body: str, first: int) -> None:
        text, start = "", 0
        for number, line in enumerate(body.split("\n"), first):
            if undefined := re.match(r"\s*// implicit-def: (%\w+)", line):
                self.code.append(Instruction(f"undefined {undefined[1]}", number))
            rest = re.sub(r"//.*", "", line).strip()
            if label := re.match(r"(\$?\w+):$", rest):
                self.labels[label[1]] = len(self.code)
                continue
            while rest:
                if not text:
                    start = number
                part, end, rest = rest.partition(";")
                text, rest = f"{text} {part.strip()}".strip(), rest.strip()
                if end and text and not text.startswith((".reg", ".loc", ".pragma")):
                    self.code.append(Instruction(text, start))
                text = "" if end else text


class Module:
    """The text of a module, and where its variables are.

    variables: addresses by name; the shared memory of a launch starts at 0."""

    def __init__(self, text: str, variables: dict[str, int] | None = None):
        self.text = re.sub(
            r"// begin inline asm\n(.*?)// end inline asm", _without_scopes, text, flags=re.S
        )
        self.variables = dict(variables or {})
        shared = r"^\.extern \.shared .*?(\w+)\[\];"
        self.variables |= dict.fromkeys(re.findall(shared, text, flags=re.M), 0)
        self._kernels: dict[str, Kernel] = {}

    def kernel(self, name: str) -> Kernel:
        if name not in self._kernels:
            self._kernels[name] = Kernel(self, name)
        return self._kernels[name]
