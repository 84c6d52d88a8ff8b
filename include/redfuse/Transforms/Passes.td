//===- Passes.td - the passes of redfuse, by layer ---------*- tablegen -*-===//
#ifndef REDFUSE_TRANSFORMS_PASSES_TD
#define REDFUSE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

// Layer 1: normalise ----------------------------------------------------------

class NormalizePass<string flag> : Pass<"redfuse-normalize-" # flag> {
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::cf::ControlFlowDialect", "mlir::linalg::LinalgDialect",
    "mlir::math::MathDialect", "mlir::scf::SCFDialect",
    "mlir::tensor::TensorDialect"];
}

def NormalizeGeneralize : NormalizePass<"generalize"> {
  let summary = "Spell every structured op as linalg.generic";
  let description = [{
    Named linalg ops (matmuls, convolutions, poolings, reduce, map, transpose,
    broadcast, ...) become `linalg.generic`; `linalg.softmax` is decomposed;
    element-wise `arith` and `math` ops on tensors and `tensor.generate` become
    generics too. Only `linalg.fill` keeps its name: it says "a scalar".
  }];
}

def NormalizeDeadResults : NormalizePass<"dead-results"> {
  let summary = "Drop results, operands and bodies nobody uses";
  let description = [{
    torch-mlir computes the argmax with every max; when nobody reads the index
    the generic becomes a plain max. Duplicated and unused operands go too, and
    an `outs` whose value is not read becomes a `tensor.empty`.
  }];
}

def NormalizeConstants : NormalizePass<"constants"> {
  let summary = "Move constants and fills into the scalar bodies";
  let description = [{
    Splat and 0-d constant tensors and `linalg.fill`s read by a generic become
    scalars in its body; a generic or a splat constant that only writes one
    scalar becomes a `linalg.fill`; floating point casts of constants fold.
  }];
}

def NormalizeUnitDims : NormalizePass<"unit-dims"> {
  let summary = "Drop loops and tensor dims of static extent one";
}

def NormalizeReshapes : NormalizePass<"reshapes"> {
  let summary = "Push expand_shape and collapse_shape to the function's edges";
  let description = [{
    A reshape beside a generic is folded by expanding the generic's loops (and by
    collapsing them where they cannot be expanded), until none is left between
    two computing ops.
  }];
}

def NormalizeViews : NormalizePass<"views"> {
  let summary = "Fold transposes, broadcasts, copies and slices into indexing maps";
  let description = [{
    A generic that only yields one of its inputs, and a `tensor.extract_slice`
    with static offsets and strides, disappear into the indexing maps of their
    readers. A slice reads `d + offset`; where the offset is zero but the extent
    is smaller than the operand's, the map reads `d mod extent-of-the-operand`,
    because linalg takes a plain `d` as a statement about the loop's extent.
  }];
}

def NormalizeSorts : NormalizePass<"sorts"> {
  let summary = "A sort of which only the first k elements are used is a top-k";
  let description = [{
    `tm_tensor.sort` whose results are read only through slices of the first k
    elements along the sorted dimension becomes `tm_tensor.topk`; positions that
    were sorted along are then implied.
  }];
  let dependentDialects = ["::redfuse::tm_tensor::TMTensorDialect",
    "mlir::arith::ArithDialect", "mlir::tensor::TensorDialect"];
}

def LowerTMTensor : Pass<"redfuse-lower-tm-tensor"> {
  let summary = "Sorts, top-k and scans that were not fused become loops";
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::scf::SCFDialect",
                           "mlir::tensor::TensorDialect"];
}

// Layer 2: raise --------------------------------------------------------------

def Raise : Pass<"redfuse-raise"> {
  let summary = "Raise every linalg.generic to a redfuse.cascade";
  let description = [{
    One to one: the inputs with their maps, the body cloned, `linalg.index` as
    `redfuse.index`, and each accumulation `yield(combine(out, f))` as a
    `redfuse.reduce` of f. A value and its index that are selected together
    become one argmax or argmin. Initial values that are not the identity of the
    reducer are combined after the reduction; the destinations of the cascade are
    never read. What cannot be raised stays and is listed in `redfuse.refused`.
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::arith::ArithDialect",
                           "mlir::tensor::TensorDialect"];
}

// Layers 3 to 5: fuse, schedule, derive -----------------------------------------

// Layers 6 and 7: tile and generate code -----------------------------------------

def KernelToCPU : Pass<"redfuse-kernel-to-cpu", "mlir::ModuleOp"> {
  let summary = "Generate a function over blocks for every kernel";
  let description = [{
    Every `redfuse.launch` on buffers becomes a call, marked `redfuse.parallel`,
    of a function that runs a range of the kernel's blocks: a loop over the grid,
    in it the tile program of each op of the kernel as loops of vector code, with
    every intermediate in tiles of the thread's scratch memory. A fold becomes a
    loop over the tiles of its streamed dims that carries the state; contractions
    become register tiles; ragged ends are masked.
  }];
  let options = [Option<"vectorBits", "vector-bits", "int64_t", "512",
                        "width of a vector register in bits">];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::func::FuncDialect",
                           "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect",
                           "mlir::vector::VectorDialect", "mlir::affine::AffineDialect",
                           "mlir::cf::ControlFlowDialect"];
}

// Layer 8: binary ------------------------------------------------------------------

#endif // REDFUSE_TRANSFORMS_PASSES_TD
