//===- SliceOperands.cpp - kernels take the slices that they read ---------===//
//
// The steps of an unrolled loop are kernels that differ by the position at which they
// read one tensor. Each gets its slice as an argument instead, and they are equal.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"

namespace redfuse {
#define GEN_PASS_DEF_SLICEOPERANDS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// The constants at which all readers of an argument read its first dims.
static SmallVector<int64_t> getConstantPosition(BlockArgument argument) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  if (!type || type.getRank() == 0 || !type.hasStaticShape() ||
      argument.use_empty())
    return {};
  std::optional<SmallVector<int64_t>> common;
  for (OpOperand &use : argument.getUses()) {
    auto program = dyn_cast<IndexProgramOpInterface>(use.getOwner());
    if (!program)
      return {};
    OperandRange inputs = program.getProgramInputs();
    unsigned at = use.getOperandNumber() - inputs.getBeginOperandIndex();
    if (at >= inputs.size())
      return {}; // a destination
    SmallVector<int64_t> position;
    // A dim at the least stays.
    for (AffineExpr e :
         program.getIndexingMapsArray()[at].getResults().drop_back()) {
      auto constant = dyn_cast<AffineConstantExpr>(e);
      if (!constant)
        break;
      position.push_back(constant.getValue());
    }
    if (common && *common != position)
      return {};
    common = position;
  }
  return *common;
}

/// Lets a kernel take what is at the position, without the dims that this tells.
static void dropDims(BlockArgument argument, unsigned dims) {
  for (OpOperand &use : argument.getUses()) {
    auto program = cast<IndexProgramOpInterface>(use.getOwner());
    unsigned at = use.getOperandNumber() -
                  program.getProgramInputs().getBeginOperandIndex();
    SmallVector<AffineMap> maps = program.getIndexingMapsArray();
    maps[at] = AffineMap::get(maps[at].getNumDims(), maps[at].getNumSymbols(),
                              maps[at].getResults().drop_front(dims),
                              maps[at].getContext());
    program->setAttr("indexing_maps",
                     Builder(program.getContext()).getAffineMapArrayAttr(maps));
  }
  auto type = cast<RankedTensorType>(argument.getType());
  argument.setType(RankedTensorType::get(type.getShape().drop_front(dims),
                                         type.getElementType()));
}

/// Of a buffer, what is at the position. The offset is a value: slices at different
/// positions are of one type.
static Value makeSlice(OpBuilder &b, Location loc, Value buffer,
                       ArrayRef<int64_t> position) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<OpFoldResult> offsets, sizes, strides;
  for (auto [d, extent] : llvm::enumerate(type.getShape())) {
    bool isTold = d < position.size();
    offsets.push_back(isTold ? OpFoldResult(arith::ConstantIndexOp::create(
                                                b, loc, position[d])
                                                .getResult())
                             : b.getIndexAttr(0));
    sizes.push_back(b.getIndexAttr(isTold ? 1 : extent));
    strides.push_back(b.getIndexAttr(1));
  }
  MemRefType slice = memref::SubViewOp::inferRankReducedResultType(
      type.getShape().drop_front(position.size()), type, offsets, sizes,
      strides);
  return memref::SubViewOp::create(b, loc, slice, buffer, offsets, sizes,
                                   strides);
}

namespace {
/// A kernel with one launch, and where it reads its arguments.
struct Candidate {
  KernelOp kernel;
  LaunchOp launch;
  SmallVector<SmallVector<int64_t>> positions;
};

struct SliceOperands : public redfuse::impl::SliceOperandsBase<SliceOperands> {
  using SliceOperandsBase::SliceOperandsBase;

  /// Kernels that read at constant positions, those together that would be equal.
  llvm::MapVector<size_t, SmallVector<Candidate>> findAlike() {
    llvm::DenseMap<StringAttr, SmallVector<LaunchOp>> launches;
    getOperation().walk([&](LaunchOp launch) {
      launches[launch.getKernelAttr().getAttr()].push_back(launch);
    });
    llvm::MapVector<size_t, SmallVector<Candidate>> alike;
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      ArrayRef<LaunchOp> own = launches[kernel.getSymNameAttr()];
      if (own.size() != 1)
        continue;
      Candidate found{kernel, own.front(), {}};
      bool reads = false;
      for (auto [argument, operand] : llvm::zip(kernel.getBody().getArguments(),
                                                found.launch.getInputs())) {
        found.positions.push_back(isa<MemRefType>(operand.getType())
                                      ? getConstantPosition(argument)
                                      : SmallVector<int64_t>());
        reads |= !found.positions.back().empty();
      }
      if (!reads)
        continue;
      OwningOpRef<KernelOp> copy = kernel.clone();
      for (auto [position, argument] :
           llvm::zip(found.positions, copy->getBody().getArguments()))
        if (!position.empty())
          dropDims(argument, position.size());
      llvm::hash_code hash = hashKernel(*copy);
      for (Type type : found.launch->getOperandTypes())
        hash = llvm::hash_combine(hash, type);
      alike[hash].push_back(std::move(found));
    }
    return alike;
  }

  void runOnOperation() override {
    for (auto &[hash, candidates] : findAlike()) {
      llvm::SmallDenseSet<size_t> different;
      for (Candidate &c : candidates)
        different.insert(hashKernel(c.kernel));
      if (different.size() < leastAlike)
        continue;
      for (Candidate &c : candidates) {
        OpBuilder b(c.launch);
        for (auto [i, position] : llvm::enumerate(c.positions)) {
          if (position.empty())
            continue;
          OpOperand &operand = c.launch.getInputsMutable()[i];
          operand.set(makeSlice(b, c.launch.getLoc(), operand.get(), position));
          dropDims(c.kernel.getBody().getArgument(i), position.size());
        }
      }
    }
  }
};
} // namespace
