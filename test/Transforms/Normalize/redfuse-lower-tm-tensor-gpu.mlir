// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-lower-tm-tensor | FileCheck %s

// A thread for each row.
// CHECK-LABEL: func.func @rows
// CHECK: scf.forall (%[[I:[^)]+]]) in (%{{[^)]+}}) shared_outs(%[[OUT:[^ ]+]] = %{{[^,]+}}, %[[LAST:[^ ]+]] = %{{[^)]+}})
// CHECK: tensor.extract_slice %[[OUT]][%[[I]], 0] [1, 300] [1, 1] : tensor<7x300xf32> to tensor<300xf32>
// CHECK: tensor.extract_slice %[[LAST]][%[[I]]] [1] [1] : tensor<7xf32> to tensor<f32>
// CHECK: scf.for
// CHECK: tensor.parallel_insert_slice
// CHECK: tensor.parallel_insert_slice
func.func @rows(%x: tensor<7x300xf32>, %a: tensor<7x300xf32>, %b: tensor<7xf32>) -> tensor<7x300xf32> {
  %r:2 = tm_tensor.scan dimension(1) inclusive(false) ins(%x : tensor<7x300xf32>) outs(%a, %b : tensor<7x300xf32>, tensor<7xf32>) {
  ^bb0(%s: f32, %e: f32):
    %p = arith.mulf %s, %e : f32
    %q = arith.addf %p, %e : f32
    tm_tensor.yield %q : f32
  } -> tensor<7x300xf32>, tensor<7xf32>
  return %r#0 : tensor<7x300xf32>
}

// Many updates are ordered by their places, and combined in chunks of 64; what rounds to
// 16 bits is added up in 32.
// CHECK-LABEL: func.func @many
// CHECK: cf.assert
// CHECK: %[[SORTED:.*]]:2 = redfuse.select ins(%{{.*}} : tensor<1000xi32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<51xi32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<16x8xf32>)
// CHECK: tensor.extract %[[SORTED]]#0
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<50x8xbf16>)
// CHECK: arith.truncf
func.func @many(%o: tensor<50x8xbf16>, %u: tensor<1000x8xbf16>, %p: tensor<1000x1xi64>) -> tensor<50x8xbf16> {
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %p : tensor<1000x8xbf16>, tensor<1000x1xi64>) outs(%o : tensor<50x8xbf16>) {
  ^bb0(%new: bf16, %old: bf16):
    %a = arith.extf %new : bf16 to f32
    %b = arith.extf %old : bf16 to f32
    %s = arith.addf %b, %a : f32
    %t = arith.truncf %s : f32 to bf16
    tm_tensor.yield %t : bf16
  } -> tensor<50x8xbf16>
  return %r : tensor<50x8xbf16>
}

// Few go one after another, a thread for each element of a slice.
// CHECK-LABEL: func.func @few
// CHECK-NOT: redfuse.select
// CHECK: scf.forall (%{{.*}}) in (8)
func.func @few(%o: tensor<50x8xf32>, %u: tensor<100x8xf32>, %p: tensor<100x1xi64>) -> tensor<50x8xf32> {
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %p : tensor<100x8xf32>, tensor<100x1xi64>) outs(%o : tensor<50x8xf32>) {
  ^bb0(%new: f32, %old: f32):
    %s = arith.addf %old, %new : f32
    tm_tensor.yield %s : f32
  } -> tensor<50x8xf32>
  return %r : tensor<50x8xf32>
}

// What combines by more than a known function keeps its order.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT: redfuse.select
// CHECK: scf.forall
func.func @unknown(%o: tensor<50x8xf32>, %u: tensor<1000x8xf32>, %p: tensor<1000x1xi64>) -> tensor<50x8xf32> {
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %p : tensor<1000x8xf32>, tensor<1000x1xi64>) outs(%o : tensor<50x8xf32>) {
  ^bb0(%new: f32, %old: f32):
    %d = arith.subf %new, %old : f32
    tm_tensor.yield %d : f32
  } -> tensor<50x8xf32>
  return %r : tensor<50x8xf32>
}

// The last update of a place replaces what was there: its number is the largest of the place's.
// CHECK-LABEL: func.func @replaced
// CHECK-NOT: redfuse.select
// CHECK: %[[NOBODY:.*]] = arith.constant -1 : i32
// CHECK: %[[TABLE:.*]] = linalg.fill ins(%[[NOBODY]] : i32)
// CHECK: %[[LAST:.*]] = redfuse.scatter maxsi ins(%{{.*}}, %{{.*}} : tensor<1000x1xi32>, tensor<1000xi32>) outs(%[[TABLE]] : tensor<50x1xi32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1000xi32>)
// CHECK: tensor.extract %[[LAST]]
// CHECK: redfuse.scatter ins(%{{.*}}, %{{.*}} : tensor<1000x8xf32>, tensor<1000xi32>) outs(%{{.*}} : tensor<50x8xf32>)
func.func @replaced(%o: tensor<50x8xf32>, %u: tensor<1000x8xf32>, %p: tensor<1000x1xi64>) -> tensor<50x8xf32> {
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %p : tensor<1000x8xf32>, tensor<1000x1xi64>) outs(%o : tensor<50x8xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<50x8xf32>
  return %r : tensor<50x8xf32>
}

// Of a hundred, each is compared with those behind it.
// CHECK-LABEL: func.func @compared
// CHECK: scf.for
// CHECK-NOT: redfuse.scatter maxsi
// CHECK: redfuse.scatter ins(%{{.*}}, %{{.*}} : tensor<100x8xf32>, tensor<100xi32>)
func.func @compared(%o: tensor<50x8xf32>, %u: tensor<100x8xf32>, %p: tensor<100x1xi64>) -> tensor<50x8xf32> {
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %p : tensor<100x8xf32>, tensor<100x1xi64>) outs(%o : tensor<50x8xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<50x8xf32>
  return %r : tensor<50x8xf32>
}

// Integers are the same in any order, and are sorted only where very many meet.
// CHECK-LABEL: func.func @counted
// CHECK-NOT: redfuse.select
// CHECK: redfuse.scatter add ins(%{{.*}}, %{{.*}} : tensor<1000x1xi64>, tensor<1000xi32>) outs(%{{.*}} : tensor<50x1xi64>)
// CHECK-LABEL: func.func @crowded
// CHECK-NOT: redfuse.scatter
// CHECK: redfuse.select
func.func @counted(%o: tensor<50xi64>, %u: tensor<1000xi64>, %p: tensor<1000x1xi64>) -> tensor<50xi64> {
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %p : tensor<1000xi64>, tensor<1000x1xi64>) outs(%o : tensor<50xi64>) {
  ^bb0(%new: i64, %old: i64):
    %s = arith.addi %old, %new : i64
    tm_tensor.yield %s : i64
  } -> tensor<50xi64>
  return %r : tensor<50xi64>
}
func.func @crowded(%o: tensor<5xi64>, %u: tensor<1000xi64>, %p: tensor<1000x1xi64>) -> tensor<5xi64> {
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %p : tensor<1000xi64>, tensor<1000x1xi64>) outs(%o : tensor<5xi64>) {
  ^bb0(%new: i64, %old: i64):
    %s = arith.addi %old, %new : i64
    tm_tensor.yield %s : i64
  } -> tensor<5xi64>
  return %r : tensor<5xi64>
}
