//===- RedfuseOps.td - operations of the redfuse dialect ---*- tablegen -*-===//
#ifndef REDFUSE_OPS_TD
#define REDFUSE_OPS_TD

include "redfuse/Dialect/RedfuseDialect.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Redfuse_YieldOp : Redfuse_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends a redfuse region with the values it hands out";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ }]>];
}

#endif // REDFUSE_OPS_TD
