//===- LoadedValues.h - what a thread has loaded ----------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_LOADEDVALUES_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_LOADEDVALUES_H

#include "redfuse/Codegen/Common/TileEmitter.h"

#include <map>

namespace redfuse {

/// Values by what they were loaded from, scope by scope.
class LoadedValues {
public:
  using Key = std::tuple<void *, const void *, std::vector<int64_t>>;

  LoadedValues() { scopes.emplace_back(); }

  static Key keyOf(mlir::Value memref, mlir::AffineMap map, const Env &env);
  mlir::Value *find(const Key &key);
  void remember(Key key, mlir::Value value);

  /// Values remembered from here on are known up to `popScope`.
  void pushScope() { scopes.emplace_back(); }
  void popScope() { scopes.pop_back(); }
  /// What has been loaded in this scope, in the order of the loads; and the same
  /// again, of another tile.
  llvm::SmallVector<mlir::Value> take() const;
  void set(llvm::ArrayRef<mlir::Value> values);
  /// In the order of the loads; `change` may set another value.
  void forEach(llvm::function_ref<void(mlir::Value &)> change);
  /// Vectors are loaded again.
  void forgetVectors();

private:
  struct Scope {
    std::map<Key, mlir::Value> values;
    std::vector<Key> order;
  };
  std::vector<Scope> scopes;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_LOADEDVALUES_H
