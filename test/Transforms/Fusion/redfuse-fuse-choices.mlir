// RUN: redfuse-opt %s -redfuse-fuse="record=true" | FileCheck %s --check-prefix=OWN
// RUN: redfuse-opt %s -redfuse-fuse="record=true cuts=1" | FileCheck %s --check-prefix=CUT
// RUN: redfuse-opt %s -redfuse-fuse="record=true cuts=0,1,2,3" | FileCheck %s --check-prefix=APART
// RUN: redfuse-opt %s -redfuse-fuse="record=true joins=3" | FileCheck %s --check-prefix=JOINED
// RUN: redfuse-opt %s -redfuse-fuse | FileCheck %s --check-prefix=SILENT

#s = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#t = affine_map<(i, j) -> (j)>

// The planner fuses a softmax, and leaves what each column makes of it to another kernel: as one,
// all of it would be one block's.
// OWN:      module attributes {redfuse.fused_kernels = [
// OWN-SAME:   #redfuse.fused_kernel<cascades = [0, 1, 2], places = ["{{.*}}:37:8", "{{.*}}:42:8", "{{.*}}:49:8"], cuts = [1, 2], joins = []>
// OWN-SAME:   #redfuse.fused_kernel<cascades = [3], places = ["{{.*}}:54:8"], cuts = [], joins = [3]>
// OWN:      func.func @main
// OWN:      redfuse.cascade
// OWN:        redfuse.reduce maximumf
// OWN:        redfuse.reduce add

// A sum that begins a kernel reads the largest elements from memory; what follows is its.
// CUT:      redfuse.fused_kernels = [#redfuse.fused_kernel<cascades = [0], {{.*}}>, #redfuse.fused_kernel<cascades = [1, 2],
// CUT:      condition = "choice", detail = "its producer at {{.*}} stays in another kernel: it was asked to begin a kernel (option 'cuts')"

// APART:    cascades = [0]{{.*}}cascades = [1]{{.*}}cascades = [2]{{.*}}cascades = [3]

// JOINED:   redfuse.fused_kernels = [#redfuse.fused_kernel<cascades = [0, 1, 2, 3],
// JOINED:   redfuse.cascade
// JOINED-NOT: redfuse.cascade

// SILENT-NOT: redfuse.fused_kernels
module attributes {redfuse.target = #redfuse.target<"cpu", units = 64, vector_bits = 256, l1 = 32768, l2 = 1048576, flops = 4096, bandwidth = 1280, launch_ns = 2000>} {
func.func @main(%x: tensor<4096x512xf32>) -> (tensor<4096x512xf32>, tensor<512xf32>) {
  %d = tensor.empty() : tensor<4096xf32>
  %e = tensor.empty() : tensor<4096x512xf32>
  %f = tensor.empty() : tensor<512xf32>
  %m = redfuse.cascade {indexing_maps = [#s, #r]} ins(%x : tensor<4096x512xf32>) outs(%d : tensor<4096xf32>) {
  ^bb0(%a: f32):
    %1 = redfuse.reduce maximumf %a over [1] into [0] : f32
    redfuse.yield %1 : f32
  } -> tensor<4096xf32>
  %n = redfuse.cascade {indexing_maps = [#s, #r, #r]} ins(%x, %m : tensor<4096x512xf32>, tensor<4096xf32>) outs(%d : tensor<4096xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.subf %a, %b : f32
    %2 = math.exp %1 : f32
    %3 = redfuse.reduce add %2 over [1] into [0] : f32
    redfuse.yield %3 : f32
  } -> tensor<4096xf32>
  %p = redfuse.cascade {indexing_maps = [#s, #r, #s]} ins(%x, %n : tensor<4096x512xf32>, tensor<4096xf32>) outs(%e : tensor<4096x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.divf %a, %b : f32
    redfuse.yield %1 : f32
  } -> tensor<4096x512xf32>
  %q = redfuse.cascade {indexing_maps = [#s, #t]} ins(%p : tensor<4096x512xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%a: f32):
    %1 = redfuse.reduce add %a over [0] into [1] : f32
    redfuse.yield %1 : f32
  } -> tensor<512xf32>
  return %p, %q : tensor<4096x512xf32>, tensor<512xf32>
}
}
