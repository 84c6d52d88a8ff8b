"""What memory and launches allow a kernel that reduces: `python test/hardware/floors.py`.

Kernels written by hand in CUDA C++ that do less than any program of the benchmarks can: one that
loads and stores once, sums of one row by a block or a cluster, and sums of as many bytes as the
variances and moments of inertia read, by every kind of launch that is known to be good. Timed as
`redfuse bench` does, in turn with this project's kernels, torch.compile's and a copy of as many bytes.

How a kernel waits for the one before it: `alone` (no overlap of launches), `wait` (launched early,
waits first), `ask` (asks the second-level cache for its data, then waits), and `early`: it loads
before it waits, which is right only for data that no kernel before has written, and so a bound.
"""

from __future__ import annotations

import ctypes
import dataclasses
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import cli
import redfuse
import torch
from redfuse.bench import gpu, gpu_peers
from redfuse.bench.cases import Case, all_cases
from redfuse.bench.gpu_timing import Timer, first_line, sets_of

WAYS = ("wait", "ask", "early")
SLOTS, SLOT = 12, 16384  # of a block that copies in bulk
SOURCE = r"""
enum { WAIT, ASK, EARLY };
__device__ __forceinline__ void await() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ __forceinline__ void next() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ __forceinline__ void ask(const void *p, unsigned bytes) {
  if (threadIdx.x == 0)
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(p), "r"(bytes) : "memory");
}
__device__ __forceinline__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ float add(float4 v) { return (v.x + v.y) + (v.z + v.w); }
__device__ __forceinline__ float total(float s) {
  __shared__ float parts[32];
  for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  if (blockDim.x == 32) return s;
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < blockDim.x / 32; ++i) s += parts[i];
  return s;
}
// U vectors of each thread, all under way at once.
template <int U, int M>
__device__ __forceinline__ float some(const float4 *x, unsigned pitch) {
  float4 v[U];
  if (M != EARLY) await();
  for (int i = 0; i < U; ++i) v[i] = x[i * pitch];
  if (M == EARLY) await();
  float s = 0;
  for (int i = 0; i < U; ++i) s += add(v[i]);
  return s;
}

extern "C" __global__ void empty(const float4 *, float *, unsigned) { next(); await(); }

template <int M> __device__ __forceinline__ void touch(const float4 *x, float *y) {
  next();
  if (M == ASK) ask(x, blockDim.x * 16);
  y[threadIdx.x] = some<1, M>(x + threadIdx.x, 0);
}
// A row of 8192 elements by one block of T threads.
template <int T, int M> __device__ __forceinline__ void one(const float4 *x, float *y) {
  next();
  if (M == ASK) ask(x, 32768);
  float s = total(some<2048 / T, M>(x + threadIdx.x, T));
  if (threadIdx.x == 0) *y = s;
}
// The same by a cluster of C.
template <int C, int T, int M> __device__ __forceinline__ void shared(const float4 *x, float *y) {
  __shared__ float got[C];
  next();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  unsigned rank = blockIdx.x % C;
  if (M == ASK) ask(x + rank * (2048 / C), 32768 / C);
  float s = total(some<2048 / C / T, M>(x + rank * (2048 / C) + threadIdx.x, T));
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (threadIdx.x == 0)
    asm volatile("{.reg .b32 a; mapa.shared::cluster.u32 a, %0, 0; st.shared::cluster.f32 [a], %1;}"
                 ::"r"(at(got + rank)), "f"(s) : "memory");
  asm volatile("barrier.cluster.arrive.release.aligned;\n"
               "barrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (rank == 0 && threadIdx.x == 0) {
    for (s = got[0], rank = 1; rank < C; ++rank) s += got[rank];
    *y = s;
  }
}
// n vectors, U of each thread; a block has one piece.
template <int U, int M> __device__ __forceinline__ void pieces(const float4 *x, float *y) {
  unsigned piece = blockDim.x * U;
  next();
  if (M == ASK) ask(x + blockIdx.x * piece, piece * 16);
  float s = total(some<U, M>(x + blockIdx.x * piece + threadIdx.x, blockDim.x));
  if (threadIdx.x == 0) y[blockIdx.x] = s;
}
// The same; blocks stay and walk pieces.
template <int U, int M> __device__ __forceinline__ void walk(const float4 *x, float *y, unsigned n) {
  unsigned piece = blockDim.x * U, from = blockIdx.x * piece;
  float s = 0;
  next();
  if (M == ASK) ask(x + from, piece * 16);
  if (M != EARLY) await();
  for (; from < n; from += gridDim.x * piece) {
    float4 v[U];
    for (int i = 0; i < U; ++i) v[i] = x[from + threadIdx.x + i * blockDim.x];
    for (int i = 0; i < U; ++i) s += add(v[i]);
  }
  if (M == EARLY) await();
  s = total(s);
  if (threadIdx.x == 0) y[blockIdx.x] = s;
}
// Each block's share by bulk copies into shared memory, all slots under way at once.
extern __shared__ float4 memory[];
template <int M> __device__ __forceinline__ void bulk(const float4 *x, float *y, unsigned n) {
  __shared__ alignas(8) unsigned long long full[SLOTS];
  unsigned slots = n / (SLOT / 16), count = slots / gridDim.x, from = count * blockIdx.x;
  unsigned more = slots % gridDim.x;
  from += blockIdx.x < more ? blockIdx.x : more;
  count += blockIdx.x < more;
  auto copy = [&](unsigned i) {
    unsigned bar = at(full + i % SLOTS);
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(SLOT) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(at(memory + i % SLOTS * (SLOT / 16))), "l"(x + (from + i) * (SLOT / 16)),
                 "r"(SLOT), "r"(bar) : "memory");
  };
  if (threadIdx.x == 0) {
    for (int i = 0; i < SLOTS; ++i)
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at(full + i)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  next();
  if (M == ASK) ask(x + from * (SLOT / 16), (count < SLOTS ? count : SLOTS) * SLOT);
  if (M != EARLY) await();
  if (threadIdx.x == 0)
    for (unsigned i = 0; i < count && i < SLOTS; ++i) copy(i);
  __syncthreads();
  float s = 0;
  for (unsigned i = 0; i < count; ++i) {
    asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;"
                 " @!p bra again;}" ::"r"(at(full + i % SLOTS)), "r"(i / SLOTS % 2) : "memory");
    for (unsigned j = threadIdx.x; j < SLOT / 16; j += blockDim.x)
      s += add(memory[i % SLOTS * (SLOT / 16) + j]);
    if (i + SLOTS < count) {
      __syncthreads();
      if (threadIdx.x == 0) copy(i + SLOTS);
    }
  }
  if (M == EARLY) await();
  s = total(s);
  if (threadIdx.x == 0) y[blockIdx.x] = s;
}
"""


def source() -> str:
    """All kernels, each in every way of waiting, as functions with C names."""
    text = [f"#define SLOTS {SLOTS}u\n#define SLOT {SLOT}u\n", SOURCE]

    def kernel(name: str, call: str, limits: str = "") -> None:
        for i, way in enumerate(WAYS):
            text.append(
                f'extern "C" __global__ void {limits} {name}_{way}(const float4 *x, float *y, '
                f"unsigned n) {{ {call.replace('M', str(i))}; }}\n"
            )

    kernel("touch", "touch<M>(x, y)")
    for t in ROW_THREADS:
        kernel(f"one_{t}", f"one<{t}, M>(x, y)", f"__launch_bounds__({t})")
    for c, t in CLUSTERS:
        limits = f"__cluster_dims__({c}) __launch_bounds__({t})"
        kernel(f"shared_{c}_{t}", f"shared<{c}, {t}, M>(x, y)", limits)
    for u in VECTORS:
        bounds = f"__launch_bounds__({1024 if u < 16 else 512})"
        kernel(f"pieces_{u}", f"pieces<{u}, M>(x, y)", bounds)
        kernel(f"walk_{u}", f"walk<{u}, M>(x, y, n)", bounds)
    kernel("bulk", "bulk<M>(x, y, n)", "__launch_bounds__(1024)")
    return "".join(text)


ROW_THREADS = (64, 128, 256, 512, 1024)
CLUSTERS = ((2, 128), (2, 256), (4, 128), (8, 128), (8, 64))
VECTORS = (4, 8, 16)


def compile_kernels() -> bytes:
    """A cubin for this GPU, by NVRTC or nvcc."""
    major, minor = torch.cuda.get_device_capability()
    chip = f"sm_{major}{minor}a"
    try:
        return _by_nvrtc(chip)
    except (OSError, AttributeError):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "floors.cu"
            path.write_text(source())
            out = path.with_suffix(".cubin")
            subprocess.run(["nvcc", "-cubin", f"-arch={chip}", "-o", out, path], check=True)
            return out.read_bytes()


def _by_nvrtc(chip: str) -> bytes:
    folders = list(Path(torch.__file__).parents[1].glob("nvidia/*/lib"))
    for name in ("libnvrtc-builtins.so.1?.*", "libnvrtc.so.1?"):
        found = sorted(path for folder in folders for path in folder.glob(name))
        library = ctypes.CDLL(str(found[-1]) if found else "libnvrtc.so")
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    text = source().encode()
    library.nvrtcCreateProgram(ctypes.byref(program), text, b"floors.cu", 0, None, None)
    options = (ctypes.c_char_p * 2)(f"-arch={chip}".encode(), b"-std=c++17")
    if library.nvrtcCompileProgram(program, 2, options):
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.value.decode()[:2000])
    library.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    library.nvrtcGetCUBIN(program, cubin)
    return cubin.raw


class _Attribute(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_int * 16))


class _Config(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint * 7),  # blocks, threads, bytes of shared memory
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("number", ctypes.c_uint),
    )


class Module:
    """Kernels of a cubin, launched by the driver."""

    def __init__(self, cubin: bytes):
        torch.zeros(1, device="cuda")
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._module = ctypes.c_void_p()
        self._check(self._driver.cuModuleLoadData(ctypes.byref(self._module), cubin))
        self._overlap = _Attribute(6, 0, (ctypes.c_int * 16)(1))  # programmatic serialization
        self._found: dict[str, ctypes.c_void_p] = {}

    def _check(self, code: int) -> None:
        if code:
            raise RuntimeError(f"the driver's error {code}")

    def call(self, name: str, way: str, blocks: int, threads: int, shared: int = 0
             ) -> Callable[[torch.Tensor, torch.Tensor], None]:  # fmt: skip
        """A function of what is read and of a buffer that is written."""
        full = name if name == "empty" else f"{name}_{'wait' if way == 'alone' else way}"
        if full not in self._found:
            handle = ctypes.c_void_p()
            self._check(self._driver.cuModuleGetFunction(
                ctypes.byref(handle), self._module, full.encode()))  # fmt: skip
            if shared:
                self._check(self._driver.cuFuncSetAttribute(handle, 8, shared))
            self._found[full] = handle
        overlap = ctypes.pointer(self._overlap)

        def run(x: torch.Tensor, y: torch.Tensor) -> None:
            values = (ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()),
                      ctypes.c_uint(x.nbytes // 16))  # fmt: skip
            pointers = (ctypes.c_void_p * 3)(*[ctypes.addressof(value) for value in values])
            config = _Config((ctypes.c_uint * 7)(blocks, 1, 1, threads, 1, 1, shared),
                             torch.cuda.current_stream().cuda_stream, overlap,
                             int(way != "alone"))  # fmt: skip
            self._check(self._driver.cuLaunchKernelEx(
                ctypes.byref(config), self._found[full], pointers, None))  # fmt: skip

        return run


@dataclasses.dataclass
class Line:
    """One contender: its kind, how it is launched, and what it took."""

    kind: str
    way: str
    launch: str
    timer: Timer
    samples: list[float] = dataclasses.field(default_factory=list)

    @property
    def us(self) -> float:
        """Median."""
        return 1000 * statistics.median(self.samples)


def row_launches() -> Iterator[tuple[str, str, int, int, int]]:
    """Kind, kernel, blocks, threads, bytes of shared memory: for one row of 8192 elements."""
    yield "nothing", "empty", 1, 32, 0
    for t in (32, 256):
        yield f"a load and a store, {t} threads", "touch", 1, t, 0
    for t in ROW_THREADS:
        yield f"sum, {t} threads", f"one_{t}", 1, t, 0
    for c, t in CLUSTERS:
        yield f"sum, cluster of {c} x {t}", f"shared_{c}_{t}", c, t, 0


def read_launches(vectors: int, units: int) -> Iterator[tuple[str, str, int, int, int]]:
    """The same for sums of many vectors of 16 bytes."""
    for u in VECTORS:
        for t in (128, 256, 512, 1024):
            if u * t > 8192 or vectors % (u * t):
                continue
            yield "pieces", f"pieces_{u}", vectors // (u * t), t, 0
            for k in (1024 // t, 2048 // t):
                if t >= 256 and k and vectors // (u * t) > units * k and u < 16:
                    yield "walk", f"walk_{u}", units * k, t, 0
    for t in (256, 1024):
        yield "bulk", "bulk", units, t, SLOTS * SLOT


def right(run: Callable[[torch.Tensor, torch.Tensor], None], x: torch.Tensor) -> bool:
    """Whether what is written adds up to the sum."""
    y = torch.zeros(1 << 17, device="cuda")
    run(x, y)
    want = x.double().sum().item()
    return abs(y.double().sum().item() - want) < 1e-5 * x.double().abs().sum().item()


def of_case(case: Case, peers: bool) -> list[Line]:
    """This project's kernel, and torch.compile's."""
    first = gpu._inputs(case, 0)
    sets = sets_of(first)
    exe = redfuse.compile(case.program(), target="cuda", options={"cache": False})
    outs = [torch.empty_like(exe(*sets[0])) for _ in sets]
    lines = [Line("redfuse", "", "", Timer([
        lambda a=a, o=o: exe(*a, out=o) for a, o in zip(sets, outs, strict=True)]))]  # fmt: skip
    if peers:
        function = gpu_peers.functions(case)["compile"]()
        function(*sets[0])
        calls = [lambda a=a: function(*a) for a in sets]
        lines.append(Line("torch.compile", "", "", Timer(calls)))
    return lines


def measure(module: Module, case: Case, launches: Iterator, rounds: int, peers: bool
            ) -> tuple[list[Line], float]:  # fmt: skip
    """All contenders in turn; the copy's time in us."""
    nbytes = sum(t.nbytes for t in gpu._inputs(case, 0))
    copy = gpu._copy(case).timer
    copies: list[float] = []
    lines = of_case(case, peers)
    sets = sets_of([torch.randn(nbytes // 4, device="cuda")])
    outs = [torch.empty(1 << 14, device="cuda") for _ in sets]
    for kind, name, blocks, threads, shared in launches:
        for way in ("alone",) if name == "empty" else ("alone", *WAYS):
            run = module.call(name, way, blocks, threads, shared)
            if name not in ("empty", "touch") and not right(run, sets[0][0]):
                print(f"{kind} {way} {blocks} x {threads}: WRONG")
                continue
            calls = [lambda x=x[0], y=y, run=run: run(x, y)
                     for x, y in zip(sets, outs, strict=True)]  # fmt: skip
            launch = f"{blocks} x {threads}, {name.split('_')[1]}" if "_" in name else (
                f"{blocks} x {threads}")  # fmt: skip
            lines.append(Line(kind, way, launch, Timer(calls)))
    if any(line.kind == "nothing" for line in lines):
        run = module.call("empty", "wait", 1, 32)
        calls = [lambda x=x[0], y=y: run(x, y) for x, y in zip(sets, outs, strict=True)]
        lines.append(Line("nothing", "wait", "1 x 32", Timer(calls)))
    for _ in range(rounds):
        copies.append(copy.sample())
        for line in lines:
            line.samples.append(line.timer.sample())
    return lines, 1000 * statistics.median(copies)


def main() -> int:
    """The command line."""
    parser = cli.parser(__doc__)
    parser.add_argument("cases", nargs="*", default=["variance/V1", "variance/V4", "inertia/I4"])
    parser.add_argument(
        "--all", action="store_true", help="every launch, not the best of each kind"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-peers", action="store_true")
    given = parser.parse_args()
    module = Module(compile_kernels())
    floors = gpu.measure_floors()
    units = torch.cuda.get_device_properties(0).multi_processor_count
    print(f"a long copy: {floors.copy_gb_s:.0f} GB/s")
    cases = list(all_cases("f32").values())
    for name in given.cases:
        case = next((c for c in cases if c.full_name.endswith(name)), None)
        if case is None:
            print(f"no case {name}; there are: {', '.join(c.full_name for c in cases)[:500]}")
            return 1
        nbytes = sum(t.nbytes for t in gpu._inputs(case, 0))
        launches = row_launches() if nbytes == 32768 else read_launches(nbytes // 16, units)
        try:
            lines, copy = measure(module, case, launches, given.rounds, not given.no_peers)
        except Exception as error:  # other cases may be had
            print(f"{name}: {first_line(error)}")
            continue
        at_rate = nbytes / floors.copy_gb_s / 1e3
        print(f"\n{name}: reads {nbytes / 1e6:.2f} MB; at the rate of a long copy {at_rate:.2f} us;"
              f" a copy of its size {copy:.2f} us")  # fmt: skip
        seen = set()
        ordered = lines if nbytes == 32768 else sorted(lines, key=lambda line: line.us)
        for line in ordered:
            if given.all or (line.kind, line.way) not in seen:
                seen.add((line.kind, line.way))
                print(f"  {line.kind:28} {line.way:6} {line.launch:18} {line.us:8.2f} us"
                      f" {at_rate / line.us:6.3f} of the rate", flush=True)  # fmt: skip
        del lines
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
