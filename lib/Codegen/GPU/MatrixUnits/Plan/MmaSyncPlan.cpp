//===- MmaSyncPlan.cpp - plans where warps multiply by themselves ---------===//
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

using namespace mlir;
using namespace redfuse;

/// The left operand of a product of a step stays in shared memory: registers are
/// for accumulators.
bool redfuse::placeForMmaSync(MatrixPlan &plan, std::string &why) {
  for (MatrixProduct &product : plan.products) {
    product.isResident = product.keptLeft.has_value();
    if (plan.fold && product.tiledLeft) {
      why = "a sum of a step is too long to be kept";
      return false;
    }
  }
  return true;
}

/// Bytes of shared memory for left operands that stay.
static int64_t residentBytesOf(const MatrixPlan &plan) {
  int64_t bytes = 0;
  for (const MatrixProduct &product : plan.products)
    if (product.isResident)
      bytes +=
          plan.rows() * llvm::alignTo(plan.widths.lookup(product.k), 64) * 2;
  return bytes;
}

/// The columns of a step, if there are as many as `least`: what registers and
/// `bytes` of shared memory have room for.
static std::optional<int64_t> streamWidthOf(const MatrixPlan &plan,
                                            const KernelSpace &space,
                                            int64_t bytes, int64_t least) {
  int64_t registers = plan.target.fragmentRegisters, firsts = 0, widest = 0;
  for (const MatrixProduct &product : plan.products) {
    int64_t other =
        plan.widths.lookup(product.isSecond ? product.n : product.k);
    widest = std::max<int64_t>(widest, llvm::alignTo(other, 64));
    if (product.isSecond)
      registers -= plan.elementsOf(other);
    else if (!product.isResident)
      registers -= plan.wordsOf(other);
    firsts += !product.isSecond;
  }
  int64_t extent = space.staticExtents[*plan.stream];
  int64_t longest = ShapedType::isDynamic(extent) ? 128 : extent;
  longest = std::max<int64_t>(16, llvm::alignTo(longest, 16));
  int64_t wanted = hintsOf(space.schedule).columns.value_or(0);
  if (wanted)
    least = 16;
  int64_t most =
      std::min(wanted ? std::max<int64_t>(wanted, 16) : kGoodColumns, longest);
  for (int64_t width : {128, 112, 96, 80, 64, 48, 32, 16}) {
    if (width > most)
      continue;
    if (std::max<int64_t>(firsts, 1) * plan.elementsOf(width) > registers ||
        residentBytesOf(plan) + 2 * width * widest * 2 > bytes)
      continue;
    if (width < std::min(least, longest))
      return std::nullopt;
    return width;
  }
  return std::nullopt;
}

/// Blocks of a cascade, if that is known.
static std::optional<int64_t> blocksOf(const MatrixPlan &plan,
                                       const KernelSpace &space) {
  int64_t blocks = 1;
  for (int64_t d : space.schedule.getGrid()) {
    int64_t extent = space.staticExtents[d];
    if (ShapedType::isDynamic(extent))
      return std::nullopt;
    int64_t tile = unsigned(d) == plan.m ? plan.rows()
                   : plan.isColumn(d)    ? plan.widths.lookup(d)
                                         : 1;
    blocks *= llvm::divideCeil(extent, tile);
  }
  return blocks;
}

/// Where blocks are fewer than multiprocessors, smaller tiles: first of columns that
/// are cut anyway, then of rows.
static void cutCascade(MatrixPlan &plan, const KernelSpace &space,
                       int64_t units, bool mayCutRows) {
  auto areFew = [&] {
    std::optional<int64_t> blocks = blocksOf(plan, space);
    return blocks && *blocks < units;
  };
  for (const MatrixProduct &product : plan.products) {
    int64_t &width = plan.widths[product.n],
            extent = space.staticExtents[product.n];
    if (areFew() && width > kGoodColumns && width % (2 * kGoodColumns) == 0 &&
        extent > width &&
        llvm::is_contained(space.schedule.getGrid(), int64_t(product.n)))
      width /= 2;
  }
  if (mayCutRows && plan.rows() > 64 && areFew()) {
    plan.consumerRows = 64;
    plan.consumers = 1;
  }
}

bool redfuse::chooseForMmaSync(MatrixPlan &plan, const KernelSpace &space,
                               int64_t units, std::string &why) {
  int64_t rows = space.staticExtents[plan.m];
  Hints hints = hintsOf(space.schedule);
  int64_t wanted = hints.rows.value_or(0), blocks = hints.blocks.value_or(0);
  bool isLow = !ShapedType::isDynamic(rows) && rows <= 64;
  // Two blocks a multiprocessor, one of which computes while the other waits.
  int64_t whole = plan.target.sharedBytes, half = plan.target.halfBytes;
  struct Form {
    int64_t consumerRows, consumers, bytes, columns;
  };
  for (Form form :
       {Form{128, 1, half, kGoodColumns}, Form{128, 1, half, kFewColumns},
        Form{64, 2, whole, kFewColumns}, Form{64, 1, half, 16},
        Form{64, 1, whole, 16}}) {
    plan.consumerRows = form.consumerRows;
    plan.consumers = form.consumers;
    plan.isHalf = form.bytes == half;
    if (wanted ? plan.rows() != (wanted <= 64 ? 64 : 128)
               : isLow && plan.rows() > 64)
      continue;
    if (blocks && (blocks == 1) != (form.bytes == whole))
      continue;
    if (!plan.stream) {
      int64_t registers = 0;
      for (const MatrixProduct &product : plan.products)
        registers += plan.elementsOf(plan.widths.lookup(product.n));
      if (registers > plan.target.fragmentRegisters)
        continue;
      if (space.schedule)
        cutCascade(plan, space, units, /*mayCutRows=*/!wanted);
      return true;
    }
    if (auto width = streamWidthOf(plan, space, form.bytes, form.columns)) {
      plan.widths[*plan.stream] = *width;
      return true;
    }
  }
  why = plan.stream ? "its states do not fit registers"
                    : "the fragments of its products do not fit registers";
  return false;
}
