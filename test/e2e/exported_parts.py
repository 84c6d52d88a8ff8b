"""Parts of models as torch-mlir writes them by its own decompositions, where those differ from this
package's. In ``PARTS`` with those of model_parts.py."""

from __future__ import annotations

from model_parts import part
from torch_like import Torch, Value

ONE_KERNEL = ("attention_op", "attention_op_alone")


def _attend(p: Torch, *inputs: Value) -> Value:
    """The op that torch-mlir leaves for scaled_dot_product_attention."""
    out = p.empty([*inputs[0].shape[:-1], inputs[2].shape[-1]], inputs[0].dtype)
    names, types = (", ".join(getattr(v, k) for v in inputs) for k in ("name", "type"))
    name = p.emit(
        f"tm_tensor.attention ins({names} : {types}) outs({out.name} : {out.type}) -> {out.type}"
    )
    return out._replace(name=name)


@part
def attention_op(p: Torch) -> str:
    """With a causal mask, added."""
    q, k, v = p.argument(2, 13, 8), p.argument(2, 17, 8), p.argument(2, 17, 6)
    rows, columns = p.positions(13, 17)
    later = p.compare("slt", rows, columns)
    mask = p.masked(p.full((2, 13, 17), 0.0, "f32"), later)
    return p.text(_attend(p, q, k, v, mask))


@part
def attention_op_alone(p: Torch) -> str:
    """Without a mask."""
    q, k, v = p.argument(3, 11, 8), p.argument(3, 19, 8), p.argument(3, 19, 8)
    return p.text(p.relu(_attend(p, q, k, v)))
