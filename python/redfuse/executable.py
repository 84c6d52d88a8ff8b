"""A compiled program: call it, ask what was done, save it."""

from __future__ import annotations

import os
import pickle
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .errors import ArgumentError, path_text
from .frontends.mlir import Source
from .options import Options
from .runtime.specs import Signature
from .runtime.strides import Copies

if TYPE_CHECKING:
    from .explain.candidates import Candidate
    from .explain.launches import Launch
    from .frontends.interface import Interface
    from .profiling import Profile
    from .state import State, StateProgram
    from .targets.cuda import Variant


class Stages(Mapping):
    """IR text by stage name. Made by compiling again up to that stage: printing costs more than
    compiling."""

    def __init__(self, source: Source, options: Options, target: str = "cpu"):
        self._source, self._options, self._target = source, options, target
        self._texts: dict[str, str] = {}

    def _names(self) -> tuple[str, ...]:
        from . import pipelines

        if self._target != "cpu":
            rocm = self._target.startswith("rocm")
            return pipelines.names(pipelines.ROCM if rocm else pipelines.CUDA)
        return pipelines.names(pipelines.CPU if self._options.fuse else pipelines.UNFUSED)

    def __getitem__(self, stage: str) -> str:
        if stage not in self._names():
            from .errors import one_of

            raise KeyError(one_of("stage", str(stage), self._names()))
        if stage not in self._texts:
            from .lowering import lower

            lowered = lower(self._source, self._options, stop_after=stage, target=self._target)
            self._texts[stage] = str(lowered.module)
        return self._texts[stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())


class Executable:
    """A compiled program. Thread-safe: several threads may call it at once.

    signature: argument and result types. compile_seconds: from the source to callable code; 0 if
    it came from the cache. interface: of a PyTorch program that takes or returns more than
    contiguous tensors (keywords, a named tuple, a dictionary, channels_last), how it is called;
    else None.
    """

    def __init__(
        self, source: Source, options: Options, target: str, signature: Signature, code: bytes,
        explanation: dict, compile_seconds: float = 0.0, timings: dict[str, float] | None = None,
        variants: list[Variant] | None = None,
    ):  # fmt: skip
        from . import _ext

        self.source, self.options, self.target, self.signature = source, options, target, signature
        self.code = code
        # Of a program for GPUs: its host code and kernels by architecture.
        self.variants = variants or []
        self._explanation: dict | None = explanation
        self.compile_seconds = compile_seconds
        self.timings = timings or {}
        self.ir = Stages(source, options, target)
        self.interface: Interface | None = None
        # Of a program of PyTorch: what it is given is copied where it is not contiguous.
        self._copies: Copies | None = None
        self._launches: list[Launch] | None = None
        self._state_program: StateProgram | None = None
        self._state_lock = threading.Lock()
        family = target.partition(":")[0]
        codes = [(v.code, _ext.DeviceCode(v.images, family)) for v in self.variants]
        codes = codes or [(code, None)]
        self._function = _ext.load(codes[0][0]).function(
            signature.name,
            [spec.native for spec in signature.inputs],
            [spec.native for spec in signature.outputs],
            device=codes[0][1],
        )
        for more, device in codes[1:]:
            self._function.add(_ext.load(more), device)
        self._invoke = self._function.bind(options.threads)

    @classmethod
    def of_bundle(cls, data: bytes, path: str) -> Executable:
        """The program in the bytes of a bundle; ``path`` is for messages. Raises CacheError, and
        TargetError for one of another machine."""
        from .store import bundle

        return cls(**bundle.decode(data, path))

    @property
    def resources(self) -> list[Any]:
        """What ptxas says of each kernel of a program for GPUs (``cuda.Resources``)."""
        return [kernel for variant in self.variants for kernel in variant.resources]

    @property
    def explanation(self) -> dict:
        """The object of docs/user/explain.md."""
        if self._explanation is None:
            from .lowering import lower

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                lowered = lower(self.source, self.options, target=self.target)
            self._explanation = lowered.explanation
        return self._explanation

    @property
    def launches(self) -> list[Launch]:
        """The kernels that a call launches on a GPU, and what each must move. By compiling again up
        to where they are planned, once, as what is kept of a program does not have it."""
        if self._launches is None:
            from .explain.launches import launches
            from .lowering import lower

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                lowered = lower(self.source, self.options, stop_after="plan", target=self.target)
            name = lowered.signature.name
            self._launches = launches(lowered.module, name, lowered.explanation)
        return self._launches

    def adopt(self, source: Source, options: Options) -> None:
        """Takes the source and options of the caller that the cache gave this program to.

        An explanation of another spelling names other positions: it is made again when asked for.
        """
        if source != self.source:
            self._explanation = self._launches = None
        self.source, self.options = source, options
        self.ir = Stages(source, options, self.target)
        self._invoke = self._function.bind(options.threads)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled, and copied, as a bundle: for other processes of this machine."""
        if self.interface is not None:
            raise pickle.PicklingError(
                "an executable of a PyTorch program that takes or returns more than contiguous "
                "tensors cannot be pickled; compile one of such tensors that returns a tensor or a "
                "tuple of tensors"
            )
        from .store import bundle

        return Executable.of_bundle, (bundle.encode(self), "<pickle>")

    def __repr__(self) -> str:
        return f"<redfuse.Executable {self.signature} for {self.target}>"

    def __call__(
        self, *arguments: Any, out: Any = None, stream: Any = None, **named: Any
    ) -> Any:  # fmt: skip
        """Runs the program.

        arguments: one array for each argument, of the program's exact dtypes and shapes, and
            contiguous. A program of PyTorch takes torch tensors and NumPy arrays of any strides:
            those in the order in memory that its example has as they are, others as copies. For a
            program on the CPU: NumPy (bf16 as ``ml_dtypes.bfloat16``), torch CPU tensors, or
            anything with ``__dlpack__`` in host memory. For one on a GPU: torch, CuPy or JAX
            arrays, or anything with ``__dlpack__`` or ``__cuda_array_interface__`` there; nothing
            else is copied but a torch or CuPy array that starts at no multiple of 16 bytes.
        out: an array, or a sequence of one for each result, to write into; where a PyTorch program
            returns containers, for each tensor in them.
        named: keywords of a PyTorch program that was compiled with such.
        stream: of a program on a GPU: a number, or a stream of torch or CuPy. By default what the
            arrays' library works on. The call returns when the work is enqueued.

        Returns the result, or a tuple of them, as arrays of the arguments' library: on the CPU
        torch tensors if an argument is one, else NumPy arrays; on a GPU those of the first
        argument's library (torch tensors for libraries that only exchange memory). Raises
        ArgumentError for a bad argument, ExecutionError if the program stops itself.
        """
        if self.interface is not None:
            return self.interface.call(self._invoke_or_copy, arguments, named, out, stream)
        if named:
            raise self._has_no_keywords(named)
        return self._invoke_or_copy(arguments, out, stream)

    def _has_no_keywords(self, named: Mapping[str, Any]) -> ArgumentError:
        return ArgumentError(
            f"{next(iter(named))}: this program has no keywords; expected arrays in the order "
            f"of its arguments: {self.signature}"
        )

    def copies_strided(self) -> None:
        """Makes calls copy torch tensors and NumPy arrays that are not contiguous, which they
        refuse otherwise: PyTorch's programs take tensors of any strides."""
        self._copies = Copies(self.signature.name)

    def _invoke_or_copy(self, arguments: Any, out: Any, stream: Any) -> Any:
        """A call; where it is refused, before it has run, one with contiguous copies: so contiguous
        arguments need not be looked at. Raises the refusal where there is nothing to copy."""
        try:
            return self._invoke(arguments, out, stream)
        except ArgumentError as error:
            refusal = error
        copied = None if self._copies is None else self._copies.contiguous(arguments, stream)
        if copied is None:
            raise refusal
        return self._invoke(copied, out, stream)

    def profile(
        self, *arguments: Any, repeats: int = 20, out: Any = None, stream: Any = None, **named: Any
    ) -> Profile:  # fmt: skip
        """How long each kernel takes on the GPU, in microseconds, beside the bytes that it reads
        and writes.

        arguments, out, stream, named: as of a call. What the program returns is thrown away, and
            nothing of the caller's is written but ``out``.
        repeats: how many calls are timed, behind one that is not.

        A kernel is timed alone: it starts when the one before has ended, where in an ordinary call
        the end of one and the beginning of the next overlap. Copies of the arguments take turns, so
        that they are not in the L2 cache when a call begins: of memory, that takes three times the
        cache, or nothing where the arguments are larger. Without PyTorch for the GPU the arguments
        themselves are used, and ``Profile.cold`` is False. Waits for the GPU.

        Raises UnsupportedError for a program for the cpu, ArgumentError for bad arguments or
        repeats under 1, ExecutionError if the program stops itself, if its stream is captured, or
        if the driver cannot time kernels.
        """
        from .profiling import profile

        if self.interface is not None:
            given = list(self.interface.tensors(arguments, named))
        elif named:
            raise self._has_no_keywords(named)
        else:
            given = list(arguments)
        if self._copies is not None:
            given = self._copies.contiguous(given, stream) or given
        return profile(self, given, repeats, out, stream)

    def timed_call(self, arguments: Any, out: Any, stream: Any) -> list[tuple[str, float]]:
        """A call on what the compiled program takes that times its kernels: the name of each and
        nanoseconds, in the order of launches. ``profile`` makes a table of several."""
        return self._function.profile(arguments, out, stream)

    def check(self) -> None:
        """Raises ExecutionError if an assertion in a kernel on a GPU (an index out of range) has
        failed in an earlier call.

        A kernel cannot stop its program: it goes on with reads that stay inside their tensors, and
        the next call of this program, or this, says what failed. It waits for nothing: to know of
        all calls, synchronise first. On the CPU the call itself raises.
        """
        self._function.check()

    # ---- states: the program's reductions, piece by piece ---------------------------

    @property
    def state_program(self) -> StateProgram:
        """What init, update, merge and finalize call; compiled when first asked for. Raises
        UnsupportedError, with the reason, for a program whose reductions have no merge."""
        with self._state_lock:
            if self._state_program is None:
                from .state import StateProgram

                target = self.target if self.target.startswith("cuda") else "cpu"
                self._state_program = StateProgram(self.source, self.options, target)
            return self._state_program

    def init(self, *unstreamed: Any) -> State:
        """The state of no elements.

        unstreamed: the arguments without the streamed dim (queries), in order. The state keeps
            references to them.

        The streamed dim is the axis along which most is reduced (the keys of an attention), or
        ``options.along``; arguments that are walked with it have it too. Raises UnsupportedError
        for a program whose reductions have no merge, ArgumentError for bad arrays.
        """
        program = self.state_program
        return program.init(*self._in_memory(program.unstreamed, unstreamed))

    def update(self, state: State, *chunk: Any, offset: int | None = None) -> State:
        """A state that has seen one more chunk; the one given is not changed.

        chunk: the arguments with the streamed dim, in order, of any one length along it.
        offset: the index of the chunk's first element (for masks, positions and argmax); by
            default it follows what the state has seen.

        Raises ArgumentError for a state of another program, for bad arrays, and for elements that
        are in the state already, are past the end, or come out of order where that matters.
        """
        program = self.state_program
        return program.update(state, *self._in_memory(program.axes, chunk), offset=offset)

    def merge(self, left: State, right: State) -> State:
        """The state of all that the two have seen.

        Where positions do not matter, states that were both counted from 0 follow each other;
        where they do, one of them must have been given its ``offset``. Raises ArgumentError for
        states of different programs or arguments, that overlap, or, for an ordered reduction, that
        are not neighbours in order.
        """
        return self.state_program.merge(left, right)

    def finalize(
        self, state: State, *chunk: Any, offset: int | None = None, before: State | None = None
    ) -> Any:
        """The program's result, or a tuple of them, from a state that has seen all elements.

        chunk: where a result has the streamed dim itself (a softmax's own output), a chunk to
            compute that part of it for; ``offset`` is the index of its first element.
        before: where a result is every prefix along the dim (a running sum, a recurrence), the
            state of all that comes before the chunk; none for the first one.

        A program whose streamed dim has a fixed length is about that many elements: fewer or more
        are an ArgumentError.
        """
        program = self.state_program
        chunk = self._in_memory(program.axes, chunk)
        return program.finalize(state, *chunk, offset=offset, before=before)

    def _in_memory(self, numbers: Iterable[int], arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arrays of the arguments of these numbers, of any strides, as a program of PyTorch takes
        them."""
        places = list(numbers)
        if self._copies is None or len(places) != len(arrays):
            return arrays
        if self.interface is not None:
            arrays = self.interface.in_memory(places, arrays)
        return tuple(self._copies.contiguous(arrays, None) or arrays)

    def candidates(self, limit: int = 16) -> list[Candidate]:
        """The plan that was chosen for an NVIDIA GPU, then others with their predicted times: see
        ``redfuse.explain.candidates``. At most ``limit`` are compiled as far as to their plans."""
        from .explain.candidates import candidates

        return candidates(self.source, self.options, self.target, limit)

    def explain(self, json: bool = False, tex: bool = False, html: bool = False) -> Any:
        """What was fused, how, and why not where not, with the formulas by which partial results
        merge: text, with ``json`` the object of docs/user/explain.md, with ``tex`` the merges in
        LaTeX, with ``html`` a page that stands alone."""
        from .explain.merges import to_tex, with_merges

        explanation = with_merges(self.explanation, self.source, self.options, self.target)
        if self.interface is not None and self.interface.has_layouts:
            explanation = {**explanation, "arguments": self.interface.arguments()}
        if json:
            return explanation
        if tex:
            return to_tex(explanation)
        if html:
            from .explain.page import page

            return page(explanation, self.signature.name, self.target)
        from .explain.render import render

        return render(explanation)

    @property
    def asm(self) -> str:
        """Assembly of the whole program for its target."""
        from .lowering import lower

        if self.variants:
            return "\n".join(
                variant.listing or variant.images[-1][1].rstrip(b"\0").decode()
                for variant in self.variants
                if variant.images
            )
        return lower(self.source, self.options, target=self.target).assembly(self.options)

    def save(self, path: str | os.PathLike[str]) -> int:
        """Writes a bundle: one file that :func:`redfuse.load` reads, atomically. Returns how many
        bytes it has; raises CacheError."""
        from .store.bundle import write

        return write(path_text(path), self)
