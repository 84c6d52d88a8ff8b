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

def CombiningOpInterface : OpInterface<"CombiningOpInterface"> {
  let description = [{
    An op of a body that combines its operands by a reducer: a reduction or a
    scan. A reducer is associative and has an identity; a declared one says both
    itself, by a region that takes two states, left then right, and constants.
  }];
  let cppNamespace = "::redfuse";
  let methods = [
    InterfaceMethod<"The reducer.", "::redfuse::Reducer", "getReducer">,
    InterfaceMethod<"The identities of a declared reducer, else null.",
      "::mlir::ArrayAttr", "getIdentitiesAttr">,
    InterfaceMethod<"Whether only neighbours may be combined, left before right.",
      "bool", "getOrdered">,
    InterfaceMethod<"How a declared reducer combines; empty for the others.",
      "::mlir::Region &", "getCombine">,
    InterfaceMethod<"Whether the reducer is declared.", "bool", "isDeclared", (ins),
      [{}], [{ return $_op.getReducer() == ::redfuse::Reducer::Declared; }]>
  ];
}

#endif // REDFUSE_INTERFACES_TD
