//===- Formula.cpp - reading the formulas of certificates -----------------===//
#include "redfuse/Dialect/Redfuse/IR/Formula.h"

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace redfuse;

namespace {
/// Reads by recursive descent: a function for each level of the grammar. After an
/// error all of them return at once, and what they return is not used.
class FormulaParser {
public:
  explicit FormulaParser(StringRef text) : text(text), rest(text) {}

  FailureOr<FormulaNode> parse(std::string &why) {
    FormulaNode node = parseCondition();
    if (!error.empty() || !atEnd("a formula that ends here")) {
      why = error;
      return failure();
    }
    return node;
  }

private:
  FormulaNode parseCondition();
  FormulaNode parseSum();
  FormulaNode parseProduct();
  FormulaNode parseSigned();
  FormulaNode parsePower();
  FormulaNode parseAtom();
  FormulaNode parseNumber();
  FormulaNode parseWord();
  void parseDims(SmallVectorImpl<int64_t> &dims);

  static FormulaNode negated(FormulaNode node);
  static FormulaNode binary(StringRef op, FormulaNode left, FormulaNode right);

  /// Takes `token` if it comes next.
  bool take(StringRef token) {
    rest = rest.ltrim(' ');
    return error.empty() && rest.consume_front(token);
  }
  /// The one of the tokens that comes next, or nothing. Longer ones go first.
  StringRef takeAnyOf(ArrayRef<StringRef> tokens) {
    for (StringRef token : tokens)
      if (take(token))
        return token;
    return {};
  }
  void expect(StringRef token) {
    if (!take(token))
      fail("'" + token + "'");
  }
  bool atEnd(StringRef expected) {
    rest = rest.ltrim(' ');
    if (!rest.empty())
      fail(expected);
    return rest.empty();
  }
  void fail(const Twine &expected) {
    if (!error.empty())
      return;
    StringRef got = rest.take_front(20);
    error =
        (Twine("formula '") + text + "': expected " + expected + " at column " +
         Twine(text.size() - rest.size() + 1) + ", got '" + got + "'")
            .str();
  }

  StringRef text, rest;
  std::string error;
  /// How deep parentheses may be: the parser calls itself for each.
  static constexpr unsigned kMaxDepth = 1000;
  unsigned depth = 0;
};
} // namespace

static bool isWordChar(char c) { return llvm::isAlnum(c) || c == '_'; }

FormulaNode FormulaParser::parseCondition() {
  if (++depth > kMaxDepth)
    fail("fewer parentheses");
  FormulaNode node;
  StringRef before = rest;
  if (take("not") && (rest.empty() || !isWordChar(rest.front()))) {
    node = FormulaNode{"not", "", 0, {}, {parseCondition()}};
  } else {
    rest = before;
    node = parseSum();
    if (StringRef op = takeAnyOf({"==", "!=", "<=", ">=", "<", ">"});
        !op.empty())
      node = binary(op, std::move(node), parseSum());
  }
  --depth;
  return node;
}

FormulaNode FormulaParser::parseSum() {
  FormulaNode node = parseProduct();
  for (StringRef op; !(op = takeAnyOf({"+", "-"})).empty();)
    node = binary(op, std::move(node), parseProduct());
  return node;
}

FormulaNode FormulaParser::parseProduct() {
  FormulaNode node = parseSigned();
  for (StringRef op; !(op = takeAnyOf({"*", "/"})).empty();)
    node = binary(op, std::move(node), parseSigned());
  return node;
}

FormulaNode FormulaParser::parseSigned() {
  bool isNegative = false;
  while (take("-"))
    isNegative = !isNegative;
  FormulaNode node = parsePower();
  return isNegative ? negated(std::move(node)) : node;
}

FormulaNode FormulaParser::parsePower() {
  FormulaNode node = parseAtom();
  if (take("**"))
    node = binary("**", std::move(node), parseSigned());
  return node;
}

FormulaNode FormulaParser::parseAtom() {
  rest = rest.ltrim(' ');
  if (take("(")) {
    FormulaNode node = parseCondition();
    expect(")");
    return node;
  }
  if (!rest.empty() && error.empty()) {
    if (llvm::isDigit(rest.front()))
      return parseNumber();
    if (isWordChar(rest.front()))
      return parseWord();
  }
  fail("a formula");
  return {};
}

/// Digits, a fraction, an exponent: 37, 0.5, 9.5e-06.
FormulaNode FormulaParser::parseNumber() {
  StringRef before = rest;
  auto digits = [&] { rest = rest.drop_while(llvm::isDigit); };
  digits();
  if (rest.consume_front("."))
    digits();
  if (rest.consume_front("e")) {
    if (!rest.consume_front("-"))
      rest.consume_front("+");
    if (rest.empty() || !llvm::isDigit(rest.front()))
      fail("the digits of an exponent");
    digits();
  }
  return {"number", before.drop_back(rest.size()).str(), 0, {}, {}};
}

/// A name, a number with a name, a call or a reduction.
FormulaNode FormulaParser::parseWord() {
  StringRef word = rest.take_while(isWordChar);
  rest = rest.drop_front(word.size());
  FormulaNode node{"name", word.str(), 0, {}, {}};
  if (take("[")) {
    node.head = "reduce";
    parseDims(node.dims);
    expect("(");
  } else if (take("(")) {
    node.head = "call";
  } else {
    while (rest.consume_front("'"))
      ++node.primes;
    if (node.value == "oo" || node.value == "nan")
      node.head = "number";
    return node;
  }
  if (take(")"))
    return node;
  do {
    node.args.push_back(parseCondition());
  } while (take(","));
  expect(")");
  return node;
}

void FormulaParser::parseDims(SmallVectorImpl<int64_t> &dims) {
  do {
    int64_t dim = 0;
    rest = rest.ltrim(' ');
    if (rest.consumeInteger(10, dim))
      return fail("an iteration dim");
    dims.push_back(dim);
  } while (take(","));
  expect("]");
}

/// A number has a sign; what is negative otherwise is a node of its own.
FormulaNode FormulaParser::negated(FormulaNode node) {
  if (node.head != "number")
    return {"neg", "", 0, {}, {std::move(node)}};
  bool isNegative = StringRef(node.value).starts_with("-");
  node.value = isNegative ? node.value.substr(1) : "-" + node.value;
  return node;
}

/// The sign of a factor is one of the whole product: -a*b is -(a*b).
FormulaNode FormulaParser::binary(StringRef op, FormulaNode left,
                                  FormulaNode right) {
  bool isProduct = op == "*" || op == "/";
  if (isProduct && left.head == "neg") {
    FormulaNode inner = std::move(left.args.front());
    return negated(binary(op, std::move(inner), std::move(right)));
  }
  if (isProduct && left.head == "number" &&
      StringRef(left.value).starts_with("-"))
    return negated(binary(op, negated(std::move(left)), std::move(right)));
  return {op.str(), "", 0, {}, {std::move(left), std::move(right)}};
}

FailureOr<FormulaNode> redfuse::parseFormula(StringRef text, std::string &why) {
  return FormulaParser(text).parse(why);
}

LogicalResult FormulaAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  StringAttr text) {
  std::string why;
  if (failed(parseFormula(text.getValue(), why)))
    return emitError() << why;
  return success();
}

/// A node as [head, value, primes, dims, arguments...].
static ArrayAttr treeOf(Builder &b, const FormulaNode &node) {
  SmallVector<Attribute> tree{
      b.getStringAttr(node.head), b.getStringAttr(node.value),
      b.getI64IntegerAttr(node.primes), b.getDenseI64ArrayAttr(node.dims)};
  for (const FormulaNode &arg : node.args)
    tree.push_back(treeOf(b, arg));
  return b.getArrayAttr(tree);
}

ArrayAttr FormulaAttr::getTree() const {
  std::string why;
  Builder b(getContext());
  return treeOf(b, *parseFormula(getText().getValue(), why));
}
