"""Memory-bound cascades on a GPU, as a share of the rate of a copy: `python test/hardware/bandwidth.py`.

Every program reads and writes its arrays once, so its time has the copy's as a floor. Four sets of
arrays take turns, larger together than the L2 cache; events around 20 calls, median of 5.
"""

from __future__ import annotations

import cli
import redfuse
import torch
from timing import microseconds

ROWS = COLUMNS = 8192
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}

MAPS = """#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#c = affine_map<(i, j) -> (j)>
"""


def wide(name: str, source: str, kind: str) -> str:
    """`source` as a tensor of f32."""
    if kind == "f32":
        return ""
    return f"""
  %{name}_0 = tensor.empty() : tensor<{ROWS}x{COLUMNS}xf32>
  %{name} = linalg.generic {{indexing_maps = [#x, #x], iterator_types = ["parallel", "parallel"]}}
    ins(%{source} : tensor<{ROWS}x{COLUMNS}x{kind}>) outs(%{name}_0 : tensor<{ROWS}x{COLUMNS}xf32>) {{
    ^bb0(%a: {kind}, %b: f32):
      %w = arith.extf %a : {kind} to f32
      linalg.yield %w : f32 }} -> tensor<{ROWS}x{COLUMNS}xf32>"""


def narrow(value: str, kind: str) -> str:
    """Returns `value` in the program's type."""
    t = f"tensor<{ROWS}x{COLUMNS}x{kind}>"
    if kind == "f32":
        return f"\n  return %{value} : {t}"
    return f"""
  %n_0 = tensor.empty() : {t}
  %n = linalg.generic {{indexing_maps = [#x, #x], iterator_types = ["parallel", "parallel"]}}
    ins(%{value} : tensor<{ROWS}x{COLUMNS}xf32>) outs(%n_0 : {t}) {{
    ^bb0(%a: f32, %b: {kind}):
      %w = arith.truncf %a : f32 to {kind}
      linalg.yield %w : {kind} }} -> {t}
  return %n : {t}"""


def reduce(name: str, source: str, body: str, over: str = "j", start: str = "0.0") -> str:
    """A reduction of %a (an element of `source`) into %b along rows (j) or columns (i)."""
    size, out, kinds = (
        (ROWS, "#r", '["parallel", "reduction"]')
        if over == "j"
        else (COLUMNS, "#c", '["reduction", "parallel"]')
    )
    return f"""
  %{name}_s = arith.constant {start} : f32
  %{name}_0 = tensor.empty() : tensor<{size}xf32>
  %{name}_1 = linalg.fill ins(%{name}_s : f32) outs(%{name}_0 : tensor<{size}xf32>) -> tensor<{size}xf32>
  %{name} = linalg.generic {{indexing_maps = [#x, {out}], iterator_types = {kinds}}}
    ins(%{source} : tensor<{ROWS}x{COLUMNS}xf32>) outs(%{name}_1 : tensor<{size}xf32>) {{
    ^bb0(%a: f32, %b: f32):
      {body} }} -> tensor<{size}xf32>"""


def row_map(name: str, source: str, row: str, body: str) -> str:
    """An element-wise op of %a (of `source`) and %r (of `row`)."""
    t = f"tensor<{ROWS}x{COLUMNS}xf32>"
    return f"""
  %{name}_0 = tensor.empty() : {t}
  %{name} = linalg.generic {{indexing_maps = [#x, #r, #x], iterator_types = ["parallel", "parallel"]}}
    ins(%{source}, %{row} : {t}, tensor<{ROWS}xf32>) outs(%{name}_0 : {t}) {{
    ^bb0(%a: f32, %r: f32, %b: f32):
      {body} }} -> {t}"""


ADD = "%s = arith.addf %a, %b : f32 linalg.yield %s : f32"


def softmax(kind: str) -> str:
    """exp(x - max) / sum, row by row."""
    x = "x" if kind == "f32" else "xw"
    return (
        wide("xw", "x", kind)
        + reduce(
            "m", x, "%s = arith.maximumf %a, %b : f32 linalg.yield %s : f32", "j", "0xFF800000"
        )
        + row_map(
            "e", x, "m", "%d = arith.subf %a, %r : f32 %s = math.exp %d : f32 linalg.yield %s : f32"
        )
        + reduce("l", "e", ADD)
        + row_map("y", "e", "l", "%s = arith.divf %a, %r : f32 linalg.yield %s : f32")
        + narrow("y", kind)
    )


def rmsnorm(kind: str) -> str:
    """x / sqrt(mean(x^2) + eps)."""
    x = "x" if kind == "f32" else "xw"
    square = "%q = arith.mulf %a, %a : f32 %s = arith.addf %q, %b : f32 linalg.yield %s : f32"
    scale = (
        f"%n = arith.constant {float(COLUMNS)} : f32 %eps = arith.constant 1.0e-5 : f32 "
        "%m = arith.divf %r, %n : f32 %v = arith.addf %m, %eps : f32 "
        "%i = math.rsqrt %v : f32 %s = arith.mulf %a, %i : f32 linalg.yield %s : f32"
    )
    return (
        wide("xw", "x", kind)
        + reduce("q", x, square)
        + row_map("y", x, "q", scale)
        + narrow("y", kind)
    )


def column_sum(kind: str) -> str:
    """The sum of every column."""
    x = "x" if kind == "f32" else "xw"
    return (
        wide("xw", "x", kind) + reduce("s", x, ADD, "i") + f"\n  return %s : tensor<{COLUMNS}xf32>"
    )


def row_sum(kind: str) -> str:
    """The sum of every row."""
    x = "x" if kind == "f32" else "xw"
    return wide("xw", "x", kind) + reduce("s", x, ADD) + f"\n  return %s : tensor<{ROWS}xf32>"


PROGRAMS = {
    "softmax": (softmax, lambda x: torch.softmax(x.double(), 1), True),
    "rmsnorm": (
        rmsnorm,
        lambda x: x.double() * torch.rsqrt(x.double().square().mean(1, True) + 1e-5),
        True,
    ),
    "row_sum": (row_sum, lambda x: x.double().sum(1), False),
    "column_sum": (column_sum, lambda x: x.double().sum(0), False),
}


def program(name: str, kind: str) -> str:
    """The MLIR of a program."""
    make, _, is_map = PROGRAMS[name]
    result = (
        f"{ROWS}x{COLUMNS}x{kind}" if is_map else f"{ROWS if name == 'row_sum' else COLUMNS}xf32"
    )
    body = make(kind).replace(" linalg.yield", "\n      linalg.yield")
    for op in ("%s =", "%q =", "%m =", "%v =", "%i =", "%eps =", "%d ="):
        body = body.replace(f" {op}", f"\n      {op}")
    return f"{MAPS}func.func @main(%x: tensor<{ROWS}x{COLUMNS}x{kind}>) -> tensor<{result}> {{{body}\n}}\n"


def main() -> None:
    """The command line."""
    parser = cli.parser(__doc__)
    parser.add_argument("--dump", help="print one program, as softmax:bf16")
    options = parser.parse_args()
    if options.dump:
        print(program(*options.dump.split(":")))
        return
    torch.manual_seed(0)
    sets = 4
    for kind, dtype in TYPES.items():
        xs = [torch.randn(ROWS, COLUMNS, device="cuda").to(dtype) for _ in range(sets)]
        ys = [torch.empty_like(x) for x in xs]
        nbytes = xs[0].nbytes
        copy = microseconds(lambda i, xs=xs, ys=ys: ys[i].copy_(xs[i]), sets)
        rate = 2 * nbytes / copy / 1e6
        print(f"{kind}: copy {copy:.1f} us, {rate:.2f} TB/s")
        for name, (_, reference, is_map) in PROGRAMS.items():
            exe = redfuse.compile(program(name, kind), target="cuda")
            outs = [torch.full_like(exe(xs[0]), float("nan")) for _ in range(sets)]
            exe(xs[1], out=outs[1])
            want = reference(xs[1])
            error = ((outs[1].double() - want).norm() / want.norm()).item()
            time = microseconds(lambda i, exe=exe, xs=xs, outs=outs: exe(xs[i], out=outs[i]), sets)
            moved = nbytes * (2 if is_map else 1)
            share = moved / time / 1e6 / rate
            print(
                f"  {name}: {time:.1f} us, {moved / time / 1e6:.2f} TB/s, {share:.1%} of copy, "
                f"error {error:.1e}",
                flush=True,
            )
            for kernel in exe.resources:
                print(f"    {kernel}")


if __name__ == "__main__":
    main()
