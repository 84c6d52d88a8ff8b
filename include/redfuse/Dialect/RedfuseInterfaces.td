//===- RedfuseInterfaces.td - op interfaces ----------------*- tablegen -*-===//
#ifndef REDFUSE_INTERFACES_TD
#define REDFUSE_INTERFACES_TD

include "mlir/IR/OpBase.td"

def IndexProgramOpInterface : OpInterface<"IndexProgramOpInterface"> {
  let description = [{
    An op whose region is a program in index notation: operands with indexing
    maps over one set of iteration dims, and a scalar SSA body in which every
    value depends on a set of those dims. What analyses and the code generators
    work on; they know no op of this kind by name.
  }];
  let cppNamespace = "::redfuse";
  let methods = [
    InterfaceMethod<"The indexing maps: of the inputs, then of the destinations.",
      "::llvm::SmallVector<::mlir::AffineMap>", "getIndexingMapsArray">,
    InterfaceMethod<"The operands that are read through maps.",
      "::mlir::OperandRange", "getProgramInputs">,
    InterfaceMethod<"The destinations, tied to the results.",
      "::mlir::OperandRange", "getProgramInits">,
    InterfaceMethod<"The body.", "::mlir::Block *", "getProgramBody">,
    InterfaceMethod<[{The map that says on which dims a body argument depends.}],
      "::mlir::AffineMap", "getMapOfBodyArgument", (ins "unsigned":$index)>,
    InterfaceMethod<"The number of iteration dims.", "unsigned", "getNumIterationDims", (ins),
      [{}], [{
        auto maps = $_op.getIndexingMapsArray();
        return maps.empty() ? 0u : maps.front().getNumDims();
      }]>
  ];
}

#endif // REDFUSE_INTERFACES_TD
