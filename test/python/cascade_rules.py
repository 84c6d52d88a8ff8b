"""Cascades for single rules of the derivation: sums over other dims, functions of products."""

from __future__ import annotations

from cascades import EXP, MEAN, Cascade, with_n

_SOFTMAX = EXP + "%w = arith.divf %e, %l : f32\n"
_MEAN = with_n(MEAN)

# Folded along j, whatever is reduced last.
RULES: dict[str, Cascade] = {
    "moment of inertia": Cascade(
        ("ij", "ijk"),
        ("i",),
        """%wa = arith.mulf %a, %b : f32
           %s = redfuse.reduce add %wa over [j] into [i, k] : f32
           %n = redfuse.reduce add %a over [j] into [i] : f32
           %c = arith.divf %s, %n : f32
           %d = arith.subf %b, %c : f32
           %q = arith.mulf %d, %d : f32
           %r2 = redfuse.reduce add %q over [k] into [i, j] : f32
           %p = arith.mulf %a, %r2 : f32
           %r = redfuse.reduce add %p over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
    "a reduction after the fold": Cascade(
        ("ij", "jk"),
        ("i", "i:index"),
        """%p = arith.mulf %a, %b : f32
           %s = redfuse.reduce add %p over [j] into [i, k] : f32
           %m = redfuse.reduce maximumf %s over [k] into [i] : f32
           %c = arith.subf %s, %m : f32
           %e = math.exp %c : f32
           %l = redfuse.reduce add %e over [k] into [i] : f32
           %w = arith.divf %e, %l : f32
           %x = redfuse.index 2
           %v, %at = redfuse.reduce argmax %w, %x over [k] into [i] : f32, index
           redfuse.yield %v, %at : f32, index""",
    ),
    "squares of all rows together": Cascade(
        ("ij",),
        ("",),
        _MEAN
        + """%q = arith.mulf %d, %d : f32
           %r = redfuse.reduce add %q over [i, j] into [] : f32
           redfuse.yield %r : f32""",
    ),
    "an absolute value": Cascade(
        ("ij", "ij"),
        ("i",),
        """%s = redfuse.reduce add %a over [j] into [i] : f32
           %q = arith.mulf %b, %s : f32
           %c = math.absf %q : f32
           %r = redfuse.reduce add %c over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
    "a root": Cascade(
        ("ij", "ij"),
        ("i",),
        """%k = arith.constant 0.5 : f32
           %b2 = math.absf %b : f32
           %a2 = arith.mulf %a, %a : f32
           %s = redfuse.reduce add %a2 over [j] into [i] : f32
           %t = arith.addf %s, %k : f32
           %q = arith.divf %b2, %t : f32
           %c = math.sqrt %q : f32
           %r = redfuse.reduce add %c over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
    "one over a root": Cascade(
        ("ij", "ij"),
        ("i",),
        """%k = arith.constant 0.5 : f32
           %a2 = arith.mulf %a, %a : f32
           %s = redfuse.reduce add %a2 over [j] into [i] : f32
           %t = arith.addf %s, %k : f32
           %q = arith.mulf %b, %t : f32
           %c = math.rsqrt %q : f32
           %r = redfuse.reduce add %c over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
    "a logarithm": Cascade(
        ("ij", "ij"),
        ("i",),
        """%b2 = math.absf %b : f32
           %a2 = math.absf %a : f32
           %s = redfuse.reduce add %a2 over [j] into [i] : f32
           %q = arith.mulf %b2, %s : f32
           %c = math.log %q : f32
           %r = redfuse.reduce add %c over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
    "the logarithm of an exponential": Cascade(
        ("ij",),
        ("i",),
        _SOFTMAX
        + """%lw = math.log %w : f32
           %r = redfuse.reduce add %lw over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
    "the position of the most probable": Cascade(
        ("ij",),
        ("i", "i:index"),
        _SOFTMAX
        + """%k = redfuse.index 1
           %v, %p = redfuse.reduce argmax %w, %k over [j] into [i] : f32, index
           redfuse.yield %v, %p : f32, index""",
    ),
    "the position of the least probable": Cascade(
        ("ij",),
        ("i", "i:index"),
        _SOFTMAX
        + """%k = redfuse.index 1
           %v, %p = redfuse.reduce argmin %w, %k over [j] into [i] : f32, index
           redfuse.yield %v, %p : f32, index""",
    ),
    "the position of the farthest below a sum": Cascade(
        ("ij", "ij"),
        ("i", "i:index"),
        """%s = redfuse.reduce add %b over [j] into [i] : f32
           %d = arith.subf %s, %a : f32
           %k = redfuse.index 1
           %v, %p = redfuse.reduce argmax %d, %k over [j] into [i] : f32, index
           redfuse.yield %v, %p : f32, index""",
    ),
    "multiplied and added at once": Cascade(
        ("ij", "ij"),
        ("i",),
        """%s = redfuse.reduce add %a over [j] into [i] : f32
           %q = math.fma %b, %s, %a : f32
           %r = redfuse.reduce add %q over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
    "a product of scaled integers": Cascade(
        ("ij:i32", "ij:i32"),
        ("i:i32",),
        """%s = redfuse.reduce add %b over [j] into [i] : i32
           %p = arith.muli %a, %s : i32
           %k = arith.constant 0 : i32
           %q = arith.subi %k, %p : i32
           %r = redfuse.reduce mul %p over [j] into [i] : i32
           redfuse.yield %r : i32""",
    ),
    "weights where a mask by the data holds": Cascade(
        ("ij", "jd"),
        ("id",),
        _SOFTMAX
        + """%zero = arith.constant 0.0 : f32
           %keep = arith.cmpf ogt, %a, %zero : f32
           %k = arith.select %keep, %w, %zero : f32
           %p = arith.mulf %k, %b : f32
           %r = redfuse.reduce add %p over [j] into [i, d] : f32
           redfuse.yield %r : f32""",
    ),
    "quotients where a mask by the data does not hold": Cascade(
        ("ij", "ij"),
        ("i",),
        """%zero = arith.constant 0.0 : f32
           %drop = arith.cmpf ole, %a, %zero : f32
           %s = redfuse.reduce add %a over [j] into [i] : f32
           %q = arith.divf %b, %s : f32
           %k = arith.select %drop, %zero, %q : f32
           %r = redfuse.reduce add %k over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
    "differences where a mask by the data holds": Cascade(
        ("ij",),
        ("i",),
        _MEAN
        + """%zero = arith.constant 0.0 : f32
           %keep = arith.cmpf ogt, %a, %zero : f32
           %k = arith.select %keep, %d, %zero : f32
           %r = redfuse.reduce add %k over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
    "squares of normalised differences": Cascade(
        ("ij",),
        ("i",),
        _MEAN
        + """%eps = arith.constant 1.0e-05 : f32
           %q = arith.mulf %d, %d : f32
           %qs = redfuse.reduce add %q over [j] into [i] : f32
           %v = arith.addf %qs, %eps : f32
           %rs = math.rsqrt %v : f32
           %z = arith.mulf %d, %rs : f32
           %z2 = arith.mulf %z, %z : f32
           %z4 = arith.mulf %z2, %z2 : f32
           %r = redfuse.reduce add %z4 over [j] into [i] : f32
           redfuse.yield %r : f32""",
    ),
}
