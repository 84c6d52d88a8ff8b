// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-products -redfuse-plan-registers -redfuse-kernel-to-gpu -redfuse-lower-tiles | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90 -redfuse-plan-products -redfuse-plan-registers -redfuse-kernel-to-gpu -redfuse-lower-tiles | FileCheck %s --check-prefix=SM90
// RUN: redfuse-opt %s -redfuse-attach-target=chip=gfx90a -redfuse-plan-products -redfuse-plan-registers -redfuse-kernel-to-gpu -redfuse-lower-tiles | FileCheck %s --check-prefixes=CHECK,GFX90A
// RUN: redfuse-opt %s -redfuse-attach-target=chip=gfx942 -redfuse-plan-products -redfuse-plan-registers -redfuse-kernel-to-gpu -redfuse-lower-tiles | FileCheck %s --check-prefixes=CHECK,GFX942
// RUN: redfuse-opt %s -redfuse-attach-target=chip=gfx1100 -redfuse-plan-products -redfuse-plan-registers -redfuse-kernel-to-gpu -redfuse-lower-tiles | FileCheck %s --check-prefixes=CHECK,GFX11

// Contractions by the matrix instructions of a warp (NVIDIA) or wave (AMD). Rows of 88
// bytes cannot be copied by 16.

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>

// A step of the sum is two instructions: 16 bytes of each row; columns are loaded as they are
// contiguous, and packed.
// CHECK-LABEL: gpu.func @brief_0
// SM80: scf.for {{.*}} iter_args({{.*}}) -> (f32, f32, f32, f32)
// SM80: vector.load {{.*}} {alignment = 16 : i64} : memref<64x80xbf16>, vector<8xbf16>
// SM80-COUNT-2: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"
// SM80: memref.store {{.*}} : memref<64x44xf32>
// GFX90A: llvm.call_intrinsic "llvm.amdgcn.mfma.f32.16x16x16bf16.1k"({{.*}}) : (vector<4xi16>, vector<4xi16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
// GFX942: llvm.call_intrinsic "llvm.amdgcn.mfma.f32.16x16x16bf16.1k"
// GFX11: llvm.call_intrinsic "llvm.amdgcn.wmma.f32.16x16x16.bf16"({{.*}}) : (vector<16xi16>, vector<16xi16>, vector<8xf32>) -> vector<8xf32>
func.func @brief(%a: memref<64x80xbf16>, %b: memref<80x44xbf16>, %out: memref<64x44xf32>) {
  redfuse.launch @brief_0 ins(%a, %b : memref<64x80xbf16>, memref<80x44xbf16>) outs(%out : memref<64x44xf32>)
  return
}
redfuse.kernel @brief_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [16, 16, 0]>} {
^bb0(%a: tensor<64x80xbf16>, %b: tensor<80x44xbf16>, %init: tensor<64x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<64x80xbf16>, tensor<80x44xbf16>) outs(%init : tensor<64x44xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x44xf32>
  redfuse.yield %r : tensor<64x44xf32>
}

// f16 in pairs.
// CHECK-LABEL: gpu.func @half_0
// SM80: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"({{.*}}) : (vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, f32, f32, f32, f32)
// GFX90A: "llvm.amdgcn.mfma.f32.16x16x16f16"
// GFX942: "llvm.amdgcn.mfma.f32.16x16x16f16"
// GFX11: "llvm.amdgcn.wmma.f32.16x16x16.f16"
func.func @half(%a: memref<64x80xf16>, %b: memref<80x44xf16>, %out: memref<64x44xf32>) {
  redfuse.launch @half_0 ins(%a, %b : memref<64x80xf16>, memref<80x44xf16>) outs(%out : memref<64x44xf32>)
  return
}
redfuse.kernel @half_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [16, 16, 0]>} {
^bb0(%a: tensor<64x80xf16>, %b: tensor<80x44xf16>, %init: tensor<64x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<64x80xf16>, tensor<80x44xf16>) outs(%init : tensor<64x44xf32>) {
  ^bb0(%x: f16, %y: f16):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %p = arith.mulf %xw, %yw : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x44xf32>
  redfuse.yield %r : tensor<64x44xf32>
}

// Sums of integers wrap, as the program's.
// CHECK-LABEL: gpu.func @bytes_0
// SM80: "llvm.nvvm.mma.m16n8k32.row.col.s8"({{.*}}) : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32)
// GFX90A: "llvm.amdgcn.mfma.i32.16x16x16i8"({{.*}}) : (i32, i32, vector<4xi32>, i32, i32, i32)
// GFX942: "llvm.amdgcn.mfma.i32.16x16x32.i8"({{.*}}) : (i64, i64, vector<4xi32>, i32, i32, i32)
// GFX11: "llvm.amdgcn.wmma.i32.16x16x16.iu8"({{.*}}) : (i1, vector<4xi32>, i1, vector<4xi32>, vector<8xi32>, i1)
func.func @bytes(%a: memref<64x80xi8>, %b: memref<80x48xi8>, %out: memref<64x48xi32>) {
  redfuse.launch @bytes_0 ins(%a, %b : memref<64x80xi8>, memref<80x48xi8>) outs(%out : memref<64x48xi32>)
  return
}
redfuse.kernel @bytes_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [16, 16, 0]>} {
^bb0(%a: tensor<64x80xi8>, %b: tensor<80x48xi8>, %init: tensor<64x48xi32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<64x80xi8>, tensor<80x48xi8>) outs(%init : tensor<64x48xi32>) {
  ^bb0(%x: i8, %y: i8):
    %xw = arith.extsi %x : i8 to i32
    %yw = arith.extsi %y : i8 to i32
    %p = arith.muli %xw, %yw : i32
    %s = redfuse.reduce add %p over [2] into [0, 1] : i32
    redfuse.yield %s : i32
  } -> tensor<64x48xi32>
  redfuse.yield %r : tensor<64x48xi32>
}

// f64 where NVIDIA has it; sm_90 has a larger one.
// CHECK-LABEL: gpu.func @double_0
// SM80: "llvm.nvvm.mma.m8n8k4.row.col.f64"({{.*}}) : (f64, f64, f64, f64)
// SM90: "llvm.nvvm.mma.m16n8k8.row.col.f64"({{.*}}) : (f64, f64, f64, f64, f64, f64, f64, f64, f64, f64)
// GFX90A: "llvm.amdgcn.mfma.f64.16x16x4f64"
// GFX942: "llvm.amdgcn.mfma.f64.16x16x4f64"
// GFX11-NOT: wmma.f64
func.func @double(%a: memref<64x80xf64>, %b: memref<80x48xf64>, %out: memref<64x48xf64>) {
  redfuse.launch @double_0 ins(%a, %b : memref<64x80xf64>, memref<80x48xf64>) outs(%out : memref<64x48xf64>)
  return
}
redfuse.kernel @double_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [16, 16, 0]>} {
^bb0(%a: tensor<64x80xf64>, %b: tensor<80x48xf64>, %init: tensor<64x48xf64>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<64x80xf64>, tensor<80x48xf64>) outs(%init : tensor<64x48xf64>) {
  ^bb0(%x: f64, %y: f64):
    %p = arith.mulf %x, %y : f64
    %s = redfuse.reduce add %p over [2] into [0, 1] : f64
    redfuse.yield %s : f64
  } -> tensor<64x48xf64>
  redfuse.yield %r : tensor<64x48xf64>
}
