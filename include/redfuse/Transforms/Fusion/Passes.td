//===- Passes.td - which cascades become one kernel --------*- tablegen -*-===//
#ifndef REDFUSE_TRANSFORMS_FUSION_PASSES_TD
#define REDFUSE_TRANSFORMS_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

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
    dim where they read the same tensor at the same place. For a GPU of NVIDIA, the
    passes that plan kernels are asked about each group (`plans`): one for which they
    have no fast plan is taken apart, and grows again by what that taught: which factors of
    products, products, or reductions before these are to be kernels of their own. Without
    `prices` cascades of which one needs the other, and that reduce over the same, are fused
    where that is legal: a state is of one pass over the data. What reduces over something
    else is not fused behind reductions of the axis `along`. Every edge that stays leaves an entry in `redfuse.refused`.

    Other choices may be asked for, to predict or to measure them: cascades count from 0, in the
    order of the program. One in `cuts` begins a kernel: what it needs is in others. One in `joins` is
    fused with what it needs wherever that is legal. `record` has `redfuse.fused_kernels` on the
    module say what was chosen, and which of these there are.

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
           "The most cascades that one group may hold">,
    Option<"plans", "plans", "bool", "true",
           "Ask the passes that plan kernels about each group">,
    Option<"prices", "prices", "bool", "true",
           "Keep apart what is faster so, also reductions over the same that need each "
           "other">,
    ListOption<"along", "along", "int64_t",
               "Number and axis of an argument that a state will stream: what its "
               "reductions give is reduced by another kernel">,
    ListOption<"cuts", "cuts", "int64_t",
               "Numbers of cascades that begin a kernel">,
    ListOption<"joins", "joins", "int64_t",
               "Numbers of cascades that are fused with what they need, whatever the price">,
    Option<"record", "record", "bool", "false",
           "Say on the module which cascades became which kernel">
  ];
}

def SplitTotals : Pass<"redfuse-split-totals"> {
  let summary = "Add up by rows first what needs reductions of the rows, before fusion";
  let description = [{
    A total over rows and columns of what needs a sum of each row (an entropy, a divergence) becomes
    two cascades: over the dims that rows are reduced over, which can be fused with what reduces the rows, and
    over the rest. Otherwise all that is summed is stored, and read by a kernel of the total. This is
    `redfuse-nest-reductions` for what is not fused yet. It changes the order in which floats
    are added up: it is not for the option `strict`. For static extents, and totals that are no
    products of matrices.

    ```mlir
    #x = affine_map<(i, j) -> (i, j)>
    #r = affine_map<(i, j) -> (i)>
    #s = affine_map<(i, j) -> ()>
    func.func @main(%x: tensor<8x1000xf32>) -> tensor<f32> {
      %e = tensor.empty() : tensor<8xf32>
      %m = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x1000xf32>)
          outs(%e : tensor<8xf32>) {
      ^bb0(%a: f32):
        %1 = redfuse.reduce maximumf %a over [1] into [0] : f32
        redfuse.yield %1 : f32
      } -> tensor<8xf32>
      %f = tensor.empty() : tensor<f32>
      %t = redfuse.cascade {indexing_maps = [#x, #r, #s]} ins(%x, %m : tensor<8x1000xf32>, tensor<8xf32>)
          outs(%f : tensor<f32>) {
      ^bb0(%a: f32, %b: f32):
        %1 = arith.subf %a, %b : f32
        %2 = redfuse.reduce add %1 over [0, 1] into [] : f32
        redfuse.yield %2 : f32
      } -> tensor<f32>
      return %t : tensor<f32>
    }
    ```

    becomes

    ```mlir
    #x = affine_map<(i, j) -> (i, j)>
    #r = affine_map<(i, j) -> (i)>
    #id = affine_map<(i) -> (i)>
    #s = affine_map<(i) -> ()>
    func.func @main(%x: tensor<8x1000xf32>) -> tensor<f32> {
      %e = tensor.empty() : tensor<8xf32>
      %m = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x1000xf32>)
          outs(%e : tensor<8xf32>) {
      ^bb0(%a: f32):
        %1 = redfuse.reduce maximumf %a over [1] into [0] : f32
        redfuse.yield %1 : f32
      } -> tensor<8xf32>
      %f = tensor.empty() : tensor<f32>
      %g = tensor.empty() : tensor<8xf32>
      %p = redfuse.cascade {indexing_maps = [#x, #r, #r]} ins(%x, %m : tensor<8x1000xf32>, tensor<8xf32>)
          outs(%g : tensor<8xf32>) {
      ^bb0(%a: f32, %b: f32):
        %1 = arith.subf %a, %b : f32
        %2 = redfuse.reduce add %1 over [1] into [0] : f32
        redfuse.yield %2 : f32
      } -> tensor<8xf32>
      %t = redfuse.cascade {indexing_maps = [#id, #s]} ins(%p : tensor<8xf32>) outs(%f : tensor<f32>) {
      ^bb0(%a: f32):
        %1 = redfuse.reduce add %a over [0] into [] : f32
        redfuse.yield %1 : f32
      } -> tensor<f32>
      return %t : tensor<f32>
    }
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::tensor::TensorDialect"];
}

def NestReductions : Pass<"redfuse-nest-reductions"> {
  let summary = "Reduce by rows first what needs reductions of the rows";
  let description = [{
    The entropy of a matrix by rows sums over rows and columns what needs the sum of every row.
    Two reductions that are over dims in common, but not over the same, have no common fold: the
    longer one becomes two, first over the dims of those that it needs, then over the rest. So a
    row is one step of what follows. This changes the order in which floats are added up: it is
    not for the option `strict`. Reductions of several values, as argmax and top-k, and by a region stay.

    ```mlir
    ^bb0(%a: f32):
      %max = redfuse.reduce maximumf %a over [1] into [0] : f32
      %d = arith.subf %a, %max : f32
      %sum = redfuse.reduce add %d over [0, 1] into [] : f32
    ```

    becomes

    ```mlir
    ^bb0(%a: f32):
      %max = redfuse.reduce maximumf %a over [1] into [0] : f32
      %d = arith.subf %a, %max : f32
      %row = redfuse.reduce add %d over [1] into [0] : f32
      %sum = redfuse.reduce add %row over [0] into [] : f32
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

#endif // REDFUSE_TRANSFORMS_FUSION_PASSES_TD
