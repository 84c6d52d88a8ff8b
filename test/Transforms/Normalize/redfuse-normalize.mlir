// Every spelling in the corpus: nothing but generics and fills between the
// arguments and the results; reshapes only of arguments and results.
//
// RUN: redfuse-opt %tests/e2e/corpus/attention.mlir -redfuse-normalize | FileCheck %s --check-prefix=PLAIN
// RUN: redfuse-opt %tests/e2e/corpus/attention_bf16.mlir -redfuse-normalize | FileCheck %s --check-prefix=PLAIN
// RUN: redfuse-opt %tests/e2e/corpus/attention_bias_after.mlir -redfuse-normalize | FileCheck %s --check-prefix=PLAIN
// RUN: redfuse-opt %tests/e2e/corpus/attention_causal.mlir -redfuse-normalize | FileCheck %s --check-prefix=PLAIN
// RUN: redfuse-opt %tests/e2e/corpus/attention_cross_ragged.mlir -redfuse-normalize | FileCheck %s --check-prefix=PLAIN
// RUN: redfuse-opt %tests/e2e/corpus/attention_over_dim2.mlir -redfuse-normalize | FileCheck %s --check-prefix=PLAIN
// RUN: redfuse-opt %tests/e2e/corpus/attention_padded_rows.mlir -redfuse-normalize | FileCheck %s --check-prefix=PLAIN
// RUN: redfuse-opt %tests/e2e/corpus/attention_scale_split.mlir -redfuse-normalize | FileCheck %s --check-prefix=PLAIN
// RUN: redfuse-opt %tests/e2e/corpus/mla_decode.mlir -redfuse-normalize | FileCheck %s --check-prefix=PLAIN
// RUN: redfuse-opt %tests/e2e/corpus/sdpa.mlir -redfuse-normalize | FileCheck %s --check-prefix=PLAIN
// RUN: redfuse-opt %tests/e2e/corpus/moment_of_inertia.mlir -redfuse-normalize | FileCheck %s --check-prefix=PLAIN
// RUN: redfuse-opt %tests/e2e/corpus/variance_large_mean.mlir -redfuse-normalize | FileCheck %s --check-prefix=PLAIN
// RUN: redfuse-opt %tests/e2e/corpus/layernorm.mlir -redfuse-normalize | FileCheck %s --check-prefix=PLAIN
// RUN: redfuse-opt %tests/e2e/corpus/quant_int8_gemm.mlir -redfuse-normalize | FileCheck %s --check-prefix=PLAIN
// PLAIN-LABEL: func.func @main
// PLAIN-NOT: {{(expand|collapse)_shape|tensor.reshape|extract_slice|linalg.(transpose|batch_matmul|matmul|broadcast)}}
// PLAIN-NOT: math.{{fpowi|powf}}
// PLAIN-NOT: arith.truncf %cst
// PLAIN: return

// RUN: redfuse-opt %tests/e2e/corpus/attention_dynamic.mlir -redfuse-normalize | FileCheck %s --check-prefix=DYNAMIC
// The one broadcast that may be one is settled first; no assertion on signs is left.
// DYNAMIC-LABEL: func.func @main
// DYNAMIC: cf.assert %{{.*}}, "an extent is neither 1 nor that of the broadcast"
// DYNAMIC: scf.if
// DYNAMIC-NOT: {{cf.assert|(expand|collapse)_shape|tensor.reshape|tensor.extract|from_elements}}
// DYNAMIC: return

// RUN: redfuse-opt %tests/e2e/corpus/attention_gqa.mlir -redfuse-normalize | FileCheck %s --check-prefix=EDGES
// RUN: redfuse-opt %tests/e2e/corpus/attention_decode.mlir -redfuse-normalize | FileCheck %s --check-prefix=EDGES
// EDGES-LABEL: func.func @main
// EDGES: collapse_shape %arg
// EDGES: linalg.generic
// EDGES: } ->
// EDGES-NOT: {{(expand|collapse)_shape}}
// EDGES: arith.divf
// EDGES-NOT: {{(expand|collapse)_shape}}
// EDGES: linalg.yield
// EDGES-NOT: {{(expand|collapse)_shape}}
// EDGES: ["parallel", "parallel", "parallel", {{("parallel", )?}}"reduction"]
// EDGES: expand_shape
// EDGES-NEXT: return

// RUN: redfuse-opt %tests/e2e/corpus/cross_entropy.mlir -redfuse-normalize | FileCheck %s --check-prefix=GATHER
// The log-probabilities are computed where the targets are, and nowhere else.
// GATHER-LABEL: func.func @main
// GATHER: tensor.extract %arg0
// GATHER: math.log
// GATHER-NOT: -> tensor<24x1000xf32>
// GATHER: return

// RUN: redfuse-opt %tests/e2e/corpus/moe_routing.mlir -redfuse-normalize | FileCheck %s --check-prefix=TOPK
// TOPK: tm_tensor.topk dimension(1) ins(%{{.*}} : tensor<256x64xf32>)
// TOPK-NOT: extract_slice

// RUN: redfuse-opt %tests/found/loop_that_grows.mlir -redfuse-normalize | FileCheck %s --check-prefix=GROWS
// The extents that a loop begins with are not those of its rounds.
// GROWS: scf.for {{.*}} -> (tensor<?xf32>)
// GROWS: scf.yield %{{.*}} : tensor<?xf32>
