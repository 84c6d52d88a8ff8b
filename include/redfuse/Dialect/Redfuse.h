//===- Redfuse.h - the redfuse dialect ---------------------------*- C++ -*-===//
#ifndef REDFUSE_DIALECT_REDFUSE_H
#define REDFUSE_DIALECT_REDFUSE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "redfuse/Dialect/RedfuseDialect.h.inc"

#define GET_OP_CLASSES
#include "redfuse/Dialect/RedfuseOps.h.inc"

#endif // REDFUSE_DIALECT_REDFUSE_H
