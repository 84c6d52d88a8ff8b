//===- TileRegisters.cpp - tiles as values of a thread --------------------===//
#include "TileRegisters.h"

using namespace mlir;
using namespace redfuse;

Value TileRegisters::elementOf(const RegisterArray &array,
                               ArrayRef<int64_t> local) const {
  return array.elements[positions.indexOf(array.dims, local)];
}

Value TileRegisters::load(const TileBuffer &buffer, const Env &env) {
  return elementOf(arrays.find(buffer.id)->second, env.local);
}

void TileRegisters::store(const TileBuffer &buffer, Value value,
                          const Env &env) {
  RegisterArray &array = arrays[buffer.id];
  if (array.elements.empty()) {
    array.dims = buffer.dims;
    array.elements.resize(positions.countElements(buffer.dims));
  }
  if (positions.laneDimOf(buffer.dims))
    value = emitter.asVector(value);
  array.elements[positions.indexOf(buffer.dims, env.local)] = value;
}

void TileRegisters::fill(const TileBuffer &buffer, TypedAttr value) {
  Value scalar = emitter.constant(value);
  if (positions.laneDimOf(buffer.dims))
    scalar = emitter.asVector(scalar);
  set(buffer, SmallVector<Value>(positions.countElements(buffer.dims), scalar));
}

SmallVector<Value> TileRegisters::take(const TileBuffer &buffer) {
  return arrays.find(buffer.id)->second.elements;
}

void TileRegisters::set(const TileBuffer &buffer, ArrayRef<Value> elements) {
  arrays[buffer.id] = {buffer.dims, SmallVector<Value>(elements)};
}
