//===- PackedEmitter.h - products of packed operands ------------*- C++ -*-===//
//
// A block's tile of a sum of products, by the loops of a matrix product for caches:
//
//   for each part of the sum that the caches hold
//     pack the rows that the block has, and the columns
//     for each few vectors of columns, for each few rows: the microkernel
//   the epilogue
//
// A packed operand has a line for each number of the sum, and in it the numbers of its own
// dims side by side. So the microkernel loads vectors of columns, and single elements of
// rows, which it broadcasts. Numbers of dims count along the last one first. Where vectors
// begin at multiples of their length, what one microkernel reads is a panel: lines of
// it alone, one behind the other. Other microkernels read what they can where it lies.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_CPU_PACKEDEMITTER_H
#define REDFUSE_LIB_CODEGEN_CPU_PACKEDEMITTER_H

#include "CpuEmitter.h"
#include "PackedPlan.h"

namespace redfuse {

class PackedEmitter : public CpuEmitter {
public:
  PackedEmitter(mlir::OpBuilder &b, mlir::Location loc, unsigned lanes,
                llvm::MutableArrayRef<SpaceDim> dims, PackingPlanAttr plan,
                const FoundContraction &found)
      : CpuEmitter(b, loc, lanes, dims), plan(plan), found(found),
        form(found.form()) {}

  /// Lays out what the block needs of its own; returns the bytes.
  int64_t layOut(const KernelSpace &space);
  /// Cuts it from a memref<?xi8>.
  void setScratch(mlir::Value bytes);
  /// The tile that the dims say.
  void emitTile();

private:
  /// Dims that are numbered as one.
  struct Numbered {
    llvm::SmallVector<unsigned> of;
    /// What a position of each adds to the number.
    llvm::SmallVector<int64_t> strides;
    /// Numbers of the largest tile.
    int64_t capacity = 1;
  };
  struct Side {
    mlir::Value factor;
    llvm::SmallVector<mlir::Value> cone;
    Numbered own;
    PackAccess access = PackAccess::Elements;
    /// The argument that the factor is mostly made of; see isFlat.
    mlir::BlockArgument main;
    bool isFlat = false;
    /// Numbers come in multiples of `step`, lines have `line` elements.
    int64_t step = 1, line = 1;
    int64_t panels = 1;
    /// Panels x lines x elements of a line.
    mlir::Value buffer;
  };
  using Body = llvm::function_ref<void(Env &)>;
  /// By row, vectors of neighbouring columns.
  using SumsOfTile = llvm::SmallVector<llvm::SmallVector<mlir::Value>>;

  Microkernel kind() const { return plan.getMicrokernel(); }
  bool readsRows() const {
    return kind() == Microkernel::Outer || kind() == Microkernel::Inner;
  }
  /// Columns of a vector in registers.
  int64_t columnsOfVector() const {
    return kind() == Microkernel::Inner ? 1 : lanes;
  }
  mlir::Value plus(mlir::Value v, int64_t by);
  mlir::Value multiplyAdd(mlir::Value x, mlir::Value y, mlir::Value sum);

  Numbered number(llvm::ArrayRef<unsigned> of) const;
  Side makeSide(mlir::Value factor, llvm::ArrayRef<unsigned> of, int64_t step,
                const KernelSpace &space);
  /// The number of a point, and how many there are.
  mlir::Value numberOf(const Numbered &own, const Env &env);
  mlir::Value countOf(const Numbered &own);
  /// Loops over all positions of a tile.
  void over(llvm::ArrayRef<unsigned> of, Env &env, Body body);
  void clearIfEmpty();
  void overSums(unsigned i, mlir::Value isFirst);
  bool beginsAtVectors(const Numbered &own) const;

  // PackOperands.cpp ------------------------------------------------------------
  void pack(const Side &side);
  void packVectors(const Side &side, Env &env);
  void packSquares(const Side &side, Env &env);
  void overNumbers(llvm::function_ref<void(mlir::Value, mlir::Value)> body);
  bool isAdjacent(const Side &side);
  mlir::Value computeFlat(const Side &side, Env env, mlir::Value number,
                          mlir::Value mask);
  void clearEnd(const Side &side);
  mlir::Value computeFactor(const Side &side, Env env,
                            std::optional<unsigned> vectorDim);
  void prefetch(const Side &side, Env &env);
  void store(const Side &side, mlir::Value v, mlir::Value line,
             mlir::Value number);
  llvm::SmallVector<mlir::Value> transpose(llvm::SmallVector<mlir::Value> rows);

  // PackedMainloop.cpp ----------------------------------------------------------
  void multiply(mlir::Value isFirst);
  void emitMicrokernel(mlir::Value row, mlir::Value column, int64_t rows,
                       int64_t vectors, mlir::Value isFirst, bool isLast);
  SumsOfTile multiplyPanels(mlir::Value row, mlir::Value column, int64_t rows,
                            int64_t vectors, bool isLast);

  void emitEpilogue();

  // DirectMicrokernels.cpp ------------------------------------------------------
  Env getStart() const;
  llvm::SmallVector<Env> pointsOf(const Side &side, mlir::Value first,
                                  int64_t count);
  llvm::SmallVector<Env> pointsOfVectors(mlir::Value column, int64_t vectors,
                                         bool isLast);
  SumsOfTile multiplyAlongSum(mlir::Value row, mlir::Value column, int64_t rows,
                              int64_t columns);
  mlir::Value addLanes(llvm::ArrayRef<mlir::Value> sums);

  PackingPlanAttr plan;
  const FoundContraction &found;
  const MatrixForm &form;
  Side left, right;
  Numbered sums;
  /// Of the numbers of rows and columns; a line is a row.
  mlir::Value results;
  int64_t resultLine = 1;
  mlir::Type element;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_CPU_PACKEDEMITTER_H
