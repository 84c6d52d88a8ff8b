// RUN: redfuse-opt %s -split-input-file -redfuse-attach-target=chip=sm_90a | FileCheck %s

// What is known of a chip.
// CHECK: module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">}
module {}

// -----

// A target of the module's own keeps its numbers.
// CHECK: module attributes {redfuse.target = #redfuse.target<"cuda", units = 7, vector_bits = 128, l1 = 1, l2 = 2, flops = 3, bandwidth = 4, launch_ns = 5, chip = "sm_90a">}
module attributes {redfuse.target = #redfuse.target<"cuda", units = 7, vector_bits = 128,
    l1 = 1, l2 = 2, flops = 3, bandwidth = 4, launch_ns = 5>} {}
