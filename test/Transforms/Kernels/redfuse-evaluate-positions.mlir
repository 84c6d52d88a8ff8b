// RUN: redfuse-opt %s -redfuse-evaluate-positions -canonicalize | FileCheck %s

#id = affine_map<(i) -> (i)>
#ij = affine_map<(i, j) -> (i, j)>

// Every second place: a position that is scaled as a float and rounded down, wrapped and checked.
// CHECK-LABEL: func.func @nearest
// CHECK: %[[I:.*]] = redfuse.index 0
// CHECK-NEXT: %[[P:.*]] = arith.divui %[[I]], %c2
// CHECK-NEXT: %[[V:.*]] = tensor.extract %arg0[%[[P]]]
// CHECK-NEXT: redfuse.yield %[[V]]
func.func @nearest(%x: tensor<4xf32>) -> tensor<8xf32> {
  %half = arith.constant 0.5 : f32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<8xf32>
  %r = redfuse.cascade {indexing_maps = [#id]} outs(%e : tensor<8xf32>) {
    %i = redfuse.index 0
    %j = arith.index_cast %i : index to i64
    %f = arith.sitofp %j : i64 to f32
    %s = arith.mulf %f, %half : f32
    %k = arith.fptosi %s : f32 to i64
    %p = arith.index_cast %k : i64 to index
    %below = arith.cmpi slt, %p, %c0 : index
    %more = arith.addi %p, %c4 : index
    %w = arith.select %below, %more, %p : index
    %inside = arith.cmpi ult, %w, %c4 : index
    cf.assert %inside, "outside"
    %v = tensor.extract %x[%w] : tensor<4xf32>
    redfuse.yield %v : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// Between bounds: (i - 1) / 2 from 0 on, and one more up to 127.
// CHECK-LABEL: func.func @between
// CHECK: %[[I:.*]] = redfuse.index 0
// CHECK: %[[A:.*]] = arith.addi %[[I]], %c-1
// CHECK: %[[B:.*]] = arith.maxsi %[[A]], %c0
// CHECK: %[[LOW:.*]] = arith.divui %[[B]], %c2
// CHECK: arith.minsi %{{.*}}, %c3
func.func @between(%x: tensor<4xf32>) -> tensor<8xf32> {
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : i64
  %c3 = arith.constant 3 : i64
  %e = tensor.empty() : tensor<8xf32>
  %r = redfuse.cascade {indexing_maps = [#id]} outs(%e : tensor<8xf32>) {
    %i = redfuse.index 0
    %j = arith.index_cast %i : index to i64
    %f = arith.sitofp %j : i64 to f32
    %a = arith.addf %f, %half : f32
    %b = arith.mulf %a, %half : f32
    %c = arith.subf %b, %half : f32
    %d = arith.maximumf %c, %zero : f32
    %k = arith.fptosi %d : f32 to i64
    %l = arith.addi %k, %c1 : i64
    %m = arith.minsi %l, %c3 : i64
    %p = arith.index_cast %k : i64 to index
    %q = arith.index_cast %m : i64 to index
    %u = tensor.extract %x[%p] : tensor<4xf32>
    %v = tensor.extract %x[%q] : tensor<4xf32>
    %y = arith.addf %u, %v : f32
    redfuse.yield %y : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// On no line: squares stay, and are known to be inside.
// CHECK-LABEL: func.func @squares
// CHECK: arith.muli
// CHECK-NOT: cf.assert
func.func @squares(%x: tensor<50xf32>) -> tensor<8xf32> {
  %c50 = arith.constant 50 : index
  %e = tensor.empty() : tensor<8xf32>
  %r = redfuse.cascade {indexing_maps = [#id]} outs(%e : tensor<8xf32>) {
    %i = redfuse.index 0
    %p = arith.muli %i, %i : index
    %inside = arith.cmpi ult, %p, %c50 : index
    cf.assert %inside, "outside"
    %v = tensor.extract %x[%p] : tensor<50xf32>
    redfuse.yield %v : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
