//===- Passes.td - what programs leave undefined -----------*- tablegen -*-===//
#ifndef REDFUSE_TRANSFORMS_CHECKS_PASSES_TD
#define REDFUSE_TRANSFORMS_CHECKS_PASSES_TD

include "mlir/Pass/PassBase.td"

def KeepEntry : Pass<"redfuse-keep-entry", "mlir::ModuleOp"> {
  let summary = "Make the function that is compiled the only public one";
  let description = [{
    The attribute `redfuse.entry` of a module names a function with a body. It becomes
    public, all others private, so that what it does not call goes with the next
    `symbol-dce`. A module without the attribute stays as it is.

    ```mlir
    module attributes {redfuse.entry = @f} {
      func.func private @f() { return }
      func.func @g() { return }
    }
    ```

    becomes

    ```mlir
    module {
      func.func @f() { return }
      func.func private @g() { return }
    }
    ```
  }];
}

def CheckSource : Pass<"redfuse-check-source", "mlir::ModuleOp"> {
  let summary = "Refuse what no stage can compile";
  let description = [{
    The operations of public functions, and of all that these call, are of the dialects
    that stages take, or leave to upstream's passes; and there is code for what they
    make: integers of up to 64 bits, index, floats of 16, 32 or 64 bits and of 8. The
    first one that is not so is an error, before any stage has made something else of
    it. A scalar that is rounded to TF32 and made an f32 again is taken. So of

    ```mlir
    %h = arith.truncf %x : f32 to tf32
    %y = arith.extf %h : tf32 to f32
    gpu.barrier
    ```

    the last line is the first that is refused:

    ```mlir
    gpu.barrier  // error: gpu.barrier cannot be compiled; expected linalg, ...
    ```
  }];
}

def CheckAccesses : Pass<"redfuse-check-accesses"> {
  let summary = "Assert what operations on tensors leave undefined";
  let description = [{
    An index outside its tensor, a slice that does not fit, extents that disagree
    or are negative, a shape of another number of elements: MLIR leaves these
    undefined, and buffers would make them accesses to foreign memory. Each that
    is not known to be right gets a `cf.assert` in front, whose message names the
    operation and its place. Known are indices whose range, in terms of extents,
    lies inside, and what the program asserts or asks for itself. Where both ends
    of an index's range occur in the loops or bodies around, they are looked at
    in front of these, once.

    Operands of linalg ops and cascades that are indexed by more than plain dims
    (windows, flips, quotients and remainders by constants) are checked for all
    points of the iteration space at once. Where its extents are static, an index
    outside is an error; elsewhere the least and the largest index are asserted to
    be inside, or a loop in front of the op tries the points among which they are.

    An access is not made where a dim of the iteration space is empty. If it does
    not depend on that dim, later passes may take it out of the dim's loop; such an
    op becomes a branch (`scf.if`) that is taken where the dim is not empty.

    Memory itself (memrefs), tensors of unknown rank and vectors of a tensor's
    elements are refused, and so are calls: functions have been inlined before.

    Before:

    ```mlir
    scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<40xf32>) {
      %s = tensor.insert %v into %t[%i] : tensor<40xf32>
      %k = tensor.extract %at[%i] : tensor<40xindex>
      %e = tensor.extract %x[%k] : tensor<40xf32>
    ```

    After:

    ```mlir
    // The largest %i is %n - 1, and there is one unless 0 >= %n.
    cf.assert %inside_or_no_round, "...: tensor.insert: index 0 is outside the tensor"
    scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<40xf32>) {
      %s = tensor.insert %v into %t[%i] : tensor<40xf32>
      %k = tensor.extract %at[%i] : tensor<40xindex>
      %inside = arith.cmpi ult, %k, %c40 : index
      cf.assert %inside, "...: tensor.extract: index 0 is outside the tensor"
      %e = tensor.extract %x[%k] : tensor<40xf32>
    ```

    Before:

    ```mlir
    %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i * 2 + j)>, affine_map<(i, j) -> (j)>,
                       affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : tensor<?xf32>, tensor<3xf32>) outs(%y : tensor<?xf32>) {...}
    ```

    After:

    ```mlir
    // The largest index is (%n - 1) * 2 + 2, where %n is the extent of %y.
    %inside = arith.cmpi slt, %largest, %length : index
    %none = arith.cmpi eq, %n, %c0 : index
    %holds = arith.ori %inside, %none : i1
    cf.assert %holds, "...: linalg.generic: operand 0 is read outside its dim 0"
    %r = linalg.generic {...}
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
    "mlir::affine::AffineDialect", "mlir::cf::ControlFlowDialect",
    "mlir::scf::SCFDialect", "mlir::tensor::TensorDialect"];
}

#endif // REDFUSE_TRANSFORMS_CHECKS_PASSES_TD
