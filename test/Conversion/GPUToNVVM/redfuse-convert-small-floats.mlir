// RUN: redfuse-opt %s -pass-pipeline='builtin.module(gpu.module(gpu.func(redfuse-convert-small-floats)))' | FileCheck %s

// Two numbers by one instruction; what is too large gets the next code.

module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536,
    l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">} {
  gpu.module @m {
    // CHECK-LABEL: gpu.func @narrow
    // CHECK: %[[LOW:.*]] = vector.extract %{{.*}}[0]
    // CHECK: %[[HIGH:.*]] = vector.extract %{{.*}}[1]
    // CHECK: %[[PAIR:.*]] = nvvm.convert.f32x2.to.f8x2 %[[HIGH]], %[[LOW]]
    // CHECK-SAME: rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>
    // CHECK-SAME: i16(f8E4M3FN)
    // CHECK: %[[OVER:.*]] = arith.cmpf ogt, %{{.*}}, %{{.*}} : f32
    // CHECK: arith.select %[[OVER]], %c1_i16, %c0_i16
    // CHECK: arith.select %{{.*}}, %c256_i16, %c0_i16
    // CHECK: vector.from_elements %{{.*}} : vector<1xi16>
    gpu.func @narrow(%x: vector<2xf32>) -> vector<2xf8E4M3FN> {
      %y = arith.truncf %x : vector<2xf32> to vector<2xf8E4M3FN>
      gpu.return %y : vector<2xf8E4M3FN>
    }

    // Nothing of what is clamped is too large; a number alone is the lower one of a pair.
    // CHECK-LABEL: gpu.func @clamped
    // CHECK: nvvm.convert.f32x2.to.f8x2 %cst{{.*}}, %{{.*}} {
    // CHECK-NOT: arith.select
    // CHECK: arith.trunci %{{.*}} : i16 to i8
    gpu.func @clamped(%x: f32) -> f8E4M3FN {
      %low = arith.constant -448.0 : f32
      %high = arith.constant 448.0 : f32
      %a = arith.maximumf %x, %low : f32
      %b = arith.minimumf %a, %high : f32
      %y = arith.truncf %b : f32 to f8E4M3FN
      gpu.return %y : f8E4M3FN
    }

    // Bounds further away than the largest number that is rounded to a finite one.
    // CHECK-LABEL: gpu.func @wide
    // CHECK: arith.select
    gpu.func @wide(%x: bf16) -> f8E4M3FN {
      %low = arith.constant -512.0 : bf16
      %high = arith.constant 512.0 : bf16
      %a = arith.maximumf %x, %low : bf16
      %b = arith.minimumf %a, %high : bf16
      %y = arith.truncf %b : bf16 to f8E4M3FN
      gpu.return %y : f8E4M3FN
    }

    // CHECK-LABEL: gpu.func @odd
    // CHECK-COUNT-2: nvvm.convert.f32x2.to.f8x2
    // CHECK: vector.bitcast %{{.*}} : vector<2xi16> to vector<4xi8>
    // CHECK: vector.extract_strided_slice %{{.*}} {offsets = [0], sizes = [3], strides = [1]}
    gpu.func @odd(%x: vector<3xf32>) -> vector<3xf8E5M2> {
      %y = arith.truncf %x : vector<3xf32> to vector<3xf8E5M2>
      gpu.return %y : vector<3xf8E5M2>
    }

    // f16 has all of them; other types are made of it.
    // CHECK-LABEL: gpu.func @extend
    // CHECK: nvvm.convert.f8x2.to.f16x2 %{{.*}} : vector<2xi8>(f8E5M2) -> vector<2xf16>
    // CHECK-COUNT-2: arith.extf %{{.*}} : f16 to f32
    // CHECK: nvvm.convert.f8x2.to.f16x2
    // CHECK: vector.from_elements %{{.*}} : vector<3xf32>
    gpu.func @extend(%x: vector<3xf8E5M2>) -> vector<3xf32> {
      %y = arith.extf %x : vector<3xf8E5M2> to vector<3xf32>
      gpu.return %y : vector<3xf32>
    }

    // CHECK-LABEL: gpu.func @bfloat
    // CHECK: nvvm.convert.f8x2.to.f16x2
    // CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
    // CHECK: arith.truncf %[[WIDE]] : f32 to bf16
    gpu.func @bfloat(%x: f8E4M3FN) -> bf16 {
      %y = arith.extf %x : f8E4M3FN to bf16
      gpu.return %y : bf16
    }
  }
}
