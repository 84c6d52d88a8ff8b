//===- Passes.td - from tensors to buffers -----------------*- tablegen -*-===//
#ifndef REDFUSE_TRANSFORMS_BUFFERIZE_PASSES_TD
#define REDFUSE_TRANSFORMS_BUFFERIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Destinations : Pass<"redfuse-destinations", "mlir::ModuleOp"> {
  let summary = "Make the results of public functions destination arguments";
  let description = [{
    `@f(inputs...) -> results` becomes `@f(inputs..., memrefs of results...)`,
    beside `@f__shapes(inputs..., memref<?xindex>)`, which writes the extents of
    all results, so that the caller allocates them. A launch whose result is
    returned writes to the destination itself, unless the function has several
    blocks. Inputs are marked as not writable. Chains of `tensor.insert_slice` that
    begin with one `tensor.empty` get one each: what is inserted into one of them
    would be copied for the other, though neither reads what is there.

    ```mlir
    redfuse.kernel @k attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<?x4xf32>, %o: tensor<?x4xf32>):
      redfuse.yield %x : tensor<?x4xf32>
    }
    func.func @f(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %c0 = arith.constant 0 : index
      %n = tensor.dim %x, %c0 : tensor<?x4xf32>
      %e = tensor.empty(%n) : tensor<?x4xf32>
      %r = redfuse.launch @k ins(%x : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>)
           -> tensor<?x4xf32>
      return %r : tensor<?x4xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f__shapes(%x: tensor<?x4xf32> {bufferization.writable = false},
                         %extents: memref<?xindex>) {
      // ... stores the extents of %r, %n and 4
    }
    func.func @f(%x: tensor<?x4xf32> {bufferization.writable = false},
                 %out: memref<?x4xf32>) {
      %t = bufferization.to_tensor %out restrict writable
           : memref<?x4xf32> to tensor<?x4xf32>
      %r = redfuse.launch @k ins(%x : tensor<?x4xf32>) outs(%t : tensor<?x4xf32>)
           -> tensor<?x4xf32>
      bufferization.materialize_in_destination %r in restrict writable %out
          : (tensor<?x4xf32>, memref<?x4xf32>) -> ()
      return
    }
    ```
  }];
  let dependentDialects = ["mlir::bufferization::BufferizationDialect",
                           "mlir::memref::MemRefDialect", "mlir::arith::ArithDialect",
                           "mlir::tensor::TensorDialect", "redfuse::RedfuseDialect"];
}

def CutCarried : Pass<"redfuse-cut-carried", "mlir::func::FuncOp"> {
  let summary = "Copy a tensor that so many ops in a row write into";
  let description = [{
    Upstream's bufferization compares all reads with all writes of one buffer, also
    of a buffer that hundreds of loops and branches hand on to each other. So a tensor
    is copied when `limit` ops have written into it, one after another, of which loops and
    branches count four times; and a `tensor.empty` has at most `limit` uses.

    ```mlir
    func.func @f(%x: tensor<4xf32>, %n: index, %i: index, %v: f32) -> tensor<4xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %y = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
        %b = tensor.insert %v into %a[%i] : tensor<4xf32>
        scf.yield %b : tensor<4xf32>
      }
      return %y : tensor<4xf32>
    }
    ```

    becomes, with `-redfuse-cut-carried=limit=4`,

    ```mlir
    func.func @f(%x: tensor<4xf32>, %n: index, %i: index, %v: f32) -> tensor<4xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %y = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
        %b = tensor.insert %v into %a[%i] : tensor<4xf32>
        scf.yield %b : tensor<4xf32>
      }
      %z = bufferization.alloc_tensor() copy(%y) : tensor<4xf32>
      return %z : tensor<4xf32>
    }
    ```
  }];
  let options = [Option<"limit", "limit", "int64_t", /*default=*/"128",
                        "ops in a row that may write into one buffer">];
  let dependentDialects = ["mlir::bufferization::BufferizationDialect"];
}

def BufferizeHost : Pass<"redfuse-bufferize-host", "mlir::ModuleOp"> {
  let summary = "Turn the tensors of host functions into buffers";
  let description = [{
    Upstream's one-shot bufferization of everything but the bodies of kernels,
    with contiguous buffers at function boundaries. Kernels keep their tensors:
    where their values live is chosen when code is generated.

    ```mlir
    redfuse.kernel @k attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
      redfuse.yield %x : tensor<4xf32>
    }
    func.func @f(%x: tensor<4xf32> {bufferization.writable = false},
                 %out: memref<4xf32>) {
      %t = bufferization.to_tensor %out restrict writable
           : memref<4xf32> to tensor<4xf32>
      %r = redfuse.launch @k ins(%x : tensor<4xf32>) outs(%t : tensor<4xf32>)
           -> tensor<4xf32>
      bufferization.materialize_in_destination %r in restrict writable %out
          : (tensor<4xf32>, memref<4xf32>) -> ()
      return
    }
    ```

    becomes (after `canonicalize`, which drops the copy of `%out` to itself)

    ```mlir
    redfuse.kernel @k attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
      redfuse.yield %x : tensor<4xf32>
    }
    func.func @f(%x: memref<4xf32>, %out: memref<4xf32>) {
      redfuse.launch @k ins(%x : memref<4xf32>) outs(%out : memref<4xf32>)
      return
    }
    ```
  }];
  let dependentDialects = ["mlir::bufferization::BufferizationDialect",
                           "mlir::memref::MemRefDialect", "mlir::linalg::LinalgDialect",
                           "mlir::scf::SCFDialect", "mlir::affine::AffineDialect",
                           "mlir::cf::ControlFlowDialect", "redfuse::RedfuseDialect"];
}

def LowerDeallocs : Pass<"redfuse-lower-deallocs", "mlir::ModuleOp"> {
  let summary = "Free buffers that several values may own by comparing pointers";
  let description = [{
    A `bufferization.dealloc` of several buffers compares their pointers as values and
    frees each once. Upstream's lowering stores pointers in memory and calls a function
    that reads them there, which the host of a GPU could not: its memory is the GPU's.

    ```mlir
    func.func @f(%a: memref<4xf32>, %b: memref<4xf32>, %c: i1, %d: i1) {
      bufferization.dealloc (%a, %b : memref<4xf32>, memref<4xf32>) if (%c, %d)
      return
    }
    ```

    becomes

    ```mlir
    func.func @f(%a: memref<4xf32>, %b: memref<4xf32>, %c: i1, %d: i1) {
      %true = arith.constant true
      %p = memref.extract_aligned_pointer_as_index %a : memref<4xf32> -> index
      %q = memref.extract_aligned_pointer_as_index %b : memref<4xf32> -> index
      %other = arith.cmpi ne, %q, %p : index
      %kept = arith.xori %c, %true : i1
      %once = arith.ori %other, %kept : i1
      %free = arith.andi %d, %once : i1
      scf.if %c { memref.dealloc %a : memref<4xf32> }
      scf.if %free { memref.dealloc %b : memref<4xf32> }
      return
    }
    ```
  }];
  let dependentDialects = ["mlir::memref::MemRefDialect", "mlir::scf::SCFDialect",
                           "mlir::arith::ArithDialect"];
}

def LowerScatters : Pass<"redfuse-lower-scatters", "mlir::ModuleOp"> {
  let summary = "Turn scatters on buffers into loops";
  let description = [{
    For a GPU every `redfuse.scatter` becomes a parallel loop over the elements of its
    updates, which combine by atomics; for a CPU a loop over its rows.

    ```mlir
    func.func @f(%u: memref<8x1xi32>, %p: memref<8xi32>, %d: memref<64x1xi32>) {
      redfuse.scatter maxsi ins(%u, %p : memref<8x1xi32>, memref<8xi32>)
          outs(%d : memref<64x1xi32>)
      return
    }
    ```

    becomes, for a CPU,

    ```mlir
    func.func @f(%u: memref<8x1xi32>, %p: memref<8xi32>, %d: memref<64x1xi32>) {
      %c64 = arith.constant 64 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      scf.for %k = %c0 to %c8 step %c1 {
        scf.for %c = %c0 to %c1 step %c1 {
          %place = memref.load %p[%k] : memref<8xi32>
          %at = arith.index_cast %place : i32 to index
          %exists = arith.cmpi ult, %at, %c64 : index
          scf.if %exists {
            %update = memref.load %u[%k, %c] : memref<8x1xi32>
            %old = memref.load %d[%at, %c] : memref<64x1xi32>
            %new = arith.maxsi %old, %update : i32
            memref.store %new, %d[%at, %c] : memref<64x1xi32>
          }
        }
      }
      return
    }
    ```

    and for a GPU `scf.parallel` with `memref.atomic_rmw maxs` instead of the last three.
  }];
  let dependentDialects = ["mlir::memref::MemRefDialect", "mlir::scf::SCFDialect",
                           "mlir::arith::ArithDialect"];
}

def ForwardCopies : Pass<"redfuse-forward-copies", "mlir::ModuleOp"> {
  let summary = "Let launches write where their results are copied";
  let description = [{
    A launch that writes a buffer which is copied to another, and read by nobody else,
    writes to the other one. It may read another part of that, if the two boxes have
    no element in common: a round of a loop that makes the next row of a tensor. First
    a buffer that keeps nothing from round to round becomes one of each round.

    ```mlir
    redfuse.kernel @k attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
      redfuse.yield %x : tensor<4xf32>
    }
    func.func @f(%rows: memref<9x4xf32>, %i: index) {
      %c1 = arith.constant 1 : index
      %a = memref.alloc() : memref<4xf32>
      %x = memref.subview %rows[%i, 0] [1, 4] [1, 1]
          : memref<9x4xf32> to memref<4xf32, strided<[1], offset: ?>>
      redfuse.launch @k ins(%x : memref<4xf32, strided<[1], offset: ?>>)
          outs(%a : memref<4xf32>)
      %j = arith.addi %i, %c1 : index
      %y = memref.subview %rows[%j, 0] [1, 4] [1, 1]
          : memref<9x4xf32> to memref<4xf32, strided<[1], offset: ?>>
      memref.copy %a, %y : memref<4xf32> to memref<4xf32, strided<[1], offset: ?>>
      memref.dealloc %a : memref<4xf32>
      return
    }
    ```

    becomes

    ```mlir
    redfuse.kernel @k attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
      redfuse.yield %x : tensor<4xf32>
    }
    func.func @f(%rows: memref<9x4xf32>, %i: index) {
      %c1 = arith.constant 1 : index
      %x = memref.subview %rows[%i, 0] [1, 4] [1, 1]
          : memref<9x4xf32> to memref<4xf32, strided<[1], offset: ?>>
      %j = arith.addi %i, %c1 : index
      %y = memref.subview %rows[%j, 0] [1, 4] [1, 1]
          : memref<9x4xf32> to memref<4xf32, strided<[1], offset: ?>>
      redfuse.launch @k ins(%x : memref<4xf32, strided<[1], offset: ?>>)
          outs(%y : memref<4xf32, strided<[1], offset: ?>>)
      return
    }
    ```
  }];
  let dependentDialects = ["mlir::memref::MemRefDialect", "redfuse::RedfuseDialect"];
}

def SwapCarried : Pass<"redfuse-swap-carried", "mlir::ModuleOp"> {
  let summary = "Carry what a round makes anew in two buffers that change places";
  let description = [{
    Where the rounds of a loop make a state in a buffer of its own, and copy it to the
    one that the next round reads, the loop carries both and yields them the other way
    round. A buffer that a round allocates and frees is allocated in front of the loop:
    with no elements if its extents are open and the loop has no rounds, and not where
    an assertion may end the round before.

    ```mlir
    redfuse.kernel @k attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
      redfuse.yield %x : tensor<4xf32>
    }
    func.func @f(%x: memref<4xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a = memref.alloc() : memref<4xf32>
      memref.copy %x, %a : memref<4xf32> to memref<4xf32>
      scf.for %i = %c0 to %n step %c1 {
        %b = memref.alloc() : memref<4xf32>
        redfuse.launch @k ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)
        memref.copy %b, %a : memref<4xf32> to memref<4xf32>
        memref.dealloc %b : memref<4xf32>
      }
      memref.copy %a, %x : memref<4xf32> to memref<4xf32>
      memref.dealloc %a : memref<4xf32>
      return
    }
    ```

    becomes

    ```mlir
    redfuse.kernel @k attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
      redfuse.yield %x : tensor<4xf32>
    }
    func.func @f(%x: memref<4xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a = memref.alloc() : memref<4xf32>
      %b = memref.alloc() : memref<4xf32>
      memref.copy %x, %a : memref<4xf32> to memref<4xf32>
      %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a, %t = %b)
          -> (memref<4xf32>, memref<4xf32>) {
        redfuse.launch @k ins(%s : memref<4xf32>) outs(%t : memref<4xf32>)
        scf.yield %t, %s : memref<4xf32>, memref<4xf32>
      }
      memref.copy %r#0, %x : memref<4xf32> to memref<4xf32>
      memref.dealloc %a : memref<4xf32>
      memref.dealloc %b : memref<4xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["mlir::memref::MemRefDialect", "mlir::scf::SCFDialect",
                           "mlir::arith::ArithDialect", "redfuse::RedfuseDialect"];
}

def FullRankSlices : Pass<"redfuse-full-rank-slices", "mlir::func::FuncOp"> {
  let summary = "Let slices with steps keep their dims, and reshape them";
  let description = [{
    A slice with steps that drops dims becomes one that keeps them and a
    `tensor.collapse_shape`, and what is inserted with steps is expanded first. Of
    buffers upstream would tell the dropped dims by their strides, and cannot where
    steps have changed these. A slice or a reshape without elements becomes a
    `tensor.empty`, and what has none is not inserted, padded or concatenated: upstream
    takes no view that begins where a dim ends.

    With `open`, right after the checks, only those keep their dims of which upstream's
    canonicalizer may drop others once it folds an operand, as it drops the first dims
    of 1: a slice of `[1, 3, 1]` without its last dim, and one of `[%n, 3, 1]`, as `%n`
    may be found to be 1. Extents of arguments do not become known.

    ```mlir
    func.func @f(%x: tensor<5x1x4xf32>, %n: index) -> tensor<?x1xf32> {
      %s = tensor.extract_slice %x[0, 0, 3] [%n, 1, 1] [2, 1, 1]
          : tensor<5x1x4xf32> to tensor<?x1xf32>
      return %s : tensor<?x1xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<5x1x4xf32>, %n: index) -> tensor<?x1xf32> {
      %s = tensor.extract_slice %x[0, 0, 3] [%n, 1, 1] [2, 1, 1]
          : tensor<5x1x4xf32> to tensor<?x1x1xf32>
      %c = tensor.collapse_shape %s [[0], [1, 2]]
          : tensor<?x1x1xf32> into tensor<?x1xf32>
      return %c : tensor<?x1xf32>
    }
    ```
  }];
  let options = [Option<"isOpen", "open", "bool", /*default=*/"false",
                        "only slices of which folding may drop other dims">];
  let dependentDialects = ["mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect",
                           "mlir::linalg::LinalgDialect",
                           "mlir::tensor::TensorDialect"];
}

def AssumeExtents : Pass<"redfuse-assume-extents", "mlir::func::FuncOp"> {
  let summary = "Reinterpret buffers whose extents an assertion has checked";
  let description = [{
    A `memref.cast` that adds extents to a type stands behind an assertion of these
    extents. Where the assertion turns out to fail in every call, upstream's folding
    of casts would make a cast between types of different extents; a
    `memref.reinterpret_cast` may be between any. Extents of a `memref.subview`, which
    behind such an assertion may be negative, are taken as at least 0.

    ```mlir
    func.func @f(%x: memref<?xf32>) -> memref<3xf32> {
      %y = memref.cast %x : memref<?xf32> to memref<3xf32>
      return %y : memref<3xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: memref<?xf32>) -> memref<3xf32> {
      %base, %offset, %size, %stride = memref.extract_strided_metadata %x
          : memref<?xf32> -> memref<f32>, index, index, index
      %y = memref.reinterpret_cast %x to offset: [0], sizes: [3], strides: [1]
          : memref<?xf32> to memref<3xf32>
      return %y : memref<3xf32>
    }
    ```
  }];
  let dependentDialects = ["mlir::memref::MemRefDialect"];
}

def InterchangeReductions : Pass<"redfuse-interchange-reductions"> {
  let summary = "Walk contractions along the rows of their results";
  let description = [{
    Upstream's loops follow the order of an op's dims, which for a matmul ends with the
    reduction: strides through one operand, and a serial sum that LLVM may not
    reorder. The result's last dim becomes the innermost one, where operands are then
    read along rows; every element of the result still sees its terms in the same
    order. Ops whose body asks for its position stay.

    ```mlir
    func.func @f(%a: memref<5x7xf32>, %b: memref<7x6xf32>, %c: memref<5x6xf32>) {
      linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                       affine_map<(m, n, k) -> (k, n)>,
                                       affine_map<(m, n, k) -> (m, n)>],
                      iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%a, %b : memref<5x7xf32>, memref<7x6xf32>) outs(%c : memref<5x6xf32>) {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %z, %p : f32
        linalg.yield %s : f32
      }
      return
    }
    ```

    becomes

    ```mlir
    func.func @f(%a: memref<5x7xf32>, %b: memref<7x6xf32>, %c: memref<5x6xf32>) {
      linalg.generic {indexing_maps = [affine_map<(m, k, n) -> (m, k)>,
                                       affine_map<(m, k, n) -> (k, n)>,
                                       affine_map<(m, k, n) -> (m, n)>],
                      iterator_types = ["parallel", "reduction", "parallel"]}
          ins(%a, %b : memref<5x7xf32>, memref<7x6xf32>) outs(%c : memref<5x6xf32>) {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %z, %p : f32
        linalg.yield %s : f32
      }
      return
    }
    ```
  }];
}

#endif // REDFUSE_TRANSFORMS_BUFFERIZE_PASSES_TD
