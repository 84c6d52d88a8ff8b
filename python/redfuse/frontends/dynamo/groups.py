"""Which nodes go together: parts of a graph that can each be one call.

A part may be a call only if no path leaves it and comes back. Nodes are taken in order, and join
the parts of their operands where that holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


class Grouping:
    """Groups of nodes of one graph; the graph with each group as one node has no cycle."""

    def __init__(self, graph: Any):
        self._order = {node: i for i, node in enumerate(graph.nodes)}
        self.group: dict[Any, int] = {}
        self.members: dict[int, set[Any]] = {}

    def add(self, node: Any, wanted: Iterable[int]) -> int:
        """Puts a node into one group with ``wanted`` ones, or those of them where it may be;
        returns its group. Nodes must come in the graph's order."""
        number = self._order[node]
        self.group[node] = number
        self.members[number] = {node}
        for other in wanted:
            self.join(self.group[node], other)
        return self.group[node]

    def join(self, one: int, other: int) -> bool:
        """Makes one group of two, if no path between them goes through other nodes."""
        if one == other:
            return True
        both = self.members[one] | self.members[other]
        if self._comes_back(both, {one, other}):
            return False
        kept, gone = min(one, other), max(one, other)
        for node in self.members.pop(gone):
            self.group[node] = kept
        self.members[kept] = both
        return True

    def _comes_back(self, nodes: set[Any], groups: set[int]) -> bool:
        """Whether some operand from outside depends on one of the nodes."""
        first = min(self._order[n] for n in nodes)
        todo = [a for n in nodes for a in n.all_input_nodes if a not in nodes]
        seen: set[Any] = set()
        while todo:
            node = todo.pop()
            if node in seen:
                continue
            seen.add(node)
            if node in nodes:
                return True
            inside = self.group.get(node)
            if inside is not None:
                if inside in groups:
                    return True
                around = self.members[inside]
                if max(self._order[n] for n in around) < first:
                    continue
                seen |= around
                todo += [a for n in around for a in n.all_input_nodes]
            elif self._order[node] >= first:
                todo += node.all_input_nodes
        return False

    def remove(self, node: Any) -> None:
        """Leaves a node to others. Only one without operands, or without users, in its group: then
        no new path comes back."""
        members = self.members[self.group.pop(node)]
        members.discard(node)

    def split_off(self, keep: Callable[[set[Any]], bool]) -> None:
        """Drops the groups that ``keep`` does not want."""
        for number, members in list(self.members.items()):
            if not members or not keep(members):
                for node in members:
                    self.group.pop(node, None)
                del self.members[number]
