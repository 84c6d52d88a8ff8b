//===- SharedWords.cpp - values of threads as words -----------------------===//
#include "redfuse/Codegen/GPU/SharedMemory/SharedWords.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace redfuse;

/// How many words a scalar takes.
static int64_t wordsOf(Type type) {
  return type.isIndex() || type.getIntOrFloatBitWidth() > 32 ? 2 : 1;
}

static SmallVector<Value> scalarToWords(OpBuilder &b, Location loc, Value v) {
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  if (v.getType().isIndex())
    v = arith::IndexCastOp::create(b, loc, i64, v);
  unsigned width = v.getType().getIntOrFloatBitWidth();
  if (isa<FloatType>(v.getType()))
    v = arith::BitcastOp::create(b, loc, b.getIntegerType(width), v);
  if (width < 32)
    v = arith::ExtUIOp::create(b, loc, i32, v);
  if (width <= 32)
    return {v};
  Value high = arith::ShRUIOp::create(
      b, loc, v, arith::ConstantIntOp::create(b, loc, i64, 32));
  return {arith::TruncIOp::create(b, loc, i32, v),
          arith::TruncIOp::create(b, loc, i32, high)};
}

static Value scalarFromWords(OpBuilder &b, Location loc, Type type,
                             ArrayRef<Value> words) {
  Type i64 = b.getI64Type();
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  Value v = words[0];
  if (width < 32)
    v = arith::TruncIOp::create(b, loc, b.getIntegerType(width), v);
  if (width > 32) {
    Value low = arith::ExtUIOp::create(b, loc, i64, words[0]);
    Value high = arith::ExtUIOp::create(b, loc, i64, words[1]);
    high = arith::ShLIOp::create(b, loc, high,
                                 arith::ConstantIntOp::create(b, loc, i64, 32));
    v = arith::OrIOp::create(b, loc, low, high);
  }
  if (type.isIndex())
    return arith::IndexCastOp::create(b, loc, type, v);
  if (isa<FloatType>(type))
    return arith::BitcastOp::create(b, loc, type, v);
  return v;
}

MemRefType redfuse::sharedMemoryOf(Type element) {
  auto workgroup = gpu::AddressSpaceAttr::get(
      element.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  return MemRefType::get({ShapedType::kDynamic}, element,
                         MemRefLayoutAttrInterface(), workgroup);
}

SmallVector<Value> redfuse::scalarsOf(OpBuilder &b, Location loc, Value v) {
  auto type = dyn_cast<VectorType>(v.getType());
  if (!type)
    return {v};
  SmallVector<Value> elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    elements.push_back(vector::ExtractOp::create(b, loc, v, i));
  return elements;
}

static Value fromElements(OpBuilder &b, Location loc, Type type,
                          ArrayRef<Value> elements) {
  if (!isa<VectorType>(type))
    return elements.front();
  return vector::FromElementsOp::create(b, loc, cast<VectorType>(type),
                                        elements);
}

static int64_t elementCount(Type type) {
  auto v = dyn_cast<VectorType>(type);
  return v ? v.getNumElements() : 1;
}

SharedWords::Parts SharedWords::shuffle(ValueRange parts, unsigned distance) {
  return exchange(parts, emitter.constant(b.getI32IntegerAttr(distance)),
                  gpu::ShuffleMode::XOR);
}

SharedWords::Parts SharedWords::shuffleFrom(ValueRange parts, Value lane) {
  return exchange(parts,
                  arith::IndexCastOp::create(b, loc, b.getI32Type(), lane),
                  gpu::ShuffleMode::IDX);
}

SharedWords::Parts SharedWords::exchange(ValueRange parts, Value with,
                                         gpu::ShuffleMode mode) {
  Type i32 = b.getI32Type();
  Value width = emitter.constant(b.getI32IntegerAttr(warpSize));
  Parts result;
  for (Value part : parts) {
    SmallVector<Value> elements;
    for (Value element : scalarsOf(b, loc, part)) {
      SmallVector<Value> words = scalarToWords(b, loc, element);
      for (Value &word : words)
        word = gpu::ShuffleOp::create(b, loc, i32, b.getI1Type(), word, with,
                                      width, mode)
                   .getShuffleResult();
      elements.push_back(scalarFromWords(b, loc, element.getType(), words));
    }
    result.push_back(fromElements(b, loc, part.getType(), elements));
  }
  return result;
}

SmallVector<Value> SharedWords::toWords(ValueRange parts) {
  SmallVector<Value> words;
  for (Value part : parts)
    for (Value element : scalarsOf(b, loc, part))
      llvm::append_range(words, scalarToWords(b, loc, element));
  return words;
}

SharedWords::Parts SharedWords::fromWords(TypeRange types,
                                          ArrayRef<Value> words) {
  Parts parts;
  for (Type type : types) {
    Type element = getElementTypeOrSelf(type);
    SmallVector<Value> elements;
    for (int64_t i = 0; i < elementCount(type); ++i) {
      int64_t n = wordsOf(element);
      elements.push_back(scalarFromWords(b, loc, element, words.take_front(n)));
      words = words.drop_front(n);
    }
    parts.push_back(fromElements(b, loc, type, elements));
  }
  return parts;
}

int64_t SharedWords::count(TypeRange types) {
  int64_t words = 0;
  for (Type type : types)
    words += elementCount(type) * wordsOf(getElementTypeOrSelf(type));
  return words;
}

void SharedWords::store(ValueRange parts, Value place, int64_t places) {
  int64_t word = 0;
  for (Value v : toWords(parts)) {
    Value at = arith::AddIOp::create(
        b, loc, place, emitter.constantIndex(offset / 4 + word++ * places));
    memref::StoreOp::create(b, loc, v, memory, at);
  }
  bytes = std::max(bytes, word * places * 4);
}

SharedWords::Parts SharedWords::load(TypeRange types, Value place,
                                     int64_t places) {
  SmallVector<Value> words;
  for (int64_t word = 0, n = count(types); word < n; ++word) {
    Value at = arith::AddIOp::create(
        b, loc, place, emitter.constantIndex(offset / 4 + word * places));
    words.push_back(memref::LoadOp::create(b, loc, memory, at));
  }
  return fromWords(types, words);
}
