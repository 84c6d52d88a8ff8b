//===- TMTensor.h - what torch-mlir leaves beside linalg --------*- C++ -*-===//
#ifndef REDFUSE_DIALECT_TMTENSOR_IR_TMTENSOR_H
#define REDFUSE_DIALECT_TMTENSOR_IR_TMTENSOR_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "redfuse/Dialect/TMTensor/IR/TMTensorDialect.h.inc"

#define GET_OP_CLASSES
#include "redfuse/Dialect/TMTensor/IR/TMTensorOps.h.inc"

#endif // REDFUSE_DIALECT_TMTENSOR_IR_TMTENSOR_H
