//===- RedfuseOps.td - operations of the redfuse dialect ---*- tablegen -*-===//
#ifndef REDFUSE_OPS_TD
#define REDFUSE_OPS_TD

include "redfuse/Dialect/Redfuse/IR/RedfuseAttrs.td"
include "redfuse/Dialect/Redfuse/IR/RedfuseDialect.td"
include "redfuse/Dialect/Redfuse/IR/RedfuseInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/TilingInterface.td"

// A tensor-level op in destination style with a body in index notation. Tiling
// is the same for all of them (lib/Dialect/Tiling.cpp): slices follow the maps,
// `redfuse.index` keeps its value, dims that cannot be cut alone are refused.
class Redfuse_ProgramOp<string mnemonic, list<Trait> traits = []>
    : Redfuse_Op<mnemonic, !listconcat(traits, [
        DestinationStyleOpInterface, AttrSizedOperandSegments,
        RecursiveMemoryEffects,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>,
        DeclareOpInterfaceMethods<TilingInterface,
          ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation",
           "getResultTilePosition", "generateResultTileValue",
           "getIterationDomainTileFromResultTile",
           "getTiledImplementationFromOperandTiles",
           "getIterationDomainTileFromOperandTiles",
           "isOpFusableWithConsumerSlice", "isOpFusableWithProducerSlices"]>,
        IndexProgramOpInterface])> {
  code programDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); }
    ::llvm::SmallVector<::mlir::AffineMap> getIndexingMapsArray() {
      return ::llvm::to_vector(getIndexingMaps().getAsValueRange<::mlir::AffineMapAttr>());
    }
    ::mlir::OperandRange getProgramInputs() { return getInputs(); }
    ::mlir::OperandRange getProgramInits() { return getInits(); }
  }];
}

//===----------------------------------------------------------------------===//
// Tensor level: what a group of reductions computes
//===----------------------------------------------------------------------===//

def Redfuse_CascadeOp : Redfuse_ProgramOp<"cascade", [
    SingleBlockImplicitTerminator<"::redfuse::YieldOp">]> {
  let summary = "a cascade of whole reductions, in index notation";
  let description = [{
    States *what* is computed: reductions that use the finished results of
    earlier ones, with the element-wise work between, before and after them. The
    body is one scalar SSA program. A body value depends on a set of iteration
    dims: that of an input on the dims of its map, that of `redfuse.index d` on
    d, that of `redfuse.reduce` on its `into`, that of any other op on the union
    over its operands. `inits` are destinations only: their contents are not
    read. Yielded value i is written at every point of the map of init i.

    `redfuse.scan d` adds d to the dims of its operands. Other ops of a body have
    no side effects (`cf.assert` excepted) and no regions; they may use scalars from outside, and tensors through
    `tensor.extract`.

    Dims that all results have may be tiled by upstream's drivers; a tile of a
    dim that is reduced is refused, because splitting a cascade needs its merge
    (see `redfuse.fold`).

    Example: a row-wise normalised exponential, times a matrix.

    ```mlir
    %o = redfuse.cascade {indexing_maps = [
           affine_map<(i, j, d) -> (i, j)>, affine_map<(i, j, d) -> (j, d)>,
           affine_map<(i, j, d) -> (i, d)>]}
         ins(%s, %v : tensor<64x80xf32>, tensor<80x32xf32>)
         outs(%init : tensor<64x32xf32>) {
    ^bb0(%x: f32, %y: f32):
      %m = redfuse.reduce maximumf %x over [1] into [0] : f32
      %c = arith.subf %x, %m : f32
      %e = math.exp %c : f32
      %l = redfuse.reduce add %e over [1] into [0] : f32
      %w = arith.divf %e, %l : f32
      %p = arith.mulf %w, %y : f32
      %r = redfuse.reduce add %p over [1] into [0, 2] : f32
      redfuse.yield %r : f32
    } -> tensor<64x32xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       Variadic<AnyRankedTensor>:$inits,
                       AffineMapArrayAttr:$indexing_maps,
                       OptionalAttr<Redfuse_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    attr-dict (`ins` `(` $inputs^ `:` type($inputs) `)`)? `outs` `(` $inits `:` type($inits) `)`
    $body (`->` type($results)^)?
  }];
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = programDeclaration # [{
    ::mlir::Block *getProgramBody() { return &getBody().front(); }
    ::mlir::AffineMap getMapOfBodyArgument(unsigned index) {
      return getIndexingMapsArray()[index];
    }
  }];
}

def Redfuse_FoldOp : Redfuse_ProgramOp<"fold", [
    DeclareOpInterfaceMethods<PartialReductionOpInterface,
      ["generateInitialTensorForPartialReduction", "tileToPartialReduction",
       "mergeReductions", "getPartialResultTilePosition"]>]> {
  let summary = "a cascade as a fold with carried state";
  let description = [{
    States *how far*: `step` takes the elements of one segment of the `over` dims
    and the state so far, and yields the state with that segment included; a
    `redfuse.reduce` over `over` dims in it ranges over the segment. `merge`
    combines two states. The results are **all** components of the state, pivots
    and auxiliary sums included, continued from `inits`; the identity state is in
    `identities`, one constant for each component.

    Any way to cut the `over` dims into segments gives the same state up to the
    choice of pivot, so that `over` dims may be tiled (the state is carried
    through the loop), split (partial states, then `merge`), or both. Where the
    merge is not commutative, `certificate` (a dictionary; design/algebra.md has a
    table of its entries) has the entry `ordered`: segments are
    then contiguous and merged in the order of their indices.

    Results beyond the components of the state are *outputs*: their maps have
    every `over` dim, and each segment writes its own elements (prefixes of a
    scan, and what is computed from them). `step` yields them after the state;
    they have no identity, the step does not read them and `merge` does not know
    them. A fold with outputs is walked in order, segment after segment, and is
    not split.

    Example: the sum of exponentials with a running maximum.

    ```mlir
    %st:2 = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>,
              affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
              over = array<i64: 1>, identities = [0xFF800000 : f32, 0.0 : f32]}
            ins(%x : tensor<64x80xf32>) outs(%m0, %l0 : tensor<64xf32>, tensor<64xf32>)
    step {
    ^bb0(%v: f32, %m: f32, %l: f32):
      %ms = redfuse.reduce maximumf %v over [1] into [0] : f32
      %m1 = arith.maximumf %m, %ms : f32
      %d = arith.subf %m, %m1 : f32
      %scale = math.exp %d : f32
      %c = arith.subf %v, %m1 : f32
      %e = math.exp %c : f32
      %ls = redfuse.reduce add %e over [1] into [0] : f32
      %lt = arith.mulf %l, %scale : f32
      %l1 = arith.addf %lt, %ls : f32
      redfuse.yield %m1, %l1 : f32, f32
    } merge {
    ^bb0(%ma: f32, %la: f32, %mb: f32, %lb: f32):
      %m = arith.maximumf %ma, %mb : f32
      %da = arith.subf %ma, %m : f32
      %db = arith.subf %mb, %m : f32
      %sa = math.exp %da : f32
      %sb = math.exp %db : f32
      %a = arith.mulf %la, %sa : f32
      %b = arith.mulf %lb, %sb : f32
      %l = arith.addf %a, %b : f32
      redfuse.yield %m, %l : f32, f32
    } -> tensor<64xf32>, tensor<64xf32>
    ```

    Example: running sums, with the sum so far as state.

    ```mlir
    %st:2 = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>,
              affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
              over = array<i64: 1>, identities = [0.0 : f32]}
            ins(%x : tensor<64x80xf32>) outs(%s0, %o0 : tensor<64xf32>, tensor<64x80xf32>)
    step {
    ^bb0(%v: f32, %s: f32):
      %t = redfuse.reduce add %v over [1] into [0] : f32
      %p = redfuse.scan add %v along 1 : f32
      %s1 = arith.addf %s, %t : f32
      %o = arith.addf %s, %p : f32
      redfuse.yield %s1, %o : f32, f32
    } merge {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      redfuse.yield %s : f32
    } -> tensor<64xf32>, tensor<64x80xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       Variadic<AnyRankedTensor>:$inits,
                       AffineMapArrayAttr:$indexing_maps,
                       DenseI64ArrayAttr:$over,
                       ArrayAttr:$identities,
                       OptionalAttr<DictionaryAttr>:$certificate,
                       OptionalAttr<Redfuse_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$step, SizedRegion<1>:$merge);
  let assemblyFormat = [{
    attr-dict (`ins` `(` $inputs^ `:` type($inputs) `)`)? `outs` `(` $inits `:` type($inits) `)`
    `step` $step `merge` $merge (`->` type($results)^)?
  }];
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = programDeclaration # [{
    // Whether segments must stay contiguous and be merged in index order.
    bool isOrdered();
    // The first results are components of the state, the others outputs.
    unsigned getNumStates() { return getIdentities().size(); }
    bool hasOutputs() { return getNumStates() < getInits().size(); }
    ::mlir::Block *getProgramBody() { return &getStep().front(); }
    ::mlir::AffineMap getMapOfBodyArgument(unsigned index) {
      return getIndexingMapsArray()[index];
    }
  }];
}

def Redfuse_MergeOp : Redfuse_ProgramOp<"merge"> {
  let summary = "combines two states of one fold";
  let description = [{
    `inits` are the components of the left state, `inputs` those of the right
    one; the body takes left then right and yields the merged components. For an
    ordered fold the left state is that of the earlier segment.

    Example:

    ```mlir
    %st = redfuse.merge {indexing_maps = [
            affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
        ins(%lb : tensor<64xf32>) outs(%la : tensor<64xf32>) {
    ^bb0(%l0: f32, %l1: f32):
      %l = arith.addf %l0, %l1 : f32
      redfuse.yield %l : f32
    } -> tensor<64xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       Variadic<AnyRankedTensor>:$inits,
                       AffineMapArrayAttr:$indexing_maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    attr-dict (`ins` `(` $inputs^ `:` type($inputs) `)`)? `outs` `(` $inits `:` type($inits) `)`
    $body (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = programDeclaration # [{
    ::mlir::Block *getProgramBody() { return &getBody().front(); }
    // The body takes the left state (the inits) first.
    ::mlir::AffineMap getMapOfBodyArgument(unsigned index) {
      unsigned n = getInits().size();
      return getIndexingMapsArray()[index < n ? getInputs().size() + index : index - n];
    }
  }];
}

def Redfuse_FinalizeOp : Redfuse_ProgramOp<"finalize"> {
  let summary = "maps the state of a fold to the results of its cascade";
  let description = [{
    The inputs are components of a state, and whatever else a map after the
    reduction reads. The body may reduce, but not over the dims that were folded.
    A dim that it reduces cannot be cut, as in a cascade. The inits are
    destinations only.

    Example:

    ```mlir
    %o = redfuse.finalize {indexing_maps = [affine_map<(i, d) -> (i)>,
           affine_map<(i, d) -> (i, d)>, affine_map<(i, d) -> (i, d)>]}
         ins(%l, %acc : tensor<64xf32>, tensor<64x32xf32>)
         outs(%init : tensor<64x32xf32>) {
    ^bb0(%a: f32, %b: f32):
      %r = arith.divf %b, %a : f32
      redfuse.yield %r : f32
    } -> tensor<64x32xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       Variadic<AnyRankedTensor>:$inits,
                       AffineMapArrayAttr:$indexing_maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    attr-dict (`ins` `(` $inputs^ `:` type($inputs) `)`)? `outs` `(` $inits `:` type($inits) `)`
    $body (`->` type($results)^)?
  }];
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = programDeclaration # [{
    ::mlir::Block *getProgramBody() { return &getBody().front(); }
    ::mlir::AffineMap getMapOfBodyArgument(unsigned index) {
      return getIndexingMapsArray()[index];
    }
  }];
}

//===----------------------------------------------------------------------===//
// Body level: what a body is made of, beside arith and math
//===----------------------------------------------------------------------===//

def Redfuse_BodyValue : AnyTypeOf<[AnySignlessInteger, Index, AnyFloat]>;

// An op that combines its operands by a reducer.
class Redfuse_CombiningOp<string mnemonic>
    : Redfuse_Op<mnemonic, [Pure, IsolatedFromAbove,
        DeclareOpInterfaceMethods<InferTypeOpInterface>, CombiningOpInterface]> {
  let regions = (region MaxSizedRegion<1>:$combine);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Redfuse_ReduceOp : Redfuse_CombiningOp<"reduce"> {
  let summary = "a reduction inside a body";
  let description = [{
    Combines the operands over all values of the dims `over`; the result depends
    on the dims `into`. An operand depends on dims of `over` and `into` alone
    (else an element would be counted more than once, or the result would be
    ambiguous). An operand that does not depend on some dim of `over` is combined
    as often as that dim is long. Over an empty range the result is the identity
    of the reducer.

    `argmax` and `argmin` take a value and an index and keep the pair whose value
    is extreme, the one of the lowest index among equals. `topk` takes the same
    and has one more dim in `into` than its operands depend on: the rank, from
    largest to smallest, ties by lowest index.

    `declared` is a reducer of the program's own, on k operands. `combine` takes
    two states of k scalars, left then right, and yields one; it is made of pure
    scalar ops and uses nothing from outside. `identities` are k constants. That
    it is associative, and the identities neutral, is a promise: nothing checks
    it here. With `ordered` it need not be commutative: elements are combined in
    the order of `over`, the last dim fastest.

    Example: `%m = redfuse.reduce maximumf %x over [2] into [0, 1] : f32`

    Example: the value of h = a*h + b after all steps, from h = 0.

    ```mlir
    %o = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>,
           affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
         ins(%x, %y : tensor<64x80xf32>, tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
    ^bb0(%a: f32, %b: f32):
      %p, %h = redfuse.reduce declared %a, %b over [1] into [0]
          {identities = [1.0 : f32, 0.0 : f32], ordered} : f32, f32 combine {
      ^bb0(%a0: f32, %b0: f32, %a1: f32, %b1: f32):
        %a01 = arith.mulf %a0, %a1 : f32
        %t = arith.mulf %a1, %b0 : f32
        %b01 = arith.addf %t, %b1 : f32
        redfuse.yield %a01, %b01 : f32, f32
      }
      redfuse.yield %h : f32
    } -> tensor<64xf32>
    ```
  }];
  let arguments = (ins Redfuse_ReducerAttr:$reducer, Variadic<Redfuse_BodyValue>:$operands,
                       DenseI64ArrayAttr:$over, DenseI64ArrayAttr:$into,
                       OptionalAttr<ArrayAttr>:$identities, UnitAttr:$ordered);
  let results = (outs Variadic<Redfuse_BodyValue>:$results);
  let assemblyFormat = [{
    $reducer $operands `over` $over `into` $into attr-dict `:` type($operands)
    (`combine` $combine^)?
  }];
  let builders = [OpBuilder<(ins "::redfuse::Reducer":$reducer, "::mlir::ValueRange":$operands,
                                 "::llvm::ArrayRef<int64_t>":$over,
                                 "::llvm::ArrayRef<int64_t>":$into)>];
  let hasCanonicalizer = 1;
}

def Redfuse_ScanOp : Redfuse_CombiningOp<"scan"> {
  let summary = "a reduction of which every prefix is a result";
  let description = [{
    At position p of dim `dim` the result combines the operands at 0 to p, in
    that order, or with `exclusive` at 0 to p - 1 (the identity at 0). It depends
    on the dims of the operands and on `dim`. Reducers are those of
    `redfuse.reduce` but argmax, argmin and topk.

    Example: `%c = redfuse.scan add %x along 1 : f32`
  }];
  let arguments = (ins Redfuse_ReducerAttr:$reducer, Variadic<Redfuse_BodyValue>:$operands,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$dim,
                       UnitAttr:$exclusive,
                       OptionalAttr<ArrayAttr>:$identities, UnitAttr:$ordered);
  let results = (outs Variadic<Redfuse_BodyValue>:$results);
  let assemblyFormat = [{
    $reducer $operands `along` $dim attr-dict `:` type($operands) (`combine` $combine^)?
  }];
}

def Redfuse_CombineOp : Redfuse_Op<"combine", [Pure, IsolatedFromAbove]> {
  let summary = "one step of a declared reducer";
  let description = [{
    Combines k scalars, the left state, with k others, the right one, by a region
    as that of a declared `redfuse.reduce`, with its `identities` and `ordered`.
    It stands in the body of a `linalg.generic` between the accumulators and the
    new elements, and tells `redfuse-raise` what the loop may be cut into.
    `redfuse-normalize-combiners` makes it of the attribute `redfuse.combiner`.
    In the step of a fold it combines a state with a segment that was reduced or
    scanned in order: code that walks the elements in order starts from the state.

    Example: a sum, as a reducer of the program's own.

    ```mlir
    %o = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
           iterator_types = ["reduction"]}
         ins(%x : tensor<80xf32>) outs(%init : tensor<f32>) {
    ^bb0(%e: f32, %s: f32):
      %r = redfuse.combine %s, %e {identities = [0.0 : f32]} : (f32, f32) -> f32 {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        redfuse.yield %c : f32
      }
      linalg.yield %r : f32
    } -> tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<Redfuse_BodyValue>:$operands, ArrayAttr:$identities,
                       UnitAttr:$ordered);
  let results = (outs Variadic<Redfuse_BodyValue>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = [{
    $operands attr-dict `:` functional-type($operands, $results) $combine
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::OperandRange getLeft() { return getOperands().take_front(getNumResults()); }
    ::mlir::OperandRange getRight() { return getOperands().drop_front(getNumResults()); }
  }];
}

def Redfuse_MergeTopkOp : Redfuse_Op<"merge_topk", [Pure,
    AllTypesMatch<["values", "otherValues", "bestValues"]>,
    AllTypesMatch<["indices", "otherIndices", "bestIndices"]>]> {
  let summary = "the best of two sorted lists";
  let description = [{
    Merges two lists along dim `dim`, the rank, as `redfuse.reduce topk` makes
    them: values from largest to smallest with their indices. Among equal values
    the one with the lowest index comes first, whichever list has it. A slot whose index is negative is empty and comes last. NaN is
    larger than every number, and two of them are equal.

    Example: `%b, %k = redfuse.merge_topk %v, %i, %w, %j along 2 : f32, index`
  }];
  let arguments = (ins Redfuse_BodyValue:$values, AnyTypeOf<[AnySignlessInteger, Index]>:$indices,
                       Redfuse_BodyValue:$otherValues,
                       AnyTypeOf<[AnySignlessInteger, Index]>:$otherIndices,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$dim);
  let results = (outs Redfuse_BodyValue:$bestValues,
                      AnyTypeOf<[AnySignlessInteger, Index]>:$bestIndices);
  let assemblyFormat = [{
    $values `,` $indices `,` $otherValues `,` $otherIndices `along` $dim attr-dict
    `:` type($values) `,` type($indices)
  }];
  let hasVerifier = 1;
}

def Redfuse_IndexOp : Redfuse_Op<"index", [Pure]> {
  let summary = "the value of an iteration dim inside a body";
  let description = [{
    The position along dim `dim` in the iteration space of the op around it, of
    type `index`. Tiling adds the tile's offset, so that a program computes with
    the position in the whole space wherever it has been cut.

    Example: `%j = redfuse.index 2`
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$dim attr-dict";
  let hasVerifier = 1;
}

def Redfuse_YieldOp : Redfuse_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["CascadeOp", "FoldOp", "MergeOp", "FinalizeOp", "KernelOp",
                 "ReduceOp", "ScanOp", "CombineOp"]>]> {
  let summary = "ends a redfuse region with the values it hands out";
  let description = [{Example: `redfuse.yield %m, %l : f32, f32`}];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ }]>];
}

//===----------------------------------------------------------------------===//
// Fusion groups
//===----------------------------------------------------------------------===//

def Redfuse_KernelOp : Redfuse_Op<"kernel", [Symbol, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"::redfuse::YieldOp">]> {
  let summary = "a fusion group: what one launch does";
  let description = [{
    A symbol whose region takes the inputs of the group and its destinations as
    tensors and yields the results. The tensor-level redfuse ops in it share
    **one** iteration space: dim d is the same dim in all of them, of the same
    extent; `schedule` says how that space is walked. What one of them makes and
    another uses lives in tiles and is never as large as the whole dims.

    Example:

    ```mlir
    redfuse.kernel @main_0 attributes {num_inputs = 1 : i64,
        schedule = #redfuse.schedule<stream, grid = [0], tiles = [8, 16], stream = [1]>} {
    ^bb0(%x: tensor<64x80xf32>, %init: tensor<64xf32>):
      %0 = redfuse.cascade {indexing_maps = [
             affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
           ins(%x : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
      ^bb0(%e: f32):
        %m = redfuse.reduce maximumf %e over [1] into [0] : f32
        redfuse.yield %m : f32
      } -> tensor<64xf32>
      redfuse.yield %0 : tensor<64xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$num_inputs,
                       OptionalAttr<Redfuse_ScheduleAttr>:$schedule,
                       OptionalAttr<DictionaryAttr>:$info);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Redfuse_LaunchOp : Redfuse_Op<"launch", [DestinationStyleOpInterface,
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "runs a kernel from host code";
  let description = [{
    Destination style: the results are the inits, written by the kernel. After
    bufferization operands are memrefs and there are no results.

    Example:

    ```mlir
    %0 = redfuse.launch @main_0 ins(%x : tensor<64x80xf32>)
         outs(%init : tensor<64xf32>) -> tensor<64xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$inputs,
                       Variadic<AnyShaped>:$inits);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $kernel (`ins` `(` $inputs^ `:` type($inputs) `)`)? `outs` `(` $inits `:` type($inits) `)`
    attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); }
  }];
}

#endif // REDFUSE_OPS_TD
