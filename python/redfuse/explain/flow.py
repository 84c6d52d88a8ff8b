"""What each kernel reads of arguments and of other kernels, read off the launches."""

from __future__ import annotations

from typing import Any

from .moved import bytes_of, root


class Flow:
    """Watches launches in the order of the host code."""

    def __init__(self) -> None:
        self._writers: dict[Any, str] = {}

    def of(self, launch: Any, kernel: str) -> dict[str, Any]:
        """Of a ``redfuse.launch``: ``from``, for each tensor that it reads, the ``name`` of the
        argument ("arg0") or kernel that it comes from, or "constant", and its ``bytes``; and
        whether the kernel writes a result of the program (``returns``)."""
        import mlir.ir as ir

        count = ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"])[0]
        operands = list(launch.operands)
        read = []
        for value in operands[:count]:
            name = self._name(root(value))
            if name is not None and isinstance(value.type, ir.MemRefType):
                read.append({"name": name, "bytes": bytes_of([value])})
        returns = False
        for value in operands[count:]:
            made = root(value)
            returns |= isinstance(made, ir.BlockArgument)
            self._writers[made] = kernel
        return {"from": read, "returns": returns}

    def _name(self, value: Any) -> str | None:
        import mlir.ir as ir

        if value in self._writers:
            return self._writers[value]
        if isinstance(value, ir.BlockArgument):
            return f"arg{value.arg_number}"
        operation = value.owner
        is_constant = operation.name == "memref.get_global" or (
            "redfuse.constant" in operation.attributes
        )
        return "constant" if is_constant else None


def together(a: dict[str, Any], b: dict[str, Any], kernel: str) -> dict[str, Any]:
    """Two launches of a kernel, without what one hands to the other."""
    read = [*a["from"], *(each for each in b["from"] if each not in a["from"])]
    return {
        "from": [each for each in read if each["name"] != kernel],
        "returns": a["returns"] or b["returns"],
    }
