"""Kernels of claimed parts: one operation of PyTorch that calls them by name.

A kernel's name is a hash of the part as a graph, of the options and of this build. The compiled
program is in redfuse's cache on disk; a graph that Inductor kept finds it there in another
process, without importing anything.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from ... import compiler
from ...errors import CacheError, CompileError, Error, ExecutionError
from ...frontends.mlir import Source
from ...options import Options
from ...store import cache, files

Run = Callable[[Sequence[Any]], list[Any]]
Fake = Callable[[Sequence[Any]], list[Any]]

_runs: dict[str, Run] = {}
_fakes: dict[str, Fake] = {}
_lock = threading.Lock()

LIBRARY = torch.library.Library("redfuse", "FRAGMENT")
LIBRARY.define(
    "call(str kernel, Tensor[] inputs) -> Tensor[]",
    tags=(torch.Tag.needs_exact_strides, torch.Tag.pt2_compliant_tag),
)


def _call(kernel: str, inputs: Sequence[Any]) -> list[Any]:
    run = _runs.get(kernel)
    if run is None:
        run = _found_again(kernel)
    return run(inputs)


def _call_fake(kernel: str, inputs: Sequence[Any]) -> list[Any]:
    return _fakes[kernel](inputs)


LIBRARY.impl("call", _call, "CPU")
LIBRARY.impl("call", _call, "CUDA")
torch.library.register_fake("redfuse::call", _call_fake, lib=LIBRARY)
CALL = torch.ops.redfuse.call.default


def name_of(text: str, options: Options, target: str) -> str:
    """The name of a kernel by its part's text."""
    digest = hashlib.sha256()
    for part in (text, options.key(), target, cache.build_id(), torch.__version__):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:40]


def folder_id() -> str:
    """A number of the folder of the cache: another where it was emptied."""
    path = os.path.join(files.cache_folder(), cache.FOLDER_ID)
    with contextlib.suppress(OSError, CacheError):
        return files.read_own(path, 64).decode()
    number = secrets.token_hex(8)
    with contextlib.suppress(OSError, CacheError):
        os.makedirs(files.cache_folder(), exist_ok=True)
        files.replace(path, number.encode())
    return number


def set_fake(name: str, fake: Fake) -> None:
    """What PyTorch calls to learn the shapes of a kernel's results."""
    _fakes[name] = fake


def is_ready(name: str) -> bool:
    """Whether a kernel is loaded, or was found on disk and is now."""
    if name in _runs:
        return True
    known = cache.follow(name)
    executable = cache.find(known) if known else None
    if executable is not None:
        _load(name, executable, executable.options)
    return name in _runs


def executable_of(name: str) -> Any:
    """The program of a kernel that is loaded."""
    return _runs[name].executable  # type: ignore[attr-defined]


def loaded() -> dict[str, Any]:
    """The programs of all kernels that this process has, by name."""
    return {name: run.executable for name, run in _runs.items()}  # type: ignore[attr-defined]


class Job:
    """A kernel to compile. error: why it could not be."""

    def __init__(self, name: str, source: bytes, options: Options, target: str):
        self.name, self.source, self.options, self.target = name, source, options, target
        self.error: Error | None = None

    def run(self) -> None:
        """Compiles and loads it."""
        try:
            _compile(self.name, self.source, self.options, self.target)
        except Error as error:
            self.error = error
        except Exception as error:  # a defect of the compiler is no reason for the model to fail
            self.error = CompileError(f"{type(error).__name__}: {error}; please report this")


def compile_all(jobs: Sequence[Job], started: Callable[[Job], None] | None = None) -> None:
    """Compiles kernels, as many at a time as there are cores: the compiler lets Python go."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()

    def run(job: Job) -> None:
        if started is not None:
            started(job)
        job.run()

    if len(jobs) < 2 or (cores or 1) < 2:
        for job in jobs:
            run(job)
        return
    with ThreadPoolExecutor(min(len(jobs), cores or 1), "redfuse-compile") as pool:
        list(pool.map(run, jobs))


def _compile(name: str, source: bytes, options: Options, target: str) -> None:
    # Bytecode of our own making: MLIR's parser survives it.
    program = Source(source, known=True)
    executable = compiler.compile(program, target=target, options=options)
    if options.cache:
        key = cache.key(compiler.canonical(program, options), options, executable.target)
        cache.refer(name, key)
        with contextlib.suppress(OSError, CacheError):
            head = json.dumps({"target": target, "options": dataclasses.asdict(options)})
            path = os.path.join(files.cache_folder(), name + cache.SOURCE)
            files.replace(path, head.encode() + b"\n" + source)
    _load(name, executable, options)


def _load(name: str, executable: Any, options: Options) -> None:
    threads = options.threads
    if not threads and executable.target == "cpu":
        threads = torch.get_num_threads()
    invoke = executable._function.bind(threads)
    single = len(executable.signature.outputs) == 1

    def run_one(inputs: Sequence[Any]) -> list[Any]:
        return [invoke(inputs, None, None)]

    def run_more(inputs: Sequence[Any]) -> list[Any]:
        return list(invoke(inputs, None, None))

    run = run_one if single else run_more
    run.executable = executable  # type: ignore[attr-defined]
    _runs[name] = run


def _found_again(name: str) -> Run:
    """A kernel of a graph that was compiled by another process."""
    with _lock:
        if is_ready(name):
            return _runs[name]
        try:
            path = os.path.join(files.cache_folder(), name + cache.SOURCE)
            head, _, source = files.read_own(path, cache.MAX_BYTES).partition(b"\n")
            given = json.loads(head)
            _compile(name, source, Options.of(given["options"]), given["target"])
        except (OSError, ValueError, KeyError, Error) as error:
            raise ExecutionError(
                f"the kernel {name} of a graph that Inductor kept is not in {files.cache_folder()} "
                "any more; clear Inductor's cache (torch._inductor.utils.clear_caches, or the "
                "folder TORCHINDUCTOR_CACHE_DIR) and run again"
            ) from error
        return _runs[name]
