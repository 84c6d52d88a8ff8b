//===- ContractionEmitter.h - a block's tile of a sum -----------*- C++ -*-===//
//
// The mainloop: stages in shared memory hold a part of the sum each. There are two where
// operands are computed: while warps multiply what one stage has, their threads load the
// next part into registers, compute its operands, and store them to the other. There are
// more where operands are what is in memory: threads start copies of later parts
// (cp.async) and do not wait for them. One barrier a step.
//
// A stage is swizzled, so that accesses have no bank conflicts. What it has of a row is
// a slab of 64 bytes, or several; two slabs make a line of 128 bytes, all banks once. The
// half of a line, and which 16 bytes of it, are xored with bits of the row's number, so
// the eight lanes that are served at once use different banks, whichever rows they have.
// What is copied of neighbouring rows is stored by sums instead: all rows of one sum, then
// those of the next, the number of a row xored with bits of the sum's number.
//
// Any rows of memory may be those of an instruction: `count` neighbours belong to one
// part, as in WarpProduct.cpp; GpuMatrix.cpp stores the results.
//
// Units of warpgroups read stages themselves, rows of 128 bytes as they want them, with
// products of a step that run while copies of later ones are started, by all threads
// (runByWarpgroups) or by one, of boxes (runByBoxes). What they add up is stored by way
// of the stages (ContractionEpilogue.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONEMITTER_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONEMITTER_H

#include "redfuse/Codegen/GPU/Contractions/OperandBox.h"
#include "redfuse/Codegen/GPU/Contractions/Tuning.h"
#include "redfuse/Codegen/GPU/SharedMemory/MatrixNest.h"

namespace redfuse {

class ContractionEmitter : public GpuEmitter {
public:
  ContractionEmitter(mlir::OpBuilder &b, mlir::Location loc,
                     llvm::MutableArrayRef<SpaceDim> dims,
                     ContractionPlanAttr plan, const FoundContraction &found)
      : GpuEmitter(b, loc, /*lanes=*/1, dims, /*warpSize=*/32,
                   unsigned(32 * plan.getWarps()[0] * plan.getWarps()[1])),
        plan(plan), found(found), form(found.form()), x(form.instruction) {}

  /// The stages, a word that one thread tells the others, and barriers of stages.
  int64_t sharedBytes() const {
    int64_t bytes = plan.getStages() * stageBytes();
    if (plan.getSplits() > 1 || isByBoxes())
      bytes += kCountBytes;
    return bytes + (isByBoxes() ? 8 * plan.getStages() : 0);
  }
  /// Copies operands instead of loading them: `of` says what they are.
  void copyOperands(std::pair<CopiedOperand, CopiedOperand> of,
                    bool hasRounding) {
    isCopied = true;
    copiedLeft = of.first;
    copiedRight = of.second;
    roundsByInstruction = hasRounding;
  }
  /// The same for units of warpgroups.
  void copyOperands(const WarpgroupOperands &of) {
    copyOperands({of.left, of.right}, /*hasRounding=*/true);
    vectorSum = of.sum;
  }
  /// The same by tensor maps, in so many steps.
  void copyBoxes(std::pair<OperandBox, OperandBox> of, int64_t steps) {
    boxes = std::move(of);
    boxSteps = steps;
  }
  bool isByBoxes() const { return plan.getBoxes(); }
  /// What tensor maps describe: the left operand, the right one, then their small parts.
  llvm::SmallVector<mlir::BlockArgument> getMapped() const;
  /// On the host: the maps of what has been mapped. Then `maps` are arguments.
  llvm::SmallVector<mlir::Value> makeMaps(llvm::ArrayRef<mlir::Value> memrefs);
  llvm::SmallVector<mlir::Value> maps;
  bool isByWarpgroups() const { return plan.getKind() == MmaKind::Wgmma; }
  /// The tile that a block has, or its share of the sum of one.
  void emitTile(mlir::Value block, mlir::Value sharedWords);
  /// Where blocks that share a sum leave what they have, and count themselves.
  mlir::Value workspace, counters;

protected:
  mlir::Value loadAt(mlir::Value memref, mlir::AffineMap map, Env &env,
                     bool isLocal) override;

private:
  /// The rows of an operand's tile.
  struct Side {
    mlir::Value factor;
    MatrixElement element;
    bool isSigned = true;
    Axes axes;
    /// Rows of the block's tile, and of a warp's.
    int64_t rows = 0, warpRows = 0;
    /// Parts of a warp's rows, and the neighbours that each has.
    int64_t parts = 8, count = 1;
    /// Where its slabs begin in a stage.
    int64_t start = 0;
    /// The first row, the first row of this warp, and what this lane reads.
    mlir::Value first, warp, place;
    bool isWhole = false;
    /// How threads share it: elements of one access, along rows or sums.
    int64_t width = 1;
    bool isAlongRows = false;
    /// What the factor is computed from, in body order, and the arguments alone.
    llvm::SmallVector<mlir::Value> cone, loaded;
    /// What says that an element is not padding, if it is copied, and its cone.
    CopiedOperand copied;
    llvm::SmallVector<mlir::Value> insideCone;
    /// All rows of a sum are together in shared memory.
    bool isBySums = false;
  };
  /// What a thread brings to shared memory: 16 bytes of `width` rows, or of one.
  struct Unit {
    mlir::Value row, vector;
    /// Where the row is in memory.
    Env at;
  };
  /// A unit while it is on its way.
  struct Arriving {
    llvm::SmallVector<Env> accesses;
    llvm::SmallVector<mlir::Value> exists;
  };
  struct Share {
    mlir::Value begin, end;
    /// It has whole stages.
    bool isWhole = false;
  };

public:
  int64_t tileRows() const {
    return plan.getWarps()[0] * plan.getInstructions()[0] * x.rows;
  }
  int64_t tileColumns() const {
    return plan.getWarps()[1] * plan.getInstructions()[1] * x.columns;
  }

private:
  int64_t slabSums() const;
  int64_t stageSums() const { return plan.getSlabs() * slabSums(); }
  int64_t vectorSums() const { return slabSums() / 4; }
  int64_t stageBytes() const;

  // ContractionOperands.cpp -----------------------------------------------------
  void orderSums();
  void bindSums(Env &env, mlir::Value start, mlir::Value offset = {});
  int64_t resultBytes();
  Side makeSide(mlir::Value factor, MatrixElement element, bool isSigned,
                llvm::ArrayRef<unsigned> ofDims, bool isLeft);
  void chooseAccess(Side &side);
  int64_t unitsOf(const Side &side) const;
  llvm::SmallVector<Unit> makeUnits(const Side &side, const Env &tile);
  void startUnits(const Side &side, llvm::ArrayRef<Unit> units, mlir::Value sum,
                  const Share &share, mlir::Value stage,
                  llvm::SmallVectorImpl<Arriving> &arriving);
  void startCopy(const Side &side, const Unit &unit, int64_t sum, Env &env,
                 mlir::Value exists, mlir::Value stage);
  mlir::Value wordOfCopy(const Side &side, const Unit &unit, int64_t sum);
  void copyElements(mlir::Value memref, int64_t offset, mlir::Value at,
                    int64_t count);
  std::optional<FlatIndex> flatIndexOf(mlir::BlockArgument argument);
  mlir::Value swizzleOf(const Side &side, mlir::Value part);
  void finishUnits(const Side &side, llvm::ArrayRef<Unit> units,
                   llvm::ArrayRef<Arriving> arriving, mlir::Value stage);
  mlir::Value placeOf(const Side &side, mlir::Value row, mlir::Value vector);
  std::pair<mlir::Value, mlir::Value> wordsOf(llvm::ArrayRef<int64_t> factors,
                                              const Env &env);
  std::optional<int64_t> mostOf(llvm::ArrayRef<int64_t> factors) const;
  mlir::Value wrap(mlir::Value v, std::optional<int64_t> most, int64_t modulus);
  void computeFactor(const Side &side, Env &env, bool isLoad);
  void computeValues(const Side &side, Env &env,
                     llvm::ArrayRef<mlir::Value> values);
  mlir::Value wordsOfVector(const Side &side,
                            llvm::ArrayRef<mlir::Value> elements);

  // ContractionBoxes.cpp --------------------------------------------------------
  mlir::Value countSums();
  mlir::Value sharedTile(const Side &side, int64_t rows, mlir::Value row,
                         mlir::Value stage, bool isRest);
  mlir::Value fullBarrier(mlir::Value number);
  void copyBox(const Side &side, const OperandBox &box, const Env &at,
               mlir::Value stage, mlir::Value barrier,
               llvm::ArrayRef<mlir::Value> maps);
  void startBoxes(const Env &tile, mlir::Value step, mlir::Value first,
                  mlir::Value steps);
  llvm::SmallVector<mlir::Value> runByBoxes(const Env &tile,
                                            const Share &share);

  // ContractionEpilogue.cpp -----------------------------------------------------
  int64_t sumPitch() const;
  std::pair<mlir::Value, mlir::Value> placeInTile(mlir::Value number);
  void leaveSums(llvm::ArrayRef<mlir::Value> sums);
  void orderResults();
  void storeSums(const Env &tile, llvm::ArrayRef<mlir::Value> sums);
  void storeVectors(const Env &tile);
  void storeAt(const Env &tile, mlir::Value row, mlir::Value column);

  // ContractionMainloop.cpp -----------------------------------------------------
  mlir::Value multiplyStage(mlir::Value stage, mlir::Value sum,
                            bool isRestLeft = false, bool isRestRight = false);
  mlir::Value multiplyParts(mlir::Value stage);
  llvm::SmallVector<mlir::Value>
  runCopied(mlir::Value steps, llvm::SmallVector<mlir::Value> sums,
            llvm::function_ref<void(mlir::Value)> start,
            llvm::function_ref<void(mlir::Value,
                                    llvm::SmallVectorImpl<mlir::Value> &)>
                multiply);
  llvm::SmallVector<llvm::SmallVector<mlir::Value>>
  readBySums(const Side &side, mlir::Value stage, int64_t slab);
  mlir::Value roundWord(mlir::Value word);
  llvm::SmallVector<mlir::Value>
  runByWarpgroups(mlir::Value steps,
                  llvm::function_ref<mlir::Value(mlir::Value)> stageOf,
                  llvm::function_ref<void(mlir::Value)> start);
  void startIfAny(mlir::Value step, mlir::Value steps,
                  llvm::function_ref<void(mlir::Value)> start);
  llvm::SmallVector<mlir::Value> emitMainloop(const Env &tile,
                                              const Share &share);
  void setPlaces(Side &side, bool isLeft);
  llvm::SmallVector<llvm::SmallVector<mlir::Value>>
  readFragment(const Side &side, mlir::Value stage, int64_t slab);
  void multiplySlab(mlir::Value stage, int64_t slab,
                    llvm::SmallVectorImpl<mlir::Value> &sums);
  Share shareOf(mlir::Value split);
  void mergeSplits(
      mlir::Value number, mlir::Value split,
      llvm::SmallVector<mlir::Value> sums,
      llvm::function_ref<void(llvm::SmallVectorImpl<mlir::Value> &)> then);
  void repairSums(const Env &tile, const Share &share,
                  llvm::SmallVectorImpl<mlir::Value> &sums);
  std::pair<mlir::Value, mlir::Value> placeOfSum(mlir::Value number);
  mlir::Value computeAnew(const Env &tile, const Share &share, mlir::Value row,
                          mlir::Value column);

  mlir::Value i32(int64_t value);
  mlir::Value asWord(mlir::Value v);
  mlir::Value asIndex(mlir::Value v);
  mlir::Value add(mlir::Value v, mlir::Value w);
  mlir::Value bits(mlir::Value v, int64_t shift, int64_t mask, int64_t left);

  ContractionPlanAttr plan;
  const FoundContraction &found;
  const MatrixForm &form;
  const MatrixInstruction &x;
  /// How sums are numbered. Where `chunk` is set, that many neighbours along the
  /// innermost dim come first: they differ in that dim alone.
  Axes sumAxes;
  unsigned innerSum = 0;
  int64_t chunk = 0;
  Side left, right;
  /// The dim whose elements warpgroups read in vectors.
  std::optional<unsigned> vectorSum;
  /// What tensor maps copy, and steps of the mainloop.
  std::optional<std::pair<OperandBox, OperandBox>> boxes;
  int64_t boxSteps = 0;
  /// How the results of a tile follow each other in memory: `ofFast` along one side, rows
  /// or columns, in vectors of `width` columns, then the other side.
  struct ResultOrder {
    bool isByRows = false, readsByRows = false;
    int64_t ofFast = 1, width = 1;
  };
  ResultOrder order;
  /// Bytes behind the stages of the word that one thread tells the others.
  static constexpr int64_t kCountBytes = 16;
  bool isCopied = false, roundsByInstruction = false;
  /// Products are added to the sums by the unit, which cuts digits off.
  bool isAddedByUnit = false;
  CopiedOperand copiedLeft, copiedRight;
  /// The copy that a load starts instead: where to, and how many bytes if not all.
  struct Copy {
    mlir::Value to, bytes;
  };
  std::optional<Copy> copy;
  int64_t elementBytes() const { return elementBits(x.left) / 8; }
  /// Operands are in two parts each, the large ones first.
  bool haveParts() const { return bool(copiedLeft.rest); }
  int64_t copiesOfOperand() const { return haveParts() ? 2 : 1; }
  /// Shared memory as words, and the warp's number and lane (i32).
  mlir::Value words, warp, lane;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONEMITTER_H
