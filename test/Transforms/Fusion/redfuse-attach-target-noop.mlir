// RUN: redfuse-opt %s -redfuse-attach-target=chip=gfx942 | FileCheck %s

// A target of the same chip stays as it is.
// CHECK: module attributes {redfuse.target = #redfuse.target<"rocm", units = 7, vector_bits = 128, l1 = 1, l2 = 2, flops = 3, bandwidth = 4, launch_ns = 5, chip = "gfx942">}
module attributes {redfuse.target = #redfuse.target<"rocm", units = 7,
    vector_bits = 128, l1 = 1, l2 = 2, flops = 3, bandwidth = 4, launch_ns = 5, chip = "gfx942">} {}
