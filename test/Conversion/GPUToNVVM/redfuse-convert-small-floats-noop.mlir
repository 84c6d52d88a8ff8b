// RUN: split-file %s %t
// RUN: redfuse-opt %t/other.mlir -o %t.before
// RUN: redfuse-opt %t/other.mlir -pass-pipeline='builtin.module(gpu.module(gpu.func(redfuse-convert-small-floats)))' | diff %t.before -
// RUN: redfuse-opt %t/older.mlir -o %t.before
// RUN: redfuse-opt %t/older.mlir -pass-pipeline='builtin.module(gpu.module(gpu.func(redfuse-convert-small-floats)))' | diff %t.before -

// Types that no instruction knows, vectors of two dims, f64, and other conversions.
//--- other.mlir
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536,
    l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">} {
  gpu.module @m {
    gpu.func @k(%a: f8E4M3FNUZ, %b: vector<2x2xf8E4M3FN>, %c: f64, %d: f16) {
      %0 = arith.extf %a : f8E4M3FNUZ to f32
      %1 = arith.extf %b : vector<2x2xf8E4M3FN> to vector<2x2xf32>
      %2 = arith.truncf %c : f64 to f8E4M3FN
      %3 = arith.extf %d : f16 to f32
      gpu.return
    }
  }
}

// A GPU before compute capability 8.9.
//--- older.mlir
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536,
    l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_80">} {
  gpu.module @m {
    gpu.func @k(%a: f8E4M3FN) -> f32 {
      %0 = arith.extf %a : f8E4M3FN to f32
      gpu.return %0 : f32
    }
  }
}
