"""How partial results of a program's cascades combine, as formulas.

A cascade that is streamed has its merge from the compilation; for the others it is derived here,
on demand: what the merge would be if the cascade were streamed or split, or why there is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .certificates import Certificate, texts_of
from .explanation import argument_of, refusals, walk, where
from .notation import Equation, align, equations, text_name, to_text
from .options import Options

HEADINGS = {
    "data": "data",
    "state": "state of a part",
    "merge": "merge of the states t and s",
    "result": "results",
}


def with_merges(explanation: dict, source: Any, options: Options) -> dict:
    """The explanation with a ``merge`` in every cascade, and the seconds that deriving all took.

    source: the program, as a :class:`redfuse.frontends.mlir.Source`.
    """
    if not options.fuse or not explanation.get("kernels"):
        return explanation
    from .compiler import lower, run_pipeline

    before = lower(source, options, stop_after="schedule").module
    after = lower(source, options, stop_after="schedule").module
    known = list(refusals(before))
    run_pipeline(after, "builtin.module(redfuse-derive{all=true timed=true})", "derive")
    cascades = list(walk(before.operation, "redfuse.cascade"))
    outcome = list(walk(after.operation, "redfuse.cascade", "redfuse.fold"))
    kernels = explanation["kernels"]
    if not len(cascades) == len(outcome) == len(kernels):
        return explanation  # Another program than the one that was compiled.
    new = [entry for entry in refusals(after) if entry not in known]
    made = []
    for kernel, cascade, op in zip(kernels, cascades, outcome, strict=True):
        merge = {"streamed": kernel["schedule"].get("kind") == "stream"}
        first = dict(kernel["cascades"][0])
        if op.name == "redfuse.fold":
            merge |= _merge(cascade, op, first)
        else:
            lines = _locations(cascade)
            merge["refused"] = [entry for entry in new if entry["location"] in lines]
        first["merge"] = merge
        made.append({**kernel, "cascades": [first, *kernel["cascades"][1:]]})
    seconds = after.operation.attributes["redfuse.derive_us"].value * 1e-6
    return {**explanation, "kernels": made, "derive_seconds": seconds}


def _locations(cascade: Any) -> set[str]:
    """Where a cascade and the ops of its body were written."""
    ops = [cascade, *(op.operation for op in cascade.regions[0].blocks[0].operations)]
    return {where(op) for op in ops}


def _merge(cascade: Any, fold: Any, entry: dict) -> dict:
    certificate = Certificate.of(texts_of(fold.attributes["certificate"]))
    entry["certificate"] = certificate.lines
    reduces = [op for op in walk(cascade, "redfuse.reduce")
               if set(op.attributes["over"]) & set(fold.attributes["over"])]  # fmt: skip
    names = _inputs(cascade, certificate)
    for reduction, reduce in zip(certificate.source, reduces, strict=False):
        for name in reduction.names:
            names.setdefault(name, where(reduce))
    made = equations(certificate)
    return {
        "equations": [
            {"section": e.section, "text": e.text(), "latex": e.latex()} for e in made
        ],
        "names": names,
        "rules": certificate.rules,
        "guards": [
            f"{g.text} is {to_text(g.instead)} where {to_text(g.condition)}"
            for g in certificate.guards
        ],
    }  # fmt: skip


def _inputs(cascade: Any, certificate: Certificate) -> dict[str, str]:
    """What x0, x1, ... are: an argument of the function, or a tensor made before."""
    import mlir.ir as ir

    names = {}
    maps = [ir.AffineMapAttr(a).value for a in cascade.attributes["indexing_maps"]]
    for name in certificate.inputs:
        number = int(name[1:])
        value, affine = cascade.operands[number], maps[number]
        argument = argument_of(value)
        if argument is not None:
            what = f"argument {argument}"
        else:
            place = where(value.owner) if not isinstance(value, ir.BlockArgument) else ""
            what = f"a tensor made before{' at ' + place if place else ''}"
        dims = ", ".join(re.sub(r"d(\d+)", r"i\1", str(e)) for e in affine.results)
        names[name] = f"{what} at [{dims}]"
    return names


def merge_lines(cascade: dict) -> list[str]:
    """The merge of a cascade for people, in Unicode."""
    merge = cascade.get("merge")
    if merge is None:
        return []
    if "refused" in merge:
        lines = ["no merge: computed stage after stage, exactly"]
        for entry in merge["refused"]:
            place = f"{entry['location']}: " if entry["location"] else ""
            lines += [f"  {place}{entry['op']}: {entry['condition']}", f"    {entry['detail']}",
                      f"    remedy: {entry['remedy']}"]  # fmt: skip
        return lines
    lines = ["merge, by which tiles follow each other" if merge["streamed"]
             else "merge, if it were streamed or split"]  # fmt: skip
    section = ""
    for equation in merge["equations"]:
        if equation["section"] != section:
            section = equation["section"]
            lines.append(f"  {HEADINGS[section]}")
        lines.append(f"    {equation['text']}")
    lines.append("  names")
    used = " ".join(e["text"] for e in merge["equations"])
    from .formulas import name as formula_name

    for key, what in merge["names"].items():
        if text_name(formula_name(key)) in used:
            lines.append(f"    {text_name(formula_name(key))}  {what}")
    if merge["guards"]:
        lines.append("  where infinities or empty rows ask for it")
        lines += [f"    {guard}" for guard in merge["guards"]]
    return lines


def to_tex(explanation: dict) -> str:
    """The merges of all kernels in LaTeX: an align environment for each, after a comment."""
    parts = []
    for kernel in explanation.get("kernels", []):
        for cascade in kernel["cascades"]:
            place = kernel.get("source", "")
            head = f"% {kernel['name']}{', ' + place if place else ''}"
            merge = cascade.get("merge", {})
            if "equations" not in merge:
                parts.append(f"{head}: no merge")
                continue
            certificate = Certificate.of(cascade["certificate"])
            found: Sequence[Equation] = equations(certificate)
            parts.append(f"{head}\n{align(found, HEADINGS)}")
    return "\n".join(parts)
