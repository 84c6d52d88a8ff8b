"""What a distributed program shares out, which collectives follow, and what they are predicted to
take."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from .call import Call
from .dims import Dim
from .layout import Layout

if TYPE_CHECKING:
    from .program import Program


def explained(program: Program, call: Call | None) -> dict[str, Any]:
    """The object of ``Program.explain(json=True)``."""
    sharding, group = program.sharding, program.group
    found: dict[str, Any] = {
        "program": str(sharding.signature),
        "ranks": group.size,
        "target": program.target,
        "order": program.order,
        "deterministic": program.segment or False,
        "arguments": [_placed(axis) for axis in sharding.inputs],
        "results": [_placed(axis) for axis in sharding.outputs],
        "shared": [_dim(dim, call) for dim in sharding.sharded],
        "collectives": [],
    }
    if sharding.stream is None:
        return found
    folds = program.folds.facts
    found["merge"] = {
        "ordered": folds.ordered,
        "positional": folds.positional,
        "state": list(folds.names),
        "types": [str(spec) for spec in folds.specs],
    }
    call = call or program.imagined()
    if call is None:
        return found
    found["merge"]["bytes"] = program.work.state_bytes(call)
    if not sharding.rows:
        found["strategy"] = "states"
        found["merge"]["by"] = program.chosen_merge(call)
        found["collectives"] = _of_states(program, call, found["merge"]["by"])
        return found
    possible = program.possible(call)
    found["strategy"] = program.chosen_strategy(call)
    found["predicted_s"] = possible
    found["impossible"] = program.impossible()
    found["links"] = dataclasses.asdict(program.links)
    found["collectives"] = _of_strategy(program, call, found["strategy"])
    return found


def _of_states(program: Program, call: Call, by: str) -> list[dict[str, Any]]:
    state, ranks, links = program.work.state_bytes(call), program.group.size, program.links
    if ranks == 1:
        return []
    if program.segment:
        layout = call.stream_layout
        assert layout is not None
        each = -(-max(layout.lengths) // program.segment)
        return [_line("all-gather", "states of segments", each * state,
                      links.all_gather(each * state, ranks))]  # fmt: skip
    if by == "gather":
        return [_line("all-gather", "states", state, links.all_gather(state, ranks))]
    return [
        _line("send and receive", "states, up a tree", state, links.tree(state, ranks) / 2),
        _line("broadcast", "the merged state", state, links.tree(state, ranks) / 2),
    ]


def _of_strategy(program: Program, call: Call, name: str) -> list[dict[str, Any]]:
    sizes, links, ranks = program.sizes(call), program.links, program.group.size
    if ranks == 1:
        return []
    if name == "ring":
        one = _line("send and receive", "blocks of the stream, beside the folds", sizes.stream,
                    links.message(sizes.stream))  # fmt: skip
        return [{**one, "times": ranks - 1}]
    if name == "gather":
        return [_line("all-gather", "all of the stream", sizes.stream,
                      links.all_gather(sizes.stream, ranks))]  # fmt: skip
    if name == "rows":
        states = ranks * sizes.state
        return [
            _line("all-gather", "all rows", sizes.rows, links.all_gather(sizes.rows, ranks)),
            _line("all-to-all", "states of rows", states, links.all_to_all(states, ranks)),
        ]
    moved = sizes.stream + sizes.rows
    return [
        _line("all-to-all", "heads of others", moved, links.all_to_all(moved, ranks)),
        _line("all-to-all", "results", sizes.results, links.all_to_all(sizes.results, ranks)),
    ]


def _line(collective: str, what: str, nbytes: float, seconds: float) -> dict[str, Any]:
    return {"collective": collective, "what": what, "bytes": nbytes, "predicted_s": seconds}


def _placed(axis: int | None) -> str:
    return "Replicate()" if axis is None else f"Shard({axis})"


def _dim(dim: Dim, call: Call | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "dim": dim.text(),
        "kind": dim.kind,
        "positional": dim.positional,
        "length": dim.length,
    }
    if call is not None:
        layout: Layout = call.layout_of(dim)
        found["length"] = layout.length
        found["spans"] = [list(map(list, spans)) for spans in layout.spans]
    return found


def render(found: dict[str, Any]) -> str:
    """As text."""
    lines = [f"{found['program']} over {found['ranks']} ranks, for {found['target']}"]
    lines.append(f"  arguments: {', '.join(found['arguments'])}")
    lines.append(f"  results: {', '.join(found['results'])}")
    if found["deterministic"]:
        lines.append(
            f"  deterministic: segments of {found['deterministic']} are folded alone, and merged "
            "in a tree of their own, so that results do not depend on the number of ranks"
        )
    for dim in found["shared"]:
        what = {
            "parallel": "nothing is reduced along it: each rank computes its own part",
            "reduced": "reduced: each rank folds its part into a state",
            "prefixes": "scanned: each rank needs the state of those before it",
        }[dim["kind"]]
        counted = "; positions count from where a part starts" if dim["positional"] else ""
        lines.append(f"shared: {dim['dim']}, {dim['length'] or '?'} elements, {found['order']}")
        lines.append(f"  {what}{counted}")
        for rank, spans in enumerate(dim.get("spans", [])):
            text = ", ".join(f"{a}:{b}" for a, b in spans) or "nothing"
            lines.append(f"  rank {rank}: {text}")
    if "merge" in found:
        merge = found["merge"]
        how = "ordered: states are merged in rank order" if merge["ordered"] else "commutative"
        lines.append(f"merge: {how}")
        for name, kind in zip(merge["state"], merge["types"], strict=True):
            lines.append(f"  {name}: {kind}")
        if "bytes" in merge:
            lines.append(f"  a state of one rank's rows: {_bytes(merge['bytes'])}")
    if "strategy" in found:
        lines.append(f"strategy: {found['strategy']}")
        for name, seconds in sorted(found.get("predicted_s", {}).items(), key=lambda one: one[1]):
            lines.append(f"  {name}: predicted {_time(seconds)}")
        for name, reason in found.get("impossible", {}).items():
            lines.append(f"  {name}: no, {reason}")
    lines.append("collectives:" if found["collectives"] else "collectives: none")
    for one in found["collectives"]:
        times = f"{one['times']} times " if "times" in one else ""
        lines.append(
            f"  {times}{one['collective']}: {one['what']}, {_bytes(one['bytes'])} of a rank, "
            f"predicted {_time(one['predicted_s'])}"
        )
    return "\n".join(lines)


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} us"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
