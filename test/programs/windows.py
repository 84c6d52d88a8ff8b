"""Convolutions and pooling in torch-mlir's spelling, in one to three dims of space."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "e2e"))

from redfuse.bench.builder import Value, tensor_type
from torch_like import Torch

CONVOLUTIONS = {1: "conv_1d_ncw_fcw", 2: "conv_2d_nchw_fchw", 3: "conv_3d_ncdhw_fcdhw"}


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


class Windows(Torch):
    """A program with convolutions and pooling."""

    def padded(self, a: Value, by: Sequence[int], value: float = 0.0) -> Value:
        """tensor.pad around the dims behind the first two."""
        if not any(by):
            return a
        edge = f"[0, 0, {_list(by)}]"
        shape = (*a.shape[:2], *(n + 2 * p for n, p in zip(a.shape[2:], by, strict=True)))
        name = self.emit(f"tensor.pad {a.name} low{edge} high{edge} {{")
        positions = ", ".join(f"%p{i}: index" for i in range(len(shape)))
        self.lines += [
            f"    ^bb0({positions}):",
            f"      tensor.yield {self.constant(value, a.dtype)} : {a.dtype}",
            f"    }} : {a.type} to {tensor_type(shape, a.dtype)}",
        ]
        return Value(name, shape, a.dtype)

    def conv(
        self, x: Value, w: Value, bias: Value | None = None, padding: int = 0, stride: int = 1
    ) -> Value:
        """torch.nn.functional.conv1d, 2d or 3d; 16-bit floats are added up in f32."""
        rank = len(x.shape) - 2
        x = self.padded(x, [padding] * rank)
        space = [(n - k) // stride + 1 for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]
        shape = (x.shape[0], w.shape[0], *space)
        wide = "f32" if x.dtype in ("f16", "bf16") else x.dtype
        start = self.full(shape, 0.0, wide) if bias is None else self.broadcast(bias, shape, wide)
        name = self.emit(
            f"linalg.{CONVOLUTIONS[rank]} {{dilations = dense<1> : vector<{rank}xi64>, strides = dense<{stride}> : "
            f"vector<{rank}xi64>}} ins({x.name}, {w.name} : {x.type}, {w.type}) "
            f"outs({start.name} : {start.type}) -> {start.type}"
        )
        return self.cast(Value(name, shape, wide), x.dtype)

    def broadcast(self, bias: Value, shape: Sequence[int], dtype: str) -> Value:
        """linalg.broadcast of one value a channel."""
        bias, out = self.cast(bias, dtype), self.empty(shape, dtype)
        dims = _list([d for d in range(len(shape)) if d != 1])
        name = self.emit(
            f"linalg.broadcast ins({bias.name} : {bias.type}) outs({out.name} : {out.type}) dimensions = [{dims}]"
        )
        return out._replace(name=name)

    def conv_transposed(self, x: Value, w: Value, padding: int = 0, stride: int = 1) -> Value:
        """conv_transpose2d or 3d: weights turned round, what is read spread out among zeros."""
        rank = len(x.shape) - 2
        dims = ", ".join(f"%i{d}" for d in range(2, rank + 2))
        body = [f"%i{d} = linalg.index {d} : index" for d in range(rank + 2)]
        turned = [
            f"%n{d} = arith.subi {self.constant(w.shape[d] - 1, 'index')}, %i{d} : index"
            for d in range(2, rank + 2)
        ]
        dims = ", ".join(f"%n{d}" for d in range(2, rank + 2))
        shape = (w.shape[1], w.shape[0], *w.shape[2:])
        body += [*turned, f"%r = tensor.extract {w.name}[%i1, %i0, {dims}] : {w.type}"]
        out = ", ".join(f"d{d}" for d in range(rank + 2))
        weights = self.generic(
            [], [out], self.empty(shape, w.dtype), ["parallel"] * (rank + 2), body, "%r"
        )
        edge = w.shape[2] - 1 - padding
        spread = [(n - 1) * stride + 1 + 2 * edge for n in x.shape[2:]]
        zeros = self.full((*x.shape[:2], *spread), 0.0, x.dtype)
        name = self.emit(
            f"tensor.insert_slice {x.name} into {zeros.name}[0, 0, {_list([edge] * rank)}] [{_list(x.shape)}] "
            f"[1, 1, {_list([stride] * rank)}] : {x.type} into {zeros.type}"
        )
        return self.conv(zeros._replace(name=name), weights)

    def depthwise(self, x: Value, w: Value, padding: int) -> Value:
        """conv2d with a group a channel, as a generic product of windows."""
        x = self.padded(x, [padding] * 2)
        shape = (*x.shape[:2], *(n - k + 1 for n, k in zip(x.shape[2:], w.shape[1:], strict=True)))
        wide = "f32" if x.dtype in ("f16", "bf16") else x.dtype
        extend = [f"%{v} = arith.extf %in{i} : {x.dtype} to f32" for i, v in enumerate("xw")]
        names = ("%x", "%w") if wide != x.dtype else ("%in0", "%in1")
        body = [*(extend if wide != x.dtype else []), f"%m = arith.mulf {names[0]}, {names[1]} : {wide}",
                f"%r = arith.addf %out, %m : {wide}"]  # fmt: skip
        maps = ["d0, d1, d2 + d4, d3 + d5", "d1, d4, d5", "d0, d1, d2, d3"]
        kinds = ["parallel"] * 4 + ["reduction"] * 2
        return self.cast(
            self.generic([x, w], maps, self.full(shape, 0.0, wide), kinds, body, "%r"), x.dtype
        )

    def pool(
        self, x: Value, kernel: int, stride: int, padding: int = 0, kind: str = "max"
    ) -> Value:
        """max_pool or avg_pool in 1 to 3 dims, as a generic reduction over a window."""
        rank = len(x.shape) - 2
        x = self.padded(x, [padding] * rank, -math.inf if kind == "max" else 0.0)
        space = [(n - kernel) // stride + 1 for n in x.shape[2:]]
        window = self.empty([kernel] * rank, x.dtype)
        places = range(2, rank + 2)
        maps = [
            ", ".join(["d0", "d1", *(f"d{d} * {stride} + d{d + rank}" for d in places)]),
            ", ".join(f"d{d + rank}" for d in places),
            ", ".join(["d0", "d1", *(f"d{d}" for d in places)]),
        ]
        start = self.full((*x.shape[:2], *space), -math.inf if kind == "max" else 0.0, x.dtype)
        op = "maximumf" if kind == "max" else "addf"
        made = self.generic(
            [x, window], maps, start, ["parallel"] * (rank + 2) + ["reduction"] * rank,
            [f"%r = arith.{op} %in0, %out : {x.dtype}"], "%r",
        )  # fmt: skip
        return made if kind == "max" else self.div(made, float(kernel**rank))
