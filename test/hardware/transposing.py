"""Transposing copies on a GPU, beside PyTorch's and a plain copy: `python test/hardware/transposing.py`.

A tensor is laid out with its channels last, and back: once copied as it is, and once rounded to TF32
(f32) or squared (bf16). PyTorch's time is that of `.contiguous()` of the permuted view; a plain copy
of as many bytes is the floor. Sets of arrays take turns, larger together than four L2 caches; events
around 20 calls, median of 5. Results are compared, of
copies bit by bit.
"""

from __future__ import annotations

import cli
from timing import microseconds

TYPES = ("f32", "bf16")
SIZES = ((32, 256, 56, 56), (16, 64, 512, 512), (64, 2048, 7, 7), (64, 3, 224, 224), (8192, 8192))

BODIES = {
    "copy": {kind: f"linalg.yield %a : {kind}" for kind in TYPES},
    "arithmetic": {
        "f32": "%t = arith.truncf %a : f32 to tf32\n    %u = arith.extf %t : tf32 to f32\n"
        "    linalg.yield %u : f32",
        "bf16": "%t = arith.mulf %a, %a : bf16\n    linalg.yield %t : bf16",
    },
}


def permutation(rank: int, back: bool) -> list[int]:
    """Channels last, or (`back`) second."""
    if rank == 2:
        return [1, 0]
    last = [0, *range(2, rank), 1]
    return [last.index(d) for d in range(rank)] if back else last


def program(size: tuple[int, ...], kind: str, back: bool, body: str) -> tuple[str, tuple[int, ...]]:
    """The MLIR of a copy, and the shape of its input."""
    order = permutation(len(size), back)
    shape = tuple(size[d] for d in permutation(len(size), False)) if back else size
    result = [shape[d] for d in order]

    def tensor(extents: list[int] | tuple[int, ...]) -> str:
        return f"tensor<{'x'.join(map(str, extents))}x{kind}>"

    dims = [f"d{i}" for i in range(len(size))]
    source = ", ".join(dims[order.index(d)] for d in range(len(size)))
    parallel = ", ".join(['"parallel"'] * len(size))
    text = f"""
func.func @main(%x: {tensor(shape)}) -> {tensor(result)} {{
  %e = tensor.empty() : {tensor(result)}
  %r = linalg.generic {{
    indexing_maps = [affine_map<({", ".join(dims)}) -> ({source})>,
                     affine_map<({", ".join(dims)}) -> ({", ".join(dims)})>],
    iterator_types = [{parallel}]}} ins(%x : {tensor(shape)}) outs(%e : {tensor(result)}) {{
  ^bb0(%a: {kind}, %o: {kind}):
    {BODIES[body][kind]}
  }} -> {tensor(result)}
  return %r : {tensor(result)}
}}
"""
    return text, shape


def measure(size: tuple[int, ...], kind: str, back: bool) -> None:
    """Prints a line for one copy."""
    import redfuse
    import torch

    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[kind]
    order = permutation(len(size), back)
    shape = program(size, kind, back, "copy")[1]
    x = torch.randn(shape, device="cuda").to(dtype)
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    sets = 2 + 4 * cache // (2 * x.nbytes)
    xs = [x.clone() for _ in range(sets)]
    views = [x.permute(order) for x in xs]
    outs = [torch.empty_like(x.flatten()) for x in xs]
    times = {
        "plain": microseconds(lambda i: outs[i].copy_(xs[i].flatten()), sets),
        "torch": microseconds(lambda i: views[i].contiguous(), sets),
    }
    outs = [out.view(views[0].shape) for out in outs]
    wrong = []
    for body in BODIES:
        exe = redfuse.compile(program(size, kind, back, body)[0], target="cuda")
        outs[0].fill_(float("nan"))
        exe(xs[0], out=outs[0])
        want = views[0].contiguous()
        if body == "arithmetic" and kind == "bf16":
            want = want * want
        # A rounding to TF32 keeps 10 bits of a fraction.
        bound = want.abs() * (2.0**-11 if body == "arithmetic" and kind == "f32" else 0)
        if not ((outs[0] - want).abs() <= bound).all():
            wrong.append(body)
        times[body] = microseconds(lambda i, exe=exe: exe(xs[i], out=outs[i]), sets)
    moved = 2 * x.nbytes
    shown = ", ".join(
        f"{what} {time:.1f} us ({moved / time / 1e6:.2f} TB/s)" for what, time in times.items()
    )
    name = "x".join(map(str, size)) + (" back" if back else "")
    print(
        f"{name} {kind}: {shown}; {times['plain'] / times['copy']:.1%} of a plain copy's rate"
        + (f"; WRONG: {', '.join(wrong)}" if wrong else ""),
        flush=True,
    )


def main() -> None:
    """The command line."""
    parser = cli.parser(__doc__)
    parser.add_argument("--dump", help="print one program, as 64x2048x7x7:bf16 or ...:bf16:back")
    options = parser.parse_args()
    if options.dump:
        extents, kind, *back = options.dump.split(":")
        print(program(tuple(map(int, extents.split("x"))), kind, bool(back), "copy")[0])
        return
    import torch

    torch.manual_seed(0)
    print(torch.cuda.get_device_name(0))
    for size in SIZES:
        for kind in TYPES:
            for back in (False, True) if len(size) > 2 else (False,):
                measure(size, kind, back)


if __name__ == "__main__":
    main()
