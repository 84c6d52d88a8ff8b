//===- Passes.td - streaming forms of cascades -------------*- tablegen -*-===//
#ifndef REDFUSE_TRANSFORMS_DERIVATION_PASSES_TD
#define REDFUSE_TRANSFORMS_DERIVATION_PASSES_TD

include "mlir/Pass/PassBase.td"

def Derive : Pass<"redfuse-derive"> {
  let summary = "Turn cascades into folds with carried state";
  let description = [{
    A cascade with a `stream` or `multipass` schedule becomes a `redfuse.fold` of
    the streamed dims, which takes over the schedule, and a `redfuse.finalize`. The
    step, the merge and the identities follow from the cascade's body:
    contributions are brought to sums of products, factors that are free of the
    folded dims are taken out, exponentials are taken relative to a running
    maximum. So the online softmax follows from the plain one.

    Where a reduction has no merge with those before it (a barrier: rounding,
    comparison, ...), the cascade is cut there: the reductions before it are folded
    and finalised, and the rest is folded in a further pass over the data, for
    which they are inputs. Folds and finalisations of one cascade carry
    `redfuse.pass`: a number of the cascade and that of the pass. What has no merge
    in any number of passes stays. `redfuse.refused` lists barriers and refusals.

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<64x80xf32>, %e: tensor<64xf32>) -> tensor<64xf32> {
      %r = redfuse.cascade {indexing_maps = [#all, #row], schedule =
          #redfuse.schedule<stream, grid = [0], tiles = [16, 32], stream = [1]>}
          ins(%x : tensor<64x80xf32>) outs(%e : tensor<64xf32>) {
      ^bb0(%a: f32):
        %max = redfuse.reduce maximumf %a over [1] into [0] : f32
        %away = arith.subf %a, %max : f32
        %p = math.exp %away : f32
        %sum = redfuse.reduce add %p over [1] into [0] : f32
        redfuse.yield %sum : f32
      } -> tensor<64xf32>
      return %r : tensor<64xf32>
    }
    ```

    becomes a fold that carries the maximum and the sum relative to it

    ```mlir
    %s:2 = redfuse.fold {indexing_maps = [#all, #row, #row], over = array<i64: 1>,
        identities = [0xFF800000 : f32, 0.0 : f32], ...}
        ins(%x : ...) outs(...) step {
    ^bb0(%a: f32, %m: f32, %l: f32):
      %tile = redfuse.reduce maximumf %a over [1] into [0] : f32
      %max = arith.maximumf %m, %tile : f32
      // ... %pivot is %max, or 0 where that is infinite;
      // %p is exp(%a - %pivot), %scale is exp(%m - %pivot)
      %sum = redfuse.reduce add %p over [1] into [0] : f32
      %scaled = arith.mulf %l, %scale : f32
      %new = arith.addf %scaled, %sum : f32
      redfuse.yield %max, %new : f32, f32
    } merge {
      // ... the same of two states
    } -> tensor<64xf32>, tensor<64xf32>
    %r = redfuse.finalize ... ins(%s#0, %s#1 : ...) outs(%e : tensor<64xf32>) {...}
    ```
  }];
  let options = [
    Option<"all", "all", "bool", "false",
           "Take cascades that are not streamed as well, along all reduced dims">,
    ListOption<"over", "over", "int64_t",
               "Fold cascades without a schedule along these dims">,
    Option<"timed", "timed", "bool", "false",
           "Leave the time that it took on the op, as redfuse.derive_us">,
    Option<"strict", "strict", "bool", "false",
           "Refuse what changes the order of floating-point operations">,
    Option<"approximate", "approximate", "bool", "false",
           "Take rounding and saturation in the way of a merge for the identity">,
    Option<"lazy", "lazy", "int64_t", "0",
           "Let the pivot of an exponential stay while the running maximum grows "
           "less than this, in powers of 2 (at most 8), where the schedule does not say">];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::linalg::LinalgDialect",
    "mlir::math::MathDialect", "mlir::tensor::TensorDialect"];
}

def ExposeState : Pass<"redfuse-expose-state", "mlir::ModuleOp"> {
  let summary = "Make init, update, merge and finalize functions of a program";
  let description = [{
    Every public `@f(arguments) -> results` becomes four functions that carry its
    reductions over one dim of the arguments, the *streamed* one, which is dynamic
    in them:

    - `@f__init(unstreamed, extents) -> state`: the identities;
    - `@f__update(unstreamed, chunk, state, offset) -> state`: one more chunk, whose
      first element is number `offset` along the dim;
    - `@f__merge(state, state) -> state`;
    - `@f__finalize(unstreamed, [chunk,] state, extents, total, offset) -> results`:
      takes a chunk if a result has the streamed dim, and gives that chunk's part.

    With `only` it makes one of two others instead, of what stands at an end of a chain
    of chunks: no state is stored that is read once, and alone:

    - `@f__first(unstreamed, chunk, offset) -> state`: the state of a chunk;
    - `@f__last(unstreamed, chunk, state, extents, total, offset) -> results`: the results
      of a state and one more chunk; for a program of one fold, and none of whose results
      has the streamed dim.

    `unstreamed` are the arguments without the dim, `chunk` those with it, `extents`
    the dynamic extents of these along other axes, `total` is the length of the
    whole dim. `redfuse.state` on the last function says which is which. Works on
    cascades (after `redfuse-fuse`); folds get their schedules here. A program
    whose state cannot be carried is an error, with the reason.

    ```mlir
    #id = affine_map<(i) -> (i)>
    #none = affine_map<(i) -> ()>
    func.func @f(%x: tensor<?xf32>) -> tensor<f32> {
      %e = tensor.empty() : tensor<f32>
      %r = redfuse.cascade {indexing_maps = [#id, #none]}
          ins(%x : tensor<?xf32>) outs(%e : tensor<f32>) {
      ^bb0(%a: f32):
        %s = redfuse.reduce add %a over [0] into [] : f32
        redfuse.yield %s : f32
      } -> tensor<f32>
      return %r : tensor<f32>
    }
    ```

    becomes

    ```mlir
    // The identity of the sum: 0.
    func.func @f__init() -> tensor<f32> {...}
    // The sum of %chunk, plus %state.
    func.func @f__update(%chunk: tensor<?xf32>, %state: tensor<f32>, %offset: index)
        -> tensor<f32> {...}
    // %a + %b.
    func.func @f__merge(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {...}
    // The sum itself.
    func.func @f__finalize(%state: tensor<f32>, %total: index, %offset: index)
        -> tensor<f32> attributes {redfuse.state = {...}} {...}
    ```
  }];
  let options = [
    ListOption<"along", "along", "int64_t",
               "number and axis of an argument to stream; none: the axis along which "
               "most is reduced">,
    Option<"strict", "strict", "bool", "false",
           "Refuse what changes the order of floating-point operations">,
    Option<"approximate", "approximate", "bool", "false",
           "Take rounding for the identity where it stands in the way">,
    Option<"chunk", "chunk", "int64_t", "0",
           "How long chunks are; 0: as long as they come">,
    Option<"only", "only", "std::string", "\"\"",
           "Make `first` or `last` alone">];
  let dependentDialects = [
    "redfuse::RedfuseDialect", "mlir::arith::ArithDialect", "mlir::func::FuncDialect",
    "mlir::linalg::LinalgDialect", "mlir::math::MathDialect", "mlir::tensor::TensorDialect"];
}

def ReduceGathers : Pass<"redfuse-reduce-gathers"> {
  let summary = "Read an element of each row by a reduction of the row";
  let description = [{
    The logit of a label is at a place that is computed, which no part of the classes can
    tell by itself. A cascade that maps its points, and reads for each an element of a
    tensor's row at a computed place, reads instead what another cascade makes: the sum of
    what a comparison of the place with the position leaves of the row. That is exact, and
    takes a pass over the tensor, which what is reduced along the row makes anyway. Only
    where the tensor has one row for each point, so not for rows of a table. Before states
    are made, and before `redfuse-fuse`.

    With `behind-products` this is done only of products of matrices with more than 256
    columns and 64 rows, of which all else is reduced along the columns: such a product is
    folded tile by tile into states of its rows, and stored by nobody (units of warpgroups,
    sm_90a).

    ```mlir
    %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
        ins(%label : tensor<6xindex>) outs(%e : tensor<6xf32>) {
    ^bb0(%at: index):
      %i = redfuse.index 0
      %v = tensor.extract %x[%i, %at] : tensor<6x8xf32>
      redfuse.yield %v : f32
    } -> tensor<6xf32>
    ```

    becomes a map of what this makes:

    ```mlir
    %s = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>,
            affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>]}
        ins(%x, %label : tensor<6x8xf32>, tensor<6xindex>) outs(%e : tensor<6xf32>) {
    ^bb0(%v: f32, %at: index):
      %zero = arith.constant 0.0 : f32
      %j = redfuse.index 1
      %is = arith.cmpi eq, %j, %at : index
      %left = arith.select %is, %v, %zero : f32
      %sum = redfuse.reduce add %left over [1] into [0] : f32
      redfuse.yield %sum : f32
    } -> tensor<6xf32>
    ```
  }];
  let options = [
    Option<"behindProducts", "behind-products", "bool", /*default=*/"false",
           "of products of matrices alone that are folded otherwise">
  ];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::arith::ArithDialect",
                           "mlir::tensor::TensorDialect"];
}

def ShardDims : Pass<"redfuse-shard-dims", "mlir::ModuleOp"> {
  let summary = "Make a program of one for a part of some dims";
  let description = [{
    Every public function gets, for each of the `dims` (pairs of an argument and an
    axis), a part of that dim instead of the whole: the argument, and all that is
    walked with it, is open there, or has the length that `sizes` says. Two
    arguments of type index come last for each of the dims: the position at which
    the part starts, from which `redfuse.index` and constants then count, and the
    length of the whole, which `tensor.dim` gives. So a process that has a part of
    the rows computes what all of them together would.

    Nothing may be reduced along such a dim (`redfuse-expose-state` is for those),
    and no window may reach over it. `redfuse.sharded` on the function lists, for
    each dim: `arguments` that have it, each by number, axis and how many of its
    elements there are for one of the dim, the axis of each of the `results` (-1:
    none), its `length` in the source (-1: open), and whether anything counts
    positions along it.

    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<8xf32>) -> tensor<8xi64> {
      %e = tensor.empty() : tensor<8xi64>
      %r = redfuse.cascade {indexing_maps = [#id, #id]}
          ins(%x : tensor<8xf32>) outs(%e : tensor<8xi64>) {
      ^bb0(%a: f32):
        %i = redfuse.index 0
        %n = arith.index_cast %i : index to i64
        redfuse.yield %n : i64
      } -> tensor<8xi64>
      return %r : tensor<8xi64>
    }
    ```

    becomes, with `-redfuse-shard-dims=dims=0,0`,

    ```mlir
    // redfuse.sharded: arguments = [array<i64: 0, 0, 1>], length = 8 : i64,
    //                  positional = true, results = array<i64: 0>
    func.func @f(%x: tensor<?xf32>, %start: index, %whole: index) -> tensor<?xi64>
        attributes {redfuse.sharded = [...]} {
      %r = redfuse.cascade ... {
      ^bb0(%a: f32):
        %i = redfuse.index 0
        %at = arith.addi %i, %start : index
        %n = arith.index_cast %at : index to i64
        redfuse.yield %n : i64
      } -> tensor<?xi64>
      return %r : tensor<?xi64>
    }
    ```
  }];
  let options = [
    ListOption<"dims", "dims", "int64_t",
               "the dims: number of an argument and axis, of each in turn">,
    ListOption<"sizes", "sizes", "int64_t",
               "how long the part of each dim is; 0, or none: open">];
  let dependentDialects = [
    "redfuse::RedfuseDialect", "mlir::arith::ArithDialect", "mlir::func::FuncDialect",
    "mlir::tensor::TensorDialect"];
}

def FindDims : Pass<"redfuse-find-dims", "mlir::ModuleOp"> {
  let summary = "Say which dims of arguments a program has";
  let description = [{
    Puts `redfuse.dims` on every public function: for each dim of its arguments a
    dictionary. `arguments` are all that have it: number, axis, and how many elements
    of it there are for one of the dim (4 where a reshape joined it with an inner
    dim of 4). `results` has the axis of each result that is this dim (-1: none),
    `scales` how many elements it has for each of the dim. `length` is -1 where it
    is open; `positional` says whether anything counts positions along it, `kind`
    what goes along it:

    - `parallel`: nothing, so that any part can be computed alone
      (`redfuse-shard-dims`);
    - `reduced`: reductions, so that parts have states that are merged
      (`redfuse-expose-state`, which says whether they can);
    - `prefixes`: a scan, so that a part needs the state of those before it;
    - `refused`: it cannot be followed through the program, for the `reason`.

    `redfuse.masks` is there where comparisons of positions leave elements out of
    all reductions (a causal mask, a window): two numbers of dims, row and column,
    and the least and the largest difference of positions, column less row, of what
    counts.

    ```mlir
    #id = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<8x?xf32>) -> tensor<8xf32> {
      %e = tensor.empty() : tensor<8xf32>
      %r = redfuse.cascade {indexing_maps = [#id, #row]}
          ins(%x : tensor<8x?xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%a: f32):
        %s = redfuse.reduce add %a over [1] into [0] : f32
        redfuse.yield %s : f32
      } -> tensor<8xf32>
      return %r : tensor<8xf32>
    }
    ```

    gets

    ```mlir
    // redfuse.dims, the first: arguments = [array<i64: 0, 0, 1>], kind = "parallel",
    //     length = 8 : i64, positional = false, reason = "", results = array<i64: 0>, scales = array<i64: 1>
    // the second: arguments = [array<i64: 0, 1, 1>], kind = "reduced", length = -1 : i64,
    //     positional = false, reason = "", results = array<i64: -1>, scales = array<i64: 1>
    func.func @f(%x: tensor<8x?xf32>) -> tensor<8xf32>
        attributes {redfuse.dims = [...]} {...}
    ```
  }];
}

#endif // REDFUSE_TRANSFORMS_DERIVATION_PASSES_TD
