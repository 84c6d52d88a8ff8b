"""Runs kernels for AMD GPUs on the host: their LLVM IR becomes code of the host, and what waves do is
done by waves.c: lanes run in any order until all of a wave are at the same permute or product, or all
of a block at a barrier. A barrier that some threads never reach is an error; so is a permute or a
product that some lanes of a wave do not reach.
"""

from __future__ import annotations

import ctypes
import os
import random
import re
from collections.abc import Sequence

import llvmlite.binding as llvm
import ml_dtypes
import numpy as np

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
        assert patterns, f"no product {name}"
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
            assert (lanes[:16].view(np.uint8) == lanes[16:].view(np.uint8)).all(), "halves differ"
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


class Program:
    """Kernels of a text of LLVM IR whose first line is a comment with the architecture."""

    def __init__(self, text: str):
        self.wave = WAVES[text.split("\n", 1)[0].lstrip("; ")]
        self.products: list[tuple[Product, list[bool]]] = []
        path = os.environ["REDFUSE_WAVES"]
        llvm.load_library_permanently(path)
        self.library = ctypes.CDLL(path)
        self.library.wave_run.restype = ctypes.c_char_p
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
        declared = re.findall(r"^declare .*@llvm\.amdgcn\..*$", text, flags=re.M)
        text = re.sub(r"^declare .*@llvm\.amdgcn\..*$", "", text, flags=re.M)
        for line in declared:
            _, name, arguments = re.findall(r"(\S+) @llvm\.amdgcn\.([\w.]+)\((.*)\)", line)[0]
            if name in _FUNCTIONS:
                text += f"declare {_FUNCTIONS[name]}\n"
                function = re.findall(r"@(\w+)", _FUNCTIONS[name])[0]
                text = text.replace(f"@llvm.amdgcn.{name}(", f"@{function}(")
            else:
                assert name.startswith(("mfma", "wmma")), f"no {name} in this machine"
                text = text.replace(f"@llvm.amdgcn.{name}(", f"@product.{name}(")
                text += self.product(name, _types(arguments))
        if self.products:
            text += "declare void @wave_product(i32, ptr, ptr, ptr, ptr)\n"
        for name, arguments in re.findall(r"^define void @(\w+)\((.*?)\) ", text, flags=re.M):
            text += self.entry(name, _types(arguments))
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

    def multiply(self, number: int, operands: ctypes.Array) -> None:
        product, signs = self.products[number]
        product([operands[i] for i in range(self.wave)], signs)

    def run(
        self,
        name: str,
        blocks: int,
        threads: int,
        shared: int,
        arguments: int,
        order: Sequence[int],
    ) -> None:
        """``arguments``: the address of the pointers to the arguments."""
        assert shared <= 65536, "more shared memory than there is"
        code = self.engine.get_function_address(f"{name}.entry")
        assert code, f"no kernel {name}"
        told = self.library.wave_run(
            ctypes.c_void_p(code), ctypes.c_void_p(arguments), blocks,
            (ctypes.c_uint * blocks)(*order), threads, self.wave, ctypes.c_void_p(self.start),
            shared, random.randrange(1 << 31), _MULTIPLY(self.multiply),
        )  # fmt: skip
        assert not told, told.decode()


_programs: dict[str, Program] = {}


class WaveKernel:
    """A kernel of a program, as Kernel of ptx_machine.py."""

    def __init__(self, text: str, name: str, globals: dict[str, int] | None = None):
        self.name = name
        if text not in _programs:
            _programs.clear()
            _programs[text] = Program(text)
        self.program = _programs[text]

    def launch(
        self, blocks: int, threads: int, shared: int, arguments: int, order: Sequence[int] = ()
    ) -> None:
        self.program.run(self.name, blocks, threads, shared, arguments, order or range(blocks))
