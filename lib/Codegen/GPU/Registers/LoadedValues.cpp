//===- LoadedValues.cpp - what a thread has loaded ------------------------===//
#include "LoadedValues.h"

using namespace mlir;
using namespace redfuse;

LoadedValues::Key LoadedValues::keyOf(Value memref, AffineMap map,
                                      const Env &env) {
  std::vector<int64_t> at;
  SmallBitVector ofMap = getDimsOf(map);
  for (auto [d, position] : llvm::enumerate(env.position))
    at.push_back(ofMap.test(d) && position ? env.local[d] : -1);
  return {memref.getAsOpaquePointer(), map.getAsOpaquePointer(), at};
}

Value *LoadedValues::find(const Key &key) {
  for (Scope &scope : llvm::reverse(scopes)) {
    auto it = scope.values.find(key);
    if (it != scope.values.end())
      return &it->second;
  }
  return nullptr;
}

void LoadedValues::remember(Key key, Value value) {
  scopes.back().values[key] = value;
  scopes.back().order.push_back(std::move(key));
}

SmallVector<Value> LoadedValues::take() const {
  SmallVector<Value> values;
  for (const Key &key : scopes.back().order)
    values.push_back(scopes.back().values.at(key));
  return values;
}

void LoadedValues::set(ArrayRef<Value> values) {
  for (auto [key, value] : llvm::zip_equal(scopes.back().order, values))
    scopes.back().values[key] = value;
}

void LoadedValues::forEach(function_ref<void(Value &)> change) {
  for (Scope &scope : scopes)
    for (const Key &key : scope.order) // not by their addresses
      if (auto it = scope.values.find(key); it != scope.values.end())
        change(it->second);
}

void LoadedValues::forgetVectors() {
  for (Scope &scope : scopes)
    for (auto it = scope.values.begin(); it != scope.values.end();)
      it = isa<VectorType>(it->second.getType()) ? scope.values.erase(it)
                                                 : std::next(it);
}
