//===- KernelTrial.cpp - a group of cascades, planned to see how it runs --===//
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/KernelPlanner.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Codegen/GPU/Contractions/ContractionPlan.h"
#include "redfuse/Codegen/GPU/KernelTime.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"
#include "redfuse/Codegen/GPU/ProductPlan.h"
#include "redfuse/Codegen/GPU/RegisterPlan.h"
#include "redfuse/Pipelines/Pipelines.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace redfuse;

/// From fusion, which leaves one cascade as it is, to where all launches have their plans.
static constexpr StringLiteral kStages[] = {
    "fuse", "schedule", "derive", "outline", "bufferize", "share", "plan"};

/// What threads may take to multiply matrices, of what a launch takes by itself. Estimated.
static constexpr double kShortOfLaunch = 0.25;

/// Whether a launch takes little longer than one that does nothing: another one, for matrix
/// units, would take more than threads that multiply.
static bool isShort(LaunchOp launch) {
  auto time = launch->getAttrOfType<PredictedTimeAttr>(kPredictedAttr);
  return time && time.getTotal() - time.getLaunch() <=
                     kShortOfLaunch * time.getLaunch();
}

/// Launches that a few blocks take, at least, for parts of their work to be better apart, and the
/// share of the multiprocessors that are few. Estimated: statistics of 24000 values, and sums of
/// 24000 x 17 others, took one block 384 us on an H200, and take 39 in six kernels.
static constexpr double kLongOfLaunch = 3, kFewOfUnits = 0.25;

/// Whether a few blocks pass over something several times, for long.
static bool isOfFewBlocks(LaunchOp launch,
                          ArrayRef<IndexProgramOpInterface> programs,
                          const Chip &chip) {
  auto time = launch->getAttrOfType<PredictedTimeAttr>(kPredictedAttr);
  if (!time || double(time.getTotal()) < kLongOfLaunch * time.getLaunch() ||
      double(time.getBlocks()) > kFewOfUnits * double(chip.units))
    return false;
  auto isMultiPass = [](Operation *op) {
    auto schedule = op->getAttrOfType<ScheduleAttr>("schedule");
    return schedule && schedule.getKind() == ScheduleKind::MultiPass;
  };
  return llvm::any_of(programs, [&](IndexProgramOpInterface program) {
    return isMultiPass(program) || isMultiPass(program->getParentOp());
  });
}

/// How one launch will run.
static KernelPlan getPlan(LaunchOp launch) {
  auto has = [&](StringRef plan) { return launch->hasAttr(plan); };
  if (has(kPlanAttr) || has(kContractionAttr))
    return KernelPlan::Fast;
  if (has(kProductTilesAttr))
    return KernelPlan::ScalarProducts;
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
      launch, launch.getKernelAttr());
  if (!kernel)
    return KernelPlan::Fast;
  auto programs = llvm::to_vector(
      kernel.getBody().front().getOps<IndexProgramOpInterface>());
  if (const Chip *chip = getChipOf(launch);
      chip && isOfFewBlocks(launch, programs, *chip))
    return KernelPlan::FewBlocks;
  bool isProduct = llvm::any_of(programs, hasMatrixProduct);
  if (has(kRegistersAttr))
    return isProduct && !isShort(launch) ? KernelPlan::ScalarProducts
                                         : KernelPlan::Fast;
  // Threads do what has no reduction well enough from memory, unless each block has more
  // than its threads hold.
  if (has(kNoRegistersAttr))
    return KernelPlan::TilesInMemory;
  bool isReduced = llvm::any_of(programs, [](IndexProgramOpInterface op) {
    return llvm::any_of(*op.getProgramBody(),
                        [](Operation &inner) { return isRootOp(&inner); });
  });
  return isReduced ? KernelPlan::TilesInMemory : KernelPlan::Fast;
}

static LogicalResult buildTrial(OpPassManager &pm) {
  CompileOptions options;
  options.plans = false; // it is what is asked
  for (StringRef stage : kStages)
    options.stages.push_back(stage.str());
  return buildPipeline(pm, PipelineKind::CUDA, options,
                       [](const Twine &) { return failure(); });
}

namespace {
struct KernelTrial : public KernelPlannerInterface {
  using KernelPlannerInterface::KernelPlannerInterface;

  KernelPlan tryPlans(ModuleOp module) const override {
    PassManager pm(module.getContext(), ModuleOp::getOperationName());
    if (failed(buildTrial(pm)))
      return KernelPlan::Fast;
    // What is said here is of a trial; the user hears it of the program.
    ScopedDiagnosticHandler silence(module.getContext(),
                                    [](Diagnostic &) { return success(); });
    if (failed(pm.run(module)))
      return KernelPlan::Fast;
    KernelPlan worst = KernelPlan::Fast;
    module.walk(
        [&](LaunchOp launch) { worst = std::max(worst, getPlan(launch)); });
    return worst;
  }
};
} // namespace

/// A trial runs inside of a pass, where no dialect can be loaded any more.
static void loadDialectsOfTrial(MLIRContext *context) {
  OpPassManager pm(ModuleOp::getOperationName());
  DialectRegistry registry;
  if (failed(buildTrial(pm)))
    return;
  pm.getDependentDialects(registry);
  context->appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context->getOrLoadDialect(name);
}

void redfuse::registerKernelPlanner(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RedfuseDialect *dialect) {
    dialect->addInterfaces<KernelTrial>();
    loadDialectsOfTrial(context);
  });
}
