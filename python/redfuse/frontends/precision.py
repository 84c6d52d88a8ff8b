"""How exactly products and convolutions of f32 are computed in a PyTorch program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Precision:
    """Each one of "highest" (f32), "high" (operands rounded to TF32, 11 significant bits) and
    "medium" (to bf16, 8 bits); sums are f32."""

    products: str = "highest"
    convolutions: str = "highest"

    @classmethod
    def chosen(cls, asked: str, target: str) -> Precision:
        """The one that is asked for, or ("default") the one of PyTorch's own switches.

        They are about NVIDIA's GPUs: ``torch.set_float32_matmul_precision`` for products, and
        ``torch.backends.cudnn``'s for convolutions, which PyTorch lets use TF32 unless told
        otherwise. On other targets less than the highest gains nothing.
        """
        if asked != "default":
            return cls(asked, asked)
        if not target.startswith("cuda"):
            return cls()
        import torch

        return cls(torch.get_float32_matmul_precision(), _of_cudnn())


HIGHEST = Precision()


def _of_cudnn() -> str:
    """PyTorch 2.9 has a switch for convolutions alone, and warns of the one before."""
    import torch

    switch = getattr(torch.backends.cudnn, "conv", None)
    if switch is not None:
        return "high" if switch.fp32_precision == "tf32" else "highest"
    return "high" if torch.backends.cudnn.allow_tf32 else "highest"
