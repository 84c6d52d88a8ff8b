"""Cascades by name, as bodies in index notation, for tests of the derivation."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

ARGUMENTS = ("a", "b", "gain", "bias")


@dataclass(frozen=True)
class Cascade:
    """A cascade over dims named by letters; `j` is the one that is folded.

    inputs: the dims of each input, with a type other than f32 after a colon.
    results: the same of the results, yielded in order.
    body: the scalar program; inputs are %a, %b, %gain, %bias.
    """

    inputs: tuple[str, ...]
    results: tuple[str, ...]
    body: str

    @property
    def folded(self) -> int:
        """The number of the dim `j`."""
        names = sorted({c for dims in (*self.inputs, *self.results) for c in _dims(dims)})
        return names.index("j")

    def text(self, extents: dict[str, int], dynamic: bool = False) -> str:
        """A function @main with the cascade, for the extents of its dims."""
        names = sorted({c for dims in (*self.inputs, *self.results) for c in _dims(dims)})
        space = ", ".join(names)

        def tensor(spec: str) -> str:
            sizes = "".join(f"{'?' if dynamic else extents[c]}x" for c in _dims(spec))
            return f"tensor<{sizes}{_type(spec)}>"

        def affine(spec: str) -> str:
            return f"affine_map<({space}) -> ({', '.join(_dims(spec))})>"

        body = self.body
        for c in names:
            body = body.replace(f"[{c}]", f"[{names.index(c)}]")
        for c, o in itertools.permutations(names, 2):
            body = body.replace(f"[{c}, {o}]", f"[{names.index(c)}, {names.index(o)}]")
        ins = [tensor(s) for s in self.inputs]
        outs = [tensor(s) for s in self.results]
        arguments = ", ".join(
            [f"%in{i}: {t}" for i, t in enumerate(ins)]
            + [f"%init{i}: {t}" for i, t in enumerate(outs)]
        )
        pairs = zip(ARGUMENTS[: len(self.inputs)], self.inputs, strict=True)
        block = ", ".join(f"%{name}: {_type(spec)}" for name, spec in pairs)
        maps = ", ".join(map(affine, self.inputs + self.results))
        return f"""
func.func @main({arguments}) -> ({", ".join(outs)}) {{
  %r:{len(outs)} = redfuse.cascade {{indexing_maps = [{maps}]}}
      ins({", ".join(f"%in{i}" for i in range(len(ins)))} : {", ".join(ins)})
      outs({", ".join(f"%init{i}" for i in range(len(outs)))} : {", ".join(outs)}) {{
  ^bb0({block}):
    {body}
  }} -> {", ".join(outs)}
  return {", ".join(f"%r#{i}" for i in range(len(outs)))} : {", ".join(outs)}
}}"""


def _dims(spec: str) -> str:
    return spec.split(":")[0]


def _type(spec: str) -> str:
    return spec.split(":")[1] if ":" in spec else "f32"


EXP = """
    %m = redfuse.reduce maximumf %a over [j] into [i] : f32
    %c = arith.subf %a, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [j] into [i] : f32
"""
MEAN = """
    %n = arith.constant {n} : f32
    %s = redfuse.reduce add %a over [j] into [i] : f32
    %mu = arith.divf %s, %n : f32
    %d = arith.subf %a, %mu : f32
"""
_VARIANCE = (
    MEAN
    + """
    %q = arith.mulf %d, %d : f32
    %qs = redfuse.reduce add %q over [j] into [i] : f32
    %var = arith.divf %qs, %n : f32
    %eps = arith.constant 1.0e-05 : f32
    %ve = arith.addf %var, %eps : f32
    %rs = math.rsqrt %ve : f32
"""
)

# The extent of j in the tests, for means.
N = 37


def with_n(text: str) -> str:
    return text.replace("{n}", f"{float(N):.1f}")


CASCADES: dict[str, Cascade] = {
    "sum of exponentials": Cascade(("ij",), ("i",), EXP + "redfuse.yield %l : f32"),
    "softmax": Cascade(
        ("ij",), ("ij",), EXP + "%w = arith.divf %e, %l : f32\nredfuse.yield %w : f32"
    ),
    "log-sum-exp": Cascade(
        ("ij",),
        ("i",),
        EXP + "%k = math.log %l : f32\n%r = arith.addf %m, %k : f32\nredfuse.yield %r : f32",
    ),
    "weighted sum": Cascade(
        ("ij", "jd"),
        ("id",),
        EXP
        + """%w = arith.divf %e, %l : f32
             %p = arith.mulf %w, %b : f32
             %r = redfuse.reduce add %p over [j] into [d, i] : f32
             redfuse.yield %r : f32""",
    ),
    "weighted sum, normalised with the log-sum-exp": Cascade(
        ("ij", "jd"),
        ("id",),
        EXP
        + """%k = math.log %l : f32
             %lse = arith.addf %m, %k : f32
             %c2 = arith.subf %a, %lse : f32
             %w = math.exp %c2 : f32
             %p = arith.mulf %w, %b : f32
             %r = redfuse.reduce add %p over [j] into [d, i] : f32
             redfuse.yield %r : f32""",
    ),
    "guarded weighted sum": Cascade(
        ("ij", "jd"),
        ("id",),
        EXP
        + """%ninf = arith.constant 0xFF800000 : f32
             %zero = arith.constant 0.0 : f32
             %is = arith.cmpf oeq, %a, %ninf : f32
             %all = redfuse.reduce and %is over [j] into [i] : i1
             %w = arith.divf %e, %l : f32
             %g = arith.select %all, %zero, %w : f32
             %p = arith.mulf %g, %b : f32
             %r = redfuse.reduce add %p over [j] into [d, i] : f32
             redfuse.yield %r : f32""",
    ),
    "narrowed weighted sum": Cascade(
        ("ij", "jd:bf16"),
        ("id",),
        EXP
        + """%w = arith.divf %e, %l : f32
             %h = arith.truncf %w : f32 to bf16
             %h32 = arith.extf %h : bf16 to f32
             %b32 = arith.extf %b : bf16 to f32
             %p = arith.mulf %h32, %b32 : f32
             %r = redfuse.reduce add %p over [j] into [d, i] : f32
             redfuse.yield %r : f32""",
    ),
    "exponentials of base 2": Cascade(
        ("ij",),
        ("i",),
        """%m = redfuse.reduce maximumf %a over [j] into [i] : f32
           %c = arith.subf %a, %m : f32
           %e = math.exp2 %c : f32
           %l = redfuse.reduce add %e over [j] into [i] : f32
           redfuse.yield %l : f32""",
    ),
    "scaled after the subtraction": Cascade(
        ("ij",),
        ("i",),
        """%k = arith.constant 0.25 : f32
           %m = redfuse.reduce maximumf %a over [j] into [i] : f32
           %c = arith.subf %a, %m : f32
           %t = arith.mulf %c, %k : f32
           %e = math.exp %t : f32
           %l = redfuse.reduce add %e over [j] into [i] : f32
           redfuse.yield %l : f32""",
    ),
    "masked after the exponential": Cascade(
        ("ij",),
        ("i",),
        """%i0 = redfuse.index 0
           %j0 = redfuse.index 1
           %keep = arith.cmpi sle, %j0, %i0 : index
           %zero = arith.constant 0.0 : f32
           %m = redfuse.reduce maximumf %a over [j] into [i] : f32
           %c = arith.subf %a, %m : f32
           %e = math.exp %c : f32
           %k = arith.select %keep, %e, %zero : f32
           %l = redfuse.reduce add %k over [j] into [i] : f32
           redfuse.yield %l : f32""",
    ),
    "root mean square, then a contraction": Cascade(
        ("ij", "jd"),
        ("id",),
        with_n("""%n = arith.constant {n} : f32
           %eps = arith.constant 1.0e-06 : f32
           %q = arith.mulf %a, %a : f32
           %s = redfuse.reduce add %q over [j] into [i] : f32
           %ms = arith.divf %s, %n : f32
           %me = arith.addf %ms, %eps : f32
           %rs = math.rsqrt %me : f32
           %x = arith.mulf %a, %rs : f32
           %p = arith.mulf %x, %b : f32
           %r = redfuse.reduce add %p over [j] into [d, i] : f32
           redfuse.yield %r : f32"""),
    ),
    "divided by a sum that can be zero": Cascade(
        ("ij", "ij"),
        ("i",),
        """%s = redfuse.reduce add %a over [j] into [i] : f32
           %q = arith.divf %b, %s : f32
           %r = redfuse.reduce add %q over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
    "multiplied by a sum that can be infinite": Cascade(
        ("ij", "ij"),
        ("i",),
        """%s = redfuse.reduce add %a over [j] into [i] : f32
           %q = arith.mulf %b, %s : f32
           %r = redfuse.reduce add %q over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
    "largest scaled value": Cascade(
        ("ij", "ij"),
        ("i",),
        """%s = redfuse.reduce add %b over [j] into [i] : f32
           %t = math.tanh %s : f32
           %q = arith.mulf %a, %t : f32
           %r = redfuse.reduce maximumf %q over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
    "smallest shifted value": Cascade(
        ("ij",),
        ("i",),
        """%s = redfuse.reduce add %a over [j] into [i] : f32
           %q = arith.subf %s, %a : f32
           %r = redfuse.reduce minimumf %q over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
    "position of the largest value": Cascade(
        ("ij",),
        ("i", "i:index"),
        """%k = redfuse.index 1
           %v, %p = redfuse.reduce argmax %a, %k over [j] into [i] : f32, index
           redfuse.yield %v, %p : f32, index""",
    ),
    "min-max normalisation": Cascade(
        ("ij",),
        ("ij",),
        """%h = redfuse.reduce maximumf %a over [j] into [i] : f32
           %l = redfuse.reduce minimumf %a over [j] into [i] : f32
           %t = arith.subf %a, %l : f32
           %w = arith.subf %h, %l : f32
           %r = arith.divf %t, %w : f32
           redfuse.yield %r : f32""",
    ),
    "variance": Cascade(("ij",), ("i",), with_n(_VARIANCE) + "redfuse.yield %var : f32"),
    "mean and variance": Cascade(
        ("ij",), ("i", "i"), with_n(_VARIANCE) + "redfuse.yield %mu, %var : f32, f32"
    ),
    "third and fourth moment": Cascade(
        ("ij",),
        ("i", "i"),
        with_n(MEAN)
        + """%d2 = arith.mulf %d, %d : f32
             %d3 = arith.mulf %d2, %d : f32
             %d4 = arith.mulf %d2, %d2 : f32
             %s3 = redfuse.reduce add %d3 over [j] into [i] : f32
             %s4 = redfuse.reduce add %d4 over [j] into [i] : f32
             redfuse.yield %s3, %s4 : f32, f32""",
    ),
    "covariance": Cascade(
        ("ij", "ij"),
        ("i",),
        with_n(MEAN)
        + """%t = redfuse.reduce add %b over [j] into [i] : f32
             %nu = arith.divf %t, %n : f32
             %g = arith.subf %b, %nu : f32
             %p = arith.mulf %d, %g : f32
             %r = redfuse.reduce add %p over [j] into [i] : f32
             redfuse.yield %r : f32""",
    ),
    "weighted variance": Cascade(
        ("ij", "ij"),
        ("i",),
        """%w = arith.mulf %b, %b : f32
           %wa = arith.mulf %w, %a : f32
           %s1 = redfuse.reduce add %wa over [j] into [i] : f32
           %s0 = redfuse.reduce add %w over [j] into [i] : f32
           %mu = arith.divf %s1, %s0 : f32
           %d = arith.subf %a, %mu : f32
           %q = arith.mulf %d, %d : f32
           %p = arith.mulf %w, %q : f32
           %r = redfuse.reduce add %p over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
    "layer norm, then a contraction": Cascade(
        ("ij", "jd"),
        ("id",),
        with_n(_VARIANCE)
        + """%x = arith.mulf %d, %rs : f32
             %p = arith.mulf %x, %b : f32
             %r = redfuse.reduce add %p over [j] into [d, i] : f32
             redfuse.yield %r : f32""",
    ),
    "affine layer norm, then a contraction": Cascade(
        ("ij", "jd", "j", "j"),
        ("id",),
        with_n(_VARIANCE)
        + """%x = arith.mulf %d, %rs : f32
             %y = arith.mulf %x, %gain : f32
             %z = arith.addf %y, %bias : f32
             %p = arith.mulf %z, %b : f32
             %r = redfuse.reduce add %p over [j] into [d, i] : f32
             redfuse.yield %r : f32""",
    ),
    "entropy": Cascade(
        ("ij",),
        ("i",),
        EXP
        + """%k = math.log %l : f32
             %lp = arith.subf %c, %k : f32
             %w = arith.divf %e, %l : f32
             %p = arith.mulf %w, %lp : f32
             %s = redfuse.reduce add %p over [j] into [i] : f32
             %r = arith.negf %s : f32
             redfuse.yield %r : f32""",
    ),
    "divergence of two distributions": Cascade(
        ("ij", "ij"),
        ("i",),
        EXP
        + """%m2 = redfuse.reduce maximumf %b over [j] into [i] : f32
             %c2 = arith.subf %b, %m2 : f32
             %e2 = math.exp %c2 : f32
             %l2 = redfuse.reduce add %e2 over [j] into [i] : f32
             %k = math.log %l : f32
             %k2 = math.log %l2 : f32
             %lp = arith.subf %c, %k : f32
             %lq = arith.subf %c2, %k2 : f32
             %lr = arith.subf %lp, %lq : f32
             %w = arith.divf %e, %l : f32
             %p = arith.mulf %w, %lr : f32
             %r = redfuse.reduce add %p over [j] into [i] : f32
             redfuse.yield %r : f32""",
    ),
    "cosine similarity": Cascade(
        ("ij", "ij"),
        ("i",),
        """%aa = arith.mulf %a, %a : f32
           %bb = arith.mulf %b, %b : f32
           %ab = arith.mulf %a, %b : f32
           %sa = redfuse.reduce add %aa over [j] into [i] : f32
           %sb = redfuse.reduce add %bb over [j] into [i] : f32
           %sab = redfuse.reduce add %ab over [j] into [i] : f32
           %na = math.sqrt %sa : f32
           %nb = math.sqrt %sb : f32
           %nn = arith.mulf %na, %nb : f32
           %r = arith.divf %sab, %nn : f32
           redfuse.yield %r : f32""",
    ),
    "integers": Cascade(
        ("ij:i32",),
        ("i:i32", "i:i32"),
        """%s = redfuse.reduce add %a over [j] into [i] : i32
           %p = arith.muli %a, %s : i32
           %q = arith.subi %p, %a : i32
           %t = redfuse.reduce add %q over [j] into [i] : i32
           %h = redfuse.reduce maxsi %a over [j] into [i] : i32
           redfuse.yield %t, %h : i32, i32""",
    ),
}
