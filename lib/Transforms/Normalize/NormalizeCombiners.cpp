//===- NormalizeCombiners.cpp - declared reducers in bodies ---------------===//
#include "NormalizeCommon.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZECOMBINERS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

static constexpr llvm::StringLiteral kForm =
    "write redfuse.combiner = {identity = [1.0 : f32, ...], ordered}: k "
    "identities, for the first k results and the k inputs";

/// Clones what computes `value` from the values in `mapping`; null with `what`
/// set where it needs anything else.
static Value evaluate(OpBuilder &b, IRMapping &mapping, Value value,
                      Block *body, std::string &what) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op ||
      (op->getBlock() != body && !op->hasTrait<OpTrait::ConstantLike>())) {
    what = "a value from outside the body";
    return {};
  }
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
      isa<linalg::IndexOp>(op)) {
    what = "'" + op->getName().getStringRef().str() + "'";
    return {};
  }
  for (Value operand : op->getOperands())
    if (!evaluate(b, mapping, operand, body, what))
      return {};
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

std::optional<std::string> redfuse::declareCombiner(linalg::GenericOp op) {
  Attribute attr = op->getAttr(redfuse::kCombiner);
  auto dictionary = dyn_cast<DictionaryAttr>(attr);
  auto identities =
      dictionary ? dictionary.getAs<ArrayAttr>("identity") : ArrayAttr();
  if (!identities || identities.empty())
    return "the attribute is no dictionary with an array 'identity'";
  for (NamedAttribute entry : dictionary)
    if (entry.getName() != "identity" && entry.getName() != "ordered")
      return ("the attribute has an entry '" + entry.getName().getValue() +
              "', which is neither 'identity' nor 'ordered'")
          .str();
  bool isOrdered = dictionary.contains("ordered");
  if (auto flag = dictionary.getAs<BoolAttr>("ordered"))
    isOrdered = flag.getValue();
  unsigned k = identities.size();
  if (op.getNumDpsInits() < static_cast<int64_t>(k) ||
      op.getNumDpsInputs() != static_cast<int64_t>(k))
    return (Twine(k) + " identities, but " + Twine(op.getNumDpsInputs()) +
            " inputs and " + Twine(op.getNumDpsInits()) + " results")
        .str();
  Block *body = op.getBody();
  auto yield = cast<linalg::YieldOp>(body->getTerminator());
  SmallVector<Value> operands;
  SmallVector<Type> types;
  for (unsigned i = 0; i < k; ++i) {
    operands.push_back(op.getMatchingBlockArgument(op.getDpsInitOperand(i)));
    types.push_back(operands.back().getType());
    auto typed = dyn_cast<TypedAttr>(identities[i]);
    if (!typed || typed.getType() != types.back()) {
      std::string text;
      llvm::raw_string_ostream(text)
          << "identity " << i << " is " << identities[i]
          << ", but its accumulator has type '" << types.back() << "'";
      return text;
    }
  }
  for (unsigned i = 0; i < k; ++i) {
    operands.push_back(op.getMatchingBlockArgument(op.getDpsInputOperand(i)));
    if (operands.back().getType() != types[i])
      return "input " + std::to_string(i) +
             " has another element type than its accumulator";
  }
  OpBuilder b(yield);
  Region region;
  Block *block = b.createBlock(&region);
  IRMapping mapping;
  for (Value operand : operands)
    mapping.map(operand, block->addArgument(operand.getType(), op.getLoc()));
  SmallVector<Value> results;
  for (unsigned i = 0; i < k; ++i) {
    std::string what;
    Value result = evaluate(b, mapping, yield.getOperand(i), body, what);
    if (!result)
      return "result " + std::to_string(i) +
             " is not combined of accumulators and inputs alone: it needs " +
             what;
    results.push_back(result);
  }
  redfuse::YieldOp::create(b, op.getLoc(), results);
  b.setInsertionPoint(yield);
  auto combine = redfuse::CombineOp::create(b, op.getLoc(), types, operands,
                                            identities, isOrdered);
  combine.getCombine().takeBody(region);
  SmallVector<Value> before(yield.getOperands());
  for (OpOperand &operand : yield->getOpOperands())
    for (unsigned i = 0; i < k; ++i)
      if (operand.get() == before[i] &&
          (operand.getOperandNumber() >= k || operand.getOperandNumber() == i))
        operand.set(combine.getResult(i));
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(*body)))
    if (!isa<linalg::YieldOp>(inner) && isOpTriviallyDead(&inner))
      inner.erase();
  return std::nullopt;
}

void redfuse::refuseCombiner(Operation *op, const Twine &why) {
  addRefusal(op, "declared combiner", why, kForm);
  op->removeAttr(kCombiner);
}

namespace {
struct NormalizeCombiners
    : redfuse::impl::NormalizeCombinersBase<NormalizeCombiners> {
  void runOnOperation() override {
    getOperation()->walk([](linalg::GenericOp op) {
      if (!op->hasAttr(redfuse::kCombiner))
        return;
      if (std::optional<std::string> why = redfuse::declareCombiner(op))
        redfuse::refuseCombiner(op, *why);
      else
        op->removeAttr(redfuse::kCombiner);
    });
  }
};
} // namespace
