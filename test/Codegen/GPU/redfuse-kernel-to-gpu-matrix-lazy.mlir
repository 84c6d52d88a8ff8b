// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s

// A running maximum that is only a pivot stays while no value of a warp's rows is
// further above it than the mean of what is summed allows. What a move takes is in
// one branch: maxima, which threads of a row exchange, the factors of powers, sums and
// the wide state times the power. Sums of rows are those of each thread until the fold
// is over.

// CHECK-LABEL: gpu.func @weighted_rows_0
// CHECK: nvvm.shfl.sync bfly
// CHECK: scf.for
// CHECK-COUNT-3: prmt.b32
// CHECK: fma.rn.ftz.sat
// CHECK-NEXT: %[[LIMIT:.+]] = math.fma
// CHECK-NEXT: tile.wait_products 1
// CHECK-COUNT-62: arith.maxsi
// CHECK: %[[BITS:.+]] = arith.bitcast %[[LIMIT]] : f32 to i32
// CHECK-NEXT: %[[NEGATIVE:.+]] = arith.cmpi slt, %[[BITS]]
// CHECK-NEXT: %[[ABOVE:.+]] = arith.cmpi sgt, %{{.+}}, %[[BITS]]
// CHECK-NEXT: arith.ori %[[NEGATIVE]], %[[ABOVE]]
// CHECK-NOT: nvvm.shfl.sync
// CHECK: %[[MOVED:.+]] = nvvm.vote.sync any
// CHECK: tile.wait_products 0
// CHECK: scf.if %[[MOVED]]
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK-COUNT-34: arith.mulf
// CHECK: scf.yield
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NOT: nvvm.shfl.sync
// CHECK: math.fma
// CHECK-NOT: nvvm.shfl.sync
// CHECK: tile.pack
// CHECK-NEXT: scf.yield
// CHECK: tile.wait_products 0
// CHECK: nvvm.shfl.sync bfly
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 2, vector_bits = 256, l1 = 32768,
    l2 = 1048576, flops = 150, bandwidth = 20, launch_ns = 2000>} {
func.func @weighted_rows(%q: memref<256x64xbf16>, %k: memref<4096x64xbf16>, %v: memref<4096x64xbf16>, %out: memref<256x64xbf16>) {
  redfuse.launch @weighted_rows_0 ins(%q, %k, %v : memref<256x64xbf16>, memref<4096x64xbf16>, memref<4096x64xbf16>)
      outs(%out : memref<256x64xbf16>)
  return
}
redfuse.kernel @weighted_rows_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0, 0], stream = [1]>} {
^bb0(%q: tensor<256x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>, %init: tensor<256x64xbf16>):
  %r0 = tensor.empty() : tensor<256xf32>
  %o0 = tensor.empty() : tensor<256x64xf32>
  %state:3 = redfuse.fold {identities = [0xFF800000 : f32, 0.0 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #r, #r, #o],
      over = array<i64: 1>}
      ins(%q, %k, %v : tensor<256x64xbf16>, tensor<4096x64xbf16>, tensor<4096x64xbf16>)
      outs(%r0, %r0, %o0 : tensor<256xf32>, tensor<256xf32>, tensor<256x64xf32>) step {
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
  } -> tensor<256xf32>, tensor<256xf32>, tensor<256x64xf32>
  %res = redfuse.finalize {indexing_maps = [#r, #o, #o]} ins(%state#1, %state#2 : tensor<256xf32>, tensor<256x64xf32>)
      outs(%init : tensor<256x64xbf16>) {
  ^bb0(%l: f32, %o: f32):
    %n = arith.divf %o, %l : f32
    %t = arith.truncf %n : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<256x64xbf16>
  redfuse.yield %res : tensor<256x64xbf16>
}
}

// -----

// A logarithm of the sums takes the pivot out again.

// CHECK-LABEL: gpu.func @logs_0
// CHECK: nvvm.vote.sync any
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 2, vector_bits = 256, l1 = 32768,
    l2 = 1048576, flops = 150, bandwidth = 20, launch_ns = 2000>} {
func.func @logs(%q: memref<256x64xbf16>, %k: memref<4096x64xbf16>, %v: memref<4096x64xbf16>, %out: memref<256x64xbf16>) {
  redfuse.launch @logs_0 ins(%q, %k, %v : memref<256x64xbf16>, memref<4096x64xbf16>, memref<4096x64xbf16>)
      outs(%out : memref<256x64xbf16>)
  return
}
redfuse.kernel @logs_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0, 0], stream = [1]>} {
^bb0(%q: tensor<256x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>, %init: tensor<256x64xbf16>):
  %r0 = tensor.empty() : tensor<256xf32>
  %o0 = tensor.empty() : tensor<256x64xf32>
  %state:3 = redfuse.fold {identities = [0xFF800000 : f32, 0.0 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #r, #r, #o],
      over = array<i64: 1>}
      ins(%q, %k, %v : tensor<256x64xbf16>, tensor<4096x64xbf16>, tensor<4096x64xbf16>)
      outs(%r0, %r0, %o0 : tensor<256xf32>, tensor<256xf32>, tensor<256x64xf32>) step {
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
  } -> tensor<256xf32>, tensor<256xf32>, tensor<256x64xf32>
  %res = redfuse.finalize {indexing_maps = [#r, #r, #o, #o]} ins(%state#0, %state#1, %state#2 : tensor<256xf32>, tensor<256xf32>, tensor<256x64xf32>)
      outs(%init : tensor<256x64xbf16>) {
  ^bb0(%m: f32, %l: f32, %o: f32):
    %n = arith.divf %o, %l : f32
    %log = math.log %l : f32
    %lse = arith.addf %m, %log : f32
    %both = arith.addf %n, %lse : f32
    %t = arith.truncf %both : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<256x64xbf16>
  redfuse.yield %res : tensor<256x64xbf16>
}
}

// -----

// Sums that are results themselves, relative to the maximum: not to another pivot.

// CHECK-LABEL: gpu.func @sums_0
// CHECK-NOT: nvvm.vote.sync
// CHECK: gpu.return
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 2, vector_bits = 256, l1 = 32768,
    l2 = 1048576, flops = 150, bandwidth = 20, launch_ns = 2000>} {
func.func @sums(%q: memref<256x64xbf16>, %k: memref<4096x64xbf16>, %v: memref<4096x64xbf16>, %out: memref<256x64xbf16>) {
  redfuse.launch @sums_0 ins(%q, %k, %v : memref<256x64xbf16>, memref<4096x64xbf16>, memref<4096x64xbf16>)
      outs(%out : memref<256x64xbf16>)
  return
}
redfuse.kernel @sums_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0, 0], stream = [1]>} {
^bb0(%q: tensor<256x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>, %init: tensor<256x64xbf16>):
  %r0 = tensor.empty() : tensor<256xf32>
  %o0 = tensor.empty() : tensor<256x64xf32>
  %state:3 = redfuse.fold {identities = [0xFF800000 : f32, 0.0 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #r, #r, #o],
      over = array<i64: 1>}
      ins(%q, %k, %v : tensor<256x64xbf16>, tensor<4096x64xbf16>, tensor<4096x64xbf16>)
      outs(%r0, %r0, %o0 : tensor<256xf32>, tensor<256xf32>, tensor<256x64xf32>) step {
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
  } -> tensor<256xf32>, tensor<256xf32>, tensor<256x64xf32>
  %res = redfuse.finalize {indexing_maps = [#r, #o, #o]} ins(%state#1, %state#2 : tensor<256xf32>, tensor<256x64xf32>)
      outs(%init : tensor<256x64xbf16>) {
  ^bb0(%l: f32, %o: f32):
    %n = arith.addf %o, %l : f32
    %t = arith.truncf %n : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<256x64xbf16>
  redfuse.yield %res : tensor<256x64xbf16>
}
}
