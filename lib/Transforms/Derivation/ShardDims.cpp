//===- ShardDims.cpp - redfuse-shard-dims: a program for parts of dims ----===//
//
// Of `@f(arguments) -> results` it makes the same function for a part of some of the
// arguments' dims, which nothing is reduced along: the rows that one of several
// processes has. What the function does along such a dim is the same for each of
// its elements, but for their positions, so those count from where the part starts.
//
//===----------------------------------------------------------------------===//
#include "ProgramSlices.h"
#include "redfuse/Transforms/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_SHARDDIMS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

static constexpr StringLiteral kCannotShard = "cannot be sharded: ";

/// The reduction or scan that goes along the dim, or null.
static Operation *findReduction(func::FuncOp func, const StreamedDim &dim) {
  for (Operation &op : func.getBody().front())
    if (Operation *walk = dim.findWalk(&op))
      return walk;
  return nullptr;
}

/// Replaces `func` by the function for a part of one dim; null where that fails.
static func::FuncOp shardDim(func::FuncOp func, ArgumentAxis axis,
                             int64_t length) {
  if (axis.first >= func.getNumArguments()) {
    func.emitOpError() << kCannotShard << "there is no argument " << axis.first;
    return nullptr;
  }
  auto type =
      dyn_cast<RankedTensorType>(func.getArgument(axis.first).getType());
  if (!type || axis.second >= type.getRank()) {
    func.emitOpError() << kCannotShard << "argument " << axis.first
                       << " has no axis " << axis.second;
    return nullptr;
  }
  StreamedDim::Obstacle why;
  FailureOr<StreamedDim> dim = StreamedDim::follow(func, axis, why);
  if (failed(dim)) {
    (why.op ? why.op : func.getOperation())->emitError()
        << kCannotShard << why.reason;
    return nullptr;
  }
  if (Operation *walk = findReduction(func, *dim)) {
    walk->emitError() << kCannotShard
                      << "a reduction goes along the dim; its states can be "
                         "merged, which redfuse-expose-state is for";
    return nullptr;
  }
  dim->setPartLength(length);
  OpBuilder b(func);
  Location loc = func.getLoc();
  SmallVector<Type> types;
  for (BlockArgument arg : func.getArguments())
    types.push_back(isa<RankedTensorType>(arg.getType()) ? dim->getOpenType(arg)
                                                         : arg.getType());
  types.append(2, b.getIndexType());
  auto made = func::FuncOp::create(b, loc, func.getSymName(),
                                   b.getFunctionType(types, {}));
  Block &block = *made.addEntryBlock();
  b.setInsertionPointToStart(&block);
  SliceCloner cloner(b, *dim);
  cloner.failing = kCannotShard;
  cloner.offset = block.getArgument(types.size() - 2);
  cloner.total = block.getArgument(types.size() - 1);
  for (auto [from, to] :
       llvm::zip_first(func.getArguments(), block.getArguments()))
    cloner.mapping.map(from, to);
  cloner.length = b.createOrFold<tensor::DimOp>(
      loc, block.getArgument(axis.first), axis.second);
  auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
  cloner.user = ret;
  for (Operation &op : func.getBody().front().without_terminator())
    if (failed(cloner.clone(&op)))
      return nullptr;
  SmallVector<Value> results;
  SmallVector<int64_t> mapped;
  for (Value v : ret.getOperands()) {
    auto has = dim->find(v);
    mapped.push_back(has ? int64_t(has->position) : -1);
    results.push_back(cloner.mapping.lookup(v));
  }
  func::ReturnOp::create(b, loc, results);
  made.setType(b.getFunctionType(types, ValueRange(results).getTypes()));

  SmallVector<Attribute> arguments;
  for (auto [number, at] : dim->getArguments())
    arguments.push_back(b.getDenseI64ArrayAttr(
        {number, at, dim->find(func.getArgument(number))->scale}));
  auto entry = [&](StringRef name, Attribute value) {
    return b.getNamedAttr(name, value);
  };
  SmallVector<Attribute> all;
  if (auto before = func->getAttrOfType<ArrayAttr>("redfuse.sharded"))
    llvm::append_range(all, before);
  all.push_back(b.getDictionaryAttr(
      {entry("arguments", b.getArrayAttr(arguments)),
       entry("length", b.getI64IntegerAttr(type.isDynamicDim(axis.second)
                                               ? -1
                                               : type.getDimSize(axis.second))),
       entry("positional", b.getBoolAttr(cloner.usesOffset)),
       entry("results", b.getDenseI64ArrayAttr(mapped))}));
  made->setAttrs(func->getDiscardableAttrDictionary());
  made.setSymName(func.getSymName());
  made.setType(b.getFunctionType(types, ValueRange(results).getTypes()));
  made->setAttr("redfuse.sharded", b.getArrayAttr(all));
  made.setVisibility(func.getVisibility());
  func.erase();
  return made;
}

namespace {
struct ShardDims : public redfuse::impl::ShardDimsBase<ShardDims> {
  using ShardDimsBase::ShardDimsBase;

  void runOnOperation() override {
    if (dims.size() % 2 != 0) {
      getOperation()->emitError(
          "dims: expected pairs of an argument and an axis");
      return signalPassFailure();
    }
    for (auto func : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (!func.isPublic() || func.isExternal())
        continue;
      if (!llvm::hasSingleElement(func.getBody())) {
        func.emitError() << kCannotShard << "the program has branches";
        return signalPassFailure();
      }
      for (size_t i = 0; i + 1 < dims.size() && func; i += 2) {
        int64_t length = i / 2 < sizes.size() ? sizes[i / 2] : 0;
        func = shardDim(func, {dims[i], dims[i + 1]},
                        length > 0 ? length : ShapedType::kDynamic);
      }
      if (!func)
        return signalPassFailure();
    }
  }
};
} // namespace
