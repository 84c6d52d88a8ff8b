//===- KernelInfo.cpp - what a kernel was made of -------------------------===//
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace redfuse;

/// By file, then by position as numbers: line 9 comes before line 10.
static bool isBefore(FileLineColLoc a, FileLineColLoc b) {
  return std::make_tuple(a.getFilename().getValue(), a.getLine(),
                         a.getColumn()) <
         std::make_tuple(b.getFilename().getValue(), b.getLine(),
                         b.getColumn());
}

bool redfuse::takeAlike(LaunchOp a, LaunchOp b) {
  if (a->getOperandTypes() != b->getOperandTypes())
    return false;
  for (unsigned i = 0, n = a->getNumOperands(); i < n; ++i)
    for (unsigned j = 0; j < i; ++j)
      if ((a->getOperand(i) == a->getOperand(j)) !=
          (b->getOperand(i) == b->getOperand(j)))
        return false;
  return true;
}

DictionaryAttr redfuse::describeKernel(KernelOp kernel) {
  NamedAttrList attributes(kernel->getAttrDictionary());
  attributes.erase(kernel.getSymNameAttrName());
  attributes.erase(kernel.getInfoAttrName());
  return attributes.getDictionary(kernel.getContext());
}

llvm::hash_code redfuse::hashKernel(KernelOp kernel) {
  llvm::hash_code hash = mlir::hash_value(describeKernel(kernel));
  kernel.getBody().walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

DictionaryAttr redfuse::describeCascade(CascadeOp cascade) {
  Builder b(cascade.getContext());
  llvm::SetVector<Attribute> places;
  cascade->getLoc()->walk([&](Location part) {
    if (auto file = dyn_cast<FileLineColLoc>(part))
      places.insert(file);
    return WalkResult::advance();
  });
  auto sorted = llvm::map_to_vector(
      places, [](Attribute a) { return cast<FileLineColLoc>(a); });
  llvm::sort(sorted, isBefore);
  SmallVector<Attribute> locations, stages;
  for (FileLineColLoc place : sorted)
    locations.push_back(b.getStringAttr(describeLocation(place)));
  for (auto reduce : cascade.getBody().front().getOps<ReduceOp>()) {
    std::string type;
    llvm::raw_string_ostream(type) << reduce.getResult(0).getType();
    stages.push_back(b.getDictionaryAttr({
        b.getNamedAttr("into", b.getDenseI64ArrayAttr(reduce.getInto())),
        b.getNamedAttr("location",
                       b.getStringAttr(describeLocation(reduce.getLoc()))),
        b.getNamedAttr("over", b.getDenseI64ArrayAttr(reduce.getOver())),
        b.getNamedAttr("reducer",
                       b.getStringAttr(stringifyReducer(reduce.getReducer()))),
        b.getNamedAttr("type", b.getStringAttr(type)),
    }));
  }
  Attribute source = locations.empty() ? Attribute(b.getStringAttr("unknown"))
                                       : locations.front();
  return b.getDictionaryAttr({
      b.getNamedAttr("locations", b.getArrayAttr(locations)),
      b.getNamedAttr("source", source),
      b.getNamedAttr("stages", b.getArrayAttr(stages)),
  });
}

int64_t redfuse::countPasses(IndexProgramOpInterface op, unsigned input,
                             ScheduleAttr schedule) {
  // Where nothing stays between passes, an input is read again for each level of
  // reductions that needs it.
  if (!schedule || schedule.getKind() != ScheduleKind::MultiPass)
    return 1;
  Block &body = *op.getProgramBody();
  llvm::DenseMap<Value, unsigned> level;
  llvm::DenseSet<Value> fromInput;
  fromInput.insert(body.getArgument(input));
  llvm::SmallDenseSet<unsigned, 4> readAt;
  for (Operation &inner : body) {
    unsigned depth = 0;
    bool reads = false;
    for (Value v : inner.getOperands()) {
      depth = std::max(depth, level.lookup(v));
      reads |= fromInput.contains(v);
    }
    bool ends = isa<ReduceOp, YieldOp>(inner);
    if (reads && ends)
      readAt.insert(depth);
    for (Value v : inner.getResults()) {
      level[v] = depth + (isa<ReduceOp>(inner) ? 1 : 0);
      if (reads && !ends)
        fromInput.insert(v);
    }
  }
  return std::max<int64_t>(1, readAt.size());
}

Value redfuse::matchFreeRounding(Operation *extend) {
  if (!isa_and_nonnull<arith::ExtFOp>(extend))
    return {};
  auto narrow = extend->getOperand(0).getDefiningOp<arith::TruncFOp>();
  if (!narrow || narrow->hasAttr(kRoundsAttr) ||
      narrow.getIn().getType() != extend->getResult(0).getType() ||
      narrow.getType().getIntOrFloatBitWidth() != 16)
    return {};
  return narrow.getIn();
}

bool redfuse::isFactorOfSum(Value v) {
  return llvm::any_of(v.getUsers(), [](Operation *user) {
    if (isa<arith::SelectOp>(user))
      return isFactorOfSum(user->getResult(0));
    return isa<arith::MulFOp>(user) &&
           user->getOperand(0) != user->getOperand(1) &&
           llvm::any_of(user->getUsers(), [](Operation *sum) {
             auto reduce = dyn_cast<ReduceOp>(sum);
             return reduce && reduce.getReducer() == Reducer::Add;
           });
  });
}
