//===- RegisterPressure.cpp - registers and code of a thread --------------===//
#include "RegisterPressure.h"

#include "redfuse/Analysis/Windows.h"

using namespace mlir;
using namespace redfuse;

double RegisterPressure::localOf(const SmallBitVector &dims) const {
  double n = 1;
  for (unsigned d : dims.set_bits())
    n *= layout.dims[d].repeats * layout.dims[d].lanes;
  return n;
}

double RegisterPressure::localOf(AffineMap map) const {
  double n = 1;
  for (AffineExpr e : map.getResults())
    n *= countValues(e, map.getNumDims(), [&](unsigned d) {
      return double(layout.dims[d].repeats * layout.dims[d].lanes);
    });
  return std::min(n, localOf(getDimsOf(map)));
}

bool RegisterPressure::isKept(BlockArgument argument) const {
  return llvm::any_of(layout.kept, [&](const KeptInput &kept) {
    return kept.argument == argument.getArgNumber();
  });
}

/// All blocks read it, and each where it is used.
bool RegisterPressure::isLoadedLate(BlockArgument argument) const {
  return demands.hints.early != SharedLoads::WithRest &&
         llvm::all_of(demands.accesses, [&](const TensorAccess &a) {
           return a.argument != argument || demands.isSharedByBlocks(a);
         });
}

int64_t RegisterPressure::countRegisters() const {
  auto words = [](Type type) {
    return double(std::max<int64_t>(bytesOf(type), 1)) / 4;
  };
  KernelOp kernel = demands.kernel;
  DenseMap<Value, BlockArgument> destinations = findDestinations(kernel);
  double kept = 0, most = 0;
  for (auto op : kernel.getBody().front().getOps<IndexProgramOpInterface>()) {
    TileProgram &program = *demands.programs.find(op)->second;
    for (auto &[value, of] : program.getBuffers())
      kept += std::max(1.0, words(value.getType())) *
              localOf(program.getDimSets()[value]);
    for (auto [i, arg] : llvm::enumerate(program.getBody().getArguments())) {
      auto fold = dyn_cast<FoldOp>(op.getOperation());
      if (fold && i >= fold.getInputs().size())
        kept += std::max(1.0, words(arg.getType())) *
                localOf(program.getDimSets()[arg]);
      else if (auto it = destinations.find(op->getOperand(i));
               it != destinations.end() && !layout.readsAgain &&
               (demands.isStaged(layout) || !isKept(it->second)) &&
               !isLoadedLate(it->second))
        kept += words(arg.getType()) * localOf(op.getMapOfBodyArgument(i));
    }
    for (const LoopNest &nest : program.getNests()) {
      double own = 0;
      SmallBitVector into = nest.dims;
      for (unsigned d : nest.over)
        if (layout.dims[d].lanes == 1)
          into.reset(d);
      SmallBitVector lanes = into;
      for (unsigned d : nest.over)
        if (layout.dims[d].lanes > 1)
          lanes.reset(d);
      double points = localOf(lanes);
      if (lanes != into)
        points *= layout.lanes;
      for (Root *root : nest.roots) {
        unsigned parts = root->op ? root->op->getNumOperands() : 0;
        // Where elements have several, those of all wait for what comes before them.
        if (root->kind == Root::Kind::Scan && parts > 1)
          own += localOf(nest.dims) * parts;
        else if (root->kind == Root::Kind::Reduce ||
                 root->kind == Root::Kind::Scan)
          own += points * parts;
      }
      most = std::max(most, own);
    }
  }
  return kept + most;
}

/// Whether an op works on positions alone: those that several points share are the same
/// code.
static bool isOfPositions(Value v) {
  Operation *op = v.getDefiningOp();
  return op && op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperandTypes(),
                      [](Type type) { return type.isIndex(); });
}

/// Instructions of an op, in ops. Functions of angles have a way of their own for large ones:
/// 256 sines and cosines of a thread were 724 KiB of code, and took 0.4 ms on an H200; in two
/// kernels with a sixth of it they took 0.05.
static double getCodeOf(Operation *op) {
  if (isa_and_nonnull<math::SinOp, math::CosOp, math::TanOp>(op))
    return 150;
  return isa_and_nonnull<math::PowFOp, math::Atan2Op>(op) ? 50 : 1;
}

int64_t RegisterPressure::countCode() const {
  double code = 0;
  for (auto &[op, program] : demands.programs)
    for (const LoopNest &nest : program->getNests()) {
      double points = 1, ops = 1;
      for (unsigned d : nest.dims.set_bits())
        points *= layout.dims[d].repeats;
      for (Root *root : nest.roots)
        for (Value v : root->cone)
          if (!isOfPositions(v))
            ops += getCodeOf(v.getDefiningOp());
      code += points * ops;
    }
  return std::min(code, 1e9);
}
