// RUN: redfuse-opt %s -redfuse-selections-to-cpu -verify-diagnostics

func.func @sorted(%x: tensor<8x512xf32>, %v: tensor<8x512xf32>) -> tensor<8x512xf32> {
  // expected-error @below {{works on tensors: bufferize first (-redfuse-bufferize)}}
  %s = redfuse.select ins(%x : tensor<8x512xf32>) values(%v : tensor<8x512xf32>) -> tensor<8x512xf32>
  return %s : tensor<8x512xf32>
}
