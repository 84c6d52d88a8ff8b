// Linear attention with a gate: S_t = g_t * S_(t-1) + k_t v_t^T, o_t = q_t S_t.
// As written, the state of every step is stored (33 MB). Fused and streamed, only those of one chunk of steps exist.
// $ redfuse run examples/gated_attention.mlir --check
#q = affine_map<(b, t, j, i) -> (b, t, i)>
#s = affine_map<(b, t, j, i) -> (b, t, i, j)>
#o = affine_map<(b, t, j, i) -> (b, t, j)>
func.func @main(%q: tensor<2x1024x64xf32>, %k: tensor<2x1024x64xf32>,
    %v: tensor<2x1024x64xf32>, %g: tensor<2x1024xf32>) -> tensor<2x1024x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %nb = arith.constant 2 : index
  %nt = arith.constant 1024 : index
  %ni = arith.constant 64 : index
  %nj = arith.constant 64 : index
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x1024x64x64xf32>
  %all = scf.for %ib = %c0 to %nb step %c1 iter_args(%s0 = %e) -> tensor<2x1024x64x64xf32> {
    %r0 = scf.for %ii = %c0 to %ni step %c1 iter_args(%s1 = %s0) -> tensor<2x1024x64x64xf32> {
      %r1 = scf.for %ij = %c0 to %nj step %c1
          iter_args(%s2 = %s1) -> tensor<2x1024x64x64xf32> {
        %r2:2 = scf.for %it = %c0 to %nt step %c1
            iter_args(%h = %z, %s3 = %s2) -> (f32, tensor<2x1024x64x64xf32>) {
          %gt = tensor.extract %g[%ib, %it] : tensor<2x1024xf32>
          %kt = tensor.extract %k[%ib, %it, %ii] : tensor<2x1024x64xf32>
          %vt = tensor.extract %v[%ib, %it, %ij] : tensor<2x1024x64xf32>
          %kv = arith.mulf %kt, %vt : f32
          %gh = arith.mulf %gt, %h : f32
          %n = arith.addf %gh, %kv : f32
          %w = tensor.insert %n into %s3[%ib, %it, %ii, %ij] : tensor<2x1024x64x64xf32>
          scf.yield %n, %w : f32, tensor<2x1024x64x64xf32>
        }
        scf.yield %r2#1 : tensor<2x1024x64x64xf32>
      }
      scf.yield %r1 : tensor<2x1024x64x64xf32>
    }
    scf.yield %r0 : tensor<2x1024x64x64xf32>
  }
  %oe = tensor.empty() : tensor<2x1024x64xf32>
  %of = linalg.fill ins(%z : f32) outs(%oe : tensor<2x1024x64xf32>) -> tensor<2x1024x64xf32>
  %o = linalg.generic {indexing_maps = [#q, #s, #o],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %all : tensor<2x1024x64xf32>, tensor<2x1024x64x64xf32>)
      outs(%of : tensor<2x1024x64xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %acc, %m : f32
    linalg.yield %n : f32
  } -> tensor<2x1024x64xf32>
  return %o : tensor<2x1024x64xf32>
}
