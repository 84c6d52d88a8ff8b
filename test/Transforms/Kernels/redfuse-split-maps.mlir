// RUN: redfuse-opt %s -split-input-file -redfuse-attach-target=chip=sm_90a -redfuse-split-maps | FileCheck %s

#a = affine_map<(i, j) -> (j, i mod 4160)>
#b = affine_map<(i, j) -> (j, (i + 3872) mod 4016)>
#c = affine_map<(i, j) -> (i)>
#id = affine_map<(i, j) -> (i, j)>

// Each side reads one tensor as it lies, and writes its part of the result; places along the
// seam are those of the whole.
// CHECK-DAG: #[[T:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[C:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @joined
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2295x4160xf32>, %[[Y:[a-z0-9]+]]: tensor<2295x4016xf32>, %[[Z:[a-z0-9]+]]: tensor<8176xf32>, %[[E:[a-z0-9]+]]: tensor<8176x2295xf32>
// CHECK-DAG: %[[ZA:.*]] = tensor.extract_slice %[[Z]][0] [4160] [1]
// CHECK-DAG: %[[EA:.*]] = tensor.extract_slice %[[E]][0, 0] [4160, 2295] [1, 1]
// CHECK: %[[A:.*]] = redfuse.cascade {indexing_maps = [#[[T]], #[[C]], #[[ID]]]} ins(%[[X]], %[[ZA]] : {{.*}}) outs(%[[EA]] :
// CHECK-NEXT: ^bb0(%[[V:.*]]: f32, %[[W:.*]]: f32):
// CHECK: arith.addf %[[V]], %[[W]]
// CHECK: %[[F:.*]] = tensor.insert_slice %[[A]] into %[[E]][0, 0] [4160, 2295] [1, 1]
// CHECK-DAG: %[[ZB:.*]] = tensor.extract_slice %[[Z]][4160] [4016] [1]
// CHECK-DAG: %[[EB:.*]] = tensor.extract_slice %[[F]][4160, 0] [4016, 2295] [1, 1]
// CHECK: %[[B:.*]] = redfuse.cascade {indexing_maps = [#[[T]], #[[C]], #[[ID]]]} ins(%[[Y]], %[[ZB]] : {{.*}}) outs(%[[EB]] :
// CHECK: %[[I:.*]] = redfuse.index 0
// CHECK: arith.addi %[[I]], %c4160
// CHECK: %[[G:.*]] = tensor.insert_slice %[[B]] into %[[F]][4160, 0] [4016, 2295] [1, 1]
// CHECK: return %[[G]]
func.func @joined(%x: tensor<2295x4160xf32>, %y: tensor<2295x4016xf32>, %z: tensor<8176xf32>, %e: tensor<8176x2295xf32>) -> tensor<8176x2295xf32> {
  %c4160 = arith.constant 4160 : index
  %c8000 = arith.constant 8000 : index
  %r = redfuse.cascade {indexing_maps = [#a, #b, #c, #id]} ins(%x, %y, %z : tensor<2295x4160xf32>, tensor<2295x4016xf32>, tensor<8176xf32>) outs(%e : tensor<8176x2295xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %i = redfuse.index 0
    %front = arith.cmpi slt, %i, %c4160 : index
    %v = arith.select %front, %a, %b : f32
    %s = arith.addf %v, %c : f32
    %late = arith.cmpi sge, %i, %c8000 : index
    %n = arith.negf %s : f32
    %t = arith.select %late, %n, %s : f32
    redfuse.yield %t : f32
  } -> tensor<8176x2295xf32>
  return %r : tensor<8176x2295xf32>
}

// -----

#a = affine_map<(i, j) -> (i mod 2048, j)>
#b = affine_map<(i, j) -> (i mod 2048, j)>
#c = affine_map<(i, j) -> (i mod 2048, j)>
#id = affine_map<(i, j) -> (i, j)>

// Three parts: a side with a seam of its own is cut again.
// CHECK-LABEL: func.func @three
// CHECK-COUNT-3: redfuse.cascade
// CHECK-NOT: redfuse.cascade
func.func @three(%x: tensor<2048x4096xf32>, %y: tensor<2048x4096xf32>, %z: tensor<2048x4096xf32>, %e: tensor<6144x4096xf32>) -> tensor<6144x4096xf32> {
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  %r = redfuse.cascade {indexing_maps = [#a, #b, #c, #id]} ins(%x, %y, %z : tensor<2048x4096xf32>, tensor<2048x4096xf32>, tensor<2048x4096xf32>) outs(%e : tensor<6144x4096xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %i = redfuse.index 0
    %first = arith.cmpi slt, %i, %c2048 : index
    %second = arith.cmpi slt, %i, %c4096 : index
    %u = arith.select %second, %b, %c : f32
    %v = arith.select %first, %a, %u : f32
    redfuse.yield %v : f32
  } -> tensor<6144x4096xf32>
  return %r : tensor<6144x4096xf32>
}

// -----

#id = affine_map<(i) -> (i)>
#no = affine_map<(i) -> ()>

// What is no whole number of vectors at the end is a map of its own: the others have vectors.
// CHECK-LABEL: func.func @tail
// CHECK: tensor.extract_slice %{{.*}}[0] [91058328] [1]
// CHECK: redfuse.cascade
// CHECK: } -> tensor<91058328xbf16>
// CHECK: tensor.extract_slice %{{.*}}[91058328] [7] [1]
// CHECK: redfuse.cascade
// CHECK: } -> tensor<7xbf16>
// CHECK-NOT: redfuse.cascade
func.func @tail(%x: tensor<91058335xbf16>, %y: tensor<bf16>, %e: tensor<91058335xbf16>) -> tensor<91058335xbf16> {
  %r = redfuse.cascade {indexing_maps = [#id, #no, #id]} ins(%x, %y : tensor<91058335xbf16>, tensor<bf16>) outs(%e : tensor<91058335xbf16>) {
  ^bb0(%a: bf16, %b: bf16):
    %s = arith.mulf %a, %b : bf16
    redfuse.yield %s : bf16
  } -> tensor<91058335xbf16>
  return %r : tensor<91058335xbf16>
}
