//===- TensorPart.cpp - parts of tensors along one dim --------------------===//
#include "redfuse/Dialect/Redfuse/Utils/TensorPart.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace redfuse;

TensorPart::TensorPart(OpBuilder &b, RankedTensorType type, int64_t along,
                       OpFoldResult begin, OpFoldResult extent)
    : offsets(type.getRank(), b.getIndexAttr(0)),
      strides(type.getRank(), b.getIndexAttr(1)) {
  for (int64_t size : type.getShape())
    sizes.push_back(b.getIndexAttr(size));
  offsets[along] = begin;
  sizes[along] = extent;
}

TensorPart::TensorPart(OpBuilder &b, RankedTensorType type, int64_t along,
                       int64_t begin, int64_t extent)
    : TensorPart(b, type, along, b.getIndexAttr(begin),
                 b.getIndexAttr(extent)) {}

Value redfuse::extractPart(OpBuilder &b, Location loc, Value tensor,
                           int64_t along, int64_t begin, int64_t extent) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (begin == 0 && extent == type.getDimSize(along))
    return tensor;
  TensorPart part(b, type, along, begin, extent);
  return tensor::ExtractSliceOp::create(b, loc, tensor, part.offsets,
                                        part.sizes, part.strides);
}
