//===- LowerTiles.cpp - the tile dialect to instructions ------------------===//
#include "TileLowering.h"

#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/TileRules.h"
#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"

namespace redfuse {
#define GEN_PASS_DEF_LOWERTILES
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Pieces of all patterns
//===----------------------------------------------------------------------===//

Value tile::constantI32(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(b, loc, b.getI32Type(), value);
}

Value tile::addI32(OpBuilder &b, Location loc, Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(loc, x, y);
}

Value tile::addI32(OpBuilder &b, Location loc, Value x, int64_t y) {
  return y == 0 ? x : addI32(b, loc, x, constantI32(b, loc, y));
}

Value tile::mulI32(OpBuilder &b, Location loc, Value x, int64_t y) {
  return b.createOrFold<arith::MulIOp>(loc, x, constantI32(b, loc, y));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
/// Values as registers: addresses are 32 bits; what stands for several registers
/// becomes as many values.
class RegisterTypes : public TypeConverter {
public:
  explicit RegisterTypes(MLIRContext *context) {
    Builder b(context);
    Type i32 = b.getI32Type();
    addConversion([](Type type) { return type; });
    addConversion([i32](tile::BarrierType) -> Type { return i32; });
    addConversion([i32](tile::SharedType) -> Type { return i32; });
    addConversion([i32](tile::RingType, SmallVectorImpl<Type> &into) {
      into.append(2, i32);
      return success();
    });
    addConversion([](tile::AccumulatorsType type, SmallVectorImpl<Type> &into) {
      into.append(type.getSize(), type.getElement());
      return success();
    });
    addConversion([i32](tile::OperandType type, SmallVectorImpl<Type> &into) {
      into.append(type.getSize(), i32);
      return success();
    });
  }
};

struct LowerTiles : redfuse::impl::LowerTilesBase<LowerTiles> {
  using LowerTilesBase::LowerTilesBase;

  // Addresses of tensors.
  void getDependentDialects(DialectRegistry &registry) const override {
    LowerTilesBase::getDependentDialects(registry);
    registry.insert<memref::MemRefDialect>();
  }

  /// Whether the op gives registers of a matrix of so many rows.
  static bool hasRows(Operation *op, int64_t rows) {
    return llvm::any_of(op->getResultTypes(), [&](Type type) {
      auto accumulators = dyn_cast<tile::AccumulatorsType>(type);
      auto operand = dyn_cast<tile::OperandType>(type);
      return (accumulators && accumulators.getRows() == rows) ||
             (operand && operand.getRows() == rows);
    });
  }

  /// Says of the first op that `chip` lacks what it needs.
  LogicalResult checkTargets(const Chip &chip) {
    auto result = getOperation()->walk([&](Operation *op) {
      if (!isa_and_nonnull<tile::TileDialect>(op->getDialect()))
        return WalkResult::advance();
      StringRef needed;
      if (op->hasTrait<tile::NeedsAsyncCopies>() && !chip.has(AsyncCopies))
        needed = "copies that run beside the threads";
      else if (op->hasTrait<tile::NeedsTensorMaps>() && !chip.has(TensorMaps))
        needed = "tensor maps and their barriers";
      else if (hasRows(op, 128) && chip.has(Wgmma))
        needed = "products of single warps";
      if (auto product = dyn_cast<tile::MmaOp>(op))
        return WalkResult(tile::checkInstruction(product, chip));
      if (needed.empty()) {
        auto product = dyn_cast<tile::MultiplyOp>(op);
        if (product && !chip.has(Wgmma))
          return WalkResult(tile::checkWarpProduct(product));
        return WalkResult::advance();
      }
      op->emitOpError() << "needs " << needed << "; the target is '"
                        << chip.name << "'";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  void runOnOperation() override {
    FailureOr<const Chip *> found = requireChip(getOperation());
    if (failed(found))
      return signalPassFailure();
    const Chip &chip = **found;
    if (failed(checkTargets(chip)) || failed(tile::checkRules(getOperation())))
      return signalPassFailure();
    MLIRContext *context = &getContext();
    RegisterTypes types(context);
    RewritePatternSet patterns(context);
    ConversionTarget target(*context);
    tile::populateBarrierPatterns(types, patterns);
    tile::populateCopyPatterns(types, patterns);
    tile::populateInstructionPatterns(types, patterns, chip);
    tile::populateOperandPatterns(types, patterns);
    if (chip.has(Wgmma))
      tile::populateProductPatterns(types, patterns);
    else
      tile::populateWarpProductPatterns(types, patterns, chip);
    tile::populateRowPatterns(types, patterns);
    tile::populateRolePatterns(types, patterns);
    target.addIllegalDialect<tile::TileDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    scf::populateSCFStructuralTypeConversionsAndLegality(types, patterns,
                                                         target);
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
