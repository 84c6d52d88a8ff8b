//===- Native.h - object code from the LLVM dialect -------------*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_TARGET_NATIVE_H
#define REDFUSE_TARGET_NATIVE_H

#include "mlir/IR/Operation.h"

#include <memory>
#include <string>

namespace redfuse {

enum class NativeForm { Object, Assembly, LLVM };

struct NativeOptions {
  /// "" or "native": this machine's processor.
  std::string cpu;
  /// Added to the processor's features, "+name,-name".
  std::string features;
  /// 0 to 3.
  int optLevel = 3;
  NativeForm form = NativeForm::Object;
  /// Once this is not 0, the code is no longer wanted.
  const int *stop = nullptr;
};

/// Code or text. Large constants of object code stay where the module's attributes
/// have them until all is written: they may be gigabytes.
struct NativeCode {
  struct Constant {
    std::string name;
    llvm::ArrayRef<char> bytes;
  };
  std::string code;
  llvm::SmallVector<Constant> constants;

  /// Of the whole.
  size_t size() const;
  void writeTo(char *out) const;
};

/// Makes code of a module in the LLVM dialect (after `redfuse-lower-to-llvm`).
/// Fails with a diagnostic on the module.
mlir::LogicalResult emitNative(mlir::Operation *module,
                               const NativeOptions &options, NativeCode &out);

/// Loaded object code. The code lives as long as the library.
class NativeLibrary {
public:
  /// Null, with a message, if the bytes are no object file for this machine or
  /// need a symbol that neither the runtime nor the process has. Constants behind
  /// the object file are used where they are, so `object` must outlive the library.
  static std::unique_ptr<NativeLibrary> load(llvm::StringRef object,
                                             std::string &error);
  ~NativeLibrary();

  /// The address of a symbol, or null and the reason.
  void *lookup(llvm::StringRef name, std::string *why = nullptr);

private:
  struct Impl;
  explicit NativeLibrary(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace redfuse

#endif // REDFUSE_TARGET_NATIVE_H
