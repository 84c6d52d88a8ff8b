//===- SelectionsToCPU.cpp - redfuse.select to a function over rows -------===//
//
// The elements of a row with their positions, as integers whose order is the row's,
// are put into scratch memory and sorted there by their keys, eight bits after eight
// bits. The scratch has two halves, between which the sort moves them.
//
//===----------------------------------------------------------------------===//
#include "Tuning.h"

#include "redfuse/Codegen/Common/OrderedWords.h"
#include "redfuse/Codegen/Passes.h"
#include "redfuse/Dialect/Redfuse/IR/Selection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace redfuse {
#define GEN_PASS_DEF_SELECTIONSTOCPU
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// Values that a digit of the sort has, and its bits.
static constexpr int64_t kDigits = 256, kDigitBits = 8;

namespace {
/// Builds the function of one op.
class RowSelection {
public:
  RowSelection(SelectOp op, SymbolTable &symbols, StringRef name)
      : op(op), module(cast<ModuleOp>(symbols.getOp())), symbols(symbols),
        name(name), b(op.getLoc(), op.getContext()),
        words(elementOf(op), op.getDescending(), op.getIsUnsigned(),
              lengthOf(op)) {}

  void build();

private:
  using Values = SmallVector<Value>;

  static Type elementOf(SelectOp op) {
    return cast<MemRefType>(op.getInput().getType()).getElementType();
  }
  static std::optional<int64_t> lengthOf(SelectOp op) {
    int64_t length =
        cast<MemRefType>(op.getInput().getType()).getShape().back();
    return ShapedType::isDynamic(length) ? std::nullopt
                                         : std::optional<int64_t>(length);
  }
  Value index(int64_t v) { return arith::ConstantIndexOp::create(b, v); }
  Value compare(arith::CmpIPredicate p, Value x, Value y) {
    return arith::CmpIOp::create(b, p, x, y);
  }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
  Value load(Value memory, Value at) {
    return memref::LoadOp::create(b, memory, at);
  }
  void store(Value v, Value memory, Value at) {
    memref::StoreOp::create(b, v, memory, at);
  }
  Values loop(Value low, Value high, ValueRange carried,
              function_ref<Values(Value, ValueRange)> body);
  Values choose(Value condition, TypeRange types, function_ref<Values()> then,
                function_ref<Values()> otherwise);
  Value cut(Value bytes, Value byte, Value count, Type element);
  void insert(Value count);
  Value sort(Value count);
  Value sortDigits(Value count);
  Values append(Value word, ValueRange before);
  void buildRow(ValueRange row);

  SelectOp op;
  ModuleOp module;
  SymbolTable &symbols;
  std::string name;
  ImplicitLocOpBuilder b;
  OrderedWords words;
  Value input, values, positions;
  /// Elements of a row; ranks that are wanted; words that the scratch has room for,
  /// twice; the words, and how often each digit occurs.
  Value length, ranks, stored, room, memory, counts;
};
} // namespace

SmallVector<Value>
RowSelection::loop(Value low, Value high, ValueRange carried,
                   function_ref<Values(Value, ValueRange)> body) {
  auto made = scf::ForOp::create(b, low, high, index(1), carried);
  OpBuilder::InsertionGuard guard(b);
  Block *block = made.getBody();
  if (!block->empty())
    block->back().erase();
  b.setInsertionPointToEnd(block);
  Values next = body(made.getInductionVar(), made.getRegionIterArgs());
  scf::YieldOp::create(b, next);
  return llvm::to_vector_of<Value>(made.getResults());
}

SmallVector<Value> RowSelection::choose(Value condition, TypeRange types,
                                        function_ref<Values()> then,
                                        function_ref<Values()> otherwise) {
  auto branch = scf::IfOp::create(b, types, condition,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, then());
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, otherwise());
  return llvm::to_vector_of<Value>(branch.getResults());
}

Value RowSelection::cut(Value bytes, Value byte, Value count, Type element) {
  return memref::ViewOp::create(
      b, MemRefType::get({ShapedType::kDynamic}, element), bytes, byte, count);
}

/// Sorts the first words of the first half, of which there are few.
void RowSelection::insert(Value count) {
  loop(index(1), count, {}, [&](Value at, ValueRange) {
    Value word = load(memory, at);
    Type type = b.getIndexType();
    auto moves = scf::WhileOp::create(b, TypeRange{type}, ValueRange{at});
    {
      OpBuilder::InsertionGuard guard(b);
      Block *test = b.createBlock(&moves.getBefore(), {}, type, b.getLoc());
      Value place = test->getArgument(0);
      Value isInside = compare(arith::CmpIPredicate::ugt, place, index(0));
      Value goesOn = choose(
          isInside, b.getI1Type(),
          [&] {
            Value below =
                load(memory, arith::SubIOp::create(b, place, index(1)));
            return Values{compare(arith::CmpIPredicate::ult, word, below)};
          },
          [&] { return Values{isInside}; })[0];
      scf::ConditionOp::create(b, goesOn, test->getArguments());
      Block *move = b.createBlock(&moves.getAfter(), {}, type, b.getLoc());
      Value to = move->getArgument(0);
      Value from = arith::SubIOp::create(b, to, index(1));
      store(load(memory, from), memory, to);
      scf::YieldOp::create(b, from);
    }
    store(word, memory, moves.getResult(0));
    return Values();
  });
}

/// Sorts the first words of the first half by their keys; where they are afterwards.
/// Words of the same key are in the order of their positions already.
Value RowSelection::sortDigits(Value count) {
  Type type = words.getType();
  unsigned width = words.getType().getWidth();
  auto digitOf = [&](Value word, unsigned shift) -> Value {
    Value by = words.constant(b, b.getLoc(), APInt(width, shift));
    Value mask = words.constant(b, b.getLoc(), APInt(width, kDigits - 1));
    Value digit =
        arith::AndIOp::create(b, arith::ShRUIOp::create(b, word, by), mask);
    return arith::IndexCastUIOp::create(b, b.getIndexType(), digit);
  };
  (void)type;
  Value source = index(0);
  for (unsigned bit = 0; bit < words.getKeyBits(); bit += kDigitBits) {
    unsigned shift = words.getPositionBits() + bit;
    loop(index(0), index(kDigits), {}, [&](Value at, ValueRange) {
      store(index(0), counts, at);
      return Values();
    });
    loop(index(0), count, {}, [&](Value at, ValueRange) {
      Value digit = digitOf(load(memory, add(source, at)), shift);
      store(add(load(counts, digit), index(1)), counts, digit);
      return Values();
    });
    // Where all have the same digit there is nothing to do.
    Value any = digitOf(load(memory, source), shift);
    Value isSame = compare(arith::CmpIPredicate::eq, load(counts, any), count);
    source = choose(
        isSame, b.getIndexType(), [&] { return Values{source}; },
        [&] {
          Value target = arith::SubIOp::create(b, room, source);
          loop(index(0), index(kDigits), index(0),
               [&](Value at, ValueRange before) {
                 Value many = load(counts, at);
                 store(before[0], counts, at);
                 return Values{add(before[0], many)};
               });
          loop(index(0), count, {}, [&](Value at, ValueRange) {
            Value word = load(memory, add(source, at));
            Value digit = digitOf(word, shift);
            Value place = load(counts, digit);
            store(add(place, index(1)), counts, digit);
            store(word, memory, add(target, place));
            return Values();
          });
          return Values{target};
        })[0];
  }
  return source;
}

Value RowSelection::sort(Value count) {
  return choose(
      compare(arith::CmpIPredicate::ule, count, index(kInsertedWords)),
      b.getIndexType(),
      [&] {
        insert(count);
        return Values{index(0)};
      },
      [&] { return Values{sortDigits(count)}; })[0];
}

/// Puts a word behind those of the row so far, of which there are `before[0]`; where
/// there is no room for more, the ranks alone stay, and the last of them is the
/// threshold. `before`: that number, the threshold, and its element.
SmallVector<Value> RowSelection::append(Value word, ValueRange before) {
  store(word, memory, before[0]);
  Value next = add(before[0], index(1));
  Value isFull =
      arith::AndIOp::create(b, compare(arith::CmpIPredicate::eq, next, room),
                            compare(arith::CmpIPredicate::ult, ranks, room));
  return choose(
      isFull, before.getTypes(),
      [&] {
        Value start = sort(next);
        Value isFar = compare(arith::CmpIPredicate::ne, start, index(0));
        auto copy = scf::IfOp::create(b, isFar, false);
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(copy.thenYield());
          loop(index(0), ranks, {}, [&](Value i, ValueRange) {
            store(load(memory, add(start, i)), memory, i);
            return Values();
          });
        }
        Value worst = load(memory, arith::SubIOp::create(b, ranks, index(1)));
        return Values{ranks, worst, words.elementOf(b, b.getLoc(), worst)};
      },
      [&] { return Values{next, before[1], before[2]}; });
}

void RowSelection::buildRow(ValueRange row) {
  auto at = [&](Value position) {
    Values indices = llvm::to_vector_of<Value>(row);
    indices.push_back(position);
    return indices;
  };
  // Of most elements of a long row it is enough to compare them as they are.
  Value last = words.last(b, b.getLoc());
  Values state = loop(
      index(0), length, {index(0), last, words.elementOf(b, b.getLoc(), last)},
      [&](Value position, ValueRange before) {
        TypeRange types = before.getTypes();
        auto unchanged = [&] { return llvm::to_vector_of<Value>(before); };
        Value element = memref::LoadOp::create(b, input, at(position));
        return choose(
            words.mayPass(b, b.getLoc(), element, before[2]), types,
            [&] {
              Value number =
                  arith::IndexCastUIOp::create(b, b.getI32Type(), position);
              Value word = words.make(b, b.getLoc(), element, number);
              return choose(
                  compare(arith::CmpIPredicate::ule, word, before[1]), types,
                  [&] { return append(word, before); }, unchanged);
            },
            unchanged);
      });
  Value start = sort(state[0]);
  Value from = index(op.getFrom());
  Value most = arith::MinUIOp::create(b, ranks, state[0]);
  loop(index(0), stored, {}, [&](Value rank, ValueRange) {
    Value place = add(rank, from);
    auto exists = scf::IfOp::create(
        b, compare(arith::CmpIPredicate::ult, place, most), false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(exists.thenYield());
    Value number =
        words.positionOf(b, b.getLoc(), load(memory, add(start, place)));
    Value position = arith::IndexCastUIOp::create(b, b.getIndexType(), number);
    if (values)
      memref::StoreOp::create(b, memref::LoadOp::create(b, input, at(position)),
                              values, at(rank));
    if (positions) {
      Type type = cast<MemRefType>(positions.getType()).getElementType();
      Value v = position;
      if (!type.isIndex())
        v = arith::IndexCastUIOp::create(b, type, v);
      memref::StoreOp::create(b, v, positions, at(rank));
    }
    return Values();
  });
}

void RowSelection::build() {
  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types(2, b.getIndexType());
  llvm::append_range(types, op->getOperandTypes());
  auto func = func::FuncOp::create(b, name, b.getFunctionType(types, {}));
  // Another name if a function of the user's has this one.
  symbols.insert(func);
  func.setPrivate();
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  input = entry->getArgument(2);
  if (op.getValues())
    values = entry->getArgument(3);
  if (op.getPositions())
    positions = entry->getArguments().back();
  int64_t last = cast<MemRefType>(input.getType()).getRank() - 1;
  length = b.createOrFold<memref::DimOp>(input, last);
  stored = b.createOrFold<memref::DimOp>(entry->getArgument(3), last);
  ranks = arith::MinUIOp::create(b, add(stored, index(op.getFrom())), length);
  // Where more than a quarter of the row is wanted, all of it is sorted at once.
  Value few = arith::MaxUIOp::create(
      b, arith::MulIOp::create(b, ranks, index(kScratchOfRank)),
      index(kLeastScratch));
  room = arith::MinUIOp::create(b, few, length);
  Value bytes = arith::MulIOp::create(b, room, index(2 * words.getBytes()));
  auto viewType = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
  StringRef scratch = "redfuse_rt_scratch_view";
  if (!module.lookupSymbol(scratch)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto declared = func::FuncOp::create(
        b, scratch, b.getFunctionType({b.getIndexType()}, {viewType}));
    declared.setPrivate();
    symbols.insert(declared);
  }
  Value view = func::CallOp::create(b, scratch, TypeRange{viewType},
                                    ValueRange{add(bytes, index(kDigits * 8))})
                   .getResult(0);
  counts = cut(view, index(0), index(kDigits), b.getIndexType());
  memory = cut(view, index(kDigits * 8),
               arith::MulIOp::create(b, room, index(2)), words.getType());
  loop(entry->getArgument(0), entry->getArgument(1), {},
       [&](Value number, ValueRange) {
         SmallVector<Value> row(last);
         for (int64_t d = last - 1; d >= 0; --d) {
           Value extent = b.createOrFold<memref::DimOp>(input, d);
           row[d] = d == 0
                        ? number
                        : arith::RemUIOp::create(b, number, extent).getResult();
           if (d > 0)
             number = arith::DivUIOp::create(b, number, extent);
         }
         buildRow(row);
         return Values();
       });
  func::ReturnOp::create(b);

  b.setInsertionPoint(op);
  Value rows = index(1);
  for (int64_t d = 0; d < last; ++d)
    rows = b.createOrFold<arith::MulIOp>(
        rows, b.createOrFold<memref::DimOp>(op.getInput(), d));
  SmallVector<Value> operands{index(0), rows};
  llvm::append_range(operands, op->getOperands());
  auto call = func::CallOp::create(b, func, operands);
  call->setAttr(kParallelAttr, b.getUnitAttr());
  op.erase();
}

namespace {
struct SelectionsToCPU
    : public redfuse::impl::SelectionsToCPUBase<SelectionsToCPU> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SmallVector<SelectOp> ops;
    module.walk([&](SelectOp op) { ops.push_back(op); });
    for (auto [i, op] : llvm::enumerate(ops)) {
      if (failed(op.requireBuffers()))
        return signalPassFailure();
      RowSelection(op, symbols, "select_" + std::to_string(i)).build();
    }
  }
};
} // namespace
