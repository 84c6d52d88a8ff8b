"""Tensors that a module replaces when it is called: its state, where no buffer tells.

``self.hidden = f(x, self.hidden)`` gives an attribute another tensor. torch.export follows what is
written to buffers, and takes other tensors for constants. So for the export such attributes are
buffers, and what they are given is written to the tensors that they had.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..errors import UnsupportedError

Places = dict[tuple[str, str], Any]  # by the path of a module and the name of an attribute


def replaced(module: Any, before: Places) -> list[tuple[str, str]]:
    """Which of the tensors ``before`` (``tensors_of``) the module has no more. Raises
    UnsupportedError for one in a container."""
    now = tensors_of(module)
    made = [place for place, tensor in before.items() if now.get(place, tensor) is not tensor]
    for path, name in made:
        if not hasattr(module.get_submodule(path), name):
            raise UnsupportedError(
                f"the program replaces the tensor {'.'.join(filter(None, (path, name)))}; expected "
                "attributes of modules that are tensors, not containers of tensors"
            )
    return made


def tensors_of(module: Any) -> Places:
    """Tensors that modules have, but for parameters: attributes, and what lists and dictionaries
    have, under names like ``states[0]``."""
    import torch
    from torch.utils import _pytree as pytree

    made = {}
    for path, owner in module.named_modules():
        plain = vars(torch.nn.Module()).keys()
        own = {k: v for k, v in vars(owner).items() if k not in plain}
        for name, value in (*own.items(), *owner._buffers.items()):
            leaves = [((), value)]
            if type(value) in (list, tuple, dict):
                leaves = pytree.tree_flatten_with_path(value)[0]
            for place, leaf in leaves:
                if isinstance(leaf, torch.Tensor) and not isinstance(leaf, torch.nn.Parameter):
                    made[path, name + pytree.keystr(place)] = leaf
    return made


def write_back(module: Any, before: Places) -> list[str]:
    """Writes what attributes were given to the tensors that they had, and gives them these again.
    Returns those that cannot be written, as shape or type are others."""
    left = []
    for path, name in replaced(module, before):
        owner, old = module.get_submodule(path), before[path, name]
        new = getattr(owner, name)
        if new.shape == old.shape and new.dtype == old.dtype:
            old.copy_(new)
        else:
            left.append(f"{path}.{name}" if path else name)
        setattr(owner, name, old)
    return left


@contextlib.contextmanager
def as_buffers(module: Any) -> Iterator[None]:
    """Tensors that are plain attributes are buffers."""
    import torch

    moved = []
    same: dict[int, Any] = {}  # by what several attributes may share
    try:
        for owner in module.modules():
            for name, value in list(vars(owner).items()):
                if type(value) is torch.Tensor:
                    delattr(owner, name)
                    # One that was computed with gradients is no leaf.
                    plain = same.setdefault(id(value), value.detach())
                    owner.register_buffer(name, plain, persistent=False)
                    moved.append((owner, name, value))
        yield
    finally:
        for owner, name, value in moved:
            delattr(owner, name)
            setattr(owner, name, value)
