//===- OptMain.cpp - redfuse-opt, for C -----------------------------------===//
#include "redfuse-c/Redfuse.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

/// As upstream's, for a file that its parser survives.
static LogicalResult run(StringRef input, StringRef output,
                         DialectRegistry &registry,
                         const MlirOptMainConfig &config) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(input, &error);
  std::unique_ptr<llvm::ToolOutputFile> to =
      file ? openOutputFile(output, &error) : nullptr;
  if (!to) {
    llvm::errs() << error << "\n";
    return failure();
  }
  SmallVector<StringRef> parts{file->getBuffer()};
  if (!config.inputSplitMarker().empty()) {
    parts.clear();
    file->getBuffer().split(parts, config.inputSplitMarker());
  }
  for (StringRef part : parts) {
    RedfuseBytes why = redfuseTryToParse(wrap(part), nullptr);
    if (why.data) {
      llvm::errs() << input << ": error: MLIR's parser does not survive this "
                   << "program: " << why.data << "\n";
      redfuseBytesFree(why);
      return failure();
    }
  }
  if (failed(MlirOptMain(to->os(), std::move(file), registry, config)))
    return failure();
  to->keep();
  return success();
}

int redfuseOptMain(int argc, char **argv) {
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllAsmPrinters();
  llvm::InitializeAllAsmParsers();
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllGPUToLLVMIRTranslations(registry);
  registerAllPasses();
  redfuseRegisterDialects(wrap(&registry));
  redfuseRegisterPasses();
  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "redfuse optimizer driver\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return failed(MlirOptMain(argc, argv, input, output, registry));
  return failed(run(input, output, registry, config));
}
