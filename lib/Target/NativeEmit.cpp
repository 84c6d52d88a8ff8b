//===- NativeEmit.cpp - object code from the LLVM dialect -----------------===//
#include "ConstantData.h"
#include "Sanitizer.h"
#include "redfuse/Support/Host.h"
#include "redfuse/Target/Native.h"
#include "redfuse/Target/Runtime.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"

using namespace mlir;
using namespace redfuse;

static std::unique_ptr<llvm::TargetMachine>
createMachine(const CpuTarget &cpu, int optLevel, std::string &error) {
  llvm::Triple triple(cpu.triple);
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  // No a * b + c becomes one operation but those that ask for it. A value that
  // several loops recompute must be the same in all of them: scores are
  // subtracted from their maximum, and an unrounded product may be beyond it.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  auto level = optLevel == 0   ? llvm::CodeGenOptLevel::None
               : optLevel == 1 ? llvm::CodeGenOptLevel::Less
               : optLevel == 2 ? llvm::CodeGenOptLevel::Default
                               : llvm::CodeGenOptLevel::Aggressive;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, cpu.cpu, cpu.features, options, llvm::Reloc::PIC_, std::nullopt,
      level, /*JIT=*/true));
}

static void setAttributes(llvm::Module &module, const CpuTarget &cpu) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", cpu.cpu);
    function.addFnAttr("target-features", cpu.features);
    // LLVM prefers half of an AVX-512 register otherwise.
    if (cpu.vectorBits > 128)
      function.addFnAttr("prefer-vector-width", std::to_string(cpu.vectorBits));
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (kSanitized)
      function.addFnAttr(llvm::Attribute::SanitizeAddress);
  }
}

namespace {
/// Passes over what the optimiser may leave out, once the code is no longer wanted.
class StopGate : public llvm::OptPassGate {
public:
  explicit StopGate(const int *stop) : stop(stop) {}
  bool isEnabled() const override {
    return stop && __atomic_load_n(stop, __ATOMIC_RELAXED);
  }
  bool shouldRunPass(llvm::StringRef, llvm::StringRef) const override {
    return false;
  }

private:
  const int *stop;
};
} // namespace

/// Checks every load and store. Constants are registered by two functions that
/// the loader calls.
static void addSanitizer(llvm::ModulePassManager &passes) {
  llvm::AddressSanitizerOptions options;
  options.InsertVersionCheck = false; // LLVM's, and the runtime may be gcc's
  options.UseAfterReturn = llvm::AsanDetectStackUseAfterReturnMode::Never;
  passes.addPass(llvm::AddressSanitizerPass(options, /*UseGlobalGC=*/false,
                                            /*UseOdrIndicator=*/false));
}

static void exportConstructors(llvm::Module &module) {
  for (const char *name : {kRegisterConstants, kForgetConstants})
    if (llvm::Function *function = module.getFunction(name)) {
      function->setComdat(nullptr);
      function->setLinkage(llvm::GlobalValue::ExternalLinkage);
    }
  for (const char *name : {"llvm.global_ctors", "llvm.global_dtors"})
    if (llvm::GlobalVariable *list = module.getGlobalVariable(name))
      list->eraseFromParent();
}

/// Loops that launch kernels are not unrolled: a launch takes longer than whatever
/// that would save, and fields of arguments that thousands of launches of one function
/// share are searched by pairs later.
static void keepLoopsOfLaunches(llvm::Module &module) {
  llvm::MapVector<llvm::Function *, llvm::SmallVector<llvm::CallInst *>>
      launches;
  for (const char *name :
       {"redfuse_rt_parallel_for", "redfuse_rt_device_launch"})
    if (llvm::Function *launch = module.getFunction(name))
      for (llvm::User *user : launch->users())
        if (auto *call = dyn_cast<llvm::CallInst>(user))
          launches[call->getFunction()].push_back(call);
  for (auto &[function, calls] : launches) {
    llvm::DominatorTree dominators(*function);
    llvm::LoopInfo loops(dominators);
    llvm::SmallPtrSet<llvm::Loop *, 8> kept;
    for (llvm::CallInst *call : calls)
      for (llvm::Loop *loop = loops.getLoopFor(call->getParent());
           loop && kept.insert(loop).second; loop = loop->getParentLoop())
        loop->setLoopAlreadyUnrolled();
  }
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine,
                     int level, const StopGate &gate) {
  keepLoopsOfLaunches(module);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.LoopInterleaving = level > 1;
  // Kernels are vector code already; searching their straight lines for more
  // took most of the compile time and found nothing.
  tuning.SLPVectorization = false;
  llvm::PassInstrumentationCallbacks callbacks;
  // Nothing here calls pointers: to find out which functions they lead to takes as long
  // as the square of a call's arguments, and a host function may have thousands.
  callbacks.registerShouldRunOptionalPassCallback(
      [&](llvm::StringRef pass, llvm::Any) {
        return !gate.isEnabled() && pass != "CalledValuePropagationPass";
      });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  auto optLevel = level == 0   ? llvm::OptimizationLevel::O0
                  : level == 1 ? llvm::OptimizationLevel::O1
                  : level == 2 ? llvm::OptimizationLevel::O2
                               : llvm::OptimizationLevel::O3;
  llvm::ModulePassManager passes =
      level == 0 ? builder.buildO0DefaultPipeline(optLevel)
                 : builder.buildPerModuleDefaultPipeline(optLevel);
  if (kSanitized)
    addSanitizer(passes);
  passes.run(module, modules);
  if (kSanitized)
    exportConstructors(module);
}

/// What a call of a function that nobody defines would end in, is said where it is.
static LogicalResult checkCallees(Operation *module) {
  SymbolTable symbols(module);
  WalkResult result = module->walk([&](LLVM::CallOp call) {
    FlatSymbolRefAttr name = call.getCalleeAttr();
    auto function =
        name ? symbols.lookup<LLVM::LLVMFuncOp>(name.getAttr()) : nullptr;
    if (!function || !function.isExternal() ||
        runtime::isDefined(name.getValue().str()))
      return WalkResult::advance();
    call.emitError("calls the function '")
        << name.getValue() << "', which neither the runtime nor libm has";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult redfuse::emitNative(Operation *op, const NativeOptions &options,
                                  NativeCode &out) {
  if (!isa<ModuleOp>(op))
    return op->emitError("native code is made of a module, not of '")
           << op->getName() << "'";
  if (options.optLevel < 0 || options.optLevel > 3)
    return op->emitError("the optimisation level must be 0 to 3, got ")
           << options.optLevel;
  CpuTarget cpu;
  std::string error;
  if (!resolveCpu(options.cpu, options.features, cpu, error))
    return op->emitError(error);

  if (failed(checkCallees(op)))
    return failure();
  ConstantData data(op);

  registerBuiltinDialectTranslation(*op->getContext());
  registerLLVMDialectTranslation(*op->getContext());
  llvm::LLVMContext context;
  StopGate gate(options.stop);
  context.setOptPassGate(gate);
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(op, context, "redfuse");
  if (!module) {
    // What else can be wrong has been said: a table that is missing, for one.
    bool isLowered =
        !op->walk([](Operation *inner) {
             return isa<LLVM::LLVMDialect, BuiltinDialect>(inner->getDialect())
                        ? WalkResult::advance()
                        : WalkResult::interrupt();
           }).wasInterrupted();
    if (!isLowered)
      op->emitError("the module is not in the LLVM dialect yet; run "
                    "redfuse-lower-to-llvm first");
    return failure();
  }

  auto machine = createMachine(cpu, options.optLevel, error);
  if (!machine)
    return op->emitError(error);
  // LLVM aborts on an instruction that the processor lacks.
  for (const llvm::Function &function : *module)
    if (function.getName().starts_with("llvm.x86.avx512") && !cpu.scalef)
      return op->emitError("the module was lowered for a processor with "
                           "AVX-512, which '")
             << cpu.cpu
             << "' lacks; give redfuse-lower-to-llvm the same cpu and features";
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  setAttributes(*module, cpu);
  llvm::raw_string_ostream problems(error);
  if (llvm::verifyModule(*module, &problems))
    return op->emitError("the module's LLVM IR is not valid: ") << error;
  optimise(*module, *machine, options.optLevel, gate);
  if (gate.isEnabled())
    return failure();
  // Passes of the code generator rely on those before them: it runs to its end, or is left
  // alone by whoever no longer waits.
  context.setOptPassGate(llvm::getGlobalPassGate());

  if (options.form == NativeForm::LLVM) {
    llvm::raw_string_ostream stream(out.code);
    module->print(stream, nullptr);
    return success();
  }
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager codegen;
  auto type = options.form == NativeForm::Object
                  ? llvm::CodeGenFileType::ObjectFile
                  : llvm::CodeGenFileType::AssemblyFile;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr, type,
                                   /*DisableVerify=*/true))
    return op->emitError("no code can be written for ") << cpu.triple;
  codegen.run(*module);
  out.code.assign(bytes.data(), bytes.size());
  if (options.form == NativeForm::Object)
    out.constants = data.getConstants();
  return success();
}
