"""What ``torch.compile`` may be told about this backend."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ...errors import ArgumentError, one_of
from ...options import Options

FALLBACKS = ("inductor", "eager")
CLAIMS = ("predicted", "all", "none")
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
# Of redfuse.Options: what makes sense for a part of a graph.
_FOR_KERNELS = ("strict", "deterministic", "approximate", "lazy", "threads", "cache", "opt_level")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The options of one ``torch.compile``.

    fallback: who runs what is not claimed: ``inductor``, or ``eager`` for PyTorch's own kernels.
    claim: ``predicted`` claims where a gain is predicted, ``all`` wherever it can be done (for
        tests and measurements), ``none`` nothing.
    mode: as of ``torch.compile``; CUDA graphs are Inductor's.
    kernels: options of redfuse for what is claimed.
    inductor: settings of ``torch._inductor.config``.
    """

    fallback: str = "inductor"
    claim: str = "predicted"
    mode: str = "default"
    kernels: Options = dataclasses.field(default_factory=Options)
    inductor: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, mode: str | None, options: Mapping[str, object] | None) -> Settings:
        """From what ``torch.compile`` passes on; raises ArgumentError."""
        if options is not None and not isinstance(options, Mapping):
            raise ArgumentError(f"options: expected a mapping, got {type(options).__name__}")
        own: dict[str, Any] = {"mode": mode or "default"}
        kernels: dict[str, object] = {}
        inductor: dict[str, Any] = {}
        for name, value in (options or {}).items():
            if name in ("fallback", "claim", "mode"):
                own[name] = value
            elif name in _FOR_KERNELS:
                kernels[name] = value
            else:
                inductor[str(name).replace("-", "_")] = value
        for name, known in (("fallback", FALLBACKS), ("claim", CLAIMS), ("mode", MODES)):
            value = own.get(name, known[0])
            if value not in known:
                raise ArgumentError(f"option '{name}': " + one_of(name, str(value), known))
        _check_inductor(inductor)
        if own.get("fallback") == "eager" and (inductor or own["mode"] != "default"):
            what = f"option '{next(iter(inductor))}'" if inductor else f"mode '{own['mode']}'"
            raise ArgumentError(
                f"{what} is for Inductor, and fallback='eager' leaves it out; expected one of the "
                "two"
            )
        return cls(**own, kernels=Options.of(kernels), inductor=inductor)

    def inductor_settings(self) -> dict[str, Any]:
        """Of ``torch._inductor.config``, for the mode and the options."""
        made: dict[str, Any] = {}
        if self.mode != "default":
            import torch

            made.update(torch._inductor.list_mode_options(self.mode))
        made.update(self.inductor)
        return made

    def key(self) -> str:
        """What of it changes what is claimed, as text."""
        return f"{self.claim} {self.kernels.key()}"


def _check_inductor(given: Mapping[str, Any]) -> None:
    """Raises ArgumentError for a name that Inductor does not know either."""
    if not given:
        return
    from torch._inductor import config

    own = ["fallback", "claim", "mode", *_FOR_KERNELS]
    known = config.get_config_copy() if hasattr(config, "get_config_copy") else config.to_dict()
    for name in given:
        if name not in known:
            raise ArgumentError(
                one_of("option", name, own) + ", or a setting of torch._inductor.config"
            )
