//===- LowerToLLVM.cpp - the pipeline from memrefs to the LLVM dialect ----===//
#include "redfuse/Conversion/HostToLLVM/LowerToLLVM.h"
#include "redfuse/Conversion/MathExpansion/ExpandSmallFloats.h"
#include "redfuse/Conversion/Passes.h"
#include "redfuse/Support/Host.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace {
struct LLVMOptions : PassPipelineOptions<LLVMOptions> {
  Option<std::string> cpu{*this, "cpu",
                          llvm::cl::desc("the processor (this machine's)"),
                          llvm::cl::init("")};
  Option<std::string> features{
      *this, "features",
      llvm::cl::desc("features added to the processor's, +name or -name"),
      llvm::cl::init("")};
};
} // namespace

void redfuse::buildLowerToLLVM(OpPassManager &pm, const CpuTarget &target) {
  // Math: half precision in f32, then polynomials, the rest is libm's.
  pm.addPass(createInterfaces());
  addSmallFloats(pm);
  pm.addPass(math::createMathExtendToSupportedTypes());
  pm.addPass(createExpandMath(ExpandMathOptions{target.scalef}));
  // Vectors to one dimension, loops to blocks.
  pm.addPass(createLowerVectors());
  pm.addPass(createConvertVectorToSCFPass(
      VectorTransferToSCFOptions().enableFullUnroll()));
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertComplexToStandardPass());
  pm.addPass(createConvertMathToFuncs());
  pm.addPass(createSkipEmptyLoops());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createLowerRuntime());
  pm.addPass(createLowerExpandShapes());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // To the LLVM dialect.
  ConvertVectorToLLVMPassOptions vectors;
  // The order within one horizontal sum is ours to choose; 16 dependent
  // additions are slow.
  vectors.reassociateFPReductions = true;
  vectors.vectorTransposeLowering =
      vector::VectorTransposeLowering::Shuffle16x16;
  pm.addPass(createConvertVectorToLLVMPass(vectors));
  ConvertMathToLLVMPassOptions math;
  math.approximateLog1p = false;
  pm.addPass(createConvertMathToLLVMPass(math));
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createConvertComplexToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createConvertVectorToLLVMPass(vectors));
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createLowerLaunches());
  pm.addPass(createPackedEntries());
}

void redfuse::registerLowerToLLVMPipeline() {
  // By hand, because a PassPipelineRegistration cannot refuse a processor.
  registerPassPipeline(
      "redfuse-lower-to-llvm",
      "lower functions on memrefs to the LLVM dialect, with the runtime's "
      "entries",
      [](OpPassManager &pm, StringRef text,
         function_ref<LogicalResult(const Twine &)> fail) -> LogicalResult {
        LLVMOptions options;
        if (failed(options.parseFromString(text)))
          return failure();
        CpuTarget target;
        std::string error;
        if (!resolveCpu(options.cpu, options.features, target, error))
          return fail(error);
        buildLowerToLLVM(pm, target);
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> handle) {
        handle(LLVMOptions());
      });
}
