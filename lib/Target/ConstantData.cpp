//===- ConstantData.cpp - large constants beside the object code ----------===//
#include "ConstantData.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

static constexpr auto kConstantsMagic =
    llvm::StringLiteral::withInnerNUL("RFDATA\0\1");
/// Bytes below which a constant is part of the object file. Estimated.
static constexpr size_t kLeastConstantBytes = 1 << 20;

/// The bytes of a constant as they are in memory; none if it has another form.
static ArrayRef<char> bytesOfConstant(Attribute value) {
  auto elements = dyn_cast_or_null<ElementsAttr>(value);
  if (!elements)
    return {};
  Type type = elements.getElementType();
  // Integers of other widths are not in memory as the attribute has them.
  bool isPlain = isa<FloatType>(type) || type.isInteger(8) ||
                 type.isInteger(16) || type.isInteger(32) || type.isInteger(64);
  if (!isPlain || type.getIntOrFloatBitWidth() % 8)
    return {};
  ArrayRef<char> bytes;
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    bytes = dense.isSplat() ? ArrayRef<char>() : dense.getRawData();
  else if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      bytes = blob->getData();
  size_t expected =
      elements.getNumElements() * (type.getIntOrFloatBitWidth() / 8);
  return bytes.size() == expected ? bytes : ArrayRef<char>();
}

ConstantData::ConstantData(Operation *module) {
  module->walk([&](LLVM::GlobalOp global) {
    Attribute value = global.getValueOrNull();
    ArrayRef<char> bytes = bytesOfConstant(value);
    if (!global.getConstant() || bytes.size() < kLeastConstantBytes)
      return;
    constants.push_back({global, value, global.getLinkage(), bytes});
    global.removeValueAttr();
    global.setLinkage(LLVM::Linkage::External);
  });
}

ConstantData::~ConstantData() {
  for (Constant &constant : constants) {
    constant.global.setValueAttr(constant.value);
    constant.global.setLinkage(constant.linkage);
  }
}

SmallVector<NativeCode::Constant> ConstantData::getConstants() const {
  SmallVector<NativeCode::Constant> result;
  for (const Constant &constant : constants)
    result.push_back(
        {LLVM::GlobalOp(constant.global).getSymName().str(), constant.bytes});
  return result;
}

/// The first place from `at` on whose bytes are aligned.
static uint64_t placeOfConstant(uint64_t at) {
  return llvm::alignTo(at + kStartOfBytes, kConstantAlignment) - kStartOfBytes;
}

/// Numbers of an entry of the table, without the name.
static constexpr size_t kEntryBytes = 3 * sizeof(uint64_t);

size_t NativeCode::size() const {
  if (constants.empty())
    return code.size();
  uint64_t count = code.size(), table = 0;
  for (const Constant &constant : constants) {
    count = placeOfConstant(count) + constant.bytes.size();
    table += kEntryBytes + constant.name.size();
  }
  return count + table + sizeof(uint64_t) + kConstantsMagic.size();
}

void NativeCode::writeTo(char *out) const {
  char *start = out;
  auto write = [&](ArrayRef<char> bytes) {
    out = std::copy(bytes.begin(), bytes.end(), out);
  };
  auto writeNumber = [&](uint64_t number) {
    write({reinterpret_cast<const char *>(&number), sizeof(number)});
  };
  write(ArrayRef<char>(code.data(), code.size()));
  if (constants.empty())
    return;
  SmallVector<uint64_t> places;
  for (const Constant &constant : constants) {
    places.push_back(placeOfConstant(out - start));
    out = std::fill_n(out, start + places.back() - out, 0);
    write(constant.bytes);
  }
  uint64_t table = out - start;
  for (auto [constant, place] : llvm::zip_equal(constants, places)) {
    writeNumber(constant.name.size());
    writeNumber(place);
    writeNumber(constant.bytes.size());
    write(ArrayRef<char>(constant.name.data(), constant.name.size()));
  }
  writeNumber(table);
  write(ArrayRef<char>(kConstantsMagic.data(), kConstantsMagic.size()));
}

bool redfuse::splitConstants(StringRef &code,
                             SmallVectorImpl<LoadedConstant> &constants) {
  StringRef whole = code;
  if (!whole.consume_back(kConstantsMagic))
    return true;
  auto takeNumber = [](StringRef &from, uint64_t &number) {
    if (from.size() < sizeof(number))
      return false;
    std::memcpy(&number, from.data(), sizeof(number));
    from = from.drop_front(sizeof(number));
    return true;
  };
  uint64_t at;
  StringRef last = whole.take_back(sizeof(at));
  whole = whole.drop_back(last.size());
  if (!takeNumber(last, at) || at > whole.size())
    return false;
  StringRef table = whole.drop_front(at), object = whole.take_front(at);
  uint64_t first = at;
  while (!table.empty()) {
    uint64_t length, place, count;
    if (!takeNumber(table, length) || !takeNumber(table, place) ||
        !takeNumber(table, count) || length > table.size() || place > at ||
        count > at - place)
      return false;
    constants.push_back(
        {table.take_front(length), object.substr(place, count)});
    table = table.drop_front(length);
    first = std::min(first, place);
  }
  code = object.take_front(first);
  return true;
}
