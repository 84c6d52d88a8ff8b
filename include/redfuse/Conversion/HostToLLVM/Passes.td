//===- Passes.td - host code as LLVM -----------------------*- tablegen -*-===//
#ifndef REDFUSE_CONVERSION_HOSTTOLLVM_PASSES_TD
#define REDFUSE_CONVERSION_HOSTTOLLVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerDeviceLaunches : Pass<"redfuse-lower-device-launches", "mlir::ModuleOp"> {
  let summary = "Lower gpu.launch_func to calls that the runtime executes";
  let description = [{
    `gpu.launch_func @m::@k blocks in (%n, 1, 1) threads in (256, 1, 1)
    dynamic_shared_memory_size %s args(...)` becomes `call @k__launch(%n, %threads,
    %s, ...) {redfuse.device = "k"}`, which `redfuse-lower-launches` turns into a
    call of `redfuse_rt_device_launch`. Modules of device code are erased: what
    they became is in a `gpu.binary`, which `host-alone` erases, too: then the caller
    has it already.

    ```mlir
    module attributes {gpu.container_module} {
      func.func @f(%n: index, %threads: index, %shared: i32, %x: memref<8xf32>) {
        %c1 = arith.constant 1 : index
        gpu.launch_func @m::@k blocks in (%n, %c1, %c1)
            threads in (%threads, %c1, %c1)
            dynamic_shared_memory_size %shared args(%x : memref<8xf32>)
        return
      }
      gpu.module @m {
        gpu.func @k(%x: memref<8xf32>) kernel { gpu.return }
      }
    }
    ```

    becomes

    ```mlir
    func.func @f(%n: index, %threads: index, %shared: i32, %x: memref<8xf32>) {
      %bytes = arith.index_castui %shared : i32 to index
      call @k__launch(%n, %threads, %bytes, %x) {redfuse.device = "k"}
          : (index, index, index, memref<8xf32>) -> ()
      return
    }
    func.func private @k__launch(index, index, index, memref<8xf32>)
        attributes {redfuse.device = "k"}
    ```
  }];
  let options = [Option<"hostAlone", "host-alone", "bool", /*default=*/"false",
                        "erase binaries of kernels">];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::func::FuncDialect"];
}

def SkipEmptyLoops : Pass<"redfuse-skip-empty-loops"> {
  let summary = "Give loops no rounds where a loop inside them has none";
  let description = [{
    A loop over the rows of a tensor of 2^32 x 0 elements would count them all. Where a
    loop in the body is all that a round does, and its bounds are known in front of the
    outer loop, that ends where it begins unless the inner one has rounds.

    ```mlir
    func.func @f(%n: index, %m: index, %x: memref<?x?xf32>, %v: f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        scf.for %j = %c0 to %m step %c1 {
          memref.store %v, %x[%i, %j] : memref<?x?xf32>
        }
      }
      return
    }
    ```

    becomes

    ```mlir
    func.func @f(%n: index, %m: index, %x: memref<?x?xf32>, %v: f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %any = arith.cmpi slt, %c0, %m : index
      %end = arith.select %any, %n, %c0 : index
      scf.for %i = %c0 to %end step %c1 {
        scf.for %j = %c0 to %m step %c1 {
          memref.store %v, %x[%i, %j] : memref<?x?xf32>
        }
      }
      return
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def LowerVectors : Pass<"redfuse-lower-vectors"> {
  let summary = "Lower vector ops of rank two and more to one-dimensional ones";
  let description = [{
    LLVM's vectors have one dim. Transposes become shuffles, multi-reductions,
    contractions and outer products become fused multiply-adds, masks become
    masked ops; loads and stores of i1 vectors go through bytes, because an i1
    takes a byte in a memref and a bit in an LLVM vector.

    ```mlir
    func.func @f(%x: vector<2x16xf32>, %a: vector<16xf32>) -> vector<16xf32> {
      %r = vector.multi_reduction <add>, %x, %a [0]
           : vector<2x16xf32> to vector<16xf32>
      return %r : vector<16xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: vector<2x16xf32>, %a: vector<16xf32>) -> vector<16xf32> {
      %x0 = vector.extract %x[0] : vector<16xf32> from vector<2x16xf32>
      %s = arith.addf %x0, %a : vector<16xf32>
      %x1 = vector.extract %x[1] : vector<16xf32> from vector<2x16xf32>
      %r = arith.addf %x1, %s : vector<16xf32>
      return %r : vector<16xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::vector::VectorDialect"];
}

def LowerExpandShapes : Pass<"redfuse-lower-expand-shapes"> {
  let summary = "Lower memref.expand_shape with several dynamic extents a group";
  let description = [{
    Upstream's lowering of `memref.expand_shape` takes one extent a group that
    is not known. Those with more become a `memref.reinterpret_cast` of the
    same memory, with strides from the extents; the innermost dim of a group
    has the stride of the dim that it is a part of. The others stay.

    ```mlir
    func.func @f(%x: memref<?xf32>, %n: index, %m: index) -> memref<?x?x4xf32> {
      %y = memref.expand_shape %x [[0, 1, 2]] output_shape [%n, %m, 4]
           : memref<?xf32> into memref<?x?x4xf32>
      return %y : memref<?x?x4xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: memref<?xf32>, %n: index, %m: index) -> memref<?x?x4xf32> {
      %s = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%m]
      %y = memref.reinterpret_cast %x to offset: [0], sizes: [%n, %m, 4],
             strides: [%s, 4, 1] : memref<?xf32> to memref<?x?x4xf32>
      return %y : memref<?x?x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::memref::MemRefDialect"];
}

def LowerRuntime : Pass<"redfuse-lower-runtime", "::mlir::ModuleOp"> {
  let summary = "Lower assertions, allocations and scratch to runtime calls";
  let description = [{
    Works on functions of basic blocks (after convert-scf-to-cf).

    - `cf.assert` becomes: if the condition is false, `redfuse_rt_fail(message)`
      and return.
    - `memref.alloc`, `memref.dealloc` and a call of
      `@redfuse_rt_scratch_view(index) -> memref<?xi8>` become calls of
      `redfuse_rt_alloc`, `redfuse_rt_free` and `redfuse_rt_scratch`; no memory
      is a failure like any other.
    - After a call of a function that may fail, the caller returns as well if
      it has failed.
    - `memref.alloca` of static size moves to the entry block, out of loops.
    - A `memref.global` of one element that is a resource has its number in the text.

    ```mlir
    func.func @f(%ok: i1) {
      cf.assert %ok, "sizes differ"
      return
    }
    ```

    becomes

    ```mlir
    func.func private @redfuse_rt_fail(!llvm.ptr)
    llvm.mlir.global internal constant @redfuse_message_0("sizes differ\00")
        {addr_space = 0 : i32}
    func.func @f(%ok: i1) {
      cf.cond_br %ok, ^rest, ^leave
    ^rest:
      return
    ^leave:
      %message = llvm.mlir.addressof @redfuse_message_0 : !llvm.ptr
      call @redfuse_rt_fail(%message) : (!llvm.ptr) -> ()
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::ub::UBDialect"];
}

def LowerLaunches : Pass<"redfuse-lower-launches", "::mlir::ModuleOp"> {
  let summary = "Lower parallel calls to the thread pool";
  let description = [{
    A call `call @k(%begin, %end, args...) {redfuse.parallel}` of a function
    `@k(index, index, args...)` (by now in the LLVM dialect) runs the blocks
    from `%begin` to `%end` on the thread pool: the arguments are packed into a
    structure on the stack, and `redfuse_rt_parallel_for` calls a body that
    unpacks them and calls `@k` with a range of blocks.

    ```mlir
    llvm.func internal @k(%begin: i64, %end: i64, %x: !llvm.ptr) {
      llvm.return
    }
    llvm.func @f(%begin: i64, %end: i64, %x: !llvm.ptr) {
      llvm.call @k(%begin, %end, %x) {redfuse.parallel}
          : (i64, i64, !llvm.ptr) -> ()
      llvm.return
    }
    ```

    becomes

    ```mlir
    llvm.func @f(%begin: i64, %end: i64, %x: !llvm.ptr) {
      // ... %begin and %x are stored in %context
      %blocks = llvm.sub %end, %begin : i64
      %body = llvm.mlir.addressof @k__body : !llvm.ptr
      llvm.call @redfuse_rt_parallel_for(%body, %context, %blocks)
          : (!llvm.ptr, !llvm.ptr, i64) -> ()
      llvm.return
    }
    llvm.func internal @k__body(%context: !llvm.ptr {llvm.noalias, llvm.readonly},
                                %first: i64, %last: i64) {
      // ... %x is loaded from %context, %from and %to count from %begin
      llvm.call @k(%from, %to, %x) : (i64, i64, !llvm.ptr) -> ()
      llvm.return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def Interfaces : Pass<"redfuse-interfaces", "::mlir::ModuleOp"> {
  let summary = "Ask for the C interface of every public function";
  let description = [{
    Marks public functions with `llvm.emit_c_interface`: their memrefs are then
    passed as pointers to descriptors, which `redfuse-packed-entries` builds
    upon. Run before the conversion of functions.

    ```mlir
    func.func @f(%x: memref<4xf32>) {
      return
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: memref<4xf32>) attributes {llvm.emit_c_interface} {
      return
    }
    ```
  }];
}

def PackedEntries : Pass<"redfuse-packed-entries", "::mlir::ModuleOp"> {
  let summary = "Give every public function a packed C entry";
  let description = [{
    Functions of all signatures can then be called in one way. For every public
    `@f` (in the LLVM dialect, with its C interface) adds
    `void f__packed(void **args)`, where `args[i]` points to the descriptor of
    a memref argument or to the scalar itself. All other functions become
    internal. A function of very many arguments becomes its entry itself: each
    block loads what it uses, as a call of thousands of values, and values that
    live from its beginning on, take LLVM more time than the program.

    ```mlir
    llvm.func @f(%n: i64) {
      llvm.return
    }
    llvm.func @_mlir_ciface_f(%n: i64) attributes {llvm.emit_c_interface} {
      llvm.call @f(%n) : (i64) -> ()
      llvm.return
    }
    ```

    becomes

    ```mlir
    // ... @f and @_mlir_ciface_f are internal
    llvm.func @f__packed(%args: !llvm.ptr) {
      %first = llvm.getelementptr %args[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %p = llvm.load %first : !llvm.ptr -> !llvm.ptr
      %n = llvm.load %p : !llvm.ptr -> i64
      llvm.call @_mlir_ciface_f(%n) : (i64) -> ()
      llvm.return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [Option<"maxValues", "max-values", "unsigned", /*default=*/"512",
                        "arguments (seven for a matrix) beyond which a function "
                        "becomes its entry itself">];
}

#endif // REDFUSE_CONVERSION_HOSTTOLLVM_PASSES_TD
