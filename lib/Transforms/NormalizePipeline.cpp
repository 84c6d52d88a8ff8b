//===- NormalizePipeline.cpp - layer 1 as one pipeline --------------------===//
#include "redfuse/Transforms/Normalize.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void redfuse::buildNormalizePipeline(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createNormalizeGeneralize());
  pm.addPass(createNormalizeConstants());
  pm.addPass(createNormalizeDeadResults());
  pm.addPass(createNormalizeViews());
  pm.addPass(createNormalizeUnitDims());
  pm.addPass(createNormalizeReshapes());
  // Reshapes that went away bring copies and slices next to their readers.
  pm.addPass(createNormalizeViews());
  pm.addPass(createNormalizeConstants());
  pm.addPass(createNormalizeDeadResults());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void redfuse::registerNormalizePipeline() {
  PassPipelineRegistration<>(
      "redfuse-normalize",
      "Layer 1: linalg.generic on tensors, reshapes and unit dims folded away",
      [](OpPassManager &pm) { buildNormalizePipeline(pm); });
}
