//===- Selection.h - redfuse.select and redfuse.scatter ---------*- C++ -*-===//
#ifndef REDFUSE_DIALECT_REDFUSE_IR_SELECTION_H
#define REDFUSE_DIALECT_REDFUSE_IR_SELECTION_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#define GET_OP_CLASSES
#include "redfuse/Dialect/Redfuse/IR/RedfuseSelection.h.inc"

#endif // REDFUSE_DIALECT_REDFUSE_IR_SELECTION_H
