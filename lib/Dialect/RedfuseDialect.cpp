//===- RedfuseDialect.cpp - registration of ops and attributes ------------===//
#include "redfuse/Dialect/Redfuse.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace redfuse;

#include "redfuse/Dialect/RedfuseDialect.cpp.inc"

#define GET_OP_CLASSES
#include "redfuse/Dialect/RedfuseOps.cpp.inc"

void RedfuseDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "redfuse/Dialect/RedfuseOps.cpp.inc"
      >();
}
