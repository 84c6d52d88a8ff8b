"""Programs over two GPUs or more by NCCL: `python test/hardware/distributed.py --json FILE`.

Attention over a long sequence as a ring, causal and full, beside one GPU's own time and PyTorch's
context_parallel, and as a CUDA graph; what a call of the ring does when; decoding with a sharded
cache; a linear layer with cross-entropy over sharded classes; a rank that does not come; the links
in the same run. Starts a process for each GPU and needs no network. A part that fails or hangs is
in the JSON, and the next ones run in new processes. With --seconds what does not fit is left out:
PyTorch's own ring and hung ranks come last (--only peer,attention and --only hang make up for it).
Exit status 1 if a part failed.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cli
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

HERE = Path(__file__).resolve().parent
SIZES = {
    "full": {"length": 131072, "heads": 16, "width": 128, "keys": 1 << 20, "kv_heads": 8,
             "rows": 8192, "hidden": 4096, "classes": 131072},
    "small": {"length": 4096, "heads": 4, "width": 128, "keys": 1 << 14, "kv_heads": 2,
              "rows": 512, "hidden": 256, "classes": 4096},
    "trial": {"length": 256, "heads": 2, "width": 64, "keys": 1 << 10, "kv_heads": 2,
              "rows": 64, "hidden": 64, "classes": 512},
}  # fmt: skip


class Run:
    """What one process does."""

    def __init__(self, rank: int, given: Any, sizes: dict[str, int], folder: Path):
        self.rank, self.given, self.sizes, self.folder = rank, given, sizes, folder
        from torch.distributed.device_mesh import init_device_mesh

        self.world = dist.get_world_size()
        kind = "cpu" if given.cpu else "cuda"
        self.target = kind
        self.mesh = init_device_mesh(kind, (self.world,), mesh_dim_names=("ranks",))
        self.device = torch.device(kind, rank) if kind == "cuda" else torch.device("cpu")
        # What earlier processes have found.
        self.results: dict[str, Any] = read_parts(folder)
        self.control = dist.new_group(backend="gloo")
        self.timed: dict[str, Callable[[], Any]] = {}
        self.start = time.monotonic()

    def say(self, text: str) -> None:
        if self.rank == 0:
            print(f"[{time.monotonic() - self.start:5.0f} s] {text}", flush=True)

    def time(
        self, calls: dict[str, Callable[[], Any]], rounds: int = 7, inner: int = 1
    ) -> dict[str, float]:
        """Median ms of each, in turn, of the slowest rank."""
        for call in calls.values():
            for _ in range(2):
                call()
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(rounds):
            for name, call in calls.items():
                dist.barrier()
                self.synchronize()
                begin = time.perf_counter()
                for _ in range(inner):
                    call()
                self.synchronize()
                times[name].append(1e3 * (time.perf_counter() - begin) / inner)
        medians = torch.tensor([sorted(t)[len(t) // 2] for t in times.values()], device=self.device)
        dist.all_reduce(medians, dist.ReduceOp.MAX)
        return dict(zip(times, [round(float(m), 4) for m in medians], strict=True))

    def enqueue_ms(self, call: Callable[[], Any], count: int = 20) -> float:
        """What the host needs for a call, of the slowest rank: of a few in a row, which the GPU
        does not hold up."""
        call()
        dist.barrier()
        self.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            call()
        took = torch.tensor(1e3 * (time.perf_counter() - begin) / count, device=self.device)
        dist.all_reduce(took, dist.ReduceOp.MAX)
        return round(float(took), 4)

    def synchronize(self) -> None:
        if self.target == "cuda":
            torch.cuda.synchronize()

    def part(self, name: str, body: Callable[[], dict[str, Any]]) -> None:
        """A part of the results; what it raises on a rank is kept, and the next one runs."""
        self.say(f"{name} ...")
        self.tell("at", name)
        error = None
        begin = time.monotonic()
        try:
            found = body()
            found["took_s"] = round(time.monotonic() - begin, 1)
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
            found = {"error": error, "traceback": traceback.format_exc()[-3000:]}
            self.tell(f"error{self.rank}", found)
        # Who waits in vain for another's collective is ended by the parent.
        errors: list[str | None] = [None] * self.world
        dist.all_gather_object(errors, error, group=self.control)
        if any(errors):
            found = {**found, "error": next(e for e in errors if e), "errors": errors}
        self.results[name] = found
        if self.rank == 0:
            self.tell(f"part {name}", found)
        if self.target == "cuda":
            torch.cuda.empty_cache()
        self.say(f"{name}: {json.dumps(found)[:1500]}")

    def tell(self, what: str, value: Any) -> None:
        """For the parent."""
        if self.rank == 0 or what.startswith("error"):
            made = self.folder / f"{what}.new{self.rank}"
            made.write_text(json.dumps(value))
            made.rename(self.folder / what)

    # ---- links -------------------------------------------------------------------

    def links(self) -> dict[str, Any]:
        import dataclasses

        import redfuse.distributed as rd

        found: dict[str, Any] = {"measured": dataclasses.asdict(rd.measure(self.mesh))}
        most = 1 << 30 if self.target == "cuda" else 1 << 24
        large = torch.zeros(most, dtype=torch.uint8, device=self.device)
        other = torch.empty_like(large)
        to, source = (self.rank + 1) % self.world, (self.rank - 1) % self.world

        def shift(count: int) -> None:
            ops = [
                dist.P2POp(dist.isend, large[:count], to),
                dist.P2POp(dist.irecv, other[:count], source),
            ]
            for work in dist.batch_isend_irecv(ops):
                work.wait()

        for name, count in (
            ("1 MiB", 1 << 20),
            ("16 MiB", 1 << 24),
            ("256 MiB", 1 << 28),
            ("1 GiB", 1 << 30),
        ):
            if count > most:
                continue
            ms = self.time({name: lambda count=count: shift(count)})[name]
            found[f"send and receive {name}"] = {"ms": ms, "gb_s": round(count / ms / 1e6, 1)}
        for name, count in (("1 KB", 1 << 10), ("1 MB", 1 << 20), ("1 GiB", 1 << 30)):
            if count > most:
                continue
            some = large[:count].view(torch.float32)
            ms = self.time({name: lambda some=some: dist.all_reduce(some)})[name]
            found[f"all-reduce {name}"] = {"ms": ms, "gb_s": round(count / ms / 1e6, 1)}
        return found

    # ---- attention ---------------------------------------------------------------

    def attention(self, kind: str) -> dict[str, Any]:
        import redfuse
        import redfuse.distributed as rd
        from redfuse.bench import programs
        from redfuse.distributed.layout import Layout
        from torch.distributed.tensor import Shard

        n, heads, width = (self.sizes[k] for k in ("length", "heads", "width"))
        text = programs.attention(1, heads, n, n, width, dtype="bf16", kind=kind)
        order = "zigzag" if kind == "causal" else "contiguous"
        torch.manual_seed(0)
        q, k, v = (torch.randn(1, heads, n, width, device=self.device).bfloat16() for _ in range(3))
        layout = Layout.zigzag(n, self.world) if order == "zigzag" else Layout.even(n, self.world)
        mine = [layout.shard(x, 2, self.rank) for x in (q, k, v)]
        begin = time.monotonic()
        one = redfuse.compile(text, target=self.target)
        ring = {
            name: rd.compile(
                text, self.mesh, [Shard(2)] * 3, order=order, strategy=name, check="first"
            )
            for name in ("ring", "gather")
        }
        out = {name: program(*mine) for name, program in ring.items()}
        alone = one(q, k, v)
        self.synchronize()
        found: dict[str, Any] = {"compile_s": round(time.monotonic() - begin, 1)}
        found["predicted_ms"] = {
            name: round(1e3 * s, 2)
            for name, s in ring["ring"].explain(json=True)["predicted_s"].items()
        }
        found["error"] = {name: self.error(x, layout, q, k, v, kind) for name, x in out.items()}
        found["error"]["alone"] = self.error(
            layout.shard(alone, 2, self.rank), layout, q, k, v, kind
        )
        calls: dict[str, Callable[[], Any]] = {"alone": lambda: one(q, k, v)}
        for name, program in ring.items():
            calls[name] = lambda program=program: program(*mine)
        self.timed[f"{kind} ring"] = calls["ring"]
        ms = found["ms"] = self.time(calls, rounds=5)
        best = min(ms["ring"], ms["gather"])
        ideal = max(ms["alone"] / self.world, self.transfer_ms(2 * mine[1].numel() * 2))
        found["ratios"] = {
            "over one GPU": round(ms["alone"] / ms["ring"], 3),
            "best over one GPU": round(ms["alone"] / best, 3),
            "of the ideal": round(ideal / ms["ring"], 3),
        }
        return found

    def transfer_ms(self, nbytes: int) -> float:
        """What the links need for all blocks that a rank gets."""
        rate = self.results.get("links", {}).get("send and receive 1 GiB", {}).get("gb_s", 0)
        return (self.world - 1) * nbytes / rate / 1e6 if rate else 0.0

    def peer(self, kind: str) -> dict[str, Any]:
        """The ring and PyTorch's context_parallel, an experimental part of it, in turn. Its buffers
        are cut before, as they are in a model's forward pass, in its own order under a causal
        mask."""
        from torch.distributed.tensor.experimental import context_parallel
        from torch.nn.attention import SDPBackend, sdpa_kernel

        n, heads, width = (self.sizes[k] for k in ("length", "heads", "width"))
        buffers = [torch.randn(1, heads, n, width, device=self.device).bfloat16() for _ in range(3)]
        functional = torch.nn.functional
        # Its ring is for causal masks as long as it balances them.
        context_parallel_options().enable_load_balance = kind == "causal"
        with (
            torch.no_grad(),
            sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION]),
            context_parallel(self.mesh, buffers=buffers, buffer_seq_dims=[2, 2, 2],
                             no_restore_buffers=set(buffers)),
        ):  # fmt: skip
            # The function is another one in here.
            theirs = lambda: functional.scaled_dot_product_attention(  # noqa: E731
                *buffers, is_causal=kind == "causal"
            )
            # Without the ring where that was made in processes that have ended.
            calls = {name: call for name, call in self.timed.items() if name.startswith(kind)}
            ms = self.time({**calls, "context_parallel": theirs}, rounds=5)
        found: dict[str, Any] = {"ms": ms}
        if calls:
            found["over context_parallel"] = round(ms["context_parallel"] / ms[f"{kind} ring"], 3)
        return found

    def graph(self) -> dict[str, Any]:
        """A step of causal attention with its collectives as a CUDA graph: the same numbers, timed
        beside the calls."""
        import redfuse
        import redfuse.distributed as rd
        from redfuse.bench import programs
        from redfuse.distributed.layout import Layout
        from torch.distributed.tensor import Shard

        n, heads, width = (self.sizes[k] for k in ("length", "heads", "width"))
        text = programs.attention(1, heads, n, n, width, dtype="bf16", kind="causal")
        layout = Layout.zigzag(n, self.world)
        q, k, v = (torch.randn(1, heads, n, width, device=self.device).bfloat16() for _ in range(3))
        mine = [layout.shard(x, 2, self.rank) for x in (q, k, v)]
        ring = rd.compile(text, self.mesh, [Shard(2)] * 3, order="zigzag", strategy="ring",
                          check="first")  # fmt: skip
        one = redfuse.compile(text, target=self.target)
        want = ring(*mine).clone()
        step = rd.capture(ring, *mine)
        # Other numbers than the captured call had, and these again.
        step(*[x.neg() for x in mine])
        found: dict[str, Any] = {"same bits": bool(torch.equal(step(*mine), want))}
        replay = lambda: step(*step._arguments)  # noqa: E731
        ms = self.time({"alone": lambda: one(q, k, v), "call": lambda: ring(*mine),
                        "graph": replay}, rounds=5)  # fmt: skip
        return {**found, "ms": ms, "over one GPU": round(ms["alone"] / ms["graph"], 3)}

    def timeline(self) -> dict[str, Any]:
        """What the GPU of each rank does in a call of what was timed: kernels and copies, and between
        which of them nothing runs. Of rings those of 20 us and more."""
        from torch.profiler import ProfilerActivity, profile

        found: dict[str, Any] = {}
        for name, call in self.timed.items():
            call()
            dist.barrier()
            self.synchronize()
            kind = ProfilerActivity.CUDA if self.target == "cuda" else ProfilerActivity.CPU
            with profile(activities=[kind]) as profiler:
                call()
                self.synchronize()
            events = sorted(
                (e.time_range.start, e.time_range.end, e.name)
                for e in profiler.events() or ()
                if e.time_range.end > e.time_range.start and "Activity" not in e.name
            )
            first = events[0][0] if events else 0
            rows, idle, until = [], 0.0, first
            for start, end, kernel in events:
                idle += max(0.0, start - until)
                until = max(until, end)
                if end - start >= (20 if "ring" in name else 0):
                    rows.append([round(start - first), round(end - start), kernel[:70]])
            mine = {"rows": rows[:60], "launches": len(events), "idle_us": round(idle),
                    "all_us": round(until - first)}  # fmt: skip
            everyone: list[Any] = [None] * self.world
            dist.all_gather_object(everyone, mine, group=self.control)
            found[name] = everyone
        return found

    def error(self, mine: torch.Tensor, layout: Any, q: torch.Tensor, k: torch.Tensor,
              v: torch.Tensor, kind: str) -> float:  # fmt: skip
        """Of the last 64 rows of each piece that this rank has, against fp64; the largest of all ranks."""
        worst = 0.0
        for begin, start, stop in layout.pieces(self.rank):
            rows = slice(max(start, stop - 64), stop)
            s = q[:, :, rows].double() @ k.double().transpose(-1, -2) / math.sqrt(q.shape[-1])
            if kind == "causal":
                i = torch.arange(rows.start, rows.stop, device=self.device)[:, None]
                s = s.masked_fill(i < torch.arange(k.shape[2], device=self.device), -math.inf)
            want = torch.softmax(s, -1) @ v.double()
            got = mine[:, :, begin + rows.start - start : begin + stop - start].double()
            worst = max(worst, float((got - want).abs().max() / want.abs().max()))
        value = torch.tensor(worst, device=self.device)
        dist.all_reduce(value, dist.ReduceOp.MAX)
        return round(float(value), 6)

    # ---- decoding ----------------------------------------------------------------

    def decoding(self) -> dict[str, Any]:
        import redfuse
        import redfuse.distributed as rd
        from redfuse.bench import programs
        from torch.distributed.tensor import Replicate, Shard

        n, heads, few, width = (self.sizes[k] for k in ("keys", "heads", "kv_heads", "width"))
        text = programs.attention(1, heads, 1, n, width, dtype="bf16", kv_heads=few)
        torch.manual_seed(1)
        q = torch.randn(1, heads, 1, width, device=self.device).bfloat16()
        k, v = (torch.randn(1, few, n, width, device=self.device).bfloat16() for _ in range(2))
        per = n // self.world
        share = slice(self.rank * per, (self.rank + 1) * per)
        mine = [q, k[:, :, share].contiguous(), v[:, :, share].contiguous()]
        begin = time.monotonic()
        one = redfuse.compile(text, target=self.target)
        many = rd.compile(text, self.mesh, [Replicate(), Shard(2), Shard(2)], check="first")
        out, alone = many(*mine), one(q, k, v)
        found: dict[str, Any] = {"compile_s": round(time.monotonic() - begin, 1)}
        want = torch.empty(1, heads, 1, width, dtype=torch.float64, device=self.device)
        for head in range(heads):
            keys, values = (x[0, head * few // heads].double() for x in (k, v))
            scores = keys @ q[0, head, 0].double() / math.sqrt(width)
            want[0, head, 0] = torch.softmax(scores, 0) @ values
        for name, x in (("states", out), ("alone", alone)):
            found[f"error {name}"] = round(
                float((x.double() - want).abs().max() / want.abs().max()), 6
            )
        calls: dict[str, Callable[[], Any]] = {
            "alone": lambda: one(q, k, v),
            "states": lambda: many(*mine),
        }
        self.timed["decoding"] = calls["states"]
        found["enqueue_ms"] = self.enqueue_ms(calls["states"])
        try:
            graph = rd.capture(many, *mine)
            calls["graph"] = lambda: graph(*graph._arguments)
            single = torch.cuda.CUDAGraph()
            with torch.cuda.graph(single):
                one(q, k, v)
            calls["alone, graph"] = single.replay
        except Exception as error:
            found["graph"] = f"{type(error).__name__}: {error}"
        found["ms"] = self.time(calls, rounds=9, inner=10)
        ms = found["ms"]
        found["ratios"] = {"over one GPU": round(ms["alone"] / ms["states"], 3)}
        if "graph" in ms:
            found["ratios"]["over one GPU, graphs"] = round(ms["alone, graph"] / ms["graph"], 3)
        return found

    # ---- loss --------------------------------------------------------------------

    def loss(self) -> dict[str, Any]:
        import redfuse
        import redfuse.distributed as rd
        from redfuse.bench import programs
        from torch.distributed.tensor import Replicate, Shard

        rows, hidden, classes = (self.sizes[k] for k in ("rows", "hidden", "classes"))
        text = programs.linear_cross_entropy(rows, hidden, classes, dtype="bf16")
        torch.manual_seed(2)
        h = torch.randn(rows, hidden, device=self.device).bfloat16()
        w = (torch.randn(classes, hidden, device=self.device) / math.sqrt(hidden)).bfloat16()
        labels = torch.randint(classes, (rows,), device=self.device)
        per = classes // self.world
        mine = [h, w[self.rank * per : (self.rank + 1) * per].contiguous(), labels]
        begin = time.monotonic()
        one = redfuse.compile(text, target=self.target)
        many = rd.compile(text, self.mesh, [Replicate(), Shard(0), Replicate()], check="first")
        out, alone = many(*mine), one(h, w, labels)
        found: dict[str, Any] = {"compile_s": round(time.monotonic() - begin, 1)}
        logits = h[:128].double() @ w.double().T
        want = torch.logsumexp(logits, 1) - logits.gather(1, labels[:128, None])[:, 0]
        for name, x in (("states", out), ("alone", alone)):
            found[f"error {name}"] = round(
                float((x[:128].double() - want).abs().max() / want.abs().max()), 6
            )
        calls = {"alone": lambda: one(h, w, labels), "states": lambda: many(*mine)}
        self.timed["loss"] = calls["states"]
        found["enqueue_ms"] = self.enqueue_ms(calls["states"])
        cross = torch.nn.functional.cross_entropy
        calls["torch, one GPU"] = lambda: cross((h @ w.T).float(), labels, reduction="none")
        found["ms"] = self.time(calls, rounds=5)
        found["ratios"] = {"over one GPU": round(found["ms"]["alone"] / found["ms"]["states"], 3)}
        return found


def context_parallel_options() -> Any:
    """Private to PyTorch, and moved by 2.10."""
    try:
        from torch.distributed.tensor.experimental._context_parallel import _attention
    except ImportError:
        from torch.distributed.tensor.experimental import _attention
    return _attention._cp_options


# Of a hung collective: what finds it, and the variables that it takes.
HANGS = {
    "host": {},
    "blocking wait": {"TORCH_NCCL_BLOCKING_WAIT": "1"},
    "watch": {},
}
PATIENCE = 3.0


def begin(rank: int, world: int, given: Any, store: str, timeout: float) -> None:
    """Joins the process group."""
    given_device = {}
    if given.cpu:
        torch.set_num_threads(1)
    else:
        torch.cuda.set_device(rank)
        given_device = {"device_id": torch.device("cuda", rank)}
    dist.init_process_group(
        "gloo" if given.cpu else "nccl",
        init_method=f"file://{store}",
        rank=rank,
        world_size=world,
        timeout=datetime.timedelta(seconds=timeout),
        **given_device,
    )


def work(rank: int, world: int, given: Any, store: str, folder: str, names: list[str]) -> None:
    """Parts, one after the other."""
    begin(rank, world, given, store, 120)
    run = Run(rank, given, SIZES[given.size], Path(folder))
    bodies = {
        "links": run.links,
        "attention causal": lambda: run.attention("causal"),
        "attention full": lambda: run.attention("none"),
        "timeline": run.timeline,
        "decoding": run.decoding,
        "loss": run.loss,
        "graph": run.graph,
        "peer causal": lambda: run.peer("causal"),
        "peer full": lambda: run.peer("none"),
    }
    for name in names:
        run.part(name, bodies[name])
    if rank == 0 and not given.cpu:
        run.tell("nccl", ".".join(map(str, torch.cuda.nccl.version())))
    dist.barrier(group=run.control)
    os._exit(0)


def hang(rank: int, world: int, given: Any, store: str, folder: str, how: str) -> None:
    """The last rank comes too late to a second call: what the others see, and what it sees."""
    os.environ.update(HANGS[how])
    import redfuse.distributed as rd
    from redfuse.bench import programs
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import Shard

    begin(rank, world, given, store, 60)
    kind = "cpu" if given.cpu else "cuda"
    group = dist.new_group(timeout=datetime.timedelta(seconds=PATIENCE))
    mesh = DeviceMesh.from_group(group, kind)
    program = rd.compile(programs.variance(64, 64 * world), mesh, [Shard(1)],
                         check="always" if how == "host" else "first")  # fmt: skip
    x = torch.randn(64, 64, device=torch.device(kind, rank) if kind == "cuda" else "cpu")
    dist.barrier()
    program(x)
    if kind == "cuda":
        torch.cuda.synchronize()
    if rank == world - 1:
        time.sleep(3 * PATIENCE)
    start = time.monotonic()
    said: dict[str, Any] = {"raised": None}
    try:
        program(x)
        if kind == "cuda":
            torch.cuda.synchronize()
    except Exception as error:
        said = {"raised": type(error).__name__, "text": str(error)[:400]}
    said["after_s"] = round(time.monotonic() - start, 1)
    (Path(folder) / f"hang {how} {rank}").write_text(json.dumps(said))
    os._exit(0)


def read_parts(folder: Path) -> dict[str, Any]:
    """The results so far."""
    found = {}
    for path in folder.glob("part *"):
        found[path.name[5:]] = json.loads(path.read_text())
    return found


class Parent:
    """Starts processes for the parts, and others where some hang or die."""

    def __init__(self, given: Any, folder: Path):
        self.given, self.folder = given, folder
        self.start, self.runs = time.monotonic(), 0

    def left(self) -> float:
        """Seconds that there are."""
        return self.given.seconds - (time.monotonic() - self.start)

    def spawn(self, function: Any, *arguments: Any) -> Any:
        """Processes with a store of their own."""
        self.runs += 1
        store = str(self.folder / f"store{self.runs}")
        given = (self.given.gpus, self.given, store, str(self.folder), *arguments)
        return mp.spawn(function, given, self.given.gpus, join=False)

    def parts(self, names: list[str]) -> None:
        """All of these, each in the first processes that come to it."""
        names = list(names)
        while names and self.left() > 0:
            error = self._ended(self.spawn(work, names))
            done = read_parts(self.folder)
            left = [name for name in names if name not in done]
            if len(left) == len(names) or error:
                self._failed(left, error)
                left = [name for name in left if name not in read_parts(self.folder)]
            names = left
        for name in names:
            self._tell(name, {"error": f"left out: {self.given.seconds:g} s have passed"})

    def _ended(self, processes: Any) -> str:
        """Waits for processes; what was wrong with them."""
        known, since = None, time.monotonic()
        while True:
            try:
                if processes.join(timeout=0.5):
                    return ""
            except Exception as error:
                return f"{type(error).__name__}: {error}".split("\n\n")[0][-500:]
            state = sorted(path.name for path in self.folder.iterdir()), self._at()
            if state != known:
                known, since = state, time.monotonic()
            waited = time.monotonic() - since
            if waited > self.given.limit or self.left() < 0:
                for process in processes.processes:
                    process.kill()
                return f"nothing happened for {waited:.0f} s"

    def _at(self) -> str:
        path = self.folder / "at"
        return json.loads(path.read_text()) if path.exists() else ""

    def _failed(self, left: list[str], error: str) -> None:
        """Keeps what is known of the part in which processes ended."""
        name = self._at()
        if name not in left:
            name = left[0] if left else ""
        if not name:
            return
        found: dict[str, Any] = {"error": error or "the processes ended"}
        for path in sorted(self.folder.glob("error*")):
            found[path.name] = json.loads(path.read_text())
            path.unlink()
        self._tell(name, found)

    def _tell(self, name: str, found: dict[str, Any]) -> None:
        (self.folder / f"part {name}").write_text(json.dumps(found))

    def hangs(self) -> None:
        """A rank that does not come, in all ways at once: they wait most of the time."""
        found: dict[str, Any] = {"patience_s": PATIENCE}
        if self.left() < 0:
            found = {"error": f"left out: {self.given.seconds:g} s have passed"}
        begin = time.monotonic()
        running = {how: self.spawn(hang, how) for how in HANGS} if self.left() > 0 else {}
        for how, processes in running.items():
            error = self._ended(processes)
            one: dict[str, Any] = {"until_s": round(time.monotonic() - begin, 1), "ended": error}
            one["exit codes"] = [process.exitcode for process in processes.processes]
            for rank in range(self.given.gpus):
                path = self.folder / f"hang {how} {rank}"
                if path.exists():
                    one[f"rank {rank}"] = json.loads(path.read_text())
            found[how] = one
        self._tell("hang", found)


PARTS = (
    "links", "attention causal", "attention full", "decoding", "loss", "timeline", "graph",
    "peer causal", "peer full",
)  # fmt: skip


def main() -> int:
    made = cli.parser(__doc__)
    made.add_argument("--json", help="write the results here")
    made.add_argument("--size", choices=list(SIZES), default="full")
    made.add_argument("--gpus", type=int, default=2)
    made.add_argument("--cpu", action="store_true", help="a trial of the script over Gloo")
    made.add_argument("--only", default="", help="words of parts, by commas: links, attention, "
                      "timeline and peer (after attention), decoding, loss, graph, hang")  # fmt: skip
    made.add_argument("--seconds", type=float, default=400, help="for all (%(default)s)")
    made.add_argument("--limit", type=float, default=45,
                      help="seconds in which a part has to say something (%(default)s)")  # fmt: skip
    given = made.parse_args()
    if not given.cpu and torch.cuda.device_count() < given.gpus:
        print(f"needs {given.gpus} GPUs, this machine has {torch.cuda.device_count()}")
        return 2
    chosen = given.only.split(",")
    names = [name for name in PARTS if not given.only or name.split()[0] in chosen]
    with tempfile.TemporaryDirectory() as folder:
        parent = Parent(given, Path(folder))
        parent.parts(names)
        if not given.only or "hang" in chosen:
            parent.hangs()
        results = read_parts(Path(folder))
        about: dict[str, Any] = {
            "torch": torch.__version__,
            "commit": os.environ.get("REDFUSE_COMMIT", ""),
            "date": time.strftime("%Y-%m-%d %H:%M"),
            "sizes": SIZES[given.size],
            "took_s": round(given.seconds - parent.left(), 1),
        }
        if not given.cpu:
            about["gpus"] = [torch.cuda.get_device_name(i) for i in range(given.gpus)]
            nccl = Path(folder) / "nccl"
            about["nccl"] = json.loads(nccl.read_text()) if nccl.exists() else ""
    text = json.dumps({"about": about, **results}, indent=1)
    if given.json:
        Path(given.json).write_text(text)
    print(text, flush=True)
    return int(any("error" in one and isinstance(one["error"], str) for one in results.values()))


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())
