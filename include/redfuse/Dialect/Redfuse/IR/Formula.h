//===- Formula.h - the formulas of certificates -----------------*- C++ -*-===//
//
// The grammar of `#redfuse.formula`, from what binds least to what binds most:
//
//   not a2                         a condition that does not hold
//   a == b, a != b, a < b, ...     conditions; they are not chained
//   a + b, a - b
//   a*b, a/b
//   -a
//   a**b                           to the right: a**b**c is a**(b**c)
//   (a)
//   exp(a), select(c, a, b)        a call
//   add[1, 2](a)                   a reduction over iteration dims
//   x0, t3', t3''                  a name; a prime is the value after a segment
//   37, 9.5e-06, oo, nan           a number
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_DIALECT_REDFUSE_IR_FORMULA_H
#define REDFUSE_DIALECT_REDFUSE_IR_FORMULA_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

#include <string>
#include <vector>

namespace redfuse {

/// A node of a formula's tree.
struct FormulaNode {
  /// "number", "name", "call", "reduce", "not", "neg", or an operator as it is
  /// written.
  std::string head;
  /// The digits of a number with its sign, a name without its primes, the function
  /// that is called, or the reducer.
  std::string value;
  /// Of a name: how many primes it has.
  int64_t primes = 0;
  /// Of a reduction: the iteration dims that it runs over.
  llvm::SmallVector<int64_t> dims;
  std::vector<FormulaNode> args;
};

/// Reads a formula. On failure `why` says what was expected, and where.
mlir::FailureOr<FormulaNode> parseFormula(mlir::StringRef text,
                                          std::string &why);

} // namespace redfuse

#endif // REDFUSE_DIALECT_REDFUSE_IR_FORMULA_H
