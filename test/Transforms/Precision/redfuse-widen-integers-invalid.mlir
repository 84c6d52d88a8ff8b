// RUN: redfuse-opt -redfuse-widen-integers -split-input-file -verify-diagnostics %s

func.func @count(%x: i32) -> i32 {
  %a = arith.trunci %x : i32 to i4
  // expected-error @below {{'math.ctpop' of integers of 4 bits has no lowering; compute it in 8, 16, 32 or 64 bits}}
  %b = math.ctpop %a : i4
  %c = arith.extui %b : i4 to i32
  return %c : i32
}

// -----

func.func @any_rank(%x: tensor<*xi4>) -> tensor<*xi4> {
  // expected-error @below {{'arith.addi' of integers of 4 bits has no lowering; compute it in 8, 16, 32 or 64 bits}}
  %a = arith.addi %x, %x : tensor<*xi4>
  return %a : tensor<*xi4>
}
