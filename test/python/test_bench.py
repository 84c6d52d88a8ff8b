"""The benchmark's programs, exact results and peers agree with each other, at sizes a test
affords."""

import numpy as np
import pytest
import redfuse
from redfuse.bench import cases, exact, peers, programs, runner
from redfuse.bench.builder import number
from redfuse.bench.cases import Case

SMALL = {
    "attention": (
        lambda d: programs.attention(2, 3, 17, 29, 8, d),
        [(2, 3, 17, 8), (2, 3, 29, 8), (2, 3, 29, 8)],
        lambda i: exact.attention(i, "none"),
        lambda i: peers.attention(i, "none"),
    ),
    "causal_gqa": (
        lambda d: programs.attention(1, 4, 19, 19, 8, d, 2, "causal"),
        [(1, 4, 19, 8), (1, 2, 19, 8), (1, 2, 19, 8)],
        lambda i: exact.attention(i, "causal"),
        lambda i: peers.attention(i, "causal"),
    ),
    "alibi": (
        lambda d: programs.attention(1, 4, 7, 7, 8, d, 4, "causal+alibi"),
        [(1, 4, 7, 8)] * 3 + [(4,)],
        lambda i: exact.attention(i, "causal+alibi"),
        lambda i: peers.attention(i, "causal+alibi"),
    ),
    "softcap_window": (
        lambda d: programs.attention(1, 2, 3, 4103, 8, d, 1, "causal+window+softcap"),
        [(1, 2, 3, 8), (1, 1, 4103, 8), (1, 1, 4103, 8)],
        lambda i: exact.attention(i, "causal+window+softcap"),
        lambda i: peers.attention(i, "causal+window+softcap"),
    ),
    "mla_decode": (
        lambda d: programs.mla_decode(2, 31, 4, dtype=d),
        [(2, 4, 576), (2, 31, 576)],
        exact.mla_decode,
        peers.mla_decode,
    ),
    "moe_routing": (
        lambda d: programs.moe_routing(13, 16, 11, 3, d),
        [(13, 16), (16, 11)],
        lambda i: exact.moe_routing(i, 3),
        lambda i: peers.moe_routing(i, 3),
    ),
    "quant_gemm": (
        lambda d: programs.quant_gemm(24, 8, 16),
        [(24, 16), "int8", (8,)],
        exact.quant_gemm,
        peers.quant_gemm,
    ),
    "variance": (lambda d: programs.variance(5, 37), [(5, 37)], exact.variance, peers.variance),
    "inertia": (
        lambda d: programs.inertia(5, 37),
        ["positive", (5, 37, 3)],
        exact.inertia,
        peers.inertia,
    ),
    "softmax": (lambda d: programs.softmax(5, 37, d), [(5, 37)], exact.softmax, peers.softmax),
    "layernorm": (
        lambda d: programs.layernorm(5, 37, d),
        [(5, 37), (37,), (37,)],
        exact.layernorm,
        peers.layernorm,
    ),
    "rmsnorm": (
        lambda d: programs.rmsnorm(5, 37, d),
        [(5, 37), (37,)],
        exact.rmsnorm,
        peers.rmsnorm,
    ),
    "cross_entropy": (
        lambda d: programs.cross_entropy(5, 37, d),
        [(5, 37), "labels"],
        exact.cross_entropy,
        peers.cross_entropy,
    ),
    "gemm_chain": (
        lambda d: programs.gemm_chain(5, 6, 7, 8, d),
        [(5, 7), (7, 6), (6, 8)],
        exact.gemm_chain,
        peers.gemm_chain,
    ),
    "gated_ffn": (
        lambda d: programs.gated_ffn(5, 6, 7, d),
        [(5, 7), (7, 6), (7, 6), (6, 7)],
        exact.gated_ffn,
        peers.gated_ffn,
    ),
    "conv_chain": (
        lambda d: programs.conv_chain(2, 3, 8, 4, 5, 3, d),
        [(2, 3, 8, 8), (4, 3, 3, 3), (5, 4, 1, 1)],
        exact.conv_chain,
        peers.conv_chain,
    ),
}


def inputs_of(shapes: list) -> list[np.ndarray]:
    random = np.random.default_rng(3)
    made = []
    for shape in shapes:
        if shape == "int8":
            made.append(random.integers(-127, 128, (16, 8), dtype=np.int8))
        elif shape == "labels":
            made.append(random.integers(0, 37, 5))
        elif shape == "positive":
            made.append(random.random((5, 37), dtype=np.float32) + np.float32(0.1))
        else:
            made.append(random.standard_normal(shape).astype(np.float32))
    return made


@pytest.mark.parametrize("name", SMALL)
def test_programs_are_what_the_formulas_say(name: str) -> None:
    program, shapes, expected, _ = SMALL[name]
    inputs = inputs_of(shapes)
    results = redfuse.compile(program("f32"), options={"fuse": False})(*inputs)
    results = list(results) if isinstance(results, tuple) else [results]
    assert exact.error(expected(inputs), results) < 1e-5


@pytest.mark.parametrize("name", SMALL)
def test_peers_do_the_same_work(name: str) -> None:
    _, shapes, expected, peer = SMALL[name]
    inputs = inputs_of(shapes)
    for call_name, (call, _) in peer([runner.to_torch(array) for array in inputs]).items():
        if "_int_mm" in call_name:
            continue  # an integer matmul of PyTorch's, with limits on shapes of its own
        results = call()
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        assert exact.error(expected(inputs), [runner.from_torch(r) for r in results]) < 1e-5


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["attention", "softmax", "layernorm", "gemm_chain", "conv_chain"])
def test_narrow_types(name: str, dtype: str) -> None:
    from redfuse.runtime.specs import numpy_dtype

    program, shapes, expected, _ = SMALL[name]
    inputs = [array.astype(numpy_dtype(dtype)) for array in inputs_of(shapes)]
    result = redfuse.compile(program(dtype), options={"fuse": False})(*inputs)
    assert exact.error(expected(inputs), [result]) < (2e-2 if dtype == "bf16" else 4e-3)


def test_errors_count_misplaced_nans_and_wrong_indices() -> None:
    want = np.array([1.0, np.nan, 2.0])
    pieces = [(0, ..., want)]
    assert exact.error(iter(pieces), [want.astype(np.float32)]) == 0.0
    assert exact.error(iter(pieces), [np.array([1.0, 0.0, 2.0])]) == np.inf
    assert exact.error(iter(pieces), [np.array([np.nan, np.nan, 2.0])]) == np.inf
    indices = [(0, ..., np.array([1, 2, 3]))]
    assert exact.error(iter(indices), [np.array([1, 2, 3])]) == 0.0
    assert exact.error(iter(indices), [np.array([3, 2, 1])]) > 0.1


def test_every_workload_is_there() -> None:
    table = cases.all_cases()
    for name in (
        "attention/H9",
        "attention_prefill/P16384_d128_causal",
        "mla_decode/L9",
        "attention_operators/PF_Window_32768",
        "moe_routing/R8",
        "quant_gemm/Q10",
        "variance/V8",
        "inertia/I8",
        "softmax/S3",
        "cross_entropy/S1",
        "gemm_chain/G10",
        "gated_ffn/S8",
        "conv_chain/C8_b8",
        "cpu_attention/1x8x2048x2048x128",
        "rows_cpu/layernorm_8192x8192",
    ):
        assert name in table
    for case in table.values():
        assert case.flops > 0
        assert case.nbytes > 0


@pytest.mark.parametrize("workload", sorted({case.workload for case in cases.all_cases().values()}))
def test_programs_of_the_real_shapes_are_valid(workload: str) -> None:
    from redfuse.frontends import mlir as mlir_frontend

    for case in cases.select([workload]):
        module = mlir_frontend.read(case.program()).parse()
        signature = mlir_frontend.signature(mlir_frontend.find_entry(module))
        shapes = [shape for shape, _, _ in case.shapes]
        assert [spec.shape for spec in signature.inputs] == shapes


def test_the_default_set_and_groups() -> None:
    assert {case.workload for case in cases.select([])} == set(cases.CPU_DEFAULT)
    assert len(cases.select(["variance_and_inertia"])) == 16
    assert [case.full_name for case in cases.select(["attention/H3"])] == ["attention/H3"]


def test_a_failing_case_is_a_row_and_not_the_end() -> None:
    def broken(_: object) -> dict:
        def call() -> None:
            raise RuntimeError("no such kernel")

        return {"broken": (call, False)}

    small = Case(
        "test", "broken", "f32", lambda: programs.variance(2, 3), (((2, 3), "f32", "normal"),),
        exact.variance, broken, 1.0, 1.0,
    )  # fmt: skip
    rows = runner.run_case(small, runner.Settings(peers=True, rounds=3, seconds=0.1, unfused=True))
    by_name = {row.implementation: row for row in rows}
    assert by_name["torch broken"].note == "RuntimeError: no such kernel"
    assert by_name["redfuse"].median_ms is not None
    assert by_name["unfused"].median_ms is not None


@pytest.mark.parametrize("value", [0.0, 1.0, -2.5, 1e-12, 5.656854249492381, 1e300, 0.1])
def test_numbers_read_back(value: float) -> None:
    import mlir.ir as ir

    with ir.Context():
        attribute = ir.Attribute.parse(f"{number(value)} : f64")
        assert ir.FloatAttr(attribute).value == value
