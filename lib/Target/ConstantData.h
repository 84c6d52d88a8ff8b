//===- ConstantData.h - large constants beside the object code --*- C++ -*-===//
//
// LLVM copies a constant several times and writes floats one by one: weights of
// gigabytes would take minutes, and many times their memory. Large constants are
// symbols that the code only refers to. Their bytes stand behind the object file, in
// the same string:
//
//   object file | bytes of each constant | table | where the table is | magic
//
// and the table has, for each: the length of its name, where its bytes are, how many
// there are (8 bytes each, as the machine has numbers), its name. Code without large
// constants is an object file and nothing more. Bytes that are aligned in memory are
// used where they are, others are copied when the code is loaded.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_TARGET_CONSTANTDATA_H
#define REDFUSE_LIB_TARGET_CONSTANTDATA_H

#include "redfuse/Target/Native.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace redfuse {

/// What vectors of constants are aligned to, as the machine's wants most.
inline constexpr uint64_t kConstantAlignment = 64;
/// Where the contents of a large `bytes` of Python start, behind what is aligned to a
/// page: the heads of glibc's block and of the object. Constants are aligned from there.
inline constexpr uint64_t kStartOfBytes = 16 + 32;

/// The large constants of a module in the LLVM dialect. While this lives they are
/// declarations there.
class ConstantData {
public:
  explicit ConstantData(mlir::Operation *module);
  ConstantData(const ConstantData &) = delete;
  ~ConstantData();

  /// Names and bytes, which are the attributes'.
  llvm::SmallVector<NativeCode::Constant> getConstants() const;

private:
  struct Constant {
    mlir::LLVM::GlobalOp global;
    mlir::Attribute value;
    mlir::LLVM::Linkage linkage;
    llvm::ArrayRef<char> bytes;
  };
  llvm::SmallVector<Constant> constants;
};

/// A constant behind an object file.
struct LoadedConstant {
  llvm::StringRef name, bytes;
};

/// Takes what is behind an object file off `code`; false if it is damaged.
bool splitConstants(llvm::StringRef &code,
                    llvm::SmallVectorImpl<LoadedConstant> &constants);

} // namespace redfuse

#endif // REDFUSE_LIB_TARGET_CONSTANTDATA_H
