"""The benchmark's programs and exact results agree with each other, at sizes a test affords."""

import numpy as np
import pytest
import redfuse
from redfuse.bench import cases, exact
from redfuse.bench.builder import number
from small_cases import SMALL, inputs_of


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.sample(3)
def test_programs_are_what_the_formulas_say(name: str, fuse: bool) -> None:
    program, shapes, expected, _ = SMALL[name]
    inputs = inputs_of(shapes)
    results = redfuse.compile(program("f32"), options={"fuse": fuse})(*inputs)
    results = list(results) if isinstance(results, tuple) else [results]
    assert exact.error(expected(inputs), results) < 1e-5


@pytest.mark.sample(3)
@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["attention", "softmax", "layernorm", "gemm_chain", "conv_chain"])
def test_narrow_types(name: str, dtype: str, fuse: bool) -> None:
    from redfuse.runtime.specs import numpy_dtype

    program, shapes, expected, _ = SMALL[name]
    inputs = [array.astype(numpy_dtype(dtype)) for array in inputs_of(shapes)]
    result = redfuse.compile(program(dtype), options={"fuse": fuse})(*inputs)
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
@pytest.mark.sample(3)
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
    assert [case.name for case in cases.select(["attention_operators/DC_*_512"])] == [
        "DC_Causal_512", "DC_GQA_512", "DC_ALiBi_512", "DC_SoftCap_512",
    ]  # fmt: skip


@pytest.mark.parametrize("value", [0.0, 1.0, -2.5, 1e-12, 5.656854249492381, 1e300, 0.1])
def test_numbers_read_back(value: float) -> None:
    import mlir.ir as ir

    with ir.Context():
        attribute = ir.Attribute.parse(f"{number(value)} : f64")
        assert ir.FloatAttr(attribute).value == value
