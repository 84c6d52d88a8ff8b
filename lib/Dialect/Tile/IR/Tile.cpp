//===- Tile.cpp - the tile dialect and its types --------------------------===//
#include "redfuse/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace redfuse::tile;

#include "redfuse/Dialect/Tile/IR/TileDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "redfuse/Dialect/Tile/IR/TileTypes.cpp.inc"

#define GET_OP_CLASSES
#include "redfuse/Dialect/Tile/IR/TileOps.cpp.inc"

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "redfuse/Dialect/Tile/IR/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "redfuse/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult RingType::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t stages, int64_t bytes) {
  if (stages < 1)
    return emitError() << "a ring has one stage or more, got " << stages;
  if (bytes < 1 || bytes % kTileAlignment != 0)
    return emitError() << "stages must be multiples of " << kTileAlignment
                       << " bytes, got " << bytes;
  return success();
}

/// `<64x128xbf16>`.
static Type parseMatrix(AsmParser &parser,
                        function_ref<Type(function_ref<InFlightDiagnostic()>,
                                          int64_t, int64_t, Type)>
                            make) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  Type element;
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseGreater())
    return {};
  if (shape.size() != 2)
    return parser.emitError(loc) << "expected rows and columns, got "
                                 << shape.size() << " extents",
           Type();
  return make([&] { return parser.emitError(loc); }, shape[0], shape[1],
              element);
}

template <typename T>
static Type parseMatrix(AsmParser &parser) {
  return parseMatrix(parser, [&](function_ref<InFlightDiagnostic()> emitError,
                                 int64_t rows, int64_t columns, Type element) {
    return T::getChecked(emitError, parser.getContext(), rows, columns,
                         element);
  });
}

template <typename T>
static void printMatrix(AsmPrinter &printer, T type) {
  printer << "<" << type.getRows() << "x" << type.getColumns() << "x"
          << type.getElement() << ">";
}

Type SharedType::parse(AsmParser &parser) {
  return parseMatrix<SharedType>(parser);
}
void SharedType::print(AsmPrinter &printer) const {
  printMatrix(printer, *this);
}
Type AccumulatorsType::parse(AsmParser &parser) {
  return parseMatrix<AccumulatorsType>(parser);
}
void AccumulatorsType::print(AsmPrinter &printer) const {
  printMatrix(printer, *this);
}
Type OperandType::parse(AsmParser &parser) {
  return parseMatrix<OperandType>(parser);
}
void OperandType::print(AsmPrinter &printer) const {
  printMatrix(printer, *this);
}

int64_t SharedType::getPanelColumns() const {
  return 128 * 8 / getElement().getIntOrFloatBitWidth();
}

LogicalResult SharedType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t rows, int64_t columns, Type element) {
  if (!element.isF32() &&
      (!element.isIntOrFloat() || (element.getIntOrFloatBitWidth() != 8 &&
                                   element.getIntOrFloatBitWidth() != 16)))
    return emitError() << "elements must be f32, or of 8 or 16 bits, got "
                       << element;
  int64_t panel = 128 * 8 / element.getIntOrFloatBitWidth();
  if (rows < 8 || rows % 8 != 0)
    return emitError() << "rows must be a multiple of 8, the period of the "
                          "swizzle, got "
                       << rows;
  if (columns < panel || columns % panel != 0)
    return emitError() << "columns must be a multiple of " << panel
                       << ", a panel of 128 bytes, got " << columns;
  return success();
}

LogicalResult
AccumulatorsType::verify(function_ref<InFlightDiagnostic()> emitError,
                         int64_t rows, int64_t columns, Type element) {
  if (rows != 64 && rows != 128)
    return emitError() << "a warpgroup has 64 rows, or 128, got " << rows;
  if (columns < 8 || columns > 256 || columns % 8 != 0)
    return emitError() << "columns must be a multiple of 8 up to 256, got "
                       << columns;
  if (!element.isF32() && !element.isInteger(32))
    return emitError() << "elements must be f32 or i32, got " << element;
  return success();
}

LogicalResult OperandType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t rows, int64_t columns, Type element) {
  if (rows != 64 && rows != 128)
    return emitError() << "a warpgroup has 64 rows, or 128, got " << rows;
  if (columns < 16 || columns % 16 != 0)
    return emitError() << "columns must be a multiple of 16, got " << columns;
  if (!element.isBF16() && !element.isF16())
    return emitError() << "elements must be bf16 or f16, got " << element;
  return success();
}
