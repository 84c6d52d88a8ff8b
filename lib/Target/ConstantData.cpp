//===- ConstantData.cpp - large constants beside the object code ----------===//
#include "ConstantData.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

static constexpr llvm::StringLiteral kConstantsMagic("RFDATA\0\1");
/// A smaller constant is part of the object file.
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

size_t ConstantData::getNumBytes() const {
  size_t count = 0;
  for (const Constant &constant : constants)
    count += constant.bytes.size() +
             LLVM::GlobalOp(constant.global).getSymName().size() +
             2 * kConstantAlignment;
  return count + kConstantAlignment;
}

static void appendConstantNumber(std::string &out, uint64_t number) {
  out.append(reinterpret_cast<const char *>(&number), sizeof(number));
}

void ConstantData::appendTo(std::string &object) const {
  if (constants.empty())
    return;
  SmallVector<uint64_t> places;
  for (const Constant &constant : constants) {
    object.resize(llvm::alignTo(object.size(), kConstantAlignment));
    places.push_back(object.size());
    object.append(constant.bytes.data(), constant.bytes.size());
  }
  uint64_t table = object.size();
  for (auto [constant, place] : llvm::zip_equal(constants, places)) {
    StringRef name = LLVM::GlobalOp(constant.global).getSymName();
    appendConstantNumber(object, name.size());
    appendConstantNumber(object, place);
    appendConstantNumber(object, constant.bytes.size());
    object.append(name.data(), name.size());
  }
  appendConstantNumber(object, table);
  object.append(kConstantsMagic.data(), kConstantsMagic.size());
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
