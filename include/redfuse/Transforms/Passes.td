//===- Passes.td - from programs to kernels ----------------*- tablegen -*-===//
#ifndef REDFUSE_TRANSFORMS_PASSES_TD
#define REDFUSE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

// Before layer 1 --------------------------------------------------------------

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

    Memory itself (memrefs), tensors of unknown rank and vectors of a tensor's
    elements are refused.

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

// Layer 1: normalise ----------------------------------------------------------

include "redfuse/Transforms/Normalize/Passes.td"

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

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<5x7xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
      %r = linalg.generic {indexing_maps = [#all, #row],
                           iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<5x7xf32>) outs(%init : tensor<5xf32>) {
      ^bb0(%a: f32, %sum: f32):
        %p = arith.mulf %a, %a : f32
        %s = arith.addf %sum, %p : f32
        linalg.yield %s : f32
      } -> tensor<5xf32>
      return %r : tensor<5xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<5x7xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
      %e = tensor.empty() : tensor<5xf32>
      %r = redfuse.cascade {indexing_maps = [#all, #row, #row]}
          ins(%x, %init : tensor<5x7xf32>, tensor<5xf32>)
          outs(%e : tensor<5xf32>) {
      ^bb0(%a: f32, %first: f32):
        %p = arith.mulf %a, %a : f32
        %sum = redfuse.reduce add %p over [1] into [0] : f32
        %s = arith.addf %first, %sum : f32
        redfuse.yield %s : f32
      } -> tensor<5xf32>
      return %r : tensor<5xf32>
    }
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::arith::ArithDialect",
                           "mlir::tensor::TensorDialect"];
}

def WidenIntegers : Pass<"redfuse-widen-integers"> {
  let summary = "Hold integers of 2 to 63 bits in the next wider one that memory has";
  let description = [{
    i2, i4, i24 and the like become i8, i16, i32 or i64 everywhere: in constants,
    tensors, bodies and arithmetic. A number keeps its bits, with zeros above them,
    which operations that could leave others there clear. i1 stays, and so does what
    memory has. An operation for which this is not known is an error that names it.

    ```mlir
    func.func @f(%x: tensor<4xi4>, %k: index) -> i32 {
      %a = tensor.extract %x[%k] : tensor<4xi4>
      %r = arith.extsi %a : i4 to i32
      return %r : i32
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<4xi8>, %k: index) -> i32 {
      %a = tensor.extract %x[%k] : tensor<4xi8>
      %four = arith.constant 4 : i8
      %high = arith.shli %a, %four : i8
      %signed = arith.shrsi %high, %four : i8
      %r = arith.extsi %signed : i8 to i32
      return %r : i32
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def WidenAccumulators : Pass<"redfuse-widen-accumulators"> {
  let summary = "Accumulate sums and products of 16-bit floats in f32";
  let description = [{
    `redfuse.reduce add` (or `mul`) of f16, bf16 or narrower values becomes a
    reduction in f32 whose result is rounded once; products that are summed are
    taken in f32 as well. A 16-bit sum stagnates after some hundred terms.

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<4x8xbf16>, %e: tensor<4xbf16>) -> tensor<4xbf16> {
      %r = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<4x8xbf16>) outs(%e : tensor<4xbf16>) {
      ^bb0(%a: bf16):
        %p = arith.mulf %a, %a : bf16
        %s = redfuse.reduce add %p over [1] into [0] : bf16
        redfuse.yield %s : bf16
      } -> tensor<4xbf16>
      return %r : tensor<4xbf16>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<4x8xbf16>, %e: tensor<4xbf16>) -> tensor<4xbf16> {
      %r = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<4x8xbf16>) outs(%e : tensor<4xbf16>) {
      ^bb0(%a: bf16):
        %w = arith.extf %a : bf16 to f32
        %p = arith.mulf %w, %w : f32
        %s = redfuse.reduce add %p over [1] into [0] : f32
        %t = arith.truncf %s : f32 to bf16
        redfuse.yield %t : bf16
      } -> tensor<4xbf16>
      return %r : tensor<4xbf16>
    }
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::arith::ArithDialect"];
}

def NarrowDoubles : Pass<"redfuse-narrow-doubles"> {
  let summary = "Compute in f32 what only 16-bit floats go into and come out of";
  let description = [{
    Where every tensor of a cascade has elements of at most 16 bits, arithmetic
    in f64 between them becomes arithmetic in f32: the results are rounded to
    fewer digits than either has. Sums that were taken in both types are one
    then. What compares or selects by an f64 value, or uses one from outside,
    stays. Squares and sums beyond the range of f32 are infinite.

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<4x8xbf16>, %e: tensor<4xbf16>) -> tensor<4xbf16> {
      %r = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<4x8xbf16>) outs(%e : tensor<4xbf16>) {
      ^bb0(%a: bf16):
        %d = arith.extf %a : bf16 to f64
        %s = redfuse.reduce add %d over [1] into [0] : f64
        %t = arith.truncf %s : f64 to bf16
        redfuse.yield %t : bf16
      } -> tensor<4xbf16>
      return %r : tensor<4xbf16>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<4x8xbf16>, %e: tensor<4xbf16>) -> tensor<4xbf16> {
      %r = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<4x8xbf16>) outs(%e : tensor<4xbf16>) {
      ^bb0(%a: bf16):
        %w = arith.extf %a : bf16 to f32
        %s = redfuse.reduce add %w over [1] into [0] : f32
        %t = arith.truncf %s : f32 to bf16
        redfuse.yield %t : bf16
      } -> tensor<4xbf16>
      return %r : tensor<4xbf16>
    }
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::arith::ArithDialect"];
}

// Layers 3 to 5: fuse, schedule, derive -----------------------------------------

def AttachTarget : Pass<"redfuse-attach-target", "mlir::ModuleOp"> {
  let summary = "Say which GPU to compile for";
  let description = [{
    Puts `redfuse.target` on the module: what is known of `chip`, an architecture of
    `Chips.def`. All passes behind read it. A target that the module has keeps its
    numbers and is given the chip; one of another chip is an error.

    ```mlir
    module {
      func.func private @f(tensor<8xf32>) -> tensor<8xf32>
    }
    ```

    becomes, by `-redfuse-attach-target=chip=sm_90a`,

    ```mlir
    module attributes {redfuse.target = #redfuse.target<"cuda",
        units = 132, vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000,
        bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">} {
      func.func private @f(tensor<8xf32>) -> tensor<8xf32>
    }
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", /*default=*/"\"\"",
                        "the architecture, as sm_90a">];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

def Fuse : Pass<"redfuse-fuse"> {
  let summary = "Make one cascade of cascades that feed each other";
  let description = [{
    What one cascade hands to another need not go through memory in one kernel.
    Groups are grown along the edges from producers to consumers, then between
    cascades that share an input, while a cost model (`redfuse.target` on the
    module, else a small CPU) finds one kernel better than two. The body of a
    group is the whole program in index notation; two stages share an iteration
    dim where they read the same tensor at the same place. Every edge that stays
    leaves an entry in `redfuse.refused`.

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<5x7xf32>, %d: tensor<5xf32>, %e: tensor<5x7xf32>)
        -> tensor<5x7xf32> {
      %m = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<5x7xf32>) outs(%d : tensor<5xf32>) {
      ^bb0(%a: f32):
        %max = redfuse.reduce maximumf %a over [1] into [0] : f32
        redfuse.yield %max : f32
      } -> tensor<5xf32>
      %r = redfuse.cascade {indexing_maps = [#all, #row, #all]}
          ins(%x, %m : tensor<5x7xf32>, tensor<5xf32>) outs(%e : tensor<5x7xf32>) {
      ^bb0(%a: f32, %max: f32):
        %s = arith.subf %a, %max : f32
        redfuse.yield %s : f32
      } -> tensor<5x7xf32>
      return %r : tensor<5x7xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<5x7xf32>, %d: tensor<5xf32>, %e: tensor<5x7xf32>)
        -> tensor<5x7xf32> {
      %r = redfuse.cascade {indexing_maps = [#all, #all]}
          ins(%x : tensor<5x7xf32>) outs(%e : tensor<5x7xf32>) {
      ^bb0(%a: f32):
        %max = redfuse.reduce maximumf %a over [1] into [0] : f32
        %s = arith.subf %a, %max : f32
        redfuse.yield %s : f32
      } -> tensor<5x7xf32>
      return %r : tensor<5x7xf32>
    }
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::affine::AffineDialect",
                           "mlir::arith::ArithDialect", "mlir::tensor::TensorDialect"];
  let options = [
    Option<"maxGroup", "max-group", "unsigned", "256",
           "The most cascades that one group may hold">
  ];
}

def KeepRoundings : Pass<"redfuse-keep-roundings"> {
  let summary = "Mark the roundings that decide something";
  let description = [{
    A rounding to 16 bits (or of f64 to f32) between two operations that meet in one
    kernel may be left out by later passes. This one follows each to what is made of
    its result, through bodies and from one cascade to the next, and gives those the
    attribute `redfuse.rounds` whose result, element by element, comes to

    - the key of an argmax, an argmin or a top-k, or an op that is not known (a sort);
    - a quantisation: a float of 8 bits, an integer, a whole number, bits;
    - a comparison. One that makes a clamp does not count, nor one with an infinity
      where the rounding is to bf16, which has the range of f32;
    - a result of the function, through nothing but extrema, clamps and signs.

    It is not followed into a sum, a product or a declared reducer: their results
    have a rounding of their own.

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<6x80xf32>, %e: tensor<6xindex>) -> tensor<6xindex> {
      %r = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<6x80xf32>) outs(%e : tensor<6xindex>) {
      ^bb0(%a: f32):
        %h = arith.truncf %a : f32 to bf16
        %w = arith.extf %h : bf16 to f32
        %j = redfuse.index 1
        %b:2 = redfuse.reduce argmax %w, %j over [1] into [0] : f32, index
        redfuse.yield %b#1 : index
      } -> tensor<6xindex>
      return %r : tensor<6xindex>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<6x80xf32>, %e: tensor<6xindex>) -> tensor<6xindex> {
      %r = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<6x80xf32>) outs(%e : tensor<6xindex>) {
      ^bb0(%a: f32):
        %h = arith.truncf %a {redfuse.rounds} : f32 to bf16
        %w = arith.extf %h : bf16 to f32
        %j = redfuse.index 1
        %b:2 = redfuse.reduce argmax %w, %j over [1] into [0] : f32, index
        redfuse.yield %b#1 : index
      } -> tensor<6xindex>
      return %r : tensor<6xindex>
    }
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

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
           "Take rounding for the identity where it stands in the way">];
  let dependentDialects = [
    "redfuse::RedfuseDialect", "mlir::arith::ArithDialect", "mlir::func::FuncDialect",
    "mlir::linalg::LinalgDialect", "mlir::math::MathDialect", "mlir::tensor::TensorDialect"];
}

def PrepackOperands : Pass<"redfuse-prepack-operands"> {
  let summary = "Copy filters of convolutions into the order in which blocks read them";
  let description = [{
    A sum of products that reads windows (a convolution) takes one tap after another, and of
    each all channels. Filters whose neighbours in memory are taps, or that are read
    back to front (transposed convolutions), are gathered for that by every block: as many
    accesses as a block has columns, each to a line of its own. Where their elements are
    used for 1024 results and more, and the sum has 5e8 multiply-adds and more, a cascade in
    front copies them once: taps, then channels, then what the result has of them, whose
    neighbours are adjacent. Roundings and extensions stay where they are.

    For targets with matrix units and copies by threads (sm_80 and later); without a chip
    nothing changes.

    ```mlir
    #x = affine_map<(n, o, p, c, t) -> (n, c, p + t)>
    #w = affine_map<(n, o, p, c, t) -> (o, c, t)>
    #y = affine_map<(n, o, p, c, t) -> (n, o, p)>
    %r = redfuse.cascade {indexing_maps = [#x, #w, #y]}
        ins(%x, %w : tensor<8x64x8194xf32>, tensor<64x64x3xf32>)
        outs(%e : tensor<8x64x8192xf32>) {
    // ... their product, summed over [3, 4]
    ```

    becomes

    ```mlir
    #w = affine_map<(t, c, o) -> (o, c, t)>
    #id = affine_map<(t, c, o) -> (t, c, o)>
    #x = affine_map<(n, o, p, c, t) -> (n, c, p + t)>
    #q = affine_map<(n, o, p, c, t) -> (t, c, o)>
    #y = affine_map<(n, o, p, c, t) -> (n, o, p)>
    %n = tensor.empty() : tensor<3x64x64xf32>
    %q = redfuse.cascade {indexing_maps = [#w, #id]} ins(%w : tensor<64x64x3xf32>)
        outs(%n : tensor<3x64x64xf32>) {
    ^bb0(%b: f32):
      redfuse.yield %b : f32
    } -> tensor<3x64x64xf32>
    %r = redfuse.cascade {indexing_maps = [#x, #q, #y]} ins(%x, %q : ...) ...
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::tensor::TensorDialect"];
}

def Schedule : Pass<"redfuse-schedule"> {
  let summary = "Choose grid, tiles and kind of schedule for every cascade";
  let description = [{
    Sets the `schedule` attribute of every cascade that has none. The grid is made
    of the dims that every result has and every reduction keeps. A cascade whose
    blocks keep little stays resident: its stages run one after another over data
    in cache, exactly. Else the reduced dims that make the tiles large are
    streamed, if a merge can be derived; if some reductions have a merge only once
    others are complete, in several passes; if not, the cascade stays resident.
    The reasons are recorded in `redfuse.refused`.

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<64x1000xf32>, %e: tensor<64xf32>) -> tensor<64xf32> {
      %r = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<64x1000xf32>) outs(%e : tensor<64xf32>) {
      ^bb0(%a: f32):
        %s = redfuse.reduce add %a over [1] into [0] : f32
        redfuse.yield %s : f32
      } -> tensor<64xf32>
      return %r : tensor<64xf32>
    }
    ```

    becomes (a block sums 8 rows, which stay in the cache)

    ```mlir
    func.func @f(%x: tensor<64x1000xf32>, %e: tensor<64xf32>) -> tensor<64xf32> {
      %r = redfuse.cascade {indexing_maps = [#all, #row], schedule =
          #redfuse.schedule<resident, grid = [0], tiles = [8, 0], reason = "...">}
          ins(%x : tensor<64x1000xf32>) outs(%e : tensor<64xf32>) {
      ^bb0(%a: f32):
        %s = redfuse.reduce add %a over [1] into [0] : f32
        redfuse.yield %s : f32
      } -> tensor<64xf32>
      return %r : tensor<64xf32>
    }
    ```
  }];
  let options = [
    Option<"kind", "kind", "std::string", "\"\"",
           "resident, stream or split: use it wherever it is legal">,
    ListOption<"tiles", "tiles", "int64_t",
               "extents of tiles by iteration dim instead of the model's; 0 keeps the model's">,
    Option<"splits", "splits", "int64_t", "0",
           "how many splits a split schedule has; 0: the model's number">,
    Option<"lazy", "lazy", "int64_t", "0",
           "let the pivots of streamed exponentials stay while the running maximum "
           "grows less than this, in powers of 2 (at most 8)">,
    Option<"strict", "strict", "bool", "false",
           "refuse everything that changes the order of floating-point operations">,
    Option<"approximate", "approximate", "bool", "false",
           "take rounding and saturation in the way of a merge for the identity">];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

// Layer 6: outline --------------------------------------------------------------

def Outline : Pass<"redfuse-outline", "mlir::ModuleOp"> {
  let summary = "Make every fusion group a redfuse.kernel and launch it";
  let description = [{
    A cascade, or a fold with what finalises it, becomes the body of a kernel; the
    host keeps a `redfuse.launch`. Constants that bodies use move in; other values
    from outside, scalars and tensors that are read at computed positions, become
    arguments. The state of a fold exists inside the kernel only.

    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<8xf32>, %s: f32, %e: tensor<8xf32>) -> tensor<8xf32> {
      %two = arith.constant 2.0 : f32
      %r = redfuse.cascade {indexing_maps = [#id, #id]}
          ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%a: f32):
        %p = arith.mulf %a, %two : f32
        %q = arith.addf %p, %s : f32
        redfuse.yield %q : f32
      } -> tensor<8xf32>
      return %r : tensor<8xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<8xf32>, %s: f32, %e: tensor<8xf32>) -> tensor<8xf32> {
      %r = redfuse.launch @f_0 ins(%x, %s : tensor<8xf32>, f32)
           outs(%e : tensor<8xf32>) -> tensor<8xf32>
      return %r : tensor<8xf32>
    }
    redfuse.kernel @f_0 attributes {num_inputs = 2 : i64, info = {...}} {
    ^bb0(%x: tensor<8xf32>, %s: f32, %e: tensor<8xf32>):
      %two = arith.constant 2.0 : f32
      %r = redfuse.cascade {indexing_maps = [#id, #id]}
          ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
      // ... the body as it was
      } -> tensor<8xf32>
      redfuse.yield %r : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::tensor::TensorDialect"];
}

def Split : Pass<"redfuse-split", "mlir::ModuleOp"> {
  let summary = "Make two kernels of one whose fold is split over blocks";
  let description = [{
    Where a few long reductions would leave processors idle (as for split-K): a
    kernel with a `split` schedule becomes a kernel with one more dim, the number
    of the split, whose blocks fold a split each and store its state; and a
    kernel that merges these states in index order, as a tree, and finalises. Where
    a result has the folded dims, the finalisation is a kernel of its own, a map.
    Where the merge of all states would be longer than 3072 ops, those of equally many
    neighbours are merged by kernels in front.

    ```mlir
    redfuse.kernel @k attributes {num_inputs = 1 : i64, schedule =
        #redfuse.schedule<split, grid = [0], stream = [1], splits = 2, ...>} {
    ^bb0(%x: tensor<64x80xf32>, %out: tensor<64xf32>):
      // ... a fold of %x over dim 1, finalised into %out
    }
    %r = redfuse.launch @k ins(%x : ...) outs(%e : ...) -> tensor<64xf32>
    ```

    becomes

    ```mlir
    redfuse.kernel @k_splits attributes {num_inputs = 1 : i64, schedule =
        #redfuse.schedule<split, grid = [0, 2], stream = [1], splits = 2, ...>} {
    ^bb0(%x: tensor<64x80xf32>, %states: tensor<2x64xf32>):
      // ... the fold over split d2 of dim 1, whose state goes to (d2, d0)
    }
    redfuse.kernel @k_merge attributes {num_inputs = 1 : i64, schedule =
        #redfuse.schedule<map, grid = [0], ...>} {
    ^bb0(%states: tensor<2x64xf32>, %out: tensor<64xf32>):
      // ... the states at (0, d0) and (1, d0), merged and finalised into %out
    }
    %d = tensor.empty() : tensor<2x64xf32>
    %s = redfuse.launch @k_splits ins(%x : ...) outs(%d : ...) -> tensor<2x64xf32>
    %r = redfuse.launch @k_merge ins(%s : ...) outs(%e : ...) -> tensor<64xf32>
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::tensor::TensorDialect"];
}

def SliceOperands : Pass<"redfuse-slice-operands", "mlir::ModuleOp"> {
  let summary = "Give kernels that differ by where they read the slices there";
  let description = [{
    The steps of an unrolled loop, as a recurrent network's, are kernels that differ by
    the constant at which they read the first dims of a buffer. Where 32 or more
    would be equal without, each takes a view of what is there, and its maps lose these
    dims; `redfuse-share-kernels` then finds that they are one. The view's offset is a
    value, so that all are of one type.

    ```mlir
    redfuse.launch @step_3 ins(%x : memref<256x8xf32>) outs(%out : memref<8xf32>)
    redfuse.kernel @step_3 attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<256x8xf32>, %init: tensor<8xf32>):
      // ... reads %x by affine_map<(i) -> (3, i)>
    ```

    becomes

    ```mlir
    %three = arith.constant 3 : index
    %s = memref.subview %x[%three, 0] [1, 8] [1, 1]
        : memref<256x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    redfuse.launch @step_3 ins(%s : memref<8xf32, strided<[1], offset: ?>>)
                           outs(%out : memref<8xf32>)
    redfuse.kernel @step_3 attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<8xf32>, %init: tensor<8xf32>):
      // ... reads %x by affine_map<(i) -> (i)>
    ```
  }];
  let options = [
    Option<"leastAlike", "least-alike", "unsigned", "32",
           "Fewer different kernels keep their constant positions: part of an address for "
           "nothing, and code of their own is cheap for a few.">
  ];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::memref::MemRefDialect"];
}

def ShareKernels : Pass<"redfuse-share-kernels", "mlir::ModuleOp"> {
  let summary = "Launch one kernel where several do the same";
  let description = [{
    Kernels that are equal up to their names and their places in the source, as
    those of a model's layers are, and that run on buffers of the same types, become
    the first of them: code is generated once. A launch whose kernel went keeps its
    name as `redfuse.instead_of`, by which explanations find it. Works on buffers,
    because how a kernel is generated depends on their layouts.

    ```mlir
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>, %out: memref<8xf32>) {
      redfuse.launch @f_0 ins(%x : memref<8xf32>) outs(%out : memref<8xf32>)
      redfuse.launch @f_1 ins(%y : memref<8xf32>) outs(%out : memref<8xf32>)
      return
    }
    redfuse.kernel @f_0 attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<8xf32>, %o: tensor<8xf32>):
      redfuse.yield %x : tensor<8xf32>
    }
    redfuse.kernel @f_1 attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<8xf32>, %o: tensor<8xf32>):
      redfuse.yield %x : tensor<8xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>, %out: memref<8xf32>) {
      redfuse.launch @f_0 ins(%x : memref<8xf32>) outs(%out : memref<8xf32>)
      redfuse.launch @f_0 ins(%y : memref<8xf32>) outs(%out : memref<8xf32>)
          {redfuse.instead_of = "f_1"}
      return
    }
    redfuse.kernel @f_0 attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<8xf32>, %o: tensor<8xf32>):
      redfuse.yield %x : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

include "redfuse/Transforms/Bufferize/Passes.td"

#endif // REDFUSE_TRANSFORMS_PASSES_TD
