//===- NormalizePipeline.cpp - layer 1 as one pipeline --------------------===//
#include "redfuse/Transforms/Canonicalize.h"
#include "redfuse/Transforms/Normalize/Normalize.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void redfuse::buildNormalizePipeline(OpPassManager &pm, bool padsAreMaps) {
  pm.addPass(createNormalizeTransposes());
  // Before anything changes the operands that a declared reducer speaks of.
  pm.addPass(createNormalizeCombiners());
  pm.addPass(createTensorCanonicalizer());
  pm.addPass(createCSEPass());
  // Extents are not negative: that proves most assertions about shapes.
  pm.addPass(arith::createIntRangeOptimizationsPass());
  pm.addPass(createNormalizeExtents());
  pm.addPass(createTensorCanonicalizer());
  pm.addPass(createCSEPass());

  // Bounds and other scalars that do not vary leave the loops first.
  pm.addPass(createNormalizeInvariants());
  pm.addPass(createNormalizeLoops());
  pm.addPass(createNormalizeGeneralize());
  if (padsAreMaps)
    pm.addPass(createNormalizePads());
  pm.addPass(createWidenIntegers());
  pm.addPass(createNormalizePowers());
  pm.addPass(createNormalizeConstants());
  pm.addPass(createNormalizeSorts());
  pm.addPass(createNormalizeSelections());
  pm.addPass(createNormalizeScans());
  pm.addPass(createNormalizeDeadResults());
  pm.addPass(createNormalizeReshapeOps());
  pm.addPass(createNormalizeCaptures());
  pm.addPass(createNormalizeBroadcasts());
  pm.addPass(createNormalizeGathers());
  pm.addPass(createNormalizeBroadcasts());
  pm.addPass(createNormalizeDeadResults());

  pm.addPass(createNormalizeViews());
  // A reshape that both splits a dim and adds a unit dim hands the unit dim to
  // the loops it is pushed through, so unit dims and reshapes alternate.
  for (int round = 0; round < 2; ++round) {
    pm.addPass(createNormalizeUnitDims());
    pm.addPass(createNormalizeReshapes());
  }
  // Reshapes that went away bring copies and slices next to their readers.
  pm.addPass(createNormalizeViews());
  pm.addPass(createNormalizeExtensions());
  pm.addPass(createNormalizeConstants());
  pm.addPass(createNormalizeDeadResults());
  pm.addPass(createTensorCanonicalizer());
  pm.addPass(createCSEPass());
}

void redfuse::registerNormalizePipeline() {
  PassPipelineRegistration<>(
      "redfuse-normalize",
      "Layer 1: linalg.generic on tensors, reshapes and unit dims folded away",
      [](OpPassManager &pm) { buildNormalizePipeline(pm); });
}
