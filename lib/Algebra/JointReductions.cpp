//===- JointReductions.cpp - reducers of several components, and scans ----===//
#include "Deriver.h"

using namespace mlir;
using namespace redfuse;

unsigned Deriver::addJointComponents(CombiningOpInterface combining,
                                     ArrayRef<int64_t> over) {
  SmallVector<Value> elements;
  for (Value operand : combining->getOperands())
    elements.push_back(roles.canonical(operand));
  return addJointComponents(combining, combining.getReducer(), elements, over);
}

unsigned Deriver::addJointComponents(CombiningOpInterface combining,
                                     Reducer reducer, ArrayRef<Value> elements,
                                     ArrayRef<int64_t> over) {
  SmallBitVector dims(roles.getOver().size());
  for (Value element : elements)
    dims |= roles.getDims()[element];
  // The rank of a list is a dim of the result alone.
  if (reducer == Reducer::TopK) {
    SmallBitVector rank = toDimSet(
        cast<ReduceOp>(combining.getOperation()).getInto(), dims.size());
    for (Value operand : combining->getOperands())
      rank.reset(roles.getDims()[operand]);
    dims |= rank;
  }
  Component c = makeComponent(reducer, Type(), over, dims);
  c.elements.assign(elements.begin(), elements.end());
  for (auto [i, other] : llvm::enumerate(result.components))
    if (other.joint && other.member == 0 && other.over == c.over &&
        other.into == c.into && other.reducer == reducer &&
        other.elements == c.elements &&
        (!combining.isDeclared() ||
         haveSameReducer(combining, cast<CombiningOpInterface>(other.joint))))
      return i;
  unsigned first = result.components.size();
  for (auto [i, element] : llvm::enumerate(elements)) {
    c.joint = combining;
    c.member = i;
    c.type = element.getType();
    c.identity = i == 0 && !combining.isDeclared()
                     ? getReducerIdentity(reducer, c.type)
                     : getIdentityOf(combining, i);
    result.components.push_back(c);
  }
  return first;
}

bool Deriver::addJoint(ReduceOp reduce) {
  auto isData = [&](Value v) {
    return roles[v] == Role::Data || roles[v] == Role::Free;
  };
  if (!llvm::all_of(reduce.getOperands(), isData)) {
    if (reduce.isDeclared())
      return refuse(reduce, "declared combiner",
                    "an element mixes data with reduced values, and what a "
                    "combiner of the program's own does to it is not known",
                    "combine data alone, and apply the reduced value to the "
                    "result");
    return addSelection(reduce);
  }
  Stage stage;
  stage.reduce = reduce;
  stage.kind = Stage::Kind::Joint;
  stage.first = addJointComponents(reduce, reduce.getOver());
  result.stages.push_back(stage);
  return true;
}

bool Deriver::addScan(ScanOp scan) {
  const SmallBitVector &over = roles.getOver();
  if (over.count() != 1)
    return refuse(scan, "part of the dims",
                  "a scan runs along one dim, and several are folded at once",
                  "fold its dim alone");
  for (Value v : scan.getOperands()) {
    if (roles.isRunning(v))
      return refuse(scan, "running value",
                    "the scan is over prefixes of another scan along the same "
                    "dim, which a segment alone does not have",
                    "keep the dim in one piece (resident)");
    if (roles[v] != Role::Data && roles[v] != Role::Free)
      return refuse(scan, "running value",
                    "the elements of a scan need a reduction over the dim that "
                    "it runs along",
                    "keep the dim in one piece (resident)");
  }
  if (options.strict && changesWithOrder(scan))
    return refuse(scan, "strict",
                  "folding a floating-point scan changes the order of its "
                  "operations",
                  "allow reassociation (leave out strict)");
  RunningStage running;
  running.scan = scan;
  SmallVector<int64_t> dims = toDims(over);
  if (scan.isDeclared()) {
    running.first = addJointComponents(scan, dims);
  } else {
    Value operand = roles.canonical(scan.getOperand(0));
    Component c = makeComponent(scan.getReducer(), operand.getType(), dims,
                                roles.getDims()[operand]);
    c.data.push_back({operand, 1});
    running.first = addComponent(std::move(c));
  }
  result.scans.push_back(running);
  return true;
}

bool Deriver::addOutputs(CascadeOp cascade) {
  Block &body = cascade.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    if (!roles.isRunning(value))
      continue;
    SmallVector<Value> work{value};
    llvm::DenseSet<Value> seen;
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (!op || op->getBlock() != &body ||
          !seen.insert(op->getResult(0)).second)
        continue;
      if (auto reduce = dyn_cast<ReduceOp>(op); reduce && roles.isStage(reduce))
        return refuse(reduce, "running value",
                      "a result needs both the prefixes of a scan and a "
                      "reduction that is finished after the last of them",
                      "keep the dim in one piece (resident)");
      llvm::append_range(work, op->getOperands());
    }
    result.outputs.push_back(i);
  }
  return true;
}
