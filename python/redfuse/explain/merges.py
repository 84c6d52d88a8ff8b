"""How partial results of a program's cascades combine, as formulas.

A cascade that is streamed has its merge from the compilation; for the others it is derived here,
on demand: what the merge would be if the cascade were streamed or split, or why there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..affine import text_of
from ..options import Options
from .certificates import Certificate, entries_of
from .explanation import argument_of, groups_of, refusals, walk, where
from .formulas import name
from .notation import align, equations, text_name, to_text

HEADINGS = {
    "data": "data",
    "state": "state of a part",
    "merge": "merge of the states t and s",
    "result": "results",
}


def with_merges(explanation: dict, source: Any, options: Options, target: str = "cpu") -> dict:
    """The explanation with a ``merge`` in every cascade, and the seconds that deriving all took.

    source: the program, as a :class:`redfuse.frontends.mlir.Source`.
    target: what it was compiled for, as other targets have other kernels.
    """
    if not options.fuse or not explanation.get("kernels"):
        return explanation
    from ..lowering import lower, run_pipeline

    before = lower(source, options, stop_after="schedule", target=target).module
    after = before.operation.clone()
    known = list(refusals(before))
    run_pipeline(after, "builtin.module(redfuse-derive{all=true timed=true})", "derive")
    cascades = list(walk(before.operation, "redfuse.cascade"))
    groups = groups_of(after)
    kernels = explanation["kernels"]
    if not len(cascades) == len(groups) == len(kernels):
        return explanation  # Another program than the one that was compiled.
    new = [entry for entry in refusals(after) if entry not in known]
    made = []
    for kernel, cascade, group in zip(kernels, cascades, groups, strict=True):
        lines = _locations(cascade)
        folds = [op for op in group if op.name == "redfuse.fold"]
        merge = {
            "streamed": kernel["schedule"].get("kind") in ("stream", "multipass", "split"),
            "passes": [_pass(fold, group, cascade if len(folds) == 1 else None) for fold in folds],
            "refused": [entry for entry in new if entry["location"] in lines],
        }
        first = {**kernel["cascades"][0], "merge": merge}
        if len(folds) == 1:
            first["certificate"] = merge["passes"][0].pop("certificate")
        elif folds:
            first["passes"] = [p.pop("certificate") for p in merge["passes"]]
        made.append({**kernel, "cascades": [first, *kernel["cascades"][1:]]})
    seconds = after.operation.attributes["redfuse.derive_us"].value * 1e-6
    return {**explanation, "kernels": made, "derive_seconds": seconds}


def _locations(cascade: Any) -> set[str]:
    """Where a cascade and the ops of its body were written."""
    ops = [cascade, *(op.operation for op in cascade.regions[0].blocks[0].operations)]
    return {where(op) for op in ops}


def _pass(fold: Any, group: Sequence[Any], cascade: Any | None) -> dict:
    """The formulas of one pass over the data. cascade: what it computes, where it is all of it."""
    certificate = Certificate.of(entries_of(fold.attributes["certificate"]))
    results = set(fold.results)
    finals = [op for op in group
              if op.name == "redfuse.finalize" and results & set(op.operands)]  # fmt: skip
    names = _inputs(fold, certificate.reads.get("step", ()), set())
    for op in finals:
        names |= _inputs(op, certificate.reads.get("finalise", ()), results)
    if cascade is not None:
        over = set(fold.attributes["over"])
        reduces = [
            op for op in walk(cascade, "redfuse.reduce") if set(op.attributes["over"]) & over
        ]
        for reduction, reduce in zip(certificate.source, reduces, strict=False):
            for reduced in reduction.names:
                names.setdefault(reduced, where(reduce))
    return {
        "certificate": certificate.entries,
        "equations": [
            {"section": e.section, "text": e.text(), "latex": e.latex()}
            for e in equations(certificate)
        ],
        "names": dict(
            sorted(names.items(), key=lambda item: (item[0][0] != "x", len(item[0]), item[0]))
        ),
        "rules": certificate.rules,
        "guards": [
            f"{to_text(g.term)} is {to_text(g.instead)} where {to_text(g.condition)}"
            for g in certificate.guards
        ],
    }


def _inputs(op: Any, reads: Sequence[str], state: set) -> dict[str, str]:
    """What x0, x1, ... of a fold or a finalisation are: an argument of the function, or a tensor
    made before."""
    import mlir.ir as ir

    maps = [ir.AffineMapAttr(a).value for a in op.attributes["indexing_maps"]]
    inputs = [(v, m) for v, m in zip(op.operands, maps, strict=True) if v not in state]
    names = {}
    for read, (value, affine) in zip(reads, inputs, strict=False):
        argument = argument_of(value)
        if argument is not None:
            what = f"argument {argument}"
        elif isinstance(value, ir.BlockArgument):
            what = "a tensor"
        elif value.owner.name == "redfuse.finalize":
            what = "a result of the pass before"
        else:
            what = f"a tensor made at {where(value.owner)}"
        dims = ", ".join(map(text_of, affine.results))
        names[read] = f"{what} at [{dims}]"
    return names


def merge_lines(cascade: dict, says_when: bool = True) -> list[str]:
    """The merge of a cascade for people, in Unicode.

    says_when: also whether it is streamed here, which depends on the machine.
    """
    merge = cascade.get("merge")
    if merge is None:
        return []
    passes = merge["passes"]
    streamed = merge["streamed"]
    when = "by which tiles follow each other" if streamed else "if it were streamed or split"
    if not passes:
        lines = ["no merge: computed stage after stage, exactly"]
    else:
        what = "merge" if len(passes) == 1 else f"merge in {len(passes)} passes over the data"
        lines = [f"{what}, {when}" if says_when else what]
    for entry in merge["refused"]:
        place = f"{entry['location']}: " if entry["location"] else ""
        lines += [f"  {place}{entry['op']}: {entry['condition']}", f"    {entry['detail']}",
                  f"    remedy: {entry['remedy']}"]  # fmt: skip
    for number, made in enumerate(passes, 1):
        if len(passes) > 1:
            lines.append(f"  pass {number}")
        lines += [f"  {line}" for line in _pass_lines(made)]
    return lines


def _pass_lines(made: dict) -> list[str]:
    lines: list[str] = []
    section = ""
    for equation in made["equations"]:
        if equation["section"] != section:
            section = equation["section"]
            lines.append(HEADINGS[section])
        lines.append(f"  {equation['text']}")
    used = " ".join(e["text"] for e in made["equations"])
    named = [(text_name(name(key)), what) for key, what in made["names"].items()]
    lines.append("names")
    lines += [f"  {key}  {what}" for key, what in named if key in used]
    if made["guards"]:
        lines.append("where infinities or empty rows ask for it")
        lines += [f"  {guard}" for guard in made["guards"]]
    return lines


def to_tex(explanation: dict) -> str:
    """The merges of all kernels in LaTeX: an align environment for each pass, after a comment."""
    parts = []
    for kernel in explanation.get("kernels", []):
        for cascade in kernel["cascades"]:
            place = kernel.get("source", "")
            head = f"% {kernel['name']}{', ' + place if place else ''}"
            passes = cascade.get("merge", {}).get("passes", [])
            found = [cascade["certificate"]] if len(passes) == 1 else cascade.get("passes", [])
            for entries in found:
                made = equations(Certificate.of(entries))
                parts.append(f"{head}\n{align(made, HEADINGS)}")
            if not found:
                parts.append(f"{head}: no merge")
    return "\n".join(parts)
