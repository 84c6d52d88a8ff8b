// RUN: redfuse-opt %s -split-input-file -redfuse-propagate-layouts > %t
// RUN: redfuse-opt %s -split-input-file > %t.same
// RUN: diff %t %t.same

#target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288,
                          flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">
#a = affine_map<(n, m, k) -> (n, k)>
#b = affine_map<(n, m, k) -> (m, k)>
#y = affine_map<(n, m, k) -> (n, m)>
#t = affine_map<(m, n) -> (n, m)>
#id = affine_map<(m, n) -> (m, n)>

// An argument lies as it lies.
module attributes {redfuse.target = #target} {
  func.func @argument(%x: tensor<32x12xf32>) -> tensor<12x32xf32> {
    %f = tensor.empty() : tensor<12x32xf32>
    %c = redfuse.cascade {indexing_maps = [#t, #id]} ins(%x : tensor<32x12xf32>)
        outs(%f : tensor<12x32xf32>) {
    ^bb0(%a: f32):
      redfuse.yield %a : f32
    } -> tensor<12x32xf32>
    return %c : tensor<12x32xf32>
  }
}

// -----

#target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288,
                          flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">
#a = affine_map<(n, m, k) -> (n, k)>
#b = affine_map<(n, m, k) -> (m, k)>
#y = affine_map<(n, m, k) -> (n, m)>
#t = affine_map<(m, n) -> (n, m)>
#id = affine_map<(m, n) -> (m, n)>

// A map that computes stays, whoever puts dims in order; and the caller has the product as it is.
module attributes {redfuse.target = #target} {
  func.func @computed(%x: tensor<32x8xf32>, %w: tensor<12x8xf32>) -> (tensor<32x12xf32>, tensor<12x32xf32>) {
    %e = tensor.empty() : tensor<32x12xf32>
    %y = redfuse.cascade {indexing_maps = [#a, #b, #y]}
        ins(%x, %w : tensor<32x8xf32>, tensor<12x8xf32>) outs(%e : tensor<32x12xf32>) {
    ^bb0(%a: f32, %b: f32):
      %m = arith.mulf %a, %b : f32
      %s = redfuse.reduce add %m over [2] into [0, 1] : f32
      redfuse.yield %s : f32
    } -> tensor<32x12xf32>
    %f = tensor.empty() : tensor<12x32xf32>
    %c = redfuse.cascade {indexing_maps = [#t, #id]} ins(%y : tensor<32x12xf32>)
        outs(%f : tensor<12x32xf32>) {
    ^bb0(%a: f32):
      %n = arith.negf %a : f32
      redfuse.yield %n : f32
    } -> tensor<12x32xf32>
    return %y, %c : tensor<32x12xf32>, tensor<12x32xf32>
  }

  // A large tensor that is added would be read across what is stored.
  func.func @across(%x: tensor<32x8xf32>, %w: tensor<12x8xf32>, %r: tensor<32x12xf32>) -> tensor<12x32xf32> {
    %e = tensor.empty() : tensor<32x12xf32>
    %y = redfuse.cascade {indexing_maps = [#a, #b, #y, #y]}
        ins(%x, %w, %r : tensor<32x8xf32>, tensor<12x8xf32>, tensor<32x12xf32>) outs(%e : tensor<32x12xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %m = arith.mulf %a, %b : f32
      %s = redfuse.reduce add %m over [2] into [0, 1] : f32
      %p = arith.addf %s, %c : f32
      redfuse.yield %p : f32
    } -> tensor<32x12xf32>
    %f = tensor.empty() : tensor<12x32xf32>
    %c = redfuse.cascade {indexing_maps = [#t, #id]} ins(%y : tensor<32x12xf32>)
        outs(%f : tensor<12x32xf32>) {
    ^bb0(%a: f32):
      redfuse.yield %a : f32
    } -> tensor<12x32xf32>
    return %c : tensor<12x32xf32>
  }
}

// -----

#a = affine_map<(n, m, k) -> (n, k)>
#b = affine_map<(n, m, k) -> (m, k)>
#y = affine_map<(n, m, k) -> (n, m)>
#t = affine_map<(m, n) -> (n, m)>
#id = affine_map<(m, n) -> (m, n)>

// For GPUs alone.
module {
  func.func @cpu(%x: tensor<32x8xf32>, %w: tensor<12x8xf32>) -> tensor<12x32xf32> {
    %e = tensor.empty() : tensor<32x12xf32>
    %y = redfuse.cascade {indexing_maps = [#a, #b, #y]}
        ins(%x, %w : tensor<32x8xf32>, tensor<12x8xf32>) outs(%e : tensor<32x12xf32>) {
    ^bb0(%a: f32, %b: f32):
      %m = arith.mulf %a, %b : f32
      %s = redfuse.reduce add %m over [2] into [0, 1] : f32
      redfuse.yield %s : f32
    } -> tensor<32x12xf32>
    %f = tensor.empty() : tensor<12x32xf32>
    %c = redfuse.cascade {indexing_maps = [#t, #id]} ins(%y : tensor<32x12xf32>)
        outs(%f : tensor<12x32xf32>) {
    ^bb0(%a: f32):
      redfuse.yield %a : f32
    } -> tensor<12x32xf32>
    return %c : tensor<12x32xf32>
  }
}
