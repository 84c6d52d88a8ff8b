//===- Passes.td - the passes of layer 1 ----------*- tablegen -*-===//
#ifndef REDFUSE_TRANSFORMS_NORMALIZE_PASSES_TD
#define REDFUSE_TRANSFORMS_NORMALIZE_PASSES_TD

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
    broadcast, ...) become `linalg.generic`; `linalg.softmax` and torch-mlir's
    `tm_tensor.attention` are decomposed; a concatenation is a choice by position;
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
    scalar becomes a `linalg.fill`; floating point casts of constants fold. A
    constant table of integers that is a sum of multiples of its own positions
    is computed from them.
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
    two computing ops. Dims that are collapsed and expanded across each other are
    first cut into what both are made of.
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
    Unit dims that were added to what is computed here are not read at all.
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

def NormalizeScans : NormalizePass<"scans"> {
  let summary = "tm_tensor.scan is a generic with a result for every prefix";
  let description = [{
    In a generic with one reduction dim, a result whose map has that dim is
    written at every step: it holds what the accumulators are so far. An
    inclusive `tm_tensor.scan` by a known reducer becomes such a generic, whose
    other result is the last element of each row. Where every prefix is a result of
    the function, a total that the same value is yielded for is the last prefix.
  }];
  let dependentDialects = ["::redfuse::tm_tensor::TMTensorDialect",
    "mlir::arith::ArithDialect", "mlir::scf::SCFDialect",
    "mlir::tensor::TensorDialect"];
}

def NormalizeCombiners : NormalizePass<"combiners"> {
  let summary = "Declared reducers of generics are redfuse.combine in their bodies";
  let description = [{
    A generic with `redfuse.combiner = {identity = [...], ordered}` has k
    identities, k inputs and k accumulators (its first k results). What its body
    yields for them, from the accumulators and the inputs alone, is the combining
    region of a declared reducer: left the accumulators, right the inputs.
    Without `ordered` it has to be commutative, too. Whatever does not fit is
    noted in `redfuse.refused`, and the generic stays an ordinary loop.
  }];
  let dependentDialects = ["::redfuse::RedfuseDialect"];
}

def NormalizeExtents : NormalizePass<"extents"> {
  let summary = "arithmetic on extents that is known";
  let description = [{
    Extents and their products, numbers of elements, are not negative and do not
    wrap; a product divided by some of its factors is the product of the others.
    So the sizes of dynamic reshapes and the assertions about them, which ask
    for a dim of -1 wherever there could be one, become products of extents:

    ```mlir
    %0 = arith.muli %rows, %heads : i64             // both of tensor.dim
    %1 = arith.cmpi slt, %0, %c0 : i64              // false
    %2 = arith.muli %0, %columns : i64
    %3 = arith.divsi %2, %rows : i64                // %heads * %columns
    ```
  }];
}

def NormalizeReshapeOps : NormalizePass<"reshape-ops"> {
  let summary = "tensor.reshape between matching shapes as expand and collapse";
  let description = [{
    Extents are traced to where they come from, so that dynamic ones can be told
    to be equal; what cannot be matched is noted in `redfuse.refused`.
  }];
}

def NormalizeGathers : NormalizePass<"gathers"> {
  let summary = "An element of a computed tensor is its scalar body at that index";
  let description = [{
    `tensor.extract` of a tensor that a generic computes point by point becomes
    that generic's body, evaluated at the index; the tensor itself is then often
    not needed any more. Not where elements would be computed repeatedly.
  }];
}

def NormalizeBroadcasts : NormalizePass<"broadcasts"> {
  let summary = "tensor.extract at loop indices is an operand with a map";
  let description = [{
    `tensor.extract` in a generic's body whose indices are loop indices becomes
    an operand. torch-mlir writes a broadcast of dynamic extents as an index
    `extent == 1 ? 0 : i`: where the extent is known to be the loop's, that is
    plain `i`; where not, the broadcast is made in front, behind an `scf.if` that
    is not taken when the extents agree. What is computed for this reader alone is
    computed from broadcast operands: no condition stands between the two.
  }];
}

def NormalizePowers : NormalizePass<"powers"> {
  let summary = "Powers by small whole constants are products";
}

def NormalizeLoops : NormalizePass<"loops"> {
  let summary = "Loops over elements that map and reduce are generics";
  let description = [{
    An scf.for nest that inserts one element at each point, or that carries sums,
    products, maxima, affine recurrences and the like over extracted elements,
    becomes linalg.generic ops. A loop may do both: what it inserts at each step
    of a recurrence becomes a result for every prefix (see
    redfuse-normalize-scans). What cannot be read so is left and noted in `redfuse.refused`.
  }];
}

def NormalizeInvariants : NormalizePass<"invariants"> {
  let summary = "Move scalars that do not vary out of loops";
  let description = [{
    Bounds and other scalars that are the same in each round are computed once,
    in front of the loop, and so is what is computed of tensors of known extents.
    What reads or writes at computed places stays: in front of a loop of no
    rounds, nothing has checked it.
  }];
}

def NormalizeCaptures : NormalizePass<"captures"> {
  let summary = "Scalars computed from 0-d tensors are computed in the bodies";
}

def LowerTMTensor : Pass<"redfuse-lower-tm-tensor"> {
  let summary = "Sorts, top-k, scans, scatters and declared reducers that were "
                "not fused become loops";
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::cf::ControlFlowDialect",
                           "mlir::scf::SCFDialect", "redfuse::RedfuseDialect",
                           "mlir::tensor::TensorDialect"];
}

#endif // REDFUSE_TRANSFORMS_NORMALIZE_PASSES_TD
