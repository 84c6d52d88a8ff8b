// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(gpu.func(redfuse-convert-bytes)))" > %t.after
// RUN: diff %t.before %t.after

gpu.module @redfuse_gpu {
  // Numbers without a sign of which bf16 has not all digits above 128, results of f32, three bytes.
  gpu.func @others(%x: vector<4xi8>, %y: vector<3xi8>) -> (vector<4xbf16>, vector<4xf32>, vector<3xbf16>) {
    %0 = arith.uitofp %x : vector<4xi8> to vector<4xbf16>
    %1 = arith.uitofp %x : vector<4xi8> to vector<4xf32>
    %2 = arith.sitofp %y : vector<3xi8> to vector<3xbf16>
    gpu.return %0, %1, %2 : vector<4xbf16>, vector<4xf32>, vector<3xbf16>
  }

  // Two factors that are not whole: their product may be too small for f32.
  gpu.func @two_scales(%a: bf16, %b: bf16) -> bf16 {
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    gpu.return %3 : bf16
  }

  // Numbers of 8 bits less 200 are not all in bf16.
  gpu.func @too_wide(%x: i8, %s: bf16) -> bf16 {
    %0 = arith.constant 200.0 : f32
    %1 = arith.sitofp %x : i8 to f32
    %2 = arith.subf %1, %0 : f32
    %3 = arith.extf %s : bf16 to f32
    %4 = arith.mulf %2, %3 : f32
    %5 = arith.truncf %4 : f32 to bf16
    gpu.return %5 : bf16
  }

  // The sign of a zero is the result's.
  gpu.func @negative_zero(%x: bf16) -> bf16 {
    %0 = arith.constant -0.0 : f32
    %1 = arith.extf %x : bf16 to f32
    %2 = arith.mulf %1, %0 : f32
    %3 = arith.truncf %2 : f32 to bf16
    gpu.return %3 : bf16
  }

  // Seven bits from bit 28 on have three of the sign; four bits as a number with a sign are another one.
  gpu.func @signs(%w: i32) -> (vector<2xbf16>, vector<2xbf16>) {
    %0 = arith.constant dense<[0, 28]> : vector<2xi32>
    %1 = arith.constant dense<127> : vector<2xi32>
    %2 = arith.constant dense<15> : vector<2xi32>
    %3 = vector.broadcast %w : i32 to vector<2xi32>
    %4 = arith.shrsi %3, %0 : vector<2xi32>
    %5 = arith.andi %4, %1 : vector<2xi32>
    %6 = arith.sitofp %5 : vector<2xi32> to vector<2xbf16>
    %7 = arith.andi %4, %2 : vector<2xi32>
    %8 = arith.trunci %7 : vector<2xi32> to vector<2xi4>
    %9 = arith.sitofp %8 : vector<2xi4> to vector<2xbf16>
    gpu.return %6, %9 : vector<2xbf16>, vector<2xbf16>
  }
}
