//===- RedfuseDialect.cpp - registration, attributes, reducers ------------===//
#include "redfuse/Dialect/Redfuse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace redfuse;

#include "redfuse/Dialect/RedfuseDialect.cpp.inc"
#include "redfuse/Dialect/RedfuseEnums.cpp.inc"
#include "redfuse/Dialect/RedfuseInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "redfuse/Dialect/RedfuseAttrs.cpp.inc"

void RedfuseDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "redfuse/Dialect/RedfuseAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "redfuse/Dialect/RedfuseOps.cpp.inc"
      >();
}

LogicalResult
ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                     ScheduleKind kind, ArrayRef<int64_t> grid,
                     ArrayRef<int64_t> tiles, ArrayRef<int64_t> stream,
                     StringAttr) {
  auto inRange = [&](int64_t d) {
    return d >= 0 && d < static_cast<int64_t>(tiles.size());
  };
  for (int64_t t : tiles)
    if (t < 0)
      return emitError() << "a tile of extent " << t
                         << "; expected 0 (the whole dim) or more";
  for (int64_t d : grid) {
    if (!inRange(d))
      return emitError() << "'grid' names dim " << d << ", but 'tiles' has "
                         << tiles.size() << " entries";
    if (tiles[d] == 0)
      return emitError() << "dim " << d
                         << " is in 'grid' but its tile is the whole dim";
  }
  for (int64_t d : stream) {
    if (!inRange(d))
      return emitError() << "'stream' names dim " << d << ", but 'tiles' has "
                         << tiles.size() << " entries";
    if (llvm::is_contained(grid, d))
      return emitError() << "dim " << d << " is both in 'grid' and 'stream'";
    if (tiles[d] == 0)
      return emitError() << "dim " << d
                         << " is in 'stream' but its tile is the whole dim";
  }
  if (kind == ScheduleKind::Stream && stream.empty())
    return emitError() << "a stream schedule needs dims in 'stream'";
  if (kind != ScheduleKind::Stream && !stream.empty())
    return emitError() << "only a stream schedule has dims in 'stream'";
  return success();
}

LogicalResult
TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr,
                   int64_t units, int64_t vectorBits, int64_t l1, int64_t l2,
                   int64_t flops, int64_t bandwidth, int64_t launchNs) {
  for (int64_t v : {units, vectorBits, l1, l2, flops, bandwidth})
    if (v <= 0)
      return emitError() << "expected positive capacities and rates, got " << v;
  if (launchNs < 0)
    return emitError() << "expected a launch cost of 0 or more, got "
                       << launchNs;
  return success();
}

//===----------------------------------------------------------------------===//
// Reducers
//===----------------------------------------------------------------------===//

TypedAttr redfuse::getReducerIdentity(Reducer reducer, Type type) {
  Builder b(type.getContext());
  if (auto ft = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &sem = ft.getFloatSemantics();
    switch (reducer) {
    case Reducer::Add:
      return b.getFloatAttr(type, APFloat::getZero(sem));
    case Reducer::Mul:
      return b.getFloatAttr(type, APFloat(sem, 1));
    case Reducer::MaximumF:
    case Reducer::MaxNumF:
    case Reducer::ArgMax:
    case Reducer::TopK:
      return b.getFloatAttr(type, APFloat::getInf(sem, /*Negative=*/true));
    case Reducer::MinimumF:
    case Reducer::MinNumF:
    case Reducer::ArgMin:
      return b.getFloatAttr(type, APFloat::getInf(sem));
    default:
      return {};
    }
  }
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  switch (reducer) {
  case Reducer::Add:
  case Reducer::Or:
  case Reducer::Xor:
  case Reducer::MaxUI:
    return b.getIntegerAttr(type, APInt::getZero(width));
  case Reducer::Mul:
    return b.getIntegerAttr(type, APInt(width, 1));
  case Reducer::And:
  case Reducer::MinUI:
    return b.getIntegerAttr(type, APInt::getAllOnes(width));
  case Reducer::MaxSI:
  case Reducer::ArgMax:
  case Reducer::TopK:
    return b.getIntegerAttr(type, APInt::getSignedMinValue(width));
  case Reducer::MinSI:
  case Reducer::ArgMin:
    return b.getIntegerAttr(type, APInt::getSignedMaxValue(width));
  default:
    return {};
  }
}

Value redfuse::createCombiner(OpBuilder &b, Location loc, Reducer reducer,
                              Value lhs, Value rhs) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(lhs.getType()));
  switch (reducer) {
  case Reducer::Add:
    return isFloat ? Value(arith::AddFOp::create(b, loc, lhs, rhs))
                   : Value(arith::AddIOp::create(b, loc, lhs, rhs));
  case Reducer::Mul:
    return isFloat ? Value(arith::MulFOp::create(b, loc, lhs, rhs))
                   : Value(arith::MulIOp::create(b, loc, lhs, rhs));
  case Reducer::MaximumF:
    return arith::MaximumFOp::create(b, loc, lhs, rhs);
  case Reducer::MinimumF:
    return arith::MinimumFOp::create(b, loc, lhs, rhs);
  case Reducer::MaxNumF:
    return arith::MaxNumFOp::create(b, loc, lhs, rhs);
  case Reducer::MinNumF:
    return arith::MinNumFOp::create(b, loc, lhs, rhs);
  case Reducer::MaxSI:
    return arith::MaxSIOp::create(b, loc, lhs, rhs);
  case Reducer::MinSI:
    return arith::MinSIOp::create(b, loc, lhs, rhs);
  case Reducer::MaxUI:
    return arith::MaxUIOp::create(b, loc, lhs, rhs);
  case Reducer::MinUI:
    return arith::MinUIOp::create(b, loc, lhs, rhs);
  case Reducer::And:
    return arith::AndIOp::create(b, loc, lhs, rhs);
  case Reducer::Or:
    return arith::OrIOp::create(b, loc, lhs, rhs);
  case Reducer::Xor:
    return arith::XOrIOp::create(b, loc, lhs, rhs);
  case Reducer::ArgMax:
  case Reducer::ArgMin:
  case Reducer::TopK:
    break;
  }
  llvm_unreachable("a reducer of pairs has no combiner of one operand");
}

std::optional<Reducer> redfuse::getReducerOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Reducer>>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Reducer::Add; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Reducer::Mul; })
      .Case([](arith::MaximumFOp) { return Reducer::MaximumF; })
      .Case([](arith::MinimumFOp) { return Reducer::MinimumF; })
      .Case([](arith::MaxNumFOp) { return Reducer::MaxNumF; })
      .Case([](arith::MinNumFOp) { return Reducer::MinNumF; })
      .Case([](arith::MaxSIOp) { return Reducer::MaxSI; })
      .Case([](arith::MinSIOp) { return Reducer::MinSI; })
      .Case([](arith::MaxUIOp) { return Reducer::MaxUI; })
      .Case([](arith::MinUIOp) { return Reducer::MinUI; })
      .Case([](arith::AndIOp) { return Reducer::And; })
      .Case([](arith::OrIOp) { return Reducer::Or; })
      .Case([](arith::XOrIOp) { return Reducer::Xor; })
      .Default([](Operation *) { return std::nullopt; });
}
