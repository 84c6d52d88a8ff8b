//===- Passes.td - what is mended behind code of a GPU -----*- tablegen -*-===//
#ifndef REDFUSE_CODEGEN_GPU_TRANSFORMS_PASSES_TD
#define REDFUSE_CODEGEN_GPU_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VersionEdges : Pass<"redfuse-version-edges"> {
  let summary = "Another version of a kernel's code for threads beside no edge";
  let description = [{
    Windows reach over the edges of what they read. There each element has its position compared
    with both edges, wrapped, and a select behind its load. Positions of a thread are a few values
    with constants added to them: two compares of each say whether all lie inside, and then the
    code is another one, in which the compares are true and nothing is wrapped. For one block of a
    kernel, the first with eight such compares or more (below `-redfuse-version-edges=least=2`)
    whose code needs no other threads, where few warps have threads of both kinds: the value is the
    same for a warp, or what its lanes walk is long.

    ```mlir
    gpu.module @m {
      gpu.func @k(%x: memref<64xf32>, %y: memref<68xf32>) kernel {
        %c64 = arith.constant 64 : index
        %c4 = arith.constant 4 : index
        %c60 = arith.constant 60 : index
        %c68 = arith.constant 68 : index
        %zero = arith.constant 0.0 : f32
        %i = gpu.block_id x
        %at = arith.addi %i, %c60 : index
        %wrapped = arith.remui %at, %c64 : index
        %a = memref.load %x[%wrapped] : memref<64xf32>
        %begun = arith.cmpi sge, %i, %c4 : index
        %open = arith.cmpi slt, %i, %c68 : index
        %is = arith.andi %begun, %open : i1
        %b = arith.select %is, %a, %zero : f32
        memref.store %b, %y[%i] : memref<68xf32>
        gpu.return
      }
    }
    ```

    becomes

    ```mlir
    gpu.module @m {
      gpu.func @k(%x: memref<64xf32>, %y: memref<68xf32>) kernel {
        %c64 = arith.constant 64 : index
        %c4 = arith.constant 4 : index
        %c60 = arith.constant 60 : index
        %c68 = arith.constant 68 : index
        %zero = arith.constant 0.0 : f32
        %i = gpu.block_id x
        %at = arith.addi %i, %c60 : index
        %c67 = arith.constant 67 : index
        %low = arith.cmpi sge, %i, %c4 : index
        %high = arith.cmpi sle, %i, %c67 : index
        %inside = arith.andi %low, %high : i1
        scf.if %inside {
          %c-4 = arith.constant -4 : index
          %place = arith.addi %i, %c-4 : index
          %a = memref.load %x[%place] : memref<64xf32>
          memref.store %a, %y[%i] : memref<68xf32>
        } else {
          %wrapped = arith.remui %at, %c64 : index
          %a = memref.load %x[%wrapped] : memref<64xf32>
          %begun = arith.cmpi sge, %i, %c4 : index
          %open = arith.cmpi slt, %i, %c68 : index
          %is = arith.andi %begun, %open : i1
          %b = arith.select %is, %a, %zero : f32
          memref.store %b, %y[%i] : memref<68xf32>
        }
        gpu.return
      }
    }
    ```
  }];
  let options = [
    Option<"least", "least", "unsigned", /*default=*/"8",
           "compares for which another version is made">
  ];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::scf::SCFDialect"];
}

def ReuseValues : Pass<"redfuse-reuse-values"> {
  let summary = "Keep in registers what a GPU thread has already";
  let description = [{
    Redundant load elimination and store-to-load forwarding, across barriers. In
    each `gpu.func`, after `canonicalize,cse`: a load of a kernel's input that
    repeats an earlier one is that value (where the function is marked
    `redfuse.reuse`: no two operands share memory); a load of a tile element that
    the same thread stored is the stored value, until the tile is written again;
    tiles that nothing reads are dropped.

    ```mlir
    #shared = #gpu.address_space<workgroup>
    gpu.module @m {
      gpu.func @k(%x: memref<64xf32>, %y: memref<64xf32>) kernel
          attributes {redfuse.reuse} {
        %c0 = arith.constant 0 : index
        %i = gpu.thread_id x
        %bytes = gpu.dynamic_shared_memory : memref<?xi8, #shared>
        %tile = memref.view %bytes[%c0][]
            : memref<?xi8, #shared> to memref<64xf32, #shared>
        %a = memref.load %x[%i] : memref<64xf32>
        memref.store %a, %tile[%i] : memref<64xf32, #shared>
        gpu.barrier
        %b = memref.load %tile[%i] : memref<64xf32, #shared>
        %c = memref.load %x[%i] : memref<64xf32>
        %d = arith.addf %b, %c : f32
        memref.store %d, %y[%i] : memref<64xf32>
        gpu.return
      }
    }
    ```

    becomes

    ```mlir
    gpu.module @m {
      gpu.func @k(%x: memref<64xf32>, %y: memref<64xf32>) kernel
          attributes {redfuse.reuse} {
        %i = gpu.thread_id x
        %a = memref.load %x[%i] : memref<64xf32>
        gpu.barrier
        %d = arith.addf %a, %a : f32
        memref.store %d, %y[%i] : memref<64xf32>
        gpu.return
      }
    }
    ```
  }];
}

def StreamedAccesses : Pass<"redfuse-streamed-accesses"> {
  let summary = "Keep what is moved once out of the first-level cache";
  let description = [{
    For NVIDIA GPUs, on the LLVM dialect: loads and stores of global memory that are
    `nontemporal` and move 4, 8 or 16 bytes, aligned so, become
    `ld.global.L1::no_allocate` and `st.global.L1::no_allocate`, which LLVM has no
    form of. Other accesses stay as they are.

    ```mlir
    gpu.module @m {
      llvm.func @k(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) {
        %v = llvm.load %p {alignment = 4 : i64, nontemporal} : !llvm.ptr<1> -> i32
        llvm.store %v, %q : i32, !llvm.ptr<1>
        llvm.return
      }
    }
    ```

    becomes

    ```mlir
    gpu.module @m {
      llvm.func @k(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) {
        %v = llvm.inline_asm has_side_effects asm_dialect = att
            "ld.global.L1::no_allocate.b32 $0, [$1];", "=r,l" %p
            : (!llvm.ptr<1>) -> i32
        llvm.store %v, %q : i32, !llvm.ptr<1>
        llvm.return
      }
    }
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def JoinLoads : Pass<"redfuse-join-loads"> {
  let summary = "Load neighbours of 16 bits as vectors";
  let description = [{
    For NVIDIA GPUs: where a thread loads eight neighbours or more of global memory, one by
    one, and the next thread begins four elements on or more, they are loaded as vectors,
    which may begin anywhere (`redfuse-realign-loads`).

    ```mlir
    gpu.module @m {
      gpu.func @k(%x: memref<4096xbf16>, %y: memref<256xbf16>) kernel {
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c3 = arith.constant 3 : index
        %c4 = arith.constant 4 : index
        %c5 = arith.constant 5 : index
        %c6 = arith.constant 6 : index
        %c7 = arith.constant 7 : index
        %c9 = arith.constant 9 : index
        %i = gpu.thread_id x
        %0 = arith.muli %i, %c9 : index
        %1 = arith.addi %0, %c1 : index
        %2 = arith.addi %0, %c2 : index
        %3 = arith.addi %0, %c3 : index
        %4 = arith.addi %0, %c4 : index
        %5 = arith.addi %0, %c5 : index
        %6 = arith.addi %0, %c6 : index
        %7 = arith.addi %0, %c7 : index
        %a = memref.load %x[%0] : memref<4096xbf16>
        %b = memref.load %x[%1] : memref<4096xbf16>
        %c = memref.load %x[%2] : memref<4096xbf16>
        %d = memref.load %x[%3] : memref<4096xbf16>
        %e = memref.load %x[%4] : memref<4096xbf16>
        %f = memref.load %x[%5] : memref<4096xbf16>
        %g = memref.load %x[%6] : memref<4096xbf16>
        %h = memref.load %x[%7] : memref<4096xbf16>
        %ab = arith.maximumf %a, %b : bf16
        %cd = arith.maximumf %c, %d : bf16
        %ef = arith.maximumf %e, %f : bf16
        %gh = arith.maximumf %g, %h : bf16
        %abcd = arith.maximumf %ab, %cd : bf16
        %efgh = arith.maximumf %ef, %gh : bf16
        %max = arith.maximumf %abcd, %efgh : bf16
        memref.store %max, %y[%i] : memref<256xbf16>
        gpu.return
      }
    }
    ```

    becomes

    ```mlir
    gpu.module @m {
      gpu.func @k(%x: memref<4096xbf16>, %y: memref<256xbf16>) kernel {
        %c0 = arith.constant 0 : index
        %c9 = arith.constant 9 : index
        %i = gpu.thread_id x
        %0 = arith.muli %i, %c9 : index
        %from = arith.addi %0, %c0 : index
        %v = vector.load %x[%from] {alignment = 2 : i64} : memref<4096xbf16>, vector<8xbf16>
        %a = vector.extract %v[0] : bf16 from vector<8xbf16>
        %b = vector.extract %v[1] : bf16 from vector<8xbf16>
        // ... and so on
        gpu.return
      }
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::vector::VectorDialect"];
}

def RealignLoads : Pass<"redfuse-realign-loads"> {
  let summary = "Load vectors that begin anywhere as two that are aligned";
  let description = [{
    For NVIDIA GPUs, on the LLVM dialect: a vector of 16 bytes of global memory that is
    not known to begin at a multiple of 16 is shifted out of the two pieces of 16 bytes
    that it lies in. LLVM would read it element by element. Nothing is read of pieces that
    have none of its bytes: of an aligned one, the same piece is read twice.

    ```mlir
    gpu.module @m {
      llvm.func @k(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) {
        %v = llvm.load %p {alignment = 8 : i64} : !llvm.ptr<1> -> vector<4xf32>
        llvm.store %v, %q {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
        llvm.return
      }
    }
    ```

    becomes (the words of the pieces `%w` and `%x`, in this case only whole pairs of
    them)

    ```mlir
    gpu.module @m {
      llvm.func @k(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) {
        %zero = llvm.mlir.constant(0 : i32) : i32
        %two = llvm.mlir.constant(2 : i32) : i32
        %eight = llvm.mlir.constant(8 : i32) : i32
        %fifteen = llvm.mlir.constant(15 : i32) : i32
        %number = llvm.ptrtoint %p : !llvm.ptr<1> to i64
        %low = llvm.trunc %number : i64 to i32
        %offset = llvm.and %low, %fifteen : i32
        %back = llvm.sub %zero, %offset : i32
        %b = llvm.sext %back : i32 to i64
        %first = llvm.getelementptr %p[%b] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
        %w = llvm.load %first {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
        %on = llvm.and %back, %fifteen : i32
        %o = llvm.sext %on : i32 to i64
        %second = llvm.getelementptr %p[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
        %x = llvm.load %second {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
        %bit = llvm.and %offset, %eight : i32
        %skips = llvm.icmp "ne" %bit, %zero : i32
        %w0 = llvm.extractelement %w[%zero : i32] : vector<4xi32>
        %w2 = llvm.extractelement %w[%two : i32] : vector<4xi32>
        %v0 = llvm.select %skips, %w2, %w0 : i1, i32
        // ... and so on with the other three words, which make up %v
        llvm.return
      }
    }
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def RelaxAtomics : Pass<"redfuse-relax-atomics"> {
  let summary = "Let atomics whose result nobody reads order nothing";
  let description = [{
    On the LLVM dialect: an atomic update of memory of no scope, as upstream makes them,
    orders all of memory for the whole system. Where its result has no use it only has to
    be one step, for the threads of the device.

    ```mlir
    gpu.module @m {
      llvm.func @k(%p: !llvm.ptr<1>, %v: i32) {
        %old = llvm.atomicrmw max %p, %v acq_rel : !llvm.ptr<1>, i32
        llvm.return
      }
    }
    ```

    becomes

    ```mlir
    gpu.module @m {
      llvm.func @k(%p: !llvm.ptr<1>, %v: i32) {
        %old = llvm.atomicrmw max %p, %v syncscope("device") monotonic : !llvm.ptr<1>, i32
        llvm.return
      }
    }
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def ConvertBytes : Pass<"redfuse-convert-bytes"> {
  let summary = "Make floats of vectors of bytes by words";
  let description = [{
    For NVIDIA GPUs, where weights of 4 or 8 bits become 16-bit floats: a vector of bytes is
    masked, shifted and chosen as words of four; each two bytes of a word become the low bits
    of two floats whose last bits are worth 1 (128 and the number for a bf16, 1024 for an
    f16), and what is above the numbers is subtracted. What is computed with such whole
    numbers in f32 and rounded is computed in 16 bits, where that is the same: sums that
    remain whole numbers which 16 bits have, and products of one of them and a 16-bit float,
    which are exact in f32.

    ```mlir
    gpu.module @m {
      gpu.func @k(%x: vector<4xi8>, %s: vector<4xbf16>) -> vector<4xbf16> {
        %mask = arith.constant dense<15> : vector<4xi8>
        %eight = arith.constant dense<8.0> : vector<4xf32>
        %c = arith.andi %x, %mask : vector<4xi8>
        %f = arith.uitofp %c : vector<4xi8> to vector<4xf32>
        %d = arith.subf %f, %eight : vector<4xf32>
        %w = arith.extf %s : vector<4xbf16> to vector<4xf32>
        %p = arith.mulf %d, %w : vector<4xf32>
        %r = arith.truncf %p : vector<4xf32> to vector<4xbf16>
        gpu.return %r : vector<4xbf16>
      }
    }
    ```

    becomes

    ```mlir
    gpu.module @m {
      gpu.func @k(%x: vector<4xi8>, %s: vector<4xbf16>) -> vector<4xbf16> {
        %above = arith.constant dense<136.0> : vector<4xbf16>
        %high = arith.constant 17218 : i32
        %low = arith.constant 16704 : i32
        %upper = arith.constant 1128481603 : i32
        %mask = arith.constant dense<252645135> : vector<1xi32>
        %0 = vector.bitcast %x : vector<4xi8> to vector<1xi32>
        %1 = arith.andi %0, %mask : vector<1xi32>
        %2 = vector.extract %1[0] : i32 from vector<1xi32>
        %3 = nvvm.prmt <default> %low, %2, %upper : i32
        %4 = nvvm.prmt <default> %high, %2, %upper : i32
        %5 = vector.from_elements %3, %4 : vector<2xi32>
        %6 = vector.bitcast %5 : vector<2xi32> to vector<4xbf16>
        %7 = arith.subf %6, %above : vector<4xbf16>
        %r = arith.mulf %7, %s : vector<4xbf16>
        gpu.return %r : vector<4xbf16>
      }
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::NVVM::NVVMDialect",
                           "mlir::vector::VectorDialect"];
}

def PairLoads : Pass<"redfuse-pair-loads"> {
  let summary = "Load two neighbours as one word";
  let description = [{
    For NVIDIA GPUs, on the LLVM dialect: a pair of numbers of 16 or 32 bits whose
    elements are used one by one is loaded as an integer, which has them as halves.
    LLVM would make two loads of it.

    ```mlir
    gpu.module @m {
      llvm.func @k(%p: !llvm.ptr, %q: !llvm.ptr) {
        %one = llvm.mlir.constant(1 : i64) : i64
        %pair = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<2xbf16>
        %high = llvm.extractelement %pair[%one : i64] : vector<2xbf16>
        llvm.store %high, %q : bf16, !llvm.ptr
        llvm.return
      }
    }
    ```

    becomes

    ```mlir
    gpu.module @m {
      llvm.func @k(%p: !llvm.ptr, %q: !llvm.ptr) {
        %word = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> i32
        %sixteen = llvm.mlir.constant(16 : i32) : i32
        %shifted = llvm.lshr %word, %sixteen : i32
        %bits = llvm.trunc %shifted : i32 to i16
        %high = llvm.bitcast %bits : i16 to bf16
        llvm.store %high, %q : bf16, !llvm.ptr
        llvm.return
      }
    }
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def LowWords : Pass<"redfuse-low-words"> {
  let summary = "Take the low words of f64 by moves of their own";
  let description = [{
    For NVIDIA GPUs, on the LLVM dialect: LLVM stores the low 32 bits of an f64's
    register by a `st.b32` of that register, which ptxas (12.8 and 13.0) takes for a
    conversion of the f64 to an integer. A `mov.b64 {low, _}, x` takes them instead.

    ```mlir
    gpu.module @m {
      llvm.func @k(%x: f64, %p: !llvm.ptr) {
        %bits = llvm.bitcast %x : f64 to i64
        %low = llvm.trunc %bits : i64 to i32
        llvm.store %low, %p : i32, !llvm.ptr
        llvm.return
      }
    }
    ```

    becomes

    ```mlir
    gpu.module @m {
      llvm.func @k(%x: f64, %p: !llvm.ptr) {
        %low = llvm.inline_asm asm_dialect = att
            "mov.b64 {$0, _}, $1;", "=r,d" %x : (f64) -> i32
        llvm.store %low, %p : i32, !llvm.ptr
        llvm.return
      }
    }
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def ExternSharedMemory : Pass<"redfuse-extern-shared-memory"> {
  let summary = "Declare dynamic shared memory without a size";
  let description = [{
    convert-gpu-to-nvvm makes dynamic shared memory an internal global array of
    no elements. LLVM then takes any two accesses to it for disjoint, and keeps
    values in registers that have changed. As an external declaration its size is
    unknown.

    ```mlir
    gpu.module @m {
      llvm.mlir.global internal @shared()
          {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
    }
    ```

    becomes

    ```mlir
    gpu.module @m {
      llvm.mlir.global external @shared()
          {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
    }
    ```
  }];
}

#endif // REDFUSE_CODEGEN_GPU_TRANSFORMS_PASSES_TD
