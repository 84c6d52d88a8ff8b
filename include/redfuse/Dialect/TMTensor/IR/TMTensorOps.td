//===- TMTensorOps.td - what torch-mlir leaves besides -----*- tablegen -*-===//
#ifndef REDFUSE_TMTENSOROPS_TD
#define REDFUSE_TMTENSOROPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TMTensor_Dialect : Dialect {
  let name = "tm_tensor";
  let cppNamespace = "::redfuse::tm_tensor";
  let summary = "sorts, top-k, scans, scatters and weighted sums, as torch-mlir writes them";
  let description = [{
    torch-mlir emits sorting, top-k selection, scans, scatters and the weighted
    sums of `scaled_dot_product_attention` in a dialect of its own beside linalg. This dialect reads what it prints (on tensors), so that such
    programs can be compiled: a sort of which only the first k elements are used
    becomes a top-k (`redfuse-normalize-sorts`), weighted sums become generics, and
    what is not fused is lowered to loops (`redfuse-lower-tm-tensor`).
  }];
}

class TMTensor_Op<string mnemonic, list<Trait> traits = []>
    : Op<TMTensor_Dialect, mnemonic, traits>;

// An op in destination style along one dimension, with a scalar region.
class TMTensor_DimensionOp<string mnemonic>
    : TMTensor_Op<mnemonic, [
        AttrSizedOperandSegments, DestinationStyleOpInterface,
        RecursiveMemoryEffects,
        SingleBlockImplicitTerminator<"::redfuse::tm_tensor::YieldOp">]> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$region);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
  }];
}

def TMTensor_SortOp : TMTensor_DimensionOp<"sort"> {
  let summary = "sorts tensors along a dimension";
  let description = [{
    Sorts the `outputs` along `dimension`, all by the same order. The region gets
    two elements of each output (`a0, b0, a1, b1, ...`) and says whether a may
    stay before b. The sort is stable. Where the region is no order (NaN), the
    result is that of an insertion sort.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       Variadic<AnyRankedTensor>:$outputs,
                       I64Attr:$dimension);
  let assemblyFormat = [{
    attr-dict `dimension` `(` $dimension `)`
    (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)`
    $region (`->` type($results)^)?
  }];
}

def TMTensor_TopkOp : TMTensor_DimensionOp<"topk"> {
  let summary = "the first k elements of an order along a dimension, with indices";
  let description = [{
    The first k elements of the values (input 0) along `dimension`, sorted, and
    their indices: the elements of input 1, or positions along the dimension if
    there is no input 1. k is the extent of the outputs. The region gets a value
    that is yet to be placed and one that is placed already, and says whether the
    new one goes before; of equals the first stays first. If there are fewer than
    k elements, the rest of the outputs keeps what it held.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       Variadic<AnyRankedTensor>:$outputs,
                       I64Attr:$dimension);
  let assemblyFormat = [{
    attr-dict `dimension` `(` $dimension `)`
    `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $outputs `:` type($outputs) `)`
    $region (`->` type($results)^)?
  }];
}

def TMTensor_ScanOp : TMTensor_DimensionOp<"scan"> {
  let summary = "running combination along a dimension";
  let description = [{
    Output 0 at i combines output 0 at i - 1 with the input at i (`inclusive`) or
    at i - 1; it starts with the first input (inclusive) or with output 1. The
    result of output 1 is the last element of each row.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       Variadic<AnyRankedTensor>:$outputs,
                       I64Attr:$dimension, BoolAttr:$inclusive);
  let assemblyFormat = [{
    `dimension` `(` $dimension `)` `inclusive` `(` $inclusive `)` attr-dict
    `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $outputs `:` type($outputs) `)`
    $region (`->` type($results)^)?
  }];
}

def TMTensor_ScatterOp : TMTensor_Op<"scatter", [
    AttrSizedOperandSegments, DestinationStyleOpInterface, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"::redfuse::tm_tensor::YieldOp">]> {
  let summary = "writes or combines elements at positions that are data";
  let description = [{
    Input 0 holds n updates, `tensor<n x slice...>`, input 1 their positions,
    `tensor<n x depth>`. The dims of a slice are the last dims of the output; the
    i-th number of a position is added to the index of the output's dim
    `dimension_map[i]`, in which a slice may have an extent of its own (mostly 1)
    or be missing. The region gets an element of an update and the output's
    element there, and yields what is written. Updates go one after another:
    with equal positions the last one is what a region that ignores the old
    element leaves. `unique_indices` promises that there are none; nothing
    depends on it here. A position outside the output stops the program.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       Variadic<AnyRankedTensor>:$outputs,
                       DenseI64ArrayAttr:$dimension_map,
                       BoolAttr:$unique_indices);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$region);
  let assemblyFormat = [{
    attr-dict `unique_indices` `(` $unique_indices `)`
    `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $outputs `:` type($outputs) `)`
    $region (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
    /// The first dim of the output that a slice has.
    int64_t getFirstSliceDim();
  }];
}

def TMTensor_WeightedSumOp : TMTensor_Op<"attention", [
    AttrSizedOperandSegments, DestinationStyleOpInterface, Pure]> {
  let summary = "rows of values, weighed by the softmax of products";
  let description = [{
    Inputs are a `tensor<batch... x m x k>`, keys `tensor<batch... x n x k>`,
    values `tensor<batch... x n x d>` and perhaps a mask `tensor<batch... x m x n>`:
    floats are added to the scores, of an i1 only the keys that are set take part.
    The output, `tensor<batch... x m x d>`, is
    softmax(a keys^T / sqrt(k) + mask) values; what it held is not read.
    `redfuse-normalize-generalize` spells it out.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       Variadic<AnyRankedTensor>:$outputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    attr-dict `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
  }];
}

def TMTensor_YieldOp : TMTensor_Op<"yield", [Pure, ReturnLike, Terminator]> {
  let summary = "ends a region of a tm_tensor op";
  let arguments = (ins Variadic<AnyType>:$operands);
  let builders = [OpBuilder<(ins), [{ /* no values */ }]>];
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

#endif // REDFUSE_TMTENSOROPS_TD
