//===- DeviceLibraries.cpp - what only ROCm's libraries have --------------===//
#include "DeviceLibraries.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

/// Whether a function is arithmetic in f32 (redfuse-expand-math).
static bool isExpandedInF32(StringRef function) {
  StringRef name = function.substr(function.rfind('.') + 1);
  if (name.consume_front("__ocml_"))
    name = name.substr(0, name.rfind('_'));
  return llvm::StringSwitch<bool>(name)
      .Cases({"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh",
              "erf"},
             true)
      .Default(false);
}

LogicalResult redfuse::reportMissingFunction(Operation *op, StringRef function,
                                             Type type) {
  InFlightDiagnostic told = op->emitError()
                            << function << " of " << type
                            << " has no lowering without ROCm's device "
                               "libraries; compute it ";
  if (getElementTypeOrSelf(type).isF64() && isExpandedInF32(function))
    told << "in f32, or ";
  return told << "for another target";
}
