//===- SoleContraction.cpp - kernels that are one sum of products ---------===//
#include "redfuse/Codegen/Common/SoleContraction.h"

using namespace mlir;
using namespace redfuse;

KernelSpace redfuse::withoutSchedule(KernelSpace space) {
  space.schedule = {};
  return space;
}

std::optional<FoundContraction>
redfuse::findSoleContraction(KernelOp kernel, LaunchOp launch,
                             const KernelSpace &space, const Chip *chip,
                             std::string &why) {
  auto refuse = [&](const Twine &reason) {
    why = reason.str();
    return std::nullopt;
  };
  auto ops = kernel.getBody().front().getOps<IndexProgramOpInterface>();
  if (!llvm::hasSingleElement(ops) ||
      !isa<CascadeOp>((*ops.begin()).getOperation()))
    return refuse("it is not one cascade");
  FoundContraction found;
  found.op = *ops.begin();
  TileProgram::Options options;
  options.chip = chip;
  options.isStaged = true;
  if (failed(makeTilePrograms(kernel, launch, space, options, found.programs)))
    return refuse("it has no tile program");
  TileProgram &program = *found.programs[found.op];
  if (!program.getScalarProducts().empty())
    return refuse(program.getScalarProducts().front().second);
  ArrayRef<LoopNest> nests = program.getNests();
  if (nests.size() != 1 || !nests.front().contraction ||
      !nests.front().contraction->matrix || !program.getBuffers().empty() ||
      nests.front().roots.size() < 2)
    return refuse("it is not one sum of products and what is computed of it "
                  "element by element");
  return found;
}
