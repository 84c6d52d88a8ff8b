"""Calls of programs on a GPU from several libraries, streams, threads and graphs:
`python test/hardware/calls.py`. One line a check; exit status 1 if one fails."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from pathlib import Path

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # JAX leaves memory to the others

import redfuse
import torch
from redfuse.bench import programs

CORPUS = Path(__file__).parent.parent / "e2e" / "corpus"
ROWS, COLUMNS = 64, 4096


def softmax() -> redfuse.Executable:
    """One kernel, nothing but arguments and result."""
    return redfuse.compile(programs.softmax(ROWS, COLUMNS, "f32"), target="cuda")


def close(one, other) -> None:
    torch.testing.assert_close(torch.as_tensor(one, device="cuda"), other, rtol=1e-5, atol=1e-7)


def check_torch() -> None:
    """The current stream, one that is named, results that are made and given."""
    exe = softmax()
    x = torch.randn(ROWS, COLUMNS, device="cuda")
    want = torch.softmax(x, 1)
    close(exe(x), want)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        late = torch.randn(ROWS, COLUMNS, device="cuda")
        for _ in range(50):
            late = late + 1.0
        result = exe(late)
        expected = torch.softmax(late, 1)
    side.synchronize()
    close(result, expected)
    out = torch.full_like(x, float("nan"))
    torch.cuda.synchronize()
    exe(x, out=out, stream=side)
    side.synchronize()
    close(out, want)
    shifted = torch.randn(ROWS * COLUMNS + 1, device="cuda")[1:].view(ROWS, COLUMNS)
    close(exe(shifted), torch.softmax(shifted, 1))


def check_graphs() -> None:
    """Replays after other calls on the same stream, with intermediates in the workspace."""
    exe = redfuse.compile(CORPUS / "conv_bias_relu.mlir", target="cuda")
    shapes = [tuple(spec.shape) for spec in exe.signature.inputs]
    args = [torch.randn(shape, device="cuda") for shape in shapes]
    out = torch.empty(tuple(exe.signature.outputs[0].shape), device="cuda")
    exe(*args, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        exe(*args, out=out)
    for turn in range(3):
        fresh = [torch.randn(shape, device="cuda") for shape in shapes]
        for mine, new in zip(args, fresh, strict=True):
            mine.copy_(new)
        out.fill_(float("nan"))
        graph.replay()
        other = exe(*[torch.randn_like(a) for a in args])  # takes a workspace of its own
        torch.cuda.synchronize()
        close(out, exe(*args))
        assert other.shape == out.shape, turn
    print("  workspace", redfuse.workspace())


def check_cupy() -> None:
    import cupy

    exe = softmax()
    x = cupy.random.standard_normal((ROWS, COLUMNS), dtype=cupy.float32)
    want = torch.softmax(torch.as_tensor(x, device="cuda"), 1)
    y = exe(x)
    assert isinstance(y, cupy.ndarray), type(y)
    close(y, want)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        z = cupy.full_like(x, cupy.nan)
        exe(x * 1.0, out=z)
        stream.synchronize()
    close(z, want)


def check_jax() -> None:
    import jax

    exe = softmax()
    x = jax.random.normal(jax.random.key(0), (ROWS, COLUMNS), dtype="float32")
    y = exe(x)
    assert isinstance(y, jax.Array), type(y)
    close(torch.from_dlpack(y), torch.softmax(torch.from_dlpack(x), 1))


def check_interface() -> None:
    """Anything with __cuda_array_interface__, with and without a stream of its own."""
    exe = softmax()
    x = torch.randn(ROWS, COLUMNS, device="cuda")
    out = torch.full_like(x, float("nan"))
    side = torch.cuda.Stream()

    class Array:
        def __init__(self, tensor, stream):
            facts = dict(tensor.__cuda_array_interface__)
            self.__cuda_array_interface__ = {**facts, "version": 3, "stream": stream}

    exe(Array(x, 1), out=Array(out, None))
    torch.cuda.synchronize()
    close(out, torch.softmax(x, 1))
    with torch.cuda.stream(side):
        late = torch.randn(ROWS, COLUMNS, device="cuda")
        for _ in range(200):
            late = late * 1.001
    exe(Array(late, side.cuda_stream), out=Array(out, None))
    torch.cuda.synchronize()
    close(out, torch.softmax(late, 1))


def check_threads() -> None:
    """Eight threads with streams of their own share two programs."""
    exes = [softmax(), redfuse.compile(CORPUS / "conv_bias_relu.mlir", target="cuda")]
    inputs = [torch.randn(tuple(s.shape), device="cuda") for s in exes[1].signature.inputs]
    wanted = exes[1](*inputs)
    torch.cuda.synchronize()
    errors: list[Exception] = []

    def work(seed: int) -> None:
        try:
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                generator = torch.Generator("cuda").manual_seed(seed)
                for _ in range(50):
                    x = torch.randn(ROWS, COLUMNS, device="cuda", generator=generator)
                    close(exes[0](x), torch.softmax(x, 1))
                    close(exes[1](*inputs), wanted)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def check_errors() -> None:
    """What does not fit is told before anything is launched."""
    exe = softmax()
    x = torch.randn(ROWS, COLUMNS, device="cuda")
    for bad in (x.cpu(), x.double(), x[:, ::2], x.t(), x.cpu().numpy(), None):
        try:
            exe(bad)
        except redfuse.ArgumentError as error:
            assert "argument 0" in str(error), error
        else:
            raise AssertionError(f"took {type(bad)}")
    try:
        exe(x, out=x)
    except redfuse.ArgumentError as error:
        assert "shares memory" in str(error), error
    else:
        raise AssertionError("wrote over its argument")


def check_assertions() -> None:
    """A label out of range: the kernel ends, the next call says so; also of a graph's replay."""
    exe = redfuse.compile(CORPUS / "cross_entropy.mlir", target="cuda")
    x = torch.randn(exe.signature.inputs[0].shape, device="cuda")
    labels = torch.randint(0, x.shape[1], (x.shape[0],), device="cuda")
    out = exe(x, labels)
    wrong = labels.clone()
    wrong[-1] = x.shape[1]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        exe(x, wrong, out=out)
    torch.cuda.synchronize()
    exe.check()  # nothing has run
    for run in (lambda: exe(x, wrong, out=out), graph.replay):
        for find in (exe.check, lambda: exe(x, labels, out=out)):
            run()
            torch.cuda.synchronize()
            try:
                find()
            except redfuse.ExecutionError as error:
                assert "index must be smaller than dim size" in str(error), error
            else:
                raise AssertionError("an index out of range was not reported")
    exe(x, labels, out=out)
    torch.cuda.synchronize()
    exe.check()


def check_several_gpus() -> None:
    """Where there are two: the same program on both, the caller's device stays."""
    if torch.cuda.device_count() < 2:
        print("  one GPU only")
        return
    exe = softmax()
    for device in (1, 0, 1):
        x = torch.randn(ROWS, COLUMNS, device=f"cuda:{device}")
        y = exe(x)
        assert y.device == x.device and torch.cuda.current_device() == 0
        torch.testing.assert_close(y, torch.softmax(x, 1), rtol=1e-5, atol=1e-7)
    try:
        exe(x, out=torch.empty_like(x, device="cuda:0"))
    except redfuse.ArgumentError as error:
        assert "GPU 1" in str(error), error
    else:
        raise AssertionError("took tensors of two GPUs")


def main() -> int:
    """All checks; 0 if all are right."""
    failed = 0
    for name, check in list(globals().items()):
        if not name.startswith("check_"):
            continue
        try:
            check()
            print(f"ok   {name.removeprefix('check_')}", flush=True)
        except ImportError as error:
            print(f"ok   {name.removeprefix('check_')}: not there: {error}", flush=True)
        except Exception as error:
            failed += 1
            trace = traceback.format_exc(limit=-2).replace("\n", " | ")[-500:]
            print(f"FAIL {name.removeprefix('check_')}: {str(error)[:300]} {trace}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
