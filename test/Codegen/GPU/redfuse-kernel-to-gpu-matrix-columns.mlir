// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s

// The columns of a step are as many as registers have room for: of 200, states take
// 96 here, and scores and what is packed of them three quarters of the columns.

// CHECK-LABEL: gpu.func @plain_0
// CHECK: tile.wait_products 1 {{.*}}!tile.accumulators<64x112xf32>
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
func.func @plain(%q: memref<256x192xbf16>, %k: memref<4096x192xbf16>, %v: memref<4096x192xbf16>, %out: memref<256x192xbf16>) {
  redfuse.launch @plain_0 ins(%q, %k, %v : memref<256x192xbf16>, memref<4096x192xbf16>, memref<4096x192xbf16>)
      outs(%out : memref<256x192xbf16>)
  return
}
redfuse.kernel @plain_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0, 0], stream = [1]>} {
^bb0(%q: tensor<256x192xbf16>, %k: tensor<4096x192xbf16>, %v: tensor<4096x192xbf16>, %init: tensor<256x192xbf16>):
  %r0 = tensor.empty() : tensor<256xf32>
  %o0 = tensor.empty() : tensor<256x192xf32>
  %state:3 = redfuse.fold {identities = [0xFF800000 : f32, 0.0 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #r, #r, #o],
      over = array<i64: 1>}
      ins(%q, %k, %v : tensor<256x192xbf16>, tensor<4096x192xbf16>, tensor<4096x192xbf16>)
      outs(%r0, %r0, %o0 : tensor<256xf32>, tensor<256xf32>, tensor<256x192xf32>) step {
  ^bb0(%a: bf16, %b: bf16, %c: bf16, %m: f32, %l: f32, %o: f32):
    %scale = arith.constant 0.25 : f32
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %xy = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %xy over [2] into [0, 1] : f32
    %t = arith.mulf %s, %scale : f32
    %top = redfuse.reduce maximumf %t over [1] into [0] : f32
    %mn = arith.maximumf %m, %top : f32
    %old = arith.subf %m, %mn : f32
    %alpha = math.exp %old : f32
    %d = arith.subf %t, %mn : f32
    %p = math.exp %d : f32
    %ps = redfuse.reduce add %p over [1] into [0] : f32
    %la = arith.mulf %l, %alpha : f32
    %ln = arith.addf %la, %ps : f32
    %z = arith.extf %c : bf16 to f32
    %pz = arith.mulf %p, %z : f32
    %po = redfuse.reduce add %pz over [1] into [0, 3] {redfuse.narrowed = bf16} : f32
    %oa = arith.mulf %o, %alpha : f32
    %on = arith.addf %oa, %po : f32
    redfuse.yield %mn, %ln, %on : f32, f32, f32
  } merge {
  ^bb0(%ma: f32, %la: f32, %oa: f32, %mb: f32, %lb: f32, %ob: f32):
    %m = arith.maximumf %ma, %mb : f32
    %da = arith.subf %ma, %m : f32
    %ea = math.exp %da : f32
    %db = arith.subf %mb, %m : f32
    %eb = math.exp %db : f32
    %lx = arith.mulf %la, %ea : f32
    %ly = arith.mulf %lb, %eb : f32
    %l = arith.addf %lx, %ly : f32
    %ox = arith.mulf %oa, %ea : f32
    %oy = arith.mulf %ob, %eb : f32
    %o = arith.addf %ox, %oy : f32
    redfuse.yield %m, %l, %o : f32, f32, f32
  } -> tensor<256xf32>, tensor<256xf32>, tensor<256x192xf32>
  %res = redfuse.finalize {indexing_maps = [#r, #o, #o]} ins(%state#1, %state#2 : tensor<256xf32>, tensor<256x192xf32>)
      outs(%init : tensor<256x192xbf16>) {
  ^bb0(%l: f32, %o: f32):
    %n = arith.divf %o, %l : f32
    %t = arith.truncf %n : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<256x192xbf16>
  redfuse.yield %res : tensor<256x192xbf16>
}


// -----

// A comparison of positions takes 12.

// CHECK-LABEL: gpu.func @cut_0
// CHECK: tile.wait_products 1 {{.*}}!tile.accumulators<64x112xf32>
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
func.func @cut(%q: memref<256x192xbf16>, %k: memref<4096x192xbf16>, %v: memref<4096x192xbf16>, %out: memref<256x192xbf16>) {
  redfuse.launch @cut_0 ins(%q, %k, %v : memref<256x192xbf16>, memref<4096x192xbf16>, memref<4096x192xbf16>)
      outs(%out : memref<256x192xbf16>)
  return
}
redfuse.kernel @cut_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0, 0], stream = [1]>} {
^bb0(%q: tensor<256x192xbf16>, %k: tensor<4096x192xbf16>, %v: tensor<4096x192xbf16>, %init: tensor<256x192xbf16>):
  %r0 = tensor.empty() : tensor<256xf32>
  %o0 = tensor.empty() : tensor<256x192xf32>
  %state:3 = redfuse.fold {identities = [0xFF800000 : f32, 0.0 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #r, #r, #o],
      over = array<i64: 1>}
      ins(%q, %k, %v : tensor<256x192xbf16>, tensor<4096x192xbf16>, tensor<4096x192xbf16>)
      outs(%r0, %r0, %o0 : tensor<256xf32>, tensor<256xf32>, tensor<256x192xf32>) step {
  ^bb0(%a: bf16, %b: bf16, %c: bf16, %m: f32, %l: f32, %o: f32):
    %scale = arith.constant 0.25 : f32
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %xy = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %xy over [2] into [0, 1] : f32
    %su = arith.mulf %s, %scale : f32
    %i = redfuse.index 0
    %j = redfuse.index 1
    %low = arith.constant 0xFF800000 : f32
    %isLater = arith.cmpi slt, %i, %j : index
    %t = arith.select %isLater, %low, %su : f32
    %top = redfuse.reduce maximumf %t over [1] into [0] : f32
    %mn = arith.maximumf %m, %top : f32
    %old = arith.subf %m, %mn : f32
    %alpha = math.exp %old : f32
    %d = arith.subf %t, %mn : f32
    %p = math.exp %d : f32
    %ps = redfuse.reduce add %p over [1] into [0] : f32
    %la = arith.mulf %l, %alpha : f32
    %ln = arith.addf %la, %ps : f32
    %z = arith.extf %c : bf16 to f32
    %pz = arith.mulf %p, %z : f32
    %po = redfuse.reduce add %pz over [1] into [0, 3] {redfuse.narrowed = bf16} : f32
    %oa = arith.mulf %o, %alpha : f32
    %on = arith.addf %oa, %po : f32
    redfuse.yield %mn, %ln, %on : f32, f32, f32
  } merge {
  ^bb0(%ma: f32, %la: f32, %oa: f32, %mb: f32, %lb: f32, %ob: f32):
    %m = arith.maximumf %ma, %mb : f32
    %da = arith.subf %ma, %m : f32
    %ea = math.exp %da : f32
    %db = arith.subf %mb, %m : f32
    %eb = math.exp %db : f32
    %lx = arith.mulf %la, %ea : f32
    %ly = arith.mulf %lb, %eb : f32
    %l = arith.addf %lx, %ly : f32
    %ox = arith.mulf %oa, %ea : f32
    %oy = arith.mulf %ob, %eb : f32
    %o = arith.addf %ox, %oy : f32
    redfuse.yield %m, %l, %o : f32, f32, f32
  } -> tensor<256xf32>, tensor<256xf32>, tensor<256x192xf32>
  %res = redfuse.finalize {indexing_maps = [#r, #o, #o]} ins(%state#1, %state#2 : tensor<256xf32>, tensor<256x192xf32>)
      outs(%init : tensor<256x192xbf16>) {
  ^bb0(%l: f32, %o: f32):
    %n = arith.divf %o, %l : f32
    %t = arith.truncf %n : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<256x192xbf16>
  redfuse.yield %res : tensor<256x192xbf16>
}


// -----

// A matrix that is not of a product takes 24.

// CHECK-LABEL: gpu.func @biased_0
// CHECK: tile.wait_products 1 {{.*}}!tile.accumulators<64x96xf32>
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#b = affine_map<(i, j, d, e) -> (i, j)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
func.func @biased(%q: memref<256x192xbf16>, %k: memref<4096x192xbf16>, %v: memref<4096x192xbf16>, %bias: memref<256x4096xf32>, %out: memref<256x192xbf16>) {
  redfuse.launch @biased_0 ins(%q, %k, %v, %bias : memref<256x192xbf16>, memref<4096x192xbf16>, memref<4096x192xbf16>, memref<256x4096xf32>)
      outs(%out : memref<256x192xbf16>)
  return
}
redfuse.kernel @biased_0 attributes {num_inputs = 4 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0, 0], stream = [1]>} {
^bb0(%q: tensor<256x192xbf16>, %k: tensor<4096x192xbf16>, %v: tensor<4096x192xbf16>, %bias: tensor<256x4096xf32>, %init: tensor<256x192xbf16>):
  %r0 = tensor.empty() : tensor<256xf32>
  %o0 = tensor.empty() : tensor<256x192xf32>
  %state:3 = redfuse.fold {identities = [0xFF800000 : f32, 0.0 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #b, #r, #r, #o],
      over = array<i64: 1>}
      ins(%q, %k, %v, %bias : tensor<256x192xbf16>, tensor<4096x192xbf16>, tensor<4096x192xbf16>, tensor<256x4096xf32>)
      outs(%r0, %r0, %o0 : tensor<256xf32>, tensor<256xf32>, tensor<256x192xf32>) step {
  ^bb0(%a: bf16, %b: bf16, %c: bf16, %u: f32, %m: f32, %l: f32, %o: f32):
    %scale = arith.constant 0.25 : f32
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %xy = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %xy over [2] into [0, 1] : f32
    %su = arith.mulf %s, %scale : f32
    %t = arith.addf %su, %u : f32
    %top = redfuse.reduce maximumf %t over [1] into [0] : f32
    %mn = arith.maximumf %m, %top : f32
    %old = arith.subf %m, %mn : f32
    %alpha = math.exp %old : f32
    %d = arith.subf %t, %mn : f32
    %p = math.exp %d : f32
    %ps = redfuse.reduce add %p over [1] into [0] : f32
    %la = arith.mulf %l, %alpha : f32
    %ln = arith.addf %la, %ps : f32
    %z = arith.extf %c : bf16 to f32
    %pz = arith.mulf %p, %z : f32
    %po = redfuse.reduce add %pz over [1] into [0, 3] {redfuse.narrowed = bf16} : f32
    %oa = arith.mulf %o, %alpha : f32
    %on = arith.addf %oa, %po : f32
    redfuse.yield %mn, %ln, %on : f32, f32, f32
  } merge {
  ^bb0(%ma: f32, %la: f32, %oa: f32, %mb: f32, %lb: f32, %ob: f32):
    %m = arith.maximumf %ma, %mb : f32
    %da = arith.subf %ma, %m : f32
    %ea = math.exp %da : f32
    %db = arith.subf %mb, %m : f32
    %eb = math.exp %db : f32
    %lx = arith.mulf %la, %ea : f32
    %ly = arith.mulf %lb, %eb : f32
    %l = arith.addf %lx, %ly : f32
    %ox = arith.mulf %oa, %ea : f32
    %oy = arith.mulf %ob, %eb : f32
    %o = arith.addf %ox, %oy : f32
    redfuse.yield %m, %l, %o : f32, f32, f32
  } -> tensor<256xf32>, tensor<256xf32>, tensor<256x192xf32>
  %res = redfuse.finalize {indexing_maps = [#r, #o, #o]} ins(%state#1, %state#2 : tensor<256xf32>, tensor<256x192xf32>)
      outs(%init : tensor<256x192xbf16>) {
  ^bb0(%l: f32, %o: f32):
    %n = arith.divf %o, %l : f32
    %t = arith.truncf %n : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<256x192xbf16>
  redfuse.yield %res : tensor<256x192xbf16>
}

// -----

// Beside left operands in registers matrices take some, too, where the last step is cut: 200 columns.

// CHECK-LABEL: gpu.func @beside_0
// CHECK: tile.wait_products 1 {{.*}}!tile.accumulators<64x96xf32>
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#b = affine_map<(i, j, d, e) -> (i, j)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
func.func @beside(%q: memref<256x128xbf16>, %k: memref<200x128xbf16>, %v: memref<200x128xbf16>, %bias: memref<256x200xf32>, %out: memref<256x128xbf16>) {
  redfuse.launch @beside_0 ins(%q, %k, %v, %bias : memref<256x128xbf16>, memref<200x128xbf16>, memref<200x128xbf16>, memref<256x200xf32>)
      outs(%out : memref<256x128xbf16>)
  return
}
redfuse.kernel @beside_0 attributes {num_inputs = 4 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0, 0], stream = [1]>} {
^bb0(%q: tensor<256x128xbf16>, %k: tensor<200x128xbf16>, %v: tensor<200x128xbf16>, %bias: tensor<256x200xf32>, %init: tensor<256x128xbf16>):
  %r0 = tensor.empty() : tensor<256xf32>
  %o0 = tensor.empty() : tensor<256x128xf32>
  %state:3 = redfuse.fold {identities = [0xFF800000 : f32, 0.0 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #b, #r, #r, #o],
      over = array<i64: 1>}
      ins(%q, %k, %v, %bias : tensor<256x128xbf16>, tensor<200x128xbf16>, tensor<200x128xbf16>, tensor<256x200xf32>)
      outs(%r0, %r0, %o0 : tensor<256xf32>, tensor<256xf32>, tensor<256x128xf32>) step {
  ^bb0(%a: bf16, %b: bf16, %c: bf16, %u: f32, %m: f32, %l: f32, %o: f32):
    %scale = arith.constant 0.25 : f32
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %xy = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %xy over [2] into [0, 1] : f32
    %su = arith.mulf %s, %scale : f32
    %t = arith.addf %su, %u : f32
    %top = redfuse.reduce maximumf %t over [1] into [0] : f32
    %mn = arith.maximumf %m, %top : f32
    %old = arith.subf %m, %mn : f32
    %alpha = math.exp %old : f32
    %d = arith.subf %t, %mn : f32
    %p = math.exp %d : f32
    %ps = redfuse.reduce add %p over [1] into [0] : f32
    %la = arith.mulf %l, %alpha : f32
    %ln = arith.addf %la, %ps : f32
    %z = arith.extf %c : bf16 to f32
    %pz = arith.mulf %p, %z : f32
    %po = redfuse.reduce add %pz over [1] into [0, 3] {redfuse.narrowed = bf16} : f32
    %oa = arith.mulf %o, %alpha : f32
    %on = arith.addf %oa, %po : f32
    redfuse.yield %mn, %ln, %on : f32, f32, f32
  } merge {
  ^bb0(%ma: f32, %la: f32, %oa: f32, %mb: f32, %lb: f32, %ob: f32):
    %m = arith.maximumf %ma, %mb : f32
    %da = arith.subf %ma, %m : f32
    %ea = math.exp %da : f32
    %db = arith.subf %mb, %m : f32
    %eb = math.exp %db : f32
    %lx = arith.mulf %la, %ea : f32
    %ly = arith.mulf %lb, %eb : f32
    %l = arith.addf %lx, %ly : f32
    %ox = arith.mulf %oa, %ea : f32
    %oy = arith.mulf %ob, %eb : f32
    %o = arith.addf %ox, %oy : f32
    redfuse.yield %m, %l, %o : f32, f32, f32
  } -> tensor<256xf32>, tensor<256xf32>, tensor<256x128xf32>
  %res = redfuse.finalize {indexing_maps = [#r, #o, #o]} ins(%state#1, %state#2 : tensor<256xf32>, tensor<256x128xf32>)
      outs(%init : tensor<256x128xbf16>) {
  ^bb0(%l: f32, %o: f32):
    %n = arith.divf %o, %l : f32
    %t = arith.truncf %n : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<256x128xbf16>
  redfuse.yield %res : tensor<256x128xbf16>
}

// -----

// Not so where all steps are whole.

// CHECK-LABEL: gpu.func @whole_0
// CHECK: tile.wait_products 1 {{.*}}!tile.accumulators<64x128xf32>
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#b = affine_map<(i, j, d, e) -> (i, j)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
func.func @whole(%q: memref<256x128xbf16>, %k: memref<4096x128xbf16>, %v: memref<4096x128xbf16>, %bias: memref<256x4096xf32>, %out: memref<256x128xbf16>) {
  redfuse.launch @whole_0 ins(%q, %k, %v, %bias : memref<256x128xbf16>, memref<4096x128xbf16>, memref<4096x128xbf16>, memref<256x4096xf32>)
      outs(%out : memref<256x128xbf16>)
  return
}
redfuse.kernel @whole_0 attributes {num_inputs = 4 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0, 0], stream = [1]>} {
^bb0(%q: tensor<256x128xbf16>, %k: tensor<4096x128xbf16>, %v: tensor<4096x128xbf16>, %bias: tensor<256x4096xf32>, %init: tensor<256x128xbf16>):
  %r0 = tensor.empty() : tensor<256xf32>
  %o0 = tensor.empty() : tensor<256x128xf32>
  %state:3 = redfuse.fold {identities = [0xFF800000 : f32, 0.0 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #b, #r, #r, #o],
      over = array<i64: 1>}
      ins(%q, %k, %v, %bias : tensor<256x128xbf16>, tensor<4096x128xbf16>, tensor<4096x128xbf16>, tensor<256x4096xf32>)
      outs(%r0, %r0, %o0 : tensor<256xf32>, tensor<256xf32>, tensor<256x128xf32>) step {
  ^bb0(%a: bf16, %b: bf16, %c: bf16, %u: f32, %m: f32, %l: f32, %o: f32):
    %scale = arith.constant 0.25 : f32
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %xy = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %xy over [2] into [0, 1] : f32
    %su = arith.mulf %s, %scale : f32
    %t = arith.addf %su, %u : f32
    %top = redfuse.reduce maximumf %t over [1] into [0] : f32
    %mn = arith.maximumf %m, %top : f32
    %old = arith.subf %m, %mn : f32
    %alpha = math.exp %old : f32
    %d = arith.subf %t, %mn : f32
    %p = math.exp %d : f32
    %ps = redfuse.reduce add %p over [1] into [0] : f32
    %la = arith.mulf %l, %alpha : f32
    %ln = arith.addf %la, %ps : f32
    %z = arith.extf %c : bf16 to f32
    %pz = arith.mulf %p, %z : f32
    %po = redfuse.reduce add %pz over [1] into [0, 3] {redfuse.narrowed = bf16} : f32
    %oa = arith.mulf %o, %alpha : f32
    %on = arith.addf %oa, %po : f32
    redfuse.yield %mn, %ln, %on : f32, f32, f32
  } merge {
  ^bb0(%ma: f32, %la: f32, %oa: f32, %mb: f32, %lb: f32, %ob: f32):
    %m = arith.maximumf %ma, %mb : f32
    %da = arith.subf %ma, %m : f32
    %ea = math.exp %da : f32
    %db = arith.subf %mb, %m : f32
    %eb = math.exp %db : f32
    %lx = arith.mulf %la, %ea : f32
    %ly = arith.mulf %lb, %eb : f32
    %l = arith.addf %lx, %ly : f32
    %ox = arith.mulf %oa, %ea : f32
    %oy = arith.mulf %ob, %eb : f32
    %o = arith.addf %ox, %oy : f32
    redfuse.yield %m, %l, %o : f32, f32, f32
  } -> tensor<256xf32>, tensor<256xf32>, tensor<256x128xf32>
  %res = redfuse.finalize {indexing_maps = [#r, #o, #o]} ins(%state#1, %state#2 : tensor<256xf32>, tensor<256x128xf32>)
      outs(%init : tensor<256x128xbf16>) {
  ^bb0(%l: f32, %o: f32):
    %n = arith.divf %o, %l : f32
    %t = arith.truncf %n : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<256x128xbf16>
  redfuse.yield %res : tensor<256x128xbf16>
}
