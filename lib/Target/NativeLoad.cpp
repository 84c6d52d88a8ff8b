//===- NativeLoad.cpp - object code into the process ----------------------===//
#include "ConstantData.h"
#include "Sanitizer.h"
#include "redfuse/Target/Native.h"
#include "redfuse/Target/Runtime.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace redfuse;

struct NativeLibrary::Impl {
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> constants;
  std::string said; // what the linker has complained of; outlives it
  std::unique_ptr<llvm::orc::LLJIT> jit;

  void *lookup(llvm::StringRef name, std::string *why = nullptr) {
    auto address = jit->lookup(name);
    if (address)
      return address->toPtr<void *>();
    std::string error = llvm::toString(address.takeError());
    if (why)
      *why = said.empty() ? error : said;
    return nullptr;
  }

  void callIfThere(const char *name) {
    if (auto *function = reinterpret_cast<void (*)()>(lookup(name)))
      function();
  }

  ~Impl() {
    if (kSanitized && jit)
      callIfThere(kForgetConstants);
  }
};

NativeLibrary::NativeLibrary(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}
NativeLibrary::~NativeLibrary() = default;

/// Checks what the linker takes for granted: that this is an object file for
/// this machine.
static bool checkObject(llvm::MemoryBufferRef buffer, std::string &error) {
  auto file = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!file) {
    error = "not an object file: " + llvm::toString(file.takeError());
    return false;
  }
  llvm::Triple host(llvm::sys::getProcessTriple());
  if ((*file)->getArch() != host.getArch() ||
      (*file)->isELF() != host.isOSBinFormatELF() ||
      !(*file)->isRelocatableObject()) {
    error = "the object file is not for this machine: it is " +
            (*file)->getFileFormatName().str() + ", expected a relocatable " +
            host.getArchName().str() + " file";
    return false;
  }
  return true;
}

std::unique_ptr<NativeLibrary> NativeLibrary::load(llvm::StringRef object,
                                                   std::string &error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::SmallVector<LoadedConstant> constants;
  if (!splitConstants(object, constants)) {
    error = "not an object file: the constants behind it are damaged";
    return nullptr;
  }
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(object, "redfuse");
  if (!checkObject(buffer->getMemBufferRef(), error))
    return nullptr;

  auto fail = [&](llvm::Error problem) {
    error = llvm::toString(std::move(problem));
    return nullptr;
  };
  // No platform: the code has neither static constructors nor thread-locals,
  // and setting one up takes longer than linking.
  auto jit = llvm::orc::LLJITBuilder()
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .create();
  if (!jit)
    return fail(jit.takeError());
  // The caller of `lookup` is told, and nobody else.
  auto impl = std::make_unique<Impl>();
  (*jit)->getExecutionSession().setErrorReporter(
      [said = &impl->said](llvm::Error problem) {
        *said = llvm::toString(std::move(problem));
      });
  llvm::orc::JITDylib &dylib = (*jit)->getMainJITDylib();
  llvm::orc::SymbolMap symbols;
  for (auto [name, address] : runtime::runtimeSymbols())
    symbols[(*jit)->mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  for (const LoadedConstant &constant : constants) {
    const char *data = constant.bytes.data();
    // A sanitizer looks at what is around copies.
    if (!kSanitized &&
        llvm::isAddrAligned(llvm::Align(kConstantAlignment), data)) {
      symbols[(*jit)->mangleAndIntern(constant.name)] = {
          llvm::orc::ExecutorAddr::fromPtr(data),
          llvm::JITSymbolFlags::Exported};
      continue;
    }
    auto copy = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(
        constant.bytes.size(), constant.name, llvm::Align(kConstantAlignment));
    if (!copy) {
      error = "not enough memory for the constants of the program";
      return nullptr;
    }
    llvm::copy(constant.bytes, copy->getBufferStart());
    symbols[(*jit)->mangleAndIntern(constant.name)] = {
        llvm::orc::ExecutorAddr::fromPtr(copy->getBufferStart()),
        llvm::JITSymbolFlags::Exported};
    impl->constants.push_back(std::move(copy));
  }
  if (auto problem =
          dylib.define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return fail(std::move(problem));
  // libm and libc.
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return fail(process.takeError());
  dylib.addGenerator(std::move(*process));
  if (auto problem = (*jit)->addObjectFile(std::move(buffer)))
    return fail(std::move(problem));

  impl->jit = std::move(*jit);
  if (kSanitized)
    impl->callIfThere(kRegisterConstants);
  return std::unique_ptr<NativeLibrary>(new NativeLibrary(std::move(impl)));
}

void *NativeLibrary::lookup(llvm::StringRef name, std::string *why) {
  return impl->lookup(name, why);
}
