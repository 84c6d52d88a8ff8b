// RUN: redfuse-opt %s -split-input-file -verify-diagnostics -redfuse-attach-target=chip=sm_80
// RUN: not redfuse-opt %s -redfuse-attach-target=chip=sm_81 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: unknown chip 'sm_81'; expected one of sm_80, sm_86, {{.*}}, gfx90a, {{.*}}

// expected-error@+1 {{is for #redfuse.target<"cuda", units = 7, vector_bits = 128, l1 = 1, l2 = 2, flops = 3, bandwidth = 4, launch_ns = 5, chip = "sm_90">, not for 'sm_80'}}
module attributes {redfuse.target = #redfuse.target<"cuda", units = 7,
    vector_bits = 128, l1 = 1, l2 = 2, flops = 3, bandwidth = 4, launch_ns = 5, chip = "sm_90">} {}

// -----

// expected-error@+1 {{is for #redfuse.target<"cpu", units = 7}}
module attributes {redfuse.target = #redfuse.target<"cpu", units = 7, vector_bits = 128,
    l1 = 1, l2 = 2, flops = 3, bandwidth = 4, launch_ns = 5>} {}
