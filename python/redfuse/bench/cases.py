"""The cases: for every shape of workloads.json, its program, inputs, exact results, costs and
peers."""

from __future__ import annotations

import dataclasses
import fnmatch
import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import ArgumentError, one_of

BYTES = {"f32": 4, "f16": 2, "bf16": 2}
LENGTHS = (256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
# What `redfuse bench` runs on a CPU when no case is named: the acceptance cases, minutes on two
# cores.
CPU_DEFAULT = ("cpu_attention", "rows_cpu", "variance", "inertia")
# On a GPU, what matters most first: a run that has to end early has it.
GPU_DEFAULT = (
    "rows", "variance", "inertia", "moe_routing", "attention/H7", "attention/H8", "attention/H9",
    "attention_operators/DC_Causal_32768", "attention_operators/DC_GQA_32768",
    "attention/H1", "attention/H2", "attention/H3", "attention/H4", "attention/H5", "attention/H6",
    "mla_decode", "quant_gemm", "gemm_chain", "gated_ffn", "attention_prefill",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Case:
    """One benchmark.

    program: makes the module text. shapes: (shape, dtype, how) an input, ``how`` naming its data.
    exact, peers: see the modules of these names. flops, nbytes: the work and the least traffic to
        memory of one run. kind: of an attention, its variant. topk: of a routing.
    """

    workload: str
    name: str
    dtype: str
    program: Callable[[], str]
    shapes: tuple[tuple[tuple[int, ...], str, str], ...]
    exact: Callable[[Sequence[Any]], Iterator[Any]]
    peers: Callable[[Sequence[Any]], Any]
    flops: float
    nbytes: float
    kind: str | None = None
    topk: int = 0

    @property
    def full_name(self) -> str:
        """``workload/case``."""
        return f"{self.workload}/{self.name}"

    def inputs(self, seed: int = 0) -> list[Any]:
        """NumPy arrays, the same for the same seed."""
        import numpy

        from ..runtime.arrays import empty_numpy
        from ..runtime.specs import numpy_dtype

        random = numpy.random.default_rng(seed)
        made = []
        for shape, dtype, how in self.shapes:
            if how == "labels":
                made.append(random.integers(0, self.shapes[0][0][1], shape, dtype=numpy.int64))
                continue
            if how == "int8":
                made.append(random.integers(-127, 128, shape, dtype=numpy.int8))
                continue
            if how == "slopes":
                made.append(
                    (2.0 ** (-8.0 * (1 + numpy.arange(shape[0])) / shape[0])).astype(numpy.float32)
                )
                continue
            if how == "positive":
                values = random.random(shape, dtype=numpy.float32)
                values += numpy.float32(0.1)
            else:
                values = random.standard_normal(shape, dtype=numpy.float32)
                if how != "normal":
                    values *= numpy.float32(how)
            array = empty_numpy(shape, dtype)
            array[...] = values.astype(numpy_dtype(dtype), copy=False)
            made.append(array)
        return made


def attention_case(
    workload: str,
    name: str,
    dtype: str,
    b: int,
    h: int,
    q: int,
    kv: int,
    d: int,
    kv_heads: int | None = None,
    kind: str = "none",
) -> Case:
    """An attention: batch, heads, queries, keys, head dim, heads of the keys, and what is done to
    the scores (``programs.attention``)."""
    from . import exact, peers, programs

    hk = kv_heads or h
    wide = BYTES[dtype]
    seen = 0.5 if "causal" in kind and q == kv else 1.0
    shapes: list = [((b, h, q, d), dtype, "normal")] + [((b, hk, kv, d), dtype, "normal")] * 2
    if "alibi" in kind:
        shapes.append(((h,), "f32", "slopes"))
    return Case(
        workload, name, dtype,
        lambda: programs.attention(b, h, q, kv, d, dtype, kv_heads, kind),
        tuple(shapes),
        lambda i: exact.attention(i, kind), lambda i: peers.attention(i, kind),
        4.0 * b * h * q * kv * d * seen, wide * (2.0 * b * h * q * d + 2.0 * b * hk * kv * d),
        kind,
    )  # fmt: skip


def _rows(workload: str, name: str, op: str, rows: int, columns: int, dtype: str) -> Case:
    from . import exact, peers, programs

    x = ((rows, columns), dtype, "normal")
    vector = ((columns,), dtype, "normal")
    shapes = {
        "softmax": (x,), "layernorm": (x, vector, vector), "rmsnorm": (x, vector),
        "cross_entropy": (x, ((rows,), "i64", "labels")),
    }[op]  # fmt: skip
    passes = 1.0 if op == "cross_entropy" else 2.0
    return Case(
        workload,
        name,
        dtype,
        lambda: getattr(programs, op)(rows, columns, dtype),
        shapes,
        getattr(exact, op),
        getattr(peers, op),
        5.0 * rows * columns,
        passes * BYTES[dtype] * rows * columns,
    )


def all_cases(dtype: str = "f32") -> dict[str, Case]:
    """Every case by its full name. ``dtype``: element type of those that may choose."""
    with open(os.path.join(os.path.dirname(__file__), "workloads.json"), encoding="utf-8") as file:
        table = json.load(file)
    found = [*_attention_cases(table, dtype), *_other_cases(table, dtype), *_cpu_cases()]
    return {case.full_name: case for case in found}


def _cpu_cases() -> Iterator[Case]:
    yield attention_case("cpu_attention", "1x8x1024x1024x64", "f32", 1, 8, 1024, 1024, 64)
    yield attention_case("cpu_attention", "1x8x2048x2048x128", "f32", 1, 8, 2048, 2048, 128)
    for op in ("softmax", "layernorm"):
        yield _rows("rows_cpu", f"{op}_8192x8192", op, 8192, 8192, "f32")


def _attention_cases(table: dict, dtype: str) -> Iterator[Case]:
    for name, (b, h, q, kv, d) in table["attention"]["cases"].items():
        yield attention_case("attention", name, dtype, b, h, q, kv, d)
    for name, (b, h, q, kv, d) in table["attention_prefill"]["cases"].items():
        yield attention_case("attention_prefill", name, dtype, b, h, q, kv, d)
        yield attention_case(
            "attention_prefill", name + "_causal", dtype, b, h, q, kv, d, kind="causal"
        )
    kinds = {
        "PF_Global": "none", "PF_Causal": "causal", "PF_GQA": "causal", "PF_ALiBi": "causal+alibi",
        "PF_SoftCap": "causal+softcap", "PF_Window": "causal+window+softcap", "DC_Causal": "none",
        "DC_GQA": "none", "DC_ALiBi": "alibi", "DC_SoftCap": "softcap",
    }  # fmt: skip
    # All operators of a length, then the next: a run that has to end early has whole lengths.
    for length in LENGTHS:
        for name, (heads, kv_heads, _) in table["attention_operators"]["cases"].items():
            q = 1 if name.startswith("DC") else length
            yield attention_case(
                "attention_operators",
                f"{name}_{length}",
                dtype,
                1,
                heads,
                q,
                length,
                128,
                kv_heads,
                kinds[name],
            )


def _other_cases(table: dict, dtype: str) -> Iterator[Case]:
    from . import exact, peers, programs

    wide = BYTES[dtype]
    for name, (b, kv) in table["mla_decode"]["cases"].items():
        yield Case(
            "mla_decode",
            name,
            dtype,
            lambda b=b, kv=kv: programs.mla_decode(b, kv, dtype=dtype),
            (((b, 128, 576), dtype, "normal"), ((b, kv, 576), dtype, "normal")),
            exact.mla_decode,
            peers.mla_decode,
            2.0 * b * 128 * kv * (576 + 512),
            wide * (b * 128 * 576.0 + b * kv * 576.0 + b * 128 * 512.0),
        )
    for name, (hidden, experts, topk) in table["moe_routing"]["cases"].items():
        yield Case(
            "moe_routing",
            name,
            dtype,
            lambda s=(hidden, experts, topk): programs.moe_routing(2048, *s, dtype=dtype),
            (((2048, hidden), dtype, "normal"), ((hidden, experts), dtype, "0.05")),
            lambda i, k=topk: exact.moe_routing(i, k),
            lambda i, k=topk: peers.moe_routing(i, k),
            2.0 * 2048 * hidden * experts,
            wide * (2048.0 * hidden + hidden * experts) + 12.0 * 2048 * topk,
            topk=topk,
        )
    for name, (n, k) in table["quant_gemm"]["cases"].items():
        yield Case(
            "quant_gemm",
            name,
            "f32",
            lambda n=n, k=k: programs.quant_gemm(4096, n, k),
            (((4096, k), "f32", "normal"), ((k, n), "i8", "int8"), ((n,), "f32", "positive")),
            exact.quant_gemm,
            peers.quant_gemm,
            2.0 * 4096 * n * k,
            4.0 * 4096 * k + n * k + 4.0 * 4096 * n,
        )
    for name, (b, n) in table["variance_and_inertia"]["cases"].items():
        yield Case(
            "variance",
            f"V{name}",
            "f32",
            lambda b=b, n=n: programs.variance(b, n),
            (((b, n), "f32", "normal"),),
            exact.variance,
            peers.variance,
            3.0 * b * n,
            4.0 * b * n,
        )
        yield Case(
            "inertia",
            f"I{name}",
            "f32",
            lambda b=b, n=n: programs.inertia(b, n),
            (((b, n), "f32", "positive"), ((b, n, 3), "f32", "normal")),
            exact.inertia,
            peers.inertia,
            12.0 * b * n,
            16.0 * b * n,
        )
    for name, (rows, columns) in table["rows"]["cases"].items():
        for op in ("softmax", "layernorm", "rmsnorm", "cross_entropy"):
            yield _rows(op, name, op, rows, columns, dtype)
    for name, (n, k, last) in table["gemm_chain"]["cases"].items():
        m = 128
        yield Case(
            "gemm_chain", name, dtype,
            lambda s=(n, k, last): programs.gemm_chain(128, s[0], s[1], s[2], dtype),
            (((m, k), dtype, "0.1"), ((k, n), dtype, "0.05"), ((n, last), dtype, "0.05")),
            exact.gemm_chain, peers.gemm_chain, 2.0 * m * n * (k + last),
            wide * (m * k + k * n + n * last + m * last + 0.0),
        )  # fmt: skip
    for name, (n, k) in table["gated_ffn"]["cases"].items():
        m = 128
        weight = ((k, n), dtype, "0.05")
        yield Case(
            "gated_ffn",
            name,
            dtype,
            lambda s=(n, k): programs.gated_ffn(128, *s, dtype),
            (((m, k), dtype, "0.1"), weight, weight, ((n, k), dtype, "0.05")),
            exact.gated_ffn,
            peers.gated_ffn,
            6.0 * m * n * k,
            wide * (2.0 * m * k + 3.0 * k * n),
        )
    for name, (channels, size, out1, out2, k1) in table["conv_chain"]["cases"].items():
        for batch in (1, 8):
            points = batch * size * size
            yield Case(
                "conv_chain",
                f"{name}_b{batch}",
                dtype,
                lambda s=(batch, channels, size, out1, out2, k1): programs.conv_chain(*s, dtype),
                (
                    ((batch, channels, size, size), dtype, "normal"),
                    ((out1, channels, k1, k1), dtype, "0.05"),
                    ((out2, out1, 1, 1), dtype, "0.05"),
                ),
                exact.conv_chain,
                peers.conv_chain,
                2.0 * points * out1 * (channels * k1 * k1 + out2),
                wide * (points * (channels + out2) + out1 * (channels * k1 * k1 + out2) + 0.0),
            )


def select(
    names: Sequence[str], dtype: str = "f32", default: Sequence[str] = CPU_DEFAULT
) -> list[Case]:
    """The cases of ``WORKLOAD`` or ``WORKLOAD/CASE`` names, where ``*`` and ``?`` of a case stand
    for any text and any letter; none means the target's own choice."""
    table = all_cases(dtype)
    workloads = list(dict.fromkeys(case.workload for case in table.values()))
    groups = {
        "variance_and_inertia": ("variance", "inertia"),
        "rows": ("softmax", "layernorm", "rmsnorm", "cross_entropy"),
    }
    chosen: list[Case] = []
    for name in names or default:
        workload, slash, case = name.partition("/")
        members = groups.get(workload, (workload,))
        if not set(members) <= set(workloads):
            raise ArgumentError(one_of("workload", workload, [*workloads, *groups]))
        of_workload = [c for c in table.values() if c.workload in members]
        if slash:
            matching = [c for c in of_workload if fnmatch.fnmatchcase(c.name, case)]
            if not matching:
                raise ArgumentError(
                    one_of(f"case of {workload}", case, [c.name for c in of_workload])
                )
            of_workload = matching
        chosen += of_workload
    return list(dict.fromkeys(chosen))
