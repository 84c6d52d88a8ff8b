// Padding of known extents is computed where it is read, and that of others by a thread an
// element: no thread fills a tensor alone.
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a \
// RUN:   -redfuse-cuda="stages=check,normalize,raise,fuse,schedule,derive,outline,bufferize,share,plan" | FileCheck %s

// CHECK-LABEL: func.func @static(
// CHECK-NOT: gpu.launch_func
// CHECK: redfuse.launch
// CHECK-NOT: gpu.launch_func
// CHECK: return
func.func @static(%x: tensor<64x62xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<64x62xf32> to tensor<64x64xf32>
  %empty = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.reduce { arith.addf } ins(%padded : tensor<64x64xf32>) outs(%init : tensor<64xf32>) dimensions = [1]
  return %r : tensor<64xf32>
}

// CHECK-LABEL: func.func @dynamic(
// CHECK-NOT: blocks in (%c1
// CHECK: gpu.launch_func @redfuse_gpu::@host_0
// CHECK: gpu.func @host_0
// CHECK: gpu.thread_id
// CHECK-NOT: scf.for
// CHECK: gpu.return
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %r = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<?xf32> to tensor<?xf32>
  return %r : tensor<?xf32>
}
