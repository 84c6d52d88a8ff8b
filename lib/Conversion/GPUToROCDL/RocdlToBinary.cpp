//===- RocdlToBinary.cpp - kernels in ROCDL to AMD machine code -----------===//
//
// LLVM as MLIR's wheels bring it has no code generator for AMD GPUs: kernels leave as
// LLVM IR for a program that has one, as they do for ptxas on the way to a cubin.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace redfuse {
#define GEN_PASS_DEF_ROCDLTOBINARY
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

static constexpr StringLiteral kTriple = "amdgcn-amd-amdhsa";
/// The Python module that makes machine code of LLVM IR, for `python3 -m`.
static constexpr StringLiteral kGenerator = "redfuse.targets.rocm_code";

/// Kernels as a module of LLVM IR, in text.
static FailureOr<std::string> translate(gpu::GPUModuleOp kernels) {
  OwningOpRef<ModuleOp> alone = ModuleOp::create(kernels.getLoc());
  alone.get()->setAttr(LLVM::LLVMDialect::getTargetTripleAttrName(),
                       StringAttr::get(kernels.getContext(), kTriple));
  OpBuilder b = OpBuilder::atBlockBegin(alone->getBody());
  for (Operation &op : *kernels.getBody())
    b.clone(op);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(*alone, context, kernels.getName());
  if (!module)
    return failure();
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

namespace {
/// A file that is there as long as this is.
struct TemporaryFile {
  explicit TemporaryFile(StringRef suffix) {
    error = llvm::sys::fs::createTemporaryFile("redfuse", suffix, path);
    remover.setFile(path);
  }
  FailureOr<std::string> read() const {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer)
      return failure();
    return (*buffer)->getBuffer().str();
  }

  SmallString<128> path;
  std::error_code error;
  llvm::FileRemover remover;
};

struct RocdlToBinary : public redfuse::impl::RocdlToBinaryBase<RocdlToBinary> {
  using RocdlToBinaryBase::RocdlToBinaryBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    RocdlToBinaryBase::getDependentDialects(registry);
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    registerGPUDialectTranslation(registry);
    registerROCDLDialectTranslation(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<const Chip *> chip = requireChip(module);
    if (failed(chip))
      return signalPassFailure();
    if (format != "isa" && format != "bin" && format != "llvm") {
      module.emitError("option 'format': expected isa, bin or llvm; got '")
          << format << "'";
      return signalPassFailure();
    }
    for (auto kernels :
         llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>())) {
      FailureOr<std::string> object = generate(kernels, (*chip)->name);
      if (failed(object))
        return signalPassFailure();
      replace(kernels, (*chip)->name, *object);
    }
  }

private:
  /// By `python3 -m redfuse.targets.rocm_code IR CHIP LEVEL FORMAT OBJECT`.
  FailureOr<std::string> generate(gpu::GPUModuleOp kernels, StringRef chip) {
    FailureOr<std::string> text = translate(kernels);
    if (failed(text) || format == "llvm")
      return text;
    StringRef named = python.empty() ? "python3" : StringRef(python);
    llvm::ErrorOr<std::string> program = llvm::sys::findProgramByName(named);
    if (!program || !llvm::sys::fs::can_execute(*program))
      return kernels.emitError("no code for an AMD GPU without Python: ")
             << named << " was not found; expected one that has redfuse[rocm]";
    TemporaryFile source("ll"), object("object"), words("txt");
    for (const TemporaryFile *file : {&source, &object, &words})
      if (file->error)
        return kernels.emitError("cannot make a temporary file: ")
               << file->error.message();
    std::error_code error;
    llvm::raw_fd_ostream out(source.path, error);
    out << *text;
    out.close();
    std::string level = std::to_string(optLevel);
    std::string why;
    int code = llvm::sys::ExecuteAndWait(
        *program,
        {*program, "-m", kGenerator, source.path, chip, level, format,
         object.path},
        /*Env=*/std::nullopt,
        /*Redirects=*/{StringRef(""), StringRef(""), StringRef(words.path)},
        /*SecondsToWait=*/0, /*MemoryLimit=*/0, &why);
    FailureOr<std::string> made = object.read();
    if (code != 0 || failed(made))
      return kernels.emitError("no code for ")
             << chip << ": " << why
             << StringRef(words.read().value_or("")).trim();
    return made;
  }

  void replace(gpu::GPUModuleOp kernels, StringRef chip, StringRef object) {
    OpBuilder b(kernels);
    auto target = ROCDL::ROCDLTargetAttr::get(b.getContext(), int(optLevel),
                                              kTriple, chip);
    auto kind = format == "isa"   ? gpu::CompilationTarget::Assembly
                : format == "bin" ? gpu::CompilationTarget::Binary
                                  : gpu::CompilationTarget::Offload;
    auto attr = gpu::ObjectAttr::get(b.getContext(), target, kind,
                                     b.getStringAttr(object),
                                     /*properties=*/{}, /*kernels=*/{});
    gpu::BinaryOp::create(b, kernels.getLoc(), kernels.getName(),
                          /*offloadingHandler=*/nullptr,
                          b.getArrayAttr({attr}));
    kernels.erase();
  }
};
} // namespace
