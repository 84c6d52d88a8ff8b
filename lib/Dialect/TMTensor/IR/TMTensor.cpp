//===- TMTensor.cpp - sorts, scans, scatters as torch-mlir writes them ----===//
#include "redfuse/Dialect/TMTensor/IR/TMTensor.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
namespace tm_tensor = redfuse::tm_tensor;

#include "redfuse/Dialect/TMTensor/IR/TMTensorDialect.cpp.inc"

#define GET_OP_CLASSES
#include "redfuse/Dialect/TMTensor/IR/TMTensorOps.cpp.inc"

void tm_tensor::TMTensorDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "redfuse/Dialect/TMTensor/IR/TMTensorOps.cpp.inc"
      >();
}

namespace {

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Every result has its output's type, and `dimension` is one of `type`'s.
template <typename OpTy>
LogicalResult verifyCommon(OpTy op, RankedTensorType type) {
  if (op.getResultTypes() != op.getOutputs().getTypes())
    return op.emitOpError("results must have the types of the outputs");
  int64_t dimension = op.getDimension();
  if (dimension < 0 || dimension >= type.getRank())
    return op.emitOpError()
           << "dimension " << dimension
           << " is out of range for a tensor of rank " << type.getRank();
  return success();
}

/// Extents agree but for dim `except` (-1: none).
bool sameShape(RankedTensorType a, RankedTensorType b, int64_t except = -1) {
  if (a.getRank() != b.getRank())
    return false;
  for (int64_t d = 0; d < a.getRank(); ++d)
    if (d != except &&
        failed(verifyCompatibleDims({a.getDimSize(d), b.getDimSize(d)})))
      return false;
  return true;
}

/// The region takes `arguments` and yields one `result`.
template <typename OpTy>
LogicalResult verifyRegion(OpTy op, ArrayRef<Type> arguments, Type result) {
  Block &body = op.getRegion().front();
  if (!llvm::equal(body.getArgumentTypes(), arguments)) {
    InFlightDiagnostic diagnostic =
        op.emitOpError("region must take arguments of the types (");
    llvm::interleaveComma(arguments, diagnostic);
    return diagnostic << ")";
  }
  auto yield = dyn_cast<tm_tensor::YieldOp>(body.getTerminator());
  if (!yield || yield.getNumOperands() != 1 ||
      yield.getOperand(0).getType() != result)
    return op.emitOpError() << "region must yield one " << result;
  return success();
}

} // namespace

LogicalResult tm_tensor::SortOp::verify() {
  if (!getInputs().empty())
    return emitOpError("sorts its outputs; expected no inputs, got ")
           << getInputs().size();
  if (getOutputs().empty())
    return emitOpError("expected at least one output");
  RankedTensorType first = typeOf(getOutputs().front());
  for (Value output : getOutputs())
    if (!sameShape(first, typeOf(output)))
      return emitOpError("outputs must have the same shape, got ")
             << first << " and " << output.getType();
  return verifyCommon(*this, first);
}

LogicalResult tm_tensor::SortOp::verifyRegions() {
  SmallVector<Type> arguments;
  for (Value output : getOutputs())
    arguments.append(2, typeOf(output).getElementType());
  return verifyRegion(*this, arguments, IntegerType::get(getContext(), 1));
}

LogicalResult tm_tensor::TopkOp::verify() {
  if (getInputs().empty() || getInputs().size() > 2)
    return emitOpError("expected one or two inputs (values and indices), got ")
           << getInputs().size();
  if (getOutputs().size() != 2)
    return emitOpError("expected two outputs (values and indices), got ")
           << getOutputs().size();
  RankedTensorType values = typeOf(getInputs().front());
  if (failed(verifyCommon(*this, values)))
    return failure();
  if (getInputs().size() == 2 && !sameShape(values, typeOf(getInputs()[1])))
    return emitOpError("values and indices must have the same shape, got ")
           << values << " and " << getInputs()[1].getType();
  RankedTensorType outValues = typeOf(getOutputs()[0]);
  RankedTensorType outIndices = typeOf(getOutputs()[1]);
  if (!sameShape(outValues, outIndices))
    return emitOpError("outputs must have the same shape, got ")
           << outValues << " and " << outIndices;
  if (!sameShape(values, outValues, getDimension()))
    return emitOpError("outputs must have the shape of the inputs but for "
                       "dimension ")
           << getDimension() << ", got " << outValues << " for " << values;
  if (outValues.getElementType() != values.getElementType())
    return emitOpError("values of type ")
           << values.getElementType() << " cannot be written to " << outValues;
  if (!outIndices.getElementType().isIntOrIndex())
    return emitOpError("indices must be integers, got ") << outIndices;
  if (getInputs().size() == 2 &&
      typeOf(getInputs()[1]).getElementType() != outIndices.getElementType())
    return emitOpError("indices in and out must have one type, got ")
           << getInputs()[1].getType() << " and " << outIndices;
  return success();
}

LogicalResult tm_tensor::TopkOp::verifyRegions() {
  Type element = typeOf(getInputs().front()).getElementType();
  return verifyRegion(*this, {element, element},
                      IntegerType::get(getContext(), 1));
}

LogicalResult tm_tensor::ScanOp::verify() {
  if (getInputs().size() != 1 || getOutputs().size() != 2)
    return emitOpError("expected one input and two outputs (the running values "
                       "and the last one), got ")
           << getInputs().size() << " and " << getOutputs().size();
  RankedTensorType input = typeOf(getInputs().front());
  if (failed(verifyCommon(*this, input)))
    return failure();
  RankedTensorType running = typeOf(getOutputs()[0]);
  RankedTensorType last = typeOf(getOutputs()[1]);
  if (!sameShape(input, running))
    return emitOpError("output 0 must have the input's shape, got ")
           << running << " for " << input;
  SmallVector<int64_t> rowShape(input.getShape());
  rowShape.erase(rowShape.begin() + getDimension());
  if (failed(verifyCompatibleShape(rowShape, last.getShape())))
    return emitOpError(
               "output 1 must have the input's shape without dimension ")
           << getDimension() << ", got " << last << " for " << input;
  if (running.getElementType() != last.getElementType() ||
      input.getElementType() != last.getElementType())
    return emitOpError("input and outputs must have one element type");
  return success();
}

LogicalResult tm_tensor::ScanOp::verifyRegions() {
  Type element = typeOf(getInputs().front()).getElementType();
  return verifyRegion(*this, {element, element}, element);
}

int64_t tm_tensor::ScatterOp::getFirstSliceDim() {
  return typeOf(getOutputs()[0]).getRank() -
         (typeOf(getInputs()[0]).getRank() - 1);
}

LogicalResult tm_tensor::ScatterOp::verify() {
  if (getInputs().size() != 2 || getOutputs().size() != 1)
    return emitOpError("expected two inputs (updates and positions) and one "
                       "output, got ")
           << getInputs().size() << " and " << getOutputs().size();
  if (getResultTypes() != getOutputs().getTypes())
    return emitOpError("results must have the types of the outputs");
  RankedTensorType updates = typeOf(getInputs()[0]);
  RankedTensorType positions = typeOf(getInputs()[1]);
  RankedTensorType output = typeOf(getOutputs()[0]);
  if (positions.getRank() != 2 || !positions.getElementType().isIntOrIndex())
    return emitOpError(
               "positions must be integers of rank 2 (updates x depth), "
               "got ")
           << positions;
  if (updates.getRank() < 1 || updates.getRank() - 1 > output.getRank())
    return emitOpError("updates must have 1 to ")
           << output.getRank() + 1 << " dims for " << output << ", got "
           << updates;
  if (updates.getElementType() != output.getElementType())
    return emitOpError("updates and output must have one element type, got ")
           << updates << " and " << output;
  if (failed(verifyCompatibleDims(
          {updates.getDimSize(0), positions.getDimSize(0)})))
    return emitOpError("expected a position for each update, got ")
           << positions << " for " << updates;
  ArrayRef<int64_t> map = getDimensionMap();
  if (failed(
          verifyCompatibleDims({positions.getDimSize(1), int64_t(map.size())})))
    return emitOpError("dimension_map must name ")
           << positions.getDimSize(1) << " dims, one for each number of a "
           << "position, got " << map.size();
  llvm::SmallDenseSet<int64_t> named;
  for (int64_t d : map)
    if (d < 0 || d >= output.getRank() || !named.insert(d).second)
      return emitOpError("dimension_map must name different dims of ")
             << output << ", got " << d;
  for (int64_t d = 0; d < output.getRank(); ++d) {
    if (named.contains(d))
      continue;
    if (d < getFirstSliceDim())
      return emitOpError("dim ")
             << d << " of the output is in no slice and not in dimension_map";
    int64_t extent = updates.getDimSize(1 + d - getFirstSliceDim());
    if (!ShapedType::isDynamic(extent) &&
        !ShapedType::isDynamic(output.getDimSize(d)) &&
        extent > output.getDimSize(d))
      return emitOpError("slices of ")
             << updates << " do not fit into dim " << d << " of " << output;
  }
  return success();
}

LogicalResult tm_tensor::ScatterOp::verifyRegions() {
  Type element = typeOf(getOutputs().front()).getElementType();
  return verifyRegion(*this, {element, element}, element);
}

LogicalResult tm_tensor::WeightedSumOp::verify() {
  if (getInputs().size() < 3 || getInputs().size() > 4 ||
      getOutputs().size() != 1)
    return emitOpError("expected three or four inputs (rows, keys, values, "
                       "mask) and one output, got ")
           << getInputs().size() << " and " << getOutputs().size();
  if (getResultTypes() != getOutputs().getTypes())
    return emitOpError("results must have the types of the outputs");
  RankedTensorType rows = typeOf(getInputs()[0]);
  RankedTensorType keys = typeOf(getInputs()[1]);
  RankedTensorType values = typeOf(getInputs()[2]);
  RankedTensorType output = typeOf(getOutputs()[0]);
  for (RankedTensorType type : {rows, keys, values, output})
    if (type.getRank() < 2 || type.getRank() != rows.getRank() ||
        !isa<FloatType>(type.getElementType()))
      return emitOpError("rows, keys, values and output must be floats of one "
                         "rank of at least 2, got ")
             << type;
  ArrayRef<int64_t> batch = rows.getShape().drop_back(2);
  // The shape that belongs to the rows', with its last two extents.
  auto agrees = [&](RankedTensorType type, int64_t one, int64_t other) {
    SmallVector<int64_t> shape(batch);
    shape.append({one, other});
    return type.getRank() == rows.getRank() &&
           succeeded(verifyCompatibleShape(shape, type.getShape()));
  };
  int64_t length = rows.getShape().end()[-2], width = rows.getShape().back();
  int64_t count = keys.getShape().end()[-2];
  if (!agrees(keys, count, width))
    return emitOpError("keys must have the rows' batch and width, got ")
           << keys << " for " << rows;
  if (!agrees(values, count, values.getShape().back()))
    return emitOpError("expected a value for each key, got ")
           << values << " for " << keys;
  if (!agrees(output, length, values.getShape().back()))
    return emitOpError("the output must have the rows' shape and the values' "
                       "width, got ")
           << output << " for " << rows << " and " << values;
  if (getInputs().size() == 3)
    return success();
  RankedTensorType mask = typeOf(getInputs()[3]);
  if (!agrees(mask, length, count) || !(isa<FloatType>(mask.getElementType()) ||
                                        mask.getElementType().isInteger(1)))
    return emitOpError("the mask must hold a float or i1 for each row and key, "
                       "got ")
           << mask << " for " << rows << " and " << keys;
  return success();
}
