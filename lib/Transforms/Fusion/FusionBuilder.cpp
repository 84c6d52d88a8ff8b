//===- FusionBuilder.cpp - makes one cascade of several -------------------===//
#include "FusionBuilder.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace redfuse;

namespace {

/// Emits the body on demand, from the outputs back to what they read.
class BodyBuilder {
public:
  BodyBuilder(RewriterBase &rewriter, const FusionSpace &space)
      : rewriter(rewriter), space(space), body(new Block()) {
    for (auto [i, v] : llvm::enumerate(space.getVariables()))
      numbers[v] = i;
  }

  CascadeOp build(ArrayRef<CascadeOp> ops);

private:
  MLIRContext *context() { return rewriter.getContext(); }
  unsigned numDims() { return space.getVariables().size(); }
  /// `e` over the iteration dims of the new cascade.
  AffineExpr renumber(AffineExpr e);
  Value valueOf(unsigned instance, Value v);
  Value readOf(unsigned instance, Value reader, Location loc);
  Value input(Value tensor, AffineMap map, Location loc);
  Value indexValue(AffineExpr e, Location loc);
  void emitAssertions(unsigned instance);
  /// The dims that the positions of an instance along `dims` depend on.
  SmallVector<int64_t> dimsOf(unsigned instance, ArrayRef<int64_t> dims,
                              bool keepOrder = false);
  void addExtentInputs(ArrayRef<CascadeOp> ops, ArrayRef<AffineMap> outMaps,
                       ArrayRef<Value> inits);

  RewriterBase &rewriter;
  const FusionSpace &space;
  Block *body;
  llvm::DenseMap<unsigned, unsigned> numbers;
  llvm::DenseMap<std::pair<unsigned, Value>, Value> values;
  llvm::DenseSet<unsigned> asserted;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
};

} // namespace

AffineExpr BodyBuilder::renumber(AffineExpr e) {
  llvm::DenseMap<AffineExpr, AffineExpr> replacements;
  for (auto [v, n] : numbers)
    replacements[getAffineDimExpr(v, context())] =
        getAffineDimExpr(n, context());
  return e.replace(replacements);
}

SmallVector<int64_t>
BodyBuilder::dimsOf(unsigned instance, ArrayRef<int64_t> dims, bool keepOrder) {
  llvm::SmallSetVector<int64_t, 4> result;
  for (int64_t d : dims)
    for (unsigned v :
         space.getVariablesOf(space.getInstances()[instance].dims[d]))
      result.insert(numbers.lookup(v));
  SmallVector<int64_t> list = result.takeVector();
  if (!keepOrder)
    llvm::sort(list);
  return list;
}

Value BodyBuilder::input(Value tensor, AffineMap map, Location loc) {
  for (auto [i, other] : llvm::enumerate(inputs))
    if (other == tensor && maps[i] == map)
      return body->getArgument(i);
  inputs.push_back(tensor);
  maps.push_back(map);
  return body->addArgument(
      cast<RankedTensorType>(tensor.getType()).getElementType(), loc);
}

Value BodyBuilder::indexValue(AffineExpr e, Location loc) {
  if (auto sym = dyn_cast<AffineSymbolExpr>(e)) {
    auto [instance, v] = space.getSymbol(sym.getPosition());
    return valueOf(instance, v);
  }
  if (auto d = dyn_cast<AffineDimExpr>(e))
    return IndexOp::create(
        rewriter, loc, rewriter.getIndexType(),
        rewriter.getI64IntegerAttr(numbers.lookup(d.getPosition())));
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return arith::ConstantIndexOp::create(rewriter, loc, c.getValue());
  // The dims and symbols that occur, as values at their own positions.
  SmallVector<Value> dims, symbols;
  e.walk([&](AffineExpr part) {
    if (auto d = dyn_cast<AffineDimExpr>(part)) {
      dims.resize(std::max<size_t>(dims.size(), d.getPosition() + 1));
      dims[d.getPosition()] = indexValue(part, loc);
    }
    if (auto sym = dyn_cast<AffineSymbolExpr>(part)) {
      symbols.resize(std::max<size_t>(symbols.size(), sym.getPosition() + 1));
      symbols[sym.getPosition()] = indexValue(part, loc);
    }
  });
  return affine::expandAffineExpr(rewriter, loc, e, dims, symbols);
}

Value BodyBuilder::readOf(unsigned instance, Value reader, Location loc) {
  const FusionSpace::Access &access = *space.findAccess(instance, reader);
  if (access.producer >= 0) {
    auto result = cast<OpResult>(access.tensor);
    auto producer = cast<CascadeOp>(result.getOwner());
    auto yield = cast<YieldOp>(producer.getBody().front().getTerminator());
    return valueOf(access.producer,
                   yield.getValues()[result.getResultNumber()]);
  }
  bool isPlain = isa<BlockArgument>(reader);
  for (AffineExpr e : access.index)
    e.walk([&](AffineExpr part) { isPlain &= !isa<AffineSymbolExpr>(part); });
  if (isPlain) {
    SmallVector<AffineExpr> exprs = llvm::map_to_vector(
        access.index, [&](AffineExpr e) { return renumber(e); });
    return input(access.tensor, AffineMap::get(numDims(), 0, exprs, context()),
                 loc);
  }
  SmallVector<Value> indices = llvm::map_to_vector(
      access.index, [&](AffineExpr e) { return indexValue(e, loc); });
  return tensor::ExtractOp::create(rewriter, loc, access.tensor, indices);
}

Value BodyBuilder::valueOf(unsigned instance, Value v) {
  CascadeOp op = space.getInstances()[instance].op;
  Block *source = &op.getBody().front();
  auto arg = dyn_cast<BlockArgument>(v);
  Operation *def = v.getDefiningOp();
  if (arg ? arg.getOwner() != source : def->getBlock() != source)
    return v; // from outside
  if (Value known = values.lookup({instance, v}))
    return known;
  Value result;
  Location loc = v.getLoc();
  if (arg || isa<tensor::ExtractOp>(def)) {
    result = readOf(instance, v, arg ? op.getLoc() : loc);
  } else if (auto index = dyn_cast<IndexOp>(def)) {
    result =
        indexValue(space.getInstances()[instance].dims[index.getDim()], loc);
  } else {
    IRMapping mapping;
    for (Value operand : def->getOperands())
      mapping.map(operand, valueOf(instance, operand));
    Operation *copy = rewriter.clone(*def, mapping);
    if (auto reduce = dyn_cast<ReduceOp>(copy)) {
      reduce.setOver(dimsOf(instance, reduce.getOver(), reduce.getOrdered()));
      reduce.setInto(dimsOf(instance, reduce.getInto()));
    }
    if (auto scan = dyn_cast<ScanOp>(copy))
      scan.setDim(dimsOf(instance, scan.getDim()).front());
    if (auto merge = dyn_cast<MergeTopkOp>(copy))
      merge.setDim(dimsOf(instance, merge.getDim()).front());
    for (auto [from, to] : llvm::zip(def->getResults(), copy->getResults()))
      values[{instance, from}] = to;
    return values.lookup({instance, v});
  }
  values[{instance, v}] = result;
  return result;
}

void BodyBuilder::emitAssertions(unsigned instance) {
  CascadeOp op = space.getInstances()[instance].op;
  for (auto assertion : op.getBody().front().getOps<cf::AssertOp>()) {
    Value condition = valueOf(instance, assertion.getArg());
    cf::AssertOp::create(rewriter, assertion.getLoc(), condition,
                         assertion.getMsg());
  }
}

/// Every dim needs an operand that has its extent. Where all that had it was
/// inlined away (positions alone are reduced, say), an empty tensor of one bit
/// an element says it; nobody reads it.
void BodyBuilder::addExtentInputs(ArrayRef<CascadeOp> ops,
                                  ArrayRef<AffineMap> outMaps,
                                  ArrayRef<Value> inits) {
  SmallBitVector plain(numDims());
  for (ArrayRef<AffineMap> list : {ArrayRef<AffineMap>(maps), outMaps})
    for (AffineMap map : list)
      for (AffineExpr e : map.getResults())
        if (auto d = dyn_cast<AffineDimExpr>(e))
          plain.set(d.getPosition());
  for (auto [n, v] : llvm::enumerate(space.getVariables())) {
    if (plain.test(n))
      continue;
    const FusionSpace::Variable &variable = space.getVariable(v);
    CascadeOp op = variable.op;
    Location loc = op.getLoc();
    OpFoldResult extent = rewriter.getIndexAttr(variable.extent);
    if (ShapedType::isDynamic(variable.extent)) {
      auto where = findExtent(cast<IndexProgramOpInterface>(op.getOperation()),
                              variable.dim);
      Value tensor = where->first->get();
      // A value that disappears has the shape of its destination.
      while (auto owner = tensor.getDefiningOp<CascadeOp>()) {
        if (!llvm::is_contained(ops, owner))
          break;
        tensor = owner.getInits()[cast<OpResult>(tensor).getResultNumber()];
      }
      // Not tensor.dim of an empty tensor: that would keep it alive.
      auto shape = tensor.getDefiningOp<tensor::EmptyOp>();
      extent = shape
                   ? shape.getMixedSizes()[where->second]
                   : tensor::getMixedSize(rewriter, loc, tensor, where->second);
    }
    Value empty =
        tensor::EmptyOp::create(rewriter, loc, {extent}, rewriter.getI1Type());
    inputs.push_back(empty);
    maps.push_back(AffineMap::get(numDims(), 0, getAffineDimExpr(n, context()),
                                  context()));
    body->addArgument(rewriter.getI1Type(), loc);
  }
}

CascadeOp BodyBuilder::build(ArrayRef<CascadeOp> ops) {
  SmallVector<Location> locations;
  for (CascadeOp op : ops)
    locations.push_back(op->getLoc());
  Location loc = rewriter.getFusedLoc(locations);

  CascadeOp last = ops.back();
  rewriter.setInsertionPointToEnd(body);
  SmallVector<Value> results, inits;
  SmallVector<AffineMap> outMaps;
  SmallVector<Type> types;
  for (unsigned i = 0; i < space.getInstances().size(); ++i)
    emitAssertions(i);
  for (auto [i, output] : llvm::enumerate(space.getOutputs())) {
    unsigned instance = space.getOutputInstance(i);
    auto op = cast<CascadeOp>(output.getOwner());
    unsigned r = output.getResultNumber();
    auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
    results.push_back(valueOf(instance, yield.getValues()[r]));
    AffineMap map = op.getIndexingMapsArray()[op.getInputs().size() + r];
    SmallVector<AffineExpr> exprs;
    for (AffineExpr e : map.getResults())
      exprs.push_back(
          renumber(space.getInstances()[instance]
                       .dims[cast<AffineDimExpr>(e).getPosition()]));
    outMaps.push_back(AffineMap::get(numDims(), 0, exprs, context()));
    inits.push_back(op.getInits()[r]);
    types.push_back(output.getType());
  }
  YieldOp::create(rewriter, loc, results);

  rewriter.setInsertionPoint(last);
  addExtentInputs(ops, outMaps, inits);
  SmallVector<AffineMap> allMaps(maps);
  llvm::append_range(allMaps, outMaps);
  auto cascade =
      CascadeOp::create(rewriter, loc, types, inputs, inits,
                        rewriter.getAffineMapArrayAttr(allMaps), nullptr);
  cascade.getBody().push_back(body);
  return cascade;
}

CascadeOp redfuse::buildFusedCascade(RewriterBase &rewriter,
                                     ArrayRef<CascadeOp> ops,
                                     const FusionSpace &space) {
  Block *block = CascadeOp(ops.front())->getBlock();
  CascadeOp fused = BodyBuilder(rewriter, space).build(ops);
  for (auto [i, output] : llvm::enumerate(space.getOutputs()))
    rewriter.replaceAllUsesWith(output, fused->getResult(i));
  for (CascadeOp op : llvm::reverse(ops))
    rewriter.eraseOp(op);
  sortTopologically(block);
  DominanceInfo dominance(fused->getParentOp());
  eliminateCommonSubExpressions(rewriter, dominance, fused);
  return fused;
}
