"""``python _lower_torch.py PROGRAM.pt2 OUTPUT.mlir``: an exported program to linalg text.

A script, run by ``frontends/torch.py``; it imports nothing of redfuse. On failure it ends with
status 1 and one line on stderr that names the operation.
"""

from __future__ import annotations

import re
import sys
from typing import Any

# Python puts the script's folder first, which has a torch.py of its own.
if __name__ == "__main__":
    del sys.path[0]

# Steps of torch-mlir's own `fx.export_and_import(output_type="linalg-on-tensors")`.
PIPELINE = (
    "builtin.module("
    "torchdynamo-export-to-torch-backend-pipeline{backend-legal-ops="
    "aten.flatten.using_ints,aten.adaptive_avg_pool1d,aten.unflatten.int extra-library=},"
    "torch-backend-to-linalg-on-tensors-backend-pipeline)"
)
# Operations that torch-mlir has no lowering for, taken apart by PyTorch's own rules.
DECOMPOSED = (
    "native_layer_norm",
    "_log_softmax",
    "logsumexp",
    "nll_loss_forward",
    "norm.ScalarOpt_dim",
    "linalg_vector_norm",
    "smooth_l1_loss",
    "huber_loss",
    "binary_cross_entropy_with_logits",
    "addmm",
    "t",
)


def decompositions(torch: Any) -> dict:
    """The table for ``ExportedProgram.run_decompositions``."""
    aten = torch.ops.aten
    table = dict(torch.export.default_decompositions())
    named = []
    for name in DECOMPOSED:
        packet, _, overload = name.partition(".")
        operation = getattr(aten, packet)
        named.append(getattr(operation, overload) if overload else operation)
    table.update(torch._decomp.get_decompositions(named))

    def squeeze(tensor: Any, dims: list[int]) -> Any:
        gone = {d % tensor.dim() for d in dims if tensor.shape[d] == 1}
        return tensor.reshape([n for d, n in enumerate(tensor.shape) if d not in gone])

    def batch_norm(
        x: Any, weight: Any, bias: Any, mean: Any, var: Any, _: float, eps: float
    ) -> Any:
        def by_channel(t: Any) -> Any:
            return t.reshape([1, -1] + [1] * (x.dim() - 2))

        result = (x - by_channel(mean)) * by_channel(torch.rsqrt(var + eps))
        if weight is not None:
            result = result * by_channel(weight)
        if bias is not None:
            result = result + by_channel(bias)
        return result, x.new_empty(0), x.new_empty(0)

    def batch_norm_of_itself(
        x: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
    ) -> Any:
        dims = [0, *range(2, x.dim())]
        mean = x.mean(dims)
        var = x.var(dims, unbiased=False)
        result, _, _ = batch_norm(x, weight, bias, mean, var, momentum, eps)
        return result, mean, torch.rsqrt(var + eps)

    def group_norm(
        x: Any, weight: Any, bias: Any, n: int, channels: int, _: int, groups: int, eps: float
    ) -> Any:
        y = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        spatial = list(x.shape[2:])
        y = y.reshape([n, groups, channels // groups, *spatial])
        dims = list(range(2, y.dim()))
        mean = y.mean(dims, keepdim=True)
        rstd = torch.rsqrt(y.var(dims, unbiased=False, keepdim=True) + eps)
        result = (y - mean) * rstd
        shape = [1, groups, channels // groups] + [1] * len(spatial)
        if weight is not None:
            result = result * weight.reshape(shape)
        if bias is not None:
            result = result + bias.reshape(shape)
        result = result.reshape(x.shape).to(x.dtype)
        return result, mean.reshape(n, groups), rstd.reshape(n, groups)

    # PyTorch's own rule makes views with strides, which are lowered to tables of indices.
    def split_with_sizes(x: Any, sizes: list[int], dim: int = 0) -> Any:
        ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        starts = [end - n for end, n in zip(ends, sizes, strict=True)]
        pairs = zip(starts, ends, strict=True)
        return [aten.slice.Tensor(x, dim, start, end) for start, end in pairs]

    def split(x: Any, size: int, dim: int = 0) -> Any:
        whole, left = divmod(x.shape[dim], size) if size else (1, 0)
        sizes = [size] * whole + ([left] if left else [])
        return split_with_sizes(x, sizes or [0], dim)

    table[aten.native_group_norm.default] = group_norm
    table[aten.split.Tensor] = split
    table[aten.split_with_sizes.default] = split_with_sizes
    table[aten.squeeze.dims] = squeeze
    table[aten._native_batch_norm_legit_no_training.default] = batch_norm
    table[aten._native_batch_norm_legit.no_stats] = batch_norm_of_itself
    return table


def lower(path: str) -> str:
    """The linalg text of the exported program in the file ``path``, its entry named main."""
    import torch

    return linalg_text(torch.export.load(path))


def linalg_text(program: Any) -> str:
    """That of an ``ExportedProgram``."""
    import torch

    try:
        from torch_mlir.extras.fx_importer import FxImporter
        from torch_mlir.ir import Context
        from torch_mlir.passmanager import PassManager
    except ImportError:
        from iree.compiler.extras.fx_importer import FxImporter
        from iree.compiler.ir import Context
        from iree.compiler.passmanager import PassManager
    program = program.run_decompositions(decompositions(torch))
    importer = FxImporter(context=Context())
    importer.import_frozen_program(program, func_name="main")
    with importer.module.context:
        PassManager.parse(PIPELINE).run(importer.module.operation)
    return str(importer.module)


def reason(error: BaseException) -> str:
    """One line of ``error`` that says which operation is in the way."""
    text = str(error)
    named = re.search(r'name = "torch\.([\w.]+)"', text) or re.search(
        r"failed to legalize operation '([\w.]+)'", text
    )
    if named:
        return f"operation {named[1]} has no lowering to linalg"
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def main() -> int:
    """Lowers argv[1] to argv[2]."""
    try:
        text = lower(sys.argv[1])
    except Exception as error:  # MLIR's and PyTorch's many types: one line each
        print(reason(error).replace("\n", " "), file=sys.stderr)
        return 1
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
