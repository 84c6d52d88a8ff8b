//===- RedfuseDialect.td - the redfuse dialect -------------*- tablegen -*-===//
#ifndef REDFUSE_DIALECT_TD
#define REDFUSE_DIALECT_TD

include "mlir/IR/OpBase.td"

def Redfuse_Dialect : Dialect {
  let name = "redfuse";
  let cppNamespace = "::redfuse";
  let summary = "reductions with carried state, and what fuses them";
  let useDefaultAttributePrinterParser = 1;
  // What tiling and the splitting of folds make.
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
  let description = [{
    The dialect states cascades of reductions as programs in index notation:
    every operand has an indexing map, every value in a body depends on a set of
    iteration dims, and a reduction names the dims that it folds (`over`) and
    those that it keeps (`into`).
  }];
}

class Redfuse_Op<string mnemonic, list<Trait> traits = []>
    : Op<Redfuse_Dialect, mnemonic, traits>;

#endif // REDFUSE_DIALECT_TD
