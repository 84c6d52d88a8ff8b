// RUN: redfuse-opt %s -redfuse-normalize-selections | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-normalize-selections | FileCheck %s --check-prefixes=CHECK,GPU

#id = affine_map<(i, j) -> (i, j)>

// The whole order of columns: rows and columns change places, and again.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[X:[^:]+]]: tensor<9x5xf32>
// CHECK: %[[T:.+]] = linalg.generic {{.*}} ins(%[[X]] : tensor<9x5xf32>)
// CHECK: %[[S:.+]] = redfuse.select ins(%[[T]] : tensor<5x9xf32>) values({{.*}} : tensor<5x9xf32>) {descending} -> tensor<5x9xf32>
// CHECK: %[[R:.+]] = linalg.generic {{.*}} ins(%[[S]] : tensor<5x9xf32>)
// CHECK: return %[[R]]
func.func @columns(%x: tensor<9x5xf32>) -> tensor<9x5xf32> {
  %s = tm_tensor.sort dimension(0) outs(%x : tensor<9x5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf oge, %a, %b : f32
    %u = arith.cmpf uno, %a, %a : f32
    %e = arith.ori %o, %u : i1
    tm_tensor.yield %e : i1
  } -> tensor<9x5xf32>
  return %s : tensor<9x5xf32>
}

// The fourth smallest byte, and where it is.
// CHECK-LABEL: func.func @fourth
// CHECK: %[[S:.+]]:2 = redfuse.select ins(%{{.*}} : tensor<6x9xi8>) values(%{{.*}} : tensor<6x1xi8>)
// CHECK-SAME: positions(%{{.*}} : tensor<6x1xi64>) {from = 3 : i64, is_unsigned}
// CHECK-NOT: extract_slice
// CHECK: return %[[S]]#0, %[[S]]#1
func.func @fourth(%x: tensor<6x9xi8>) -> (tensor<6x1xi8>, tensor<6x1xi64>) {
  %e = tensor.empty() : tensor<6x9xi64>
  %i = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<6x9xi64>) {
  ^bb0(%out: i64):
    %p = linalg.index 1 : index
    %q = arith.index_cast %p : index to i64
    linalg.yield %q : i64
  } -> tensor<6x9xi64>
  %s:2 = tm_tensor.sort dimension(1) outs(%x, %i : tensor<6x9xi8>, tensor<6x9xi64>) {
  ^bb0(%a: i8, %b: i8, %c: i64, %d: i64):
    %o = arith.cmpi ule, %a, %b : i8
    tm_tensor.yield %o : i1
  } -> tensor<6x9xi8>, tensor<6x9xi64>
  %v = tensor.extract_slice %s#0[0, 3] [6, 1] [1, 1] : tensor<6x9xi8> to tensor<6x1xi8>
  %w = tensor.extract_slice %s#1[0, 3] [6, 1] [1, 1] : tensor<6x9xi64> to tensor<6x1xi64>
  return %v, %w : tensor<6x1xi8>, tensor<6x1xi64>
}

// What is sorted along is gathered by position.
// CHECK-LABEL: func.func @along
// CHECK-SAME: %[[X:[^:]+]]: tensor<9xf32>, %[[Y:[^:]+]]: tensor<9xf16>
// CHECK: %[[S:.+]] = redfuse.select ins(%[[X]] : tensor<9xf32>) positions({{.*}} : tensor<9xindex>) -> tensor<9xindex>
// CHECK: linalg.generic {{.*}} ins(%[[S]] : tensor<9xindex>)
// CHECK: tensor.extract %[[Y]]
func.func @along(%x: tensor<9xf32>, %y: tensor<9xf16>) -> tensor<9xf16> {
  %s:2 = tm_tensor.sort dimension(0) outs(%x, %y : tensor<9xf32>, tensor<9xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f16, %d: f16):
    %o = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<9xf32>, tensor<9xf16>
  return %s#1 : tensor<9xf16>
}

// Many ranks are selected; few of a long row on a GPU, where the price says so.
// CHECK-LABEL: func.func @many
// CHECK: redfuse.select
// CHECK-LABEL: func.func @few_of_many
// CPU: tm_tensor.topk
// GPU: %[[P:.+]] = tensor.expand_shape %{{.*}} : tensor<4x1000000xf32> into tensor<4x32x31250xf32>
// GPU: %[[C:.+]]:2 = redfuse.select ins(%[[P]] : tensor<4x32x31250xf32>) values({{.*}}) positions({{.*}} : tensor<4x32x16xindex>) {descending}
// GPU: %[[V:.+]] = tensor.collapse_shape %[[C]]#0
// GPU: %[[B:.+]]:2 = redfuse.select ins(%[[V]] : tensor<4x512xf32>) values({{.*}}) positions({{.*}} : tensor<4x16xindex>) {descending}
// GPU: %[[I:.+]] = linalg.generic {{.*}} ins(%[[B]]#1 : tensor<4x16xindex>)
// GPU: return %[[B]]#0, %[[I]]
// CHECK-LABEL: func.func @few
// CHECK: tm_tensor.topk
func.func @many(%x: tensor<4x3000xf32>) -> tensor<4x100xf32> {
  %v = tensor.empty() : tensor<4x100xf32>
  %w = tensor.empty() : tensor<4x100xi64>
  %t:2 = tm_tensor.topk dimension(1) ins(%x : tensor<4x3000xf32>) outs(%v, %w : tensor<4x100xf32>, tensor<4x100xi64>) {
  ^bb0(%new: f32, %placed: f32):
    %o = arith.cmpf ogt, %new, %placed : f32
    tm_tensor.yield %o : i1
  } -> tensor<4x100xf32>, tensor<4x100xi64>
  return %t#0 : tensor<4x100xf32>
}
func.func @few_of_many(%x: tensor<4x1000000xf32>) -> (tensor<4x16xf32>, tensor<4x16xi64>) {
  %v = tensor.empty() : tensor<4x16xf32>
  %w = tensor.empty() : tensor<4x16xi64>
  %t:2 = tm_tensor.topk dimension(1) ins(%x : tensor<4x1000000xf32>) outs(%v, %w : tensor<4x16xf32>, tensor<4x16xi64>) {
  ^bb0(%new: f32, %placed: f32):
    %o = arith.cmpf ogt, %new, %placed : f32
    tm_tensor.yield %o : i1
  } -> tensor<4x16xf32>, tensor<4x16xi64>
  return %t#0, %t#1 : tensor<4x16xf32>, tensor<4x16xi64>
}
func.func @few(%x: tensor<4x3000xf32>) -> tensor<4x8xf32> {
  %v = tensor.empty() : tensor<4x8xf32>
  %w = tensor.empty() : tensor<4x8xi64>
  %t:2 = tm_tensor.topk dimension(1) ins(%x : tensor<4x3000xf32>) outs(%v, %w : tensor<4x8xf32>, tensor<4x8xi64>) {
  ^bb0(%new: f32, %placed: f32):
    %o = arith.cmpf ogt, %new, %placed : f32
    tm_tensor.yield %o : i1
  } -> tensor<4x8xf32>, tensor<4x8xi64>
  return %t#0 : tensor<4x8xf32>
}

// A region that is another order stays.
// CHECK-LABEL: func.func @strict
// CHECK: tm_tensor.sort
func.func @strict(%x: tensor<9xf32>) -> tensor<9xf32> {
  %s = tm_tensor.sort dimension(0) outs(%x : tensor<9xf32>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf ogt, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<9xf32>
  return %s : tensor<9xf32>
}

// A slice of an open number: all is ordered, and cut behind it.
// CHECK-LABEL: func.func @opened
// CHECK: %[[S:.+]] = redfuse.select ins(%{{.*}} : tensor<9xf32>) values(%{{.*}} : tensor<9xf32>) -> tensor<9xf32>
// CHECK: tensor.extract_slice %[[S]][0]
func.func @opened(%x: tensor<9xf32>, %k: index) -> tensor<?xf32> {
  %s = tm_tensor.sort dimension(0) outs(%x : tensor<9xf32>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf ole, %a, %b : f32
    %u = arith.cmpf uno, %b, %b : f32
    %r = arith.ori %o, %u : i1
    tm_tensor.yield %r : i1
  } -> tensor<9xf32>
  %w = tensor.extract_slice %s[0] [%k] [1] : tensor<9xf32> to tensor<?xf32>
  return %w : tensor<?xf32>
}
