"""Kernels for AMD GPUs on the host: their LLVM IR becomes code of the host, and what waves do is done by
waves.c: lanes run in any order until all of a wave are at the same permute or product, or all of a
block at a barrier. A barrier that some threads never reach is a fault; so is a permute or a product
that some lanes of a wave do not reach. Every load and store is checked: shared memory must have been
written, all else be in arrays. (Registers need no check: in SSA form every one is written.)
"""

from __future__ import annotations

import ctypes
import functools
import random
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import ml_dtypes
import numpy as np

from .error import SimulationError
from .memory import Memory

WAVES = {"gfx90a": 64, "gfx942": 64, "gfx1100": 32}
# What takes the place of an intrinsic: its declaration.
_FUNCTIONS = {
    "workitem.id.x": "i32 @wave_item()", "workgroup.id.x": "i32 @wave_group()",
    "mbcnt.lo": "i32 @wave_count_low(i32, i32)", "mbcnt.hi": "i32 @wave_count_high(i32, i32)",
    "ds.bpermute": "i32 @wave_permute(i32, i32)", "ds.swizzle": "i32 @wave_swizzle(i32, i32)",
    "s.barrier": "void @wave_barrier()",
    "implicitarg.ptr": "ptr @wave_implicit()",
}  # fmt: skip
# Of products: types of left and right elements, of sums, and the length of an instruction's sum.
_PRODUCTS = {
    r"mfma\.f32\.16x16x16bf16\.1k": ("bf16", "bf16", "f4", 16),
    r"mfma\.f32\.16x16x16f16": ("f2", "f2", "f4", 16),
    r"mfma\.f32\.16x16x4f32": ("f4", "f4", "f4", 4),
    r"mfma\.f64\.16x16x4f64": ("f8", "f8", "f8", 4),
    r"mfma\.i32\.16x16x16i8": ("i1", "i1", "i4", 16),
    r"mfma\.i32\.16x16x32\.i8": ("i1", "i1", "i4", 32),
    r"mfma\.f32\.16x16x32\.([fb])p?f?8\.([fb])p?f?8": ("small", "small", "f4", 32),
    r"wmma\.f32\.16x16x16\.bf16.*": ("bf16", "bf16", "f4", 16),
    r"wmma\.f32\.16x16x16\.f16.*": ("f2", "f2", "f4", 16),
    r"wmma\.i32\.16x16x16\.iu8.*": ("i1", "i1", "i4", 16),
}
_SMALL = {"f": ml_dtypes.float8_e4m3fnuz, "b": ml_dtypes.float8_e5m2fnuz}


class _Operands(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("left", ctypes.c_void_p), ("right", ctypes.c_void_p),
                ("sum", ctypes.c_void_p), ("result", ctypes.c_void_p)]  # fmt: skip


_MULTIPLY = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.POINTER(_Operands))


class Product:
    """A matrix instruction of a wave."""

    def __init__(self, name: str):
        patterns = [pattern for pattern in _PRODUCTS if re.fullmatch(pattern, name)]
        if not patterns:
            raise SimulationError(f"unknown instruction {name}")
        match, facts = re.fullmatch(patterns[0], name), _PRODUCTS[patterns[0]]
        kinds = [_SMALL[letter] for letter in match.groups()] or facts[:2]
        self.left, self.right = (
            np.dtype(ml_dtypes.bfloat16 if kind == "bf16" else kind) for kind in kinds
        )
        self.sum, self.length = np.dtype(facts[2]), facts[3]
        self.is_wmma = name.startswith("wmma")
        self.lanes = 32 if self.is_wmma else 64

    def read(self, pointers: Sequence[int], kind: np.dtype, count: int) -> np.ndarray:
        """[lane, element]."""
        return np.stack(
            [np.frombuffer(ctypes.string_at(p, count * kind.itemsize), kind) for p in pointers]
        )

    def rows(self, lanes: np.ndarray) -> np.ndarray:
        """[row, element of the sum] of what lanes have: a row each; four groups of MFMA's lanes
        share the sum, both halves of WMMA's have all of it."""
        if self.is_wmma:
            if (lanes[:16].view(np.uint8) != lanes[16:].view(np.uint8)).any():
                raise SimulationError("both halves of a wave should have the same rows")
            return lanes[:16]
        return lanes.reshape(4, 16, -1).swapaxes(0, 1).reshape(16, -1)

    def __call__(self, operands: Sequence[_Operands], signs: Sequence[bool]) -> None:
        count = self.length if self.is_wmma else self.length // 4
        kinds = [self.left, self.right]
        for i, is_signed in enumerate(signs):
            if not is_signed:
                kinds[i] = np.dtype("u1")
        wide = np.int64 if self.sum.kind == "i" else np.float64
        left = self.rows(self.read([o.left for o in operands], kinds[0], count)).astype(wide)
        right = self.rows(self.read([o.right for o in operands], kinds[1], count)).astype(wide)
        each = 256 // self.lanes
        lane, element = np.indices((self.lanes, each))
        if self.is_wmma:
            row = 2 * element + lane // 16
        elif self.sum == np.float64:
            row = 4 * element + lane // 16
        else:
            row = lane // 16 * 4 + element
        sums = self.read([o.sum for o in operands], self.sum, each).astype(wide)
        made = (sums + (left @ right.T)[row, lane % 16]).astype(self.sum)
        for operand, values in zip(operands, made, strict=True):
            ctypes.memmove(operand.result, values.tobytes(), values.nbytes)


def _types(text: str) -> list[str]:
    """The types of a list of arguments, without attributes and names."""
    return re.findall(r"(<[^>]*>|\b(?:i\d+|ptr|float|double|half|bfloat)\b)", text)


@functools.cache
def _library() -> ctypes.CDLL:
    """waves.c, for the code of kernels to find."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/libwaves.so"
        source = str(Path(__file__).with_name("waves.c"))
        command = ["cc", "-O1", "-shared", "-fPIC", "-o", path, source]
        subprocess.run(command, check=True)
        llvm.load_library_permanently(path)
        library = ctypes.CDLL(path)
    library.wave_run.restype = ctypes.c_char_p
    library.wave_arrays.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint]
    return library


# A load or a store: the type, and the address up to what follows it. Or an atomic update of a word.
_ACCESS = re.compile(
    r"^\s*(?:%[\w.]+ = (?P<load>load)|(?P<store>store)) (?:volatile |atomic )?"
    r"(?P<type><[^>]*>|\w+)(?: [^<].*?)?, ptr (?P<place>.*?)(?:, align .*|, !.*| syncscope.*)?$"
)
_ATOMIC = re.compile(
    r"^\s*%[\w.]+ = atomicrmw (?:volatile )?\w+ ptr (?P<place>[^,]+), (?P<type>\w+)"
)
_SIZES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8}


def _size(kind: str) -> int:
    """Bytes of a type of LLVM."""
    if vector := re.fullmatch(r"<(\d+) x (\S+)>", kind):
        return int(vector[1]) * _size(vector[2])
    return _SIZES.get(kind) or (int(kind[1:]) + 7) // 8


def _checked(text: str) -> str:
    """With a call before every access, which has its line."""
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        access = _ACCESS.match(line) or _ATOMIC.match(line)
        if access:
            is_store = "load" in access.re.groupindex and bool(access["store"])
            lines.append(
                f"  call void @wave_check(ptr {access['place']}, i64 {_size(access['type'])}, "
                f"i32 {number}, i32 {int(is_store)})"
            )
        elif re.match(r"\s*(%[\w.]+ = (load|atomicrmw|cmpxchg)|store) ", line):
            raise SimulationError("unknown instruction", number, line.strip())
        lines.append(line)
    return "\n".join([*lines, "declare void @wave_check(ptr, i64, i32, i32)", ""])


class Program:
    """Kernels of a text of LLVM IR whose first line is a comment with the architecture."""

    def __init__(self, text: str):
        self.text = text.split("\n")
        self.wave = WAVES[self.text[0].lstrip("; ")]
        self.products: list[tuple[Product, list[bool]]] = []
        self.failure: BaseException | None = None
        self.library = _library()
        self.shared = np.zeros(1 << 17, np.uint8)
        self.start = self.shared.ctypes.data + -self.shared.ctypes.data % 256
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        module = llvm.parse_assembly(self.translate(text))
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1
        )
        module.triple, module.data_layout = llvm.get_default_triple(), str(machine.target_data)
        module.verify()
        self.engine = llvm.create_mcjit_compiler(module, machine)
        for variable in module.global_variables:
            if variable.name.startswith("__dynamic_shmem"):
                self.engine.add_global_mapping(variable, self.start)
        self.engine.finalize_object()

    def translate(self, text: str) -> str:
        """The same for the host, and for every kernel a function of its arguments' addresses."""
        text = re.sub(r"^target triple.*$", "", text, flags=re.M)
        text = re.sub(r"addrspacecast \((ptr[^()]*?) to ptr[^()]*\)", r"bitcast (\1 to ptr)", text)
        text = re.sub(r" addrspace\(\d\)", "", text)
        text = text.replace("addrspacecast ptr", "bitcast ptr").replace("amdgpu_kernel ", "")
        text = re.sub(r'syncscope\("[^"]*"\) |, !nontemporal !\d+', "", text)
        text = self.assembly(text)
        text = _checked(text)
        declared = re.findall(r"^declare .*@llvm\.amdgcn\..*$", text, flags=re.M)
        text = re.sub(r"^declare .*@llvm\.amdgcn\..*$", "", text, flags=re.M)
        for line in declared:
            _, name, arguments = re.findall(r"(\S+) @llvm\.amdgcn\.([\w.]+)\((.*)\)", line)[0]
            if name in _FUNCTIONS:
                text += f"declare {_FUNCTIONS[name]}\n"
                function = re.findall(r"@(\w+)", _FUNCTIONS[name])[0]
                text = text.replace(f"@llvm.amdgcn.{name}(", f"@{function}(")
            else:
                if not name.startswith(("mfma", "wmma")):
                    raise self.fault(f"llvm.amdgcn.{name}(", "unknown instruction")
                text = text.replace(f"@llvm.amdgcn.{name}(", f"@product.{name}(")
                text += self.product(name, _types(arguments))
        if self.products:
            text += "declare void @wave_product(i32, ptr, ptr, ptr, ptr)\n"
        for name, arguments in re.findall(r"^define void @(\w+)\((.*?)\) ", text, flags=re.M):
            text += self.entry(name, _types(arguments))
        return text

    def assembly(self, text: str) -> str:
        """Inline assembly of no instructions, in the host's registers."""
        for call, code, operands in re.findall(r'(asm [a-z ]*"(.*?)", "(.*?)")', text):
            letters = {re.sub(r"[^a-z]", "", operand) for operand in operands.split(",")}
            if code or letters - {"", "v"}:
                # "r" and "s" are registers that a wave has once, whatever its lanes put there.
                raise self.fault(call, "assembly of other than each lane's registers")
            text = text.replace(call, call.replace("v", "r"))
        return text

    def product(self, name: str, types: list[str]) -> str:
        """A function for the instruction: one for each choice of signs of integers."""
        if name.startswith("wmma.i32"):
            # Whether an operand has a sign is an argument before it.
            wide, places = types[4], (1, 3, 4)
            numbers = [len(self.products) + i for i in range(4)]
            self.products += [(Product(name), [bool(i & 1), bool(i & 2)]) for i in range(4)]
            number = (
                "  %l = zext i1 %a0 to i32\n  %r = zext i1 %a2 to i32\n  %r2 = shl i32 %r, 1\n"
                f"  %s = or i32 %l, %r2\n  %number = add i32 %s, {numbers[0]}\n"
            )
        else:
            wide, places = types[2], (0, 1, 2)
            number = f"  %number = add i32 {len(self.products)}, 0\n"
            self.products.append((Product(name), [True, True]))
        arguments = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(types))
        body = "".join(
            f"  %p{i} = alloca {types[i]}\n  store {types[i]} %a{i}, ptr %p{i}\n" for i in places
        )
        left, right, added = places
        return (
            f"define internal {wide} @product.{name}({arguments}) {{\n{number}{body}"
            f"  %to = alloca {wide}\n  call void @wave_product(i32 %number, ptr %p{left}, "
            f"ptr %p{right}, ptr %p{added}, ptr %to)\n"
            f"  %made = load {wide}, ptr %to\n  ret {wide} %made\n}}\n"
        )

    def entry(self, name: str, types: list[str]) -> str:
        """``{name}.entry``, which takes the addresses of the arguments."""
        lines = [f"define void @{name}.entry(ptr %values) {{"]
        for i, kind in enumerate(types):
            lines += [
                f"  %place{i} = getelementptr ptr, ptr %values, i64 {i}",
                f"  %at{i} = load ptr, ptr %place{i}",
                f"  %value{i} = load {kind}, ptr %at{i}",
            ]
        values = ", ".join(f"{kind} %value{i}" for i, kind in enumerate(types))
        return "\n".join([*lines, f"  call void @{name}({values})", "  ret void", "}\n"])

    def fault(self, part: str, message: str) -> SimulationError:
        """At the first line with that part."""
        line = next(number for number, text in enumerate(self.text, 1) if part in text)
        return SimulationError(message, line, self.text[line - 1].strip())

    def multiply(self, number: int, operands: ctypes.Array) -> None:
        product, signs = self.products[number]
        try:
            product([operands[i] for i in range(self.wave)], signs)
        except BaseException as error:
            self.failure = error

    def launch(
        self,
        name: str,
        blocks: int,
        threads: int,
        arguments: Sequence[Any] = (),
        *,
        shared: int = 0,
        order: Iterable[int] = (),
        memory: Memory | None = None,
    ) -> None:
        """Runs all blocks of a kernel, as Program of PTX does; numbers are of NumPy's types."""
        memory = memory or Memory()
        values = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                memory.add(argument.ctypes.data, argument.nbytes)
                argument = np.uint64(argument.ctypes.data)
            values.append(np.array([argument]))
        pointers = np.array([value.ctypes.data for value in values], np.uint64)
        self.launch_from(
            name, blocks, threads, pointers.ctypes.data, shared=shared, order=order, memory=memory
        )

    def launch_from(
        self,
        name: str,
        blocks: int,
        threads: int,
        pointers: int,
        *,
        shared: int = 0,
        order: Iterable[int] = (),
        memory: Memory,
    ) -> None:
        """The same as a driver is asked to."""
        if shared > 65536:
            raise SimulationError(f"{shared} bytes of shared memory are more than there are")
        code = self.engine.get_function_address(f"{name}.entry")
        if not code:
            raise SimulationError(f"no kernel {name}")
        starts, ends = (np.array(part, np.uint64) for part in (memory.starts, memory.ends))
        self.library.wave_arrays(starts.ctypes.data, ends.ctypes.data, len(starts))
        line, self.failure = ctypes.c_int(0), None
        told = self.library.wave_run(
            ctypes.c_void_p(code), ctypes.c_void_p(pointers), blocks,
            (ctypes.c_uint * blocks)(*(order or range(blocks))), threads, self.wave,
            ctypes.c_void_p(self.start), shared, random.randrange(1 << 31),
            _MULTIPLY(self.multiply), ctypes.byref(line),
        )  # fmt: skip
        if self.failure:
            raise self.failure
        if told:
            text = self.text[line.value - 1].strip() if line.value else ""
            raise SimulationError(told.decode(), line.value, text)
