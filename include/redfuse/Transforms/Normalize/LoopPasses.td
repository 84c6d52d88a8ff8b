//===- LoopPasses.td - passes of layer 1 on loops ----------*- tablegen -*-===//
//
// Loops, the scalars around them, and ops that become loops. Part of Passes.td.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_TRANSFORMS_NORMALIZE_LOOPPASSES_TD
#define REDFUSE_TRANSFORMS_NORMALIZE_LOOPPASSES_TD

def NormalizeLoops : NormalizePass<"loops"> {
  let summary = "Raise scf.for nests that map and reduce to linalg.generic";
  let description = [{
    An scf.for nest that inserts one element at each point, or that carries sums,
    products, maxima, affine recurrences and the like over extracted elements,
    becomes linalg.generic ops. A loop may do both: what it inserts at each step
    of a recurrence becomes a result for every prefix (see
    redfuse-normalize-scans). What cannot be read so is left and noted in
    `redfuse.refused`. Extracted elements become operands in
    redfuse-normalize-broadcasts.

    ```mlir
    func.func @f(%x: tensor<8xf32>, %init: f32) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%sum = %init) -> f32 {
        %a = tensor.extract %x[%i] : tensor<8xf32>
        %s = arith.addf %sum, %a : f32
        scf.yield %s : f32
      }
      return %r : f32
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<8xf32>, %init: f32) -> f32 {
      // ... %t is filled with %init, and %n is empty: it says how long the loop is
      %u = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>,
                                            affine_map<(i) -> ()>],
                           iterator_types = ["reduction"]}
          ins(%n : tensor<8xi1>) outs(%t : tensor<f32>) {
      ^bb0(%unused: i1, %sum: f32):
        %i = linalg.index 0 : index
        %a = tensor.extract %x[%i] : tensor<8xf32>
        %s = arith.addf %sum, %a : f32
        linalg.yield %s : f32
      } -> tensor<f32>
      %r = tensor.extract %u[] : tensor<f32>
      return %r : f32
    }
    ```
  }];
}

def NormalizeInvariants : NormalizePass<"invariants"> {
  let summary = "Move scalars that do not vary out of loops";
  let description = [{
    Loop-invariant code motion, ahead of redfuse-normalize-loops: bounds and
    other scalars that are the same in each round are computed once, in front of
    the loop, and so is what is computed of tensors of known extents. What reads
    or writes at computed places stays: in front of a loop of no rounds, nothing
    has checked it.

    ```mlir
    func.func @f(%x: tensor<8xf32>, %n: index, %a: f32) -> tensor<8xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> tensor<8xf32> {
        %e = math.exp %a : f32
        %u = tensor.insert %e into %t[%i] : tensor<8xf32>
        scf.yield %u : tensor<8xf32>
      }
      return %r : tensor<8xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<8xf32>, %n: index, %a: f32) -> tensor<8xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %e = math.exp %a : f32
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> tensor<8xf32> {
        %u = tensor.insert %e into %t[%i] : tensor<8xf32>
        scf.yield %u : tensor<8xf32>
      }
      return %r : tensor<8xf32>
    }
    ```
  }];
}

def NormalizeCaptures : NormalizePass<"captures"> {
  let summary = "Sink scalars computed from 0-d tensors into bodies";
  let description = [{
    A body that uses a scalar of a reduction's 0-d result depends on that
    reduction, but not by an operand. With the scalar's code in the body the
    element is read there, and redfuse-normalize-broadcasts makes it an operand.

    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<8xf32>, %init: tensor<f32>) -> tensor<8xf32> {
      %sum = linalg.reduce {arith.addf} ins(%x : tensor<8xf32>)
             outs(%init : tensor<f32>) dimensions = [0]
      %s = tensor.extract %sum[] : tensor<f32>
      %n = math.sqrt %s : f32
      %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]}
          outs(%x : tensor<8xf32>) {
      ^bb0(%a: f32):
        %q = arith.divf %a, %n : f32
        linalg.yield %q : f32
      } -> tensor<8xf32>
      return %r : tensor<8xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<8xf32>, %init: tensor<f32>) -> tensor<8xf32> {
      %sum = linalg.reduce {arith.addf} ins(%x : tensor<8xf32>)
             outs(%init : tensor<f32>) dimensions = [0]
      %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]}
          outs(%x : tensor<8xf32>) {
      ^bb0(%a: f32):
        %s = tensor.extract %sum[] : tensor<f32>
        %n = math.sqrt %s : f32
        %q = arith.divf %a, %n : f32
        linalg.yield %q : f32
      } -> tensor<8xf32>
      return %r : tensor<8xf32>
    }
    ```
  }];
}

def LowerTMTensor : Pass<"redfuse-lower-tm-tensor"> {
  let summary = "Lower sorts, scans and the like that were not fused to loops";
  let description = [{
    Sorts, top-k, scans, scatters and declared reducers for which there is no
    kernel become loops over elements, which run on the host (or, by
    redfuse-host-to-gpu, in a kernel of their own).

    On a GPU rows are a parallel loop, and a scatter of 256 updates or more that
    combines by a known function orders them by their places (`redfuse.select`):
    each place's begin is found by a search, updates are combined in chunks of 64,
    and chunks in their order, so that a call repeated gives the same bits.

    ```mlir
    func.func @f(%x: tensor<5xf32>, %y: tensor<5xf32>, %last: tensor<f32>)
        -> tensor<5xf32> {
      %r:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<5xf32>)
          outs(%y, %last : tensor<5xf32>, tensor<f32>) {
      ^bb0(%acc: f32, %a: f32):
        %s = arith.subf %acc, %a : f32
        tm_tensor.yield %s : f32
      } -> tensor<5xf32>, tensor<f32>
      return %r#0 : tensor<5xf32>
    }
    ```

    becomes (`%last` is carried along)

    ```mlir
    %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%t = %y) -> (tensor<5xf32>) {
      %first = arith.cmpi eq, %i, %c0 : index
      %s = scf.if %first -> (f32) {
        %a = tensor.extract %x[%i] : tensor<5xf32>
        scf.yield %a : f32
      } else {
        %before = arith.subi %i, %c1 : index
        %a = tensor.extract %x[%i] : tensor<5xf32>
        %acc = tensor.extract %t[%before] : tensor<5xf32>
        %d = arith.subf %acc, %a : f32
        scf.yield %d : f32
      }
      %u = tensor.insert %s into %t[%i] : tensor<5xf32>
      scf.yield %u : tensor<5xf32>
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::cf::ControlFlowDialect",
                           "mlir::scf::SCFDialect", "redfuse::RedfuseDialect",
                           "mlir::tensor::TensorDialect"];
}

#endif // REDFUSE_TRANSFORMS_NORMALIZE_LOOPPASSES_TD
