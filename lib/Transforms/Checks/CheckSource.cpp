//===- CheckSource.cpp - what no stage can compile ------------------------===//
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shape/IR/Shape.h"
#include "llvm/ADT/SetVector.h"

namespace redfuse {
#define GEN_PASS_DEF_CHECKSOURCE
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// What the stages take, or leave as ordinary code that upstream's passes lower.
static constexpr StringLiteral kDialects[] = {
    "affine",  "arith", "bufferization", "builtin", "cf",        "complex",
    "func",    "index", "linalg",        "math",    "memref",    "ml_program",
    "redfuse", "scf",   "shape",         "tensor",  "tm_tensor", "ub",
    "vector"};
static constexpr StringLiteral kExpected =
    "expected linalg, tensor, arith, math, scf and cf; lower other operations "
    "to these first";
static constexpr unsigned kWidest = 64;

/// Whether an op rounds a scalar to TF32, and its only users make it an f32 again:
/// those bits can be computed in an f32.
static bool isRounding(Operation *op) {
  auto narrow = dyn_cast<arith::TruncFOp>(op);
  return narrow && isa<FloatTF32Type>(narrow.getType()) &&
         llvm::all_of(op->getUsers(), llvm::IsaPred<arith::ExtFOp>);
}

/// Whether there is code that computes with elements of a type.
static bool hasArithmetic(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  if (auto integer = dyn_cast<IntegerType>(element))
    return integer.getWidth() <= kWidest;
  return !isa<Float80Type, Float128Type, FloatTF32Type, Float4E2M1FNType,
              Float6E2M3FNType, Float6E3M2FNType, Float8E8M0FNUType>(element);
}

static LogicalResult checkType(Operation *op, Type type) {
  // Only what computes shapes of tensors has a form in memory.
  if (isa<shape::ShapeType, shape::SizeType>(type))
    return op->emitError() << op->getName() << " has a value of type " << type
                           << ", which has no form in memory; " << kExpected;
  Type element = getElementTypeOrSelf(type);
  if (!hasArithmetic(element))
    return op->emitError()
           << op->getName() << " has a value of type " << type
           << ": there is no code for " << element
           << "; expected integers of up to " << kWidest
           << " bits, index, and floats of 16, 32 or 64 bits or fp8";
  return success();
}

static LogicalResult check(Operation *op) {
  if (!llvm::is_contained(kDialects, op->getName().getDialectNamespace()))
    return op->emitError() << op->getName() << " cannot be compiled; "
                           << kExpected;
  if (isRounding(op))
    return success();
  for (Type type : op->getResultTypes())
    if (failed(checkType(op, type)))
      return failure();
  for (Region &region : op->getRegions())
    for (Type type : region.getArgumentTypes())
      if (failed(checkType(op, type)))
        return failure();
  return success();
}

namespace {
struct CheckSource : redfuse::impl::CheckSourceBase<CheckSource> {
  void runOnOperation() override {
    // Public functions, and what they call.
    llvm::SetVector<func::FuncOp> functions;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func.isPublic())
        functions.insert(func);
    SymbolTable symbols(getOperation());
    for (size_t i = 0; i < functions.size(); ++i) {
      WalkResult result = functions[i]->walk<WalkOrder::PreOrder>(
          [&](Operation *op) -> WalkResult {
            if (auto call = dyn_cast<func::CallOp>(op))
              if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
                functions.insert(callee);
            return check(op);
          });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
  }
};
} // namespace
