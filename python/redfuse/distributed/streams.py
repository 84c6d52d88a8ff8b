"""Copies between ranks beside the work, where that is on a GPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

_lanes: dict[int, Any] = {}


class Lane:
    """A CUDA stream for what ranks send each other; nothing of the kind for processes of a host.

    Blocks are sent as soon as they are there, whatever is still computed from them: what is on the
    lane waits for what was on it before, and for what made the first block. So the transfer of the
    next block runs beside the folds of this one.
    """

    def __init__(self, on_gpu: bool):
        self._stream = _stream_of_device() if on_gpu else None
        if self._stream is not None:
            import torch

            self._stream.wait_stream(torch.cuda.current_stream())

    @contextlib.contextmanager
    def beside(self, block: Sequence[Any]) -> Iterator[None]:
        """In it, work is given to the lane, which reads ``block``; memory that is allocated is the
        lane's, and behind it :meth:`shared` says that others read it, too."""
        if self._stream is None:
            yield
            return
        import torch

        for tensor in block:
            tensor.record_stream(self._stream)
        with torch.cuda.stream(self._stream):
            yield

    def shared(self, block: Sequence[Any]) -> None:
        """Memory of the lane is read by the current stream: it is not used again before that."""
        if self._stream is not None:
            import torch

            for tensor in block:
                tensor.record_stream(torch.cuda.current_stream())

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """In it, the lane waits for what was started; behind it, so does the current stream."""
        if self._stream is None:
            yield
            return
        import torch

        with torch.cuda.stream(self._stream):
            yield
        torch.cuda.current_stream().wait_stream(self._stream)


def current_stream() -> Any:
    """PyTorch's, asked for in a way that takes a few us less: a short call waits for its host."""
    import torch

    return torch.cuda.current_stream(torch.cuda.current_device())


def _stream_of_device() -> Any:
    import torch

    device = torch.cuda.current_device()
    if device not in _lanes:
        _lanes[device] = torch.cuda.Stream(priority=-1)
    return _lanes[device]
