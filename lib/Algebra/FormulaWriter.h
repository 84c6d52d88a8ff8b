//===- FormulaWriter.h - the text of a derivation's formulas ----*- C++ -*-===//
//
// Formulas are written so that people and computer algebra read the same text:
// x0, x1, ... are the elements of the inputs, a0, a1, ... are data computed
// from them (`where` says how), d0, d1, ... the reductions of the cascade in
// the order of its body, t0, t1, ... the components of the state, y0, y1, ... the
// results, i0, i1, ... positions, c0, c1, ... scalars from outside, e0, e1, ...
// what is made of reductions and stands in several formulas (`shared`). A name with a
// prime is that after a segment or in the merged state. Nothing else is needed to
// check a derivation: types, dims and extents are part of it.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_ALGEBRA_FORMULAWRITER_H
#define REDFUSE_LIB_ALGEBRA_FORMULAWRITER_H

#include "Deriver.h"

namespace redfuse {

/// `[0, 1]`, for dims 0 and 1.
std::string dimList(llvm::ArrayRef<int64_t> dims);

/// A constant, as it is written in formulas.
std::string constantText(mlir::Attribute attr);

/// Builds the entries of a certificate.
class EntryBuilder : public mlir::Builder {
public:
  using Builder::Builder;

  mlir::DictionaryAttr
  entry(llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Attribute>> fields) {
    return getDictionaryAttr(llvm::map_to_vector(fields, [&](auto field) {
      return getNamedAttr(field.first, field.second);
    }));
  }
  FormulaAttr formula(llvm::StringRef text) {
    return FormulaAttr::get(getContext(), getStringAttr(text));
  }
  /// `name` is what the formula says.
  mlir::DictionaryAttr equation(llvm::StringRef name, llvm::StringRef text) {
    return entry({{"name", getStringAttr(name)}, {"formula", formula(text)}});
  }
  mlir::ArrayAttr formulas(llvm::ArrayRef<std::string> texts) {
    return getArrayAttr(llvm::map_to_vector(
        texts, [&](llvm::StringRef text) -> mlir::Attribute {
          return formula(text);
        }));
  }
  mlir::ArrayAttr names(llvm::ArrayRef<std::string> names) {
    return getStrArrayAttr(
        llvm::SmallVector<llvm::StringRef>(names.begin(), names.end()));
  }
};

/// Writes the formulas of one derivation. What it gives a name on the way stands in
/// the lists, entry by entry.
class FormulaWriter {
public:
  FormulaWriter(CascadeOp cascade, const Derivation &d, const Roles &roles);

  /// The name of a component of the state.
  std::string state(unsigned i) const { return "t" + std::to_string(i); }
  /// A value of the body; data is named, not spelled out.
  std::string value(mlir::Value v, bool spell = false);
  std::vector<std::string> texts(mlir::ValueRange values);
  std::string sum(llvm::StringRef start, const Linear &linear);
  /// The entry of `basis` for a component and those that are reduced with it.
  mlir::DictionaryAttr basis(unsigned index);
  /// What a component is after its pivot changed.
  std::string transport(unsigned index);
  /// What a reduction of the cascade is, of the state.
  std::string stage(const Stage &stage);
  /// The name by which `combining` combines; a declared reducer gets one.
  std::string reducer(CombiningOpInterface combining);
  /// The entry of a reduction, or of what a segment reduces to.
  mlir::DictionaryAttr reductionEntry(llvm::ArrayRef<std::string> names,
                                      llvm::StringRef reducer,
                                      llvm::ArrayRef<int64_t> over,
                                      llvm::ArrayRef<std::string> operands);
  void addGuard(llvm::StringRef term, llvm::StringRef instead,
                llvm::StringRef condition);

  EntryBuilder b;
  /// What data is.
  llvm::SmallVector<mlir::Attribute> definitions;
  /// What stands for long formulas that would be repeated.
  llvm::SmallVector<mlir::Attribute> shared;
  /// What declared reducers do.
  llvm::SmallVector<mlir::Attribute> combiners;
  /// What replaces a term or a stage where a condition holds.
  llvm::SmallVector<mlir::Attribute> guards;

private:
  std::string spelled(mlir::Operation *op);
  std::string share(mlir::Operation *op);
  std::string reduction(ReduceOp reduce);
  std::string tuple(mlir::ValueRange values);
  /// What a factor is a power of.
  std::string base(Factor factor);
  std::string product(llvm::StringRef start, llvm::ArrayRef<Factor> factors,
                      double scale);
  /// The pivots of a difference with signs, each after " + " or " - ".
  std::string pivots(const DifferencePivot &p, llvm::StringRef prime,
                     double scale);
  std::string contribution(const Component &c);
  std::string choice(const StageChoice &choice);
  std::string term(const StageTerm &term);
  std::string termOf(const StageTerm &term, std::optional<unsigned> component);
  std::string shift(unsigned index);
  void guard(const StageTerm &term, const std::string &text);

  const Derivation &d;
  const Roles &roles;
  mlir::Block &body;
  /// Names of reductions; of what stands outside of the cascade, of data, and of what
  /// is shared.
  llvm::DenseMap<mlir::Value, std::string> names, outside, leaves, sharedNames;
  llvm::DenseMap<mlir::Value, unsigned> uses;
  /// A name stands for another value than elsewhere.
  bool isRenamed = false;
  std::vector<CombiningOpInterface> declared;
  /// The combining region that is being spelled.
  mlir::Block *combining = nullptr;
};

} // namespace redfuse

#endif // REDFUSE_LIB_ALGEBRA_FORMULAWRITER_H
