//===- MatrixInstruction.cpp - products of small matrices -----------------===//
#include "redfuse/Analysis/MatrixInstruction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "redfuse/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace redfuse;

using Element = MatrixElement;
using Form = MatrixInstruction::Form;

unsigned redfuse::elementBits(Element element) {
  switch (element) {
  case Element::F64:
    return 64;
  case Element::F32:
    return 32;
  case Element::BF16:
  case Element::F16:
    return 16;
  default:
    return 8;
  }
}

Type redfuse::typeOf(Element element, MLIRContext *context) {
  switch (element) {
  case Element::BF16:
    return BFloat16Type::get(context);
  case Element::F16:
    return Float16Type::get(context);
  case Element::E4M3:
    return Float8E4M3FNType::get(context);
  case Element::E5M2:
    return Float8E5M2Type::get(context);
  case Element::E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case Element::E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case Element::F32:
    return Float32Type::get(context);
  case Element::F64:
    return Float64Type::get(context);
  case Element::S8:
  case Element::U8:
    return IntegerType::get(context, 8);
  }
  llvm_unreachable("no such element");
}

Type redfuse::nameOf(Element element, MLIRContext *context) {
  if (element == Element::S8)
    return IntegerType::get(context, 8, IntegerType::Signed);
  if (element == Element::U8)
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  return typeOf(element, context);
}

std::optional<Element> redfuse::findMatrixElement(Type name) {
  for (Element element : {Element::BF16, Element::F16, Element::S8, Element::U8,
                          Element::E4M3, Element::E5M2, Element::E4M3FNUZ,
                          Element::E5M2FNUZ, Element::F32, Element::F64})
    if (nameOf(element, name.getContext()) == name)
      return element;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// mma.sync: groups of four lanes share a row, and rows 8 apart are one lane's.
static void layOutMma(MatrixInstruction &x, int64_t sums) {
  x.lanes = 32;
  x.rows = 16;
  x.columns = 8;
  x.sums = sums;
  x.leftRow = x.rightColumn = x.resultRow = {4, 8};
  x.sumPart = {1, 4};
  x.resultColumn = {1, 4, 2};
  x.rowsPerLane = 2;
  x.sumsPerLane = sums / 4;
  for (int64_t row : {0, 1})
    for (int64_t column : {0, 1})
      x.results.push_back({0, row, column});
}

/// The small one of f64: 8 x 8 x 4.
static void layOutDoubleMma(MatrixInstruction &x) {
  layOutMma(x, 4);
  x.rows = 8;
  x.rowsPerLane = 1;
  x.results.resize(2);
}

/// MFMA of 16 x 16: 16 lanes have a row each, four groups of them share the sums.
static void layOutMfma(MatrixInstruction &x, int64_t sums) {
  x.lanes = 64;
  x.rows = x.columns = 16;
  x.sums = sums;
  x.leftRow = x.rightColumn = x.resultColumn = {1, 16};
  x.sumPart = {16, 4};
  x.resultRow = {16, 4, 4};
  x.sumsPerLane = sums / 4;
  for (int64_t row = 0; row < 4; ++row)
    x.results.push_back({row, 0, 0});
}

/// That of f64: the rows of a lane's result are four apart.
static void layOutDoubleMfma(MatrixInstruction &x) {
  layOutMfma(x, 4);
  x.resultRow = {16, 4};
  x.results.clear();
  for (int64_t row = 0; row < 4; ++row)
    x.results.push_back({4 * row, 0, 0});
}

/// WMMA of RDNA 3: both halves of a wave have all of both operands.
static void layOutWmma(MatrixInstruction &x) {
  x.lanes = 32;
  x.rows = x.columns = x.sums = x.sumsPerLane = 16;
  x.leftRow = x.rightColumn = x.resultColumn = {1, 16};
  x.resultRow = {16, 2};
  for (int64_t row = 0; row < 8; ++row)
    x.results.push_back({2 * row, 0, 0});
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static StringRef nameOf(Element element) {
  switch (element) {
  case Element::BF16:
    return "bf16";
  case Element::F16:
    return "f16";
  case Element::S8:
    return "s8";
  case Element::U8:
    return "u8";
  case Element::E4M3:
    return "e4m3";
  case Element::E5M2:
    return "e5m2";
  case Element::E4M3FNUZ:
    return "fp8";
  case Element::E5M2FNUZ:
    return "bf8";
  case Element::F32:
    return "f32";
  case Element::F64:
    return "f64";
  }
  llvm_unreachable("no such element");
}

static bool isInteger(Element e) {
  return e == Element::S8 || e == Element::U8;
}
static bool isFloat8(Element e) {
  return e == Element::E4M3 || e == Element::E5M2;
}
static bool isFloat8Fnuz(Element e) {
  return e == Element::E4M3FNUZ || e == Element::E5M2FNUZ;
}

/// NVIDIA's.
static bool describeMma(MatrixInstruction &x, const Chip &chip) {
  Element left = x.left, right = x.right;
  StringRef of = nameOf(left);
  std::string name = "llvm.nvvm.mma.";
  if (left == right && left == Element::BF16 && x.sum.isF32()) {
    layOutMma(x, 16);
    x.intrinsic = name + "m16n8k16.row.col.bf16";
  } else if (left == right && left == Element::F16 && x.sum.isF32()) {
    layOutMma(x, 16);
    x.form = Form::Pairs;
    x.intrinsic = name + "m16n8k16.row.col.f32.f32";
  } else if (isInteger(left) && isInteger(right) && x.sum.isInteger(32)) {
    layOutMma(x, 32);
    x.intrinsic = name + "m16n8k32.row.col." + of.str();
    if (left != right)
      x.intrinsic += "." + nameOf(right).str();
  } else if (isFloat8(left) && isFloat8(right) && x.sum.isF32() &&
             chip.has(Float8Products)) {
    layOutMma(x, 32);
    x.intrinsic = name + "m16n8k32.row.col.f32." + of.str() + "." +
                  nameOf(right).str() + ".f32";
  } else if (left == right && left == Element::F64 && x.sum.isF64()) {
    if (chip.has(LargeDoubleProducts)) {
      layOutMma(x, 8);
      x.intrinsic = name + "m16n8k8.row.col.f64";
    } else {
      layOutDoubleMma(x);
      x.intrinsic = name + "m8n8k4.row.col.f64";
    }
  } else {
    return false;
  }
  return true;
}

/// AMD's with waves of 64 lanes.
static bool describeMfma(MatrixInstruction &x, const Chip &chip) {
  bool isLater = chip.has(Mfma8);
  Element left = x.left, right = x.right;
  std::string name = "llvm.amdgcn.mfma.";
  if (left == right && left == Element::BF16 && x.sum.isF32()) {
    layOutMfma(x, 16);
    x.form = Form::Shorts;
    x.intrinsic = name + "f32.16x16x16bf16.1k";
  } else if (left == right && left == Element::F16 && x.sum.isF32()) {
    layOutMfma(x, 16);
    x.form = Form::Halves;
    x.intrinsic = name + "f32.16x16x16f16";
  } else if (left == right && left == Element::S8 && x.sum.isInteger(32)) {
    layOutMfma(x, isLater ? 32 : 16);
    x.form = Form::Integer;
    x.intrinsic = name + (isLater ? "i32.16x16x32.i8" : "i32.16x16x16i8");
  } else if (isFloat8Fnuz(left) && isFloat8Fnuz(right) && x.sum.isF32() &&
             isLater) {
    layOutMfma(x, 32);
    x.form = Form::Integer;
    x.intrinsic =
        name + "f32.16x16x32." + nameOf(left).str() + "." + nameOf(right).str();
  } else if (left == right && left == Element::F32 && x.sum.isF32()) {
    layOutMfma(x, 4);
    x.form = Form::Scalar;
    x.intrinsic = name + "f32.16x16x4f32";
  } else if (left == right && left == Element::F64 && x.sum.isF64()) {
    layOutDoubleMfma(x);
    x.form = Form::Scalar;
    x.intrinsic = name + "f64.16x16x4f64";
  } else {
    return false;
  }
  return true;
}

static bool describeWmma(MatrixInstruction &x) {
  Element left = x.left, right = x.right;
  std::string name = "llvm.amdgcn.wmma.";
  layOutWmma(x);
  if (left == right && left == Element::BF16 && x.sum.isF32()) {
    x.form = Form::Shorts;
    x.intrinsic = name + "f32.16x16x16.bf16";
  } else if (left == right && left == Element::F16 && x.sum.isF32()) {
    x.form = Form::Halves;
    x.intrinsic = name + "f32.16x16x16.f16";
  } else if (isInteger(left) && isInteger(right) && x.sum.isInteger(32)) {
    x.form = Form::Integers;
    x.intrinsic = name + "i32.16x16x16.iu8";
  } else {
    return false;
  }
  return true;
}

std::optional<MatrixInstruction>
redfuse::findMatrixInstruction(const Chip &chip, ArrayRef<Element> left,
                               ArrayRef<Element> right, Type sum) {
  for (Element l : left)
    for (Element r : right) {
      MatrixInstruction x;
      x.left = l;
      x.right = r;
      x.sum = sum;
      bool exists = false;
      if (chip.has(AsyncCopies))
        exists = describeMma(x, chip);
      else if (chip.has(Mfma))
        exists = describeMfma(x, chip);
      else if (chip.has(Wmma))
        exists = describeWmma(x);
      if (exists)
        return x;
    }
  return std::nullopt;
}

std::optional<MatrixInstruction> redfuse::findSplitInstruction(const Chip &chip,
                                                               Type sum) {
  if (!chip.has(AsyncCopies) || !sum.isF32())
    return std::nullopt;
  MatrixInstruction x;
  x.left = x.right = Element::F32;
  x.sum = sum;
  layOutMma(x, 8);
  x.intrinsic = "llvm.nvvm.mma.m16n8k8.row.col.tf32";
  x.isSplit = true;
  return x;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

SmallVector<Value> MatrixInstruction::makeZero(OpBuilder &b,
                                               Location loc) const {
  if (hasVectors()) {
    auto type = VectorType::get({int64_t(results.size())}, sum);
    return {arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type))};
  }
  Value zero = arith::ConstantOp::create(b, loc, sum, b.getZeroAttr(sum));
  return SmallVector<Value>(results.size(), zero);
}

SmallVector<Value> MatrixInstruction::getElements(OpBuilder &b, Location loc,
                                                  ArrayRef<Value> sums) const {
  if (!hasVectors())
    return SmallVector<Value>(sums);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < int64_t(results.size()); ++i)
    elements.push_back(vector::ExtractOp::create(b, loc, sums.front(), i));
  return elements;
}

SmallVector<Value> MatrixInstruction::multiply(OpBuilder &b, Location loc,
                                               ArrayRef<ArrayRef<Value>> left,
                                               ArrayRef<Value> right,
                                               ArrayRef<Value> sums) const {
  SmallVector<Value> words;
  for (ArrayRef<Value> row : left)
    llvm::append_range(words, row);
  return tile::MmaOp::create(b, loc, ValueRange(sums).getTypes(),
                             nameOf(this->left, b.getContext()),
                             nameOf(this->right, b.getContext()), words, right,
                             sums)
      .getResults();
}

SmallVector<Value> MatrixInstruction::emit(OpBuilder &b, Location loc,
                                           ValueRange left, ValueRange right,
                                           ValueRange sums) const {
  // One register of all words, or of each.
  auto asRegister = [&](ValueRange words) -> Value {
    int64_t n = words.size();
    Type type;
    switch (form) {
    case Form::Words:
    case Form::Scalar:
      return words.front();
    case Form::Pairs:
      type = VectorType::get({2}, b.getF16Type());
      break;
    case Form::Halves:
      type = VectorType::get({2 * n}, b.getF16Type());
      break;
    case Form::Shorts:
      type = VectorType::get({2 * n}, b.getI16Type());
      break;
    case Form::Integer:
      type = b.getIntegerType(32 * n);
      break;
    case Form::Integers:
      type = VectorType::get({n}, b.getI32Type());
      break;
    }
    Value all = words.front();
    if (n > 1)
      all = vector::FromElementsOp::create(
          b, loc, VectorType::get({n}, b.getI32Type()), words);
    return all.getType() == type
               ? all
               : Value(LLVM::BitcastOp::create(b, loc, type, all));
  };
  SmallVector<Value> operands, leftRegisters, rightRegisters;
  if (hasVectors()) {
    leftRegisters.push_back(asRegister(left));
    rightRegisters.push_back(asRegister(right));
  } else {
    for (int64_t word = 0; word < wordsPerRow(); ++word) {
      for (int64_t row = 0; row < rowsPerLane; ++row)
        leftRegisters.push_back(asRegister(left[row * wordsPerRow() + word]));
      rightRegisters.push_back(asRegister(right[word]));
    }
  }
  auto flag = [&](Type type, int64_t value) -> Value {
    return LLVM::ConstantOp::create(b, loc, type,
                                    b.getIntegerAttr(type, value));
  };
  StringRef name = intrinsic;
  if (form == Form::Integers) {
    operands = {flag(b.getI1Type(), this->left == Element::S8),
                leftRegisters[0],
                flag(b.getI1Type(), this->right == Element::S8),
                rightRegisters[0],
                sums[0],
                flag(b.getI1Type(), 0)};
  } else {
    llvm::append_range(operands, leftRegisters);
    llvm::append_range(operands, rightRegisters);
    llvm::append_range(operands, sums);
    if (name.contains("mfma"))
      operands.append(3, flag(b.getI32Type(), 0));
  }
  Type made = sums.front().getType();
  if (!hasVectors())
    made = LLVM::LLVMStructType::getLiteral(
        b.getContext(), SmallVector<Type>(results.size(), sum));
  Value result = LLVM::CallIntrinsicOp::create(b, loc, made,
                                               b.getStringAttr(name), operands)
                     .getResult(0);
  if (hasVectors())
    return {result};
  SmallVector<Value> parts;
  for (int64_t i = 0; i < int64_t(results.size()); ++i)
    parts.push_back(LLVM::ExtractValueOp::create(b, loc, result, i));
  return parts;
}
