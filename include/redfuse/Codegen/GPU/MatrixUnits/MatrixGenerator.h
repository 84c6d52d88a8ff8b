//===- MatrixGenerator.h - kernels on matrix units --------------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_MATRIXGENERATOR_H
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_MATRIXGENERATOR_H

#include "redfuse/Codegen/GPU/MatrixUnits/MatrixMasks.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/ExchangeLayout.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Pivots.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/PlannedMatrix.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace redfuse {

struct CommonPivot;

/// Generates the function of one kernel by its plan, and its launch.
///
/// Where there are warpgroups (sm_90a), one warp loads tiles of all matrices into one
/// ring of slots in shared memory, in the order in which they are used; warpgroups of
/// 64 rows each multiply. A block takes one tile of the grid after another. Elsewhere
/// all warps do both, for one tile of the grid: MatrixWarps.cpp, with rules of its own.
///
/// Rules (what keeps this free of races; redfuse-lower-tiles checks 3, 4 and 6 as far
/// as it can follow slots):
/// 1. Loader and multipliers walk the same tiles in the same order; both advance
///    the ring once a tile.
/// 2. A slot is written after its `empty` barrier had an arrival of every
///    multiplying warp, and read after its `full` barrier had all bytes.
/// 3. A multiplying warp arrives at `empty` after it waited for the products that
///    read the slot.
/// 4. Accumulators and packed operands are touched after a wait for the products
///    that have them; such a wait takes and gives them.
/// 5. All four warps of a warpgroup reach every product: nothing that differs
///    between threads decides about one.
/// 6. What a warp has read of a slot by itself is in its registers before it
///    arrives at `empty`: a load is not over when the next instruction starts.
/// 7. Where blocks of a cluster share sums, partial ones take the ring's memory after
///    every multiplying warp of the block is done with it, are read after all blocks
///    of the cluster have stored theirs, and no block ends before all have read.
///    Where they merge states, each sends them into memory that has no other use, or
///    none any more, after all blocks have said so and set up the barrier that counts
///    the bytes; a block ends after it has received all.
/// 8. What stays in shared memory for a tile of results has a pair of barriers like
///    a slot, whose phase is over once a tile; its place is free after the last
///    product that reads it.
/// 9. A warp writes its part of shared memory for results after its last copy from
///    there has been read, and ends after its last one, too.
/// 10. Where tiles are taken from a queue, one thread asks for the next while this
///    one is in work; loader and multiplying warps read every answer once, before
///    it is overwritten, the last one (no tile) too. A launch asks as often as it
///    has tiles, so that the counter is zero again at its end.
/// 11. A warpgroup that begins with a later step waits for the slots before to be
///    full, too, and gives them back: an arrival before would count for the phase
///    before.
/// 12. Where two warpgroups take turns both have the same steps, and every turn that
///    is passed is taken, the last one after all tiles.
class MatrixGenerator {
public:
  MatrixGenerator(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                  PlannedMatrix planned, int64_t units)
      : kernel(kernel), launch(launch), space(space),
        plan(std::move(planned.plan)), layout(std::move(planned.layout)),
        partials(plan), stateLayout(plan, space), units(units),
        b(kernel.getContext()), loc(kernel.getLoc()), ptx(b, loc) {}

  /// As the plan says.
  mlir::LogicalResult run(mlir::gpu::GPUModuleOp module, llvm::StringRef name);

private:
  /// Where the ring stands.
  struct Ring {
    mlir::Value slot, phase;
  };
  /// What a step carries to the next.
  struct Carried {
    llvm::DenseMap<unsigned, Fragment> states;
    llvm::SmallVector<mlir::Value> packed;
    /// What powers of matrices are made with, where their pivots are lazy.
    llvm::SmallVector<PowerScale> scales;
    Ring ring;
  };

  /// A pivot that may stay: the maximum of its state and of `other`, which is `top`,
  /// where that is a reduction of its own.
  struct LazyPivot {
    mlir::arith::MaximumFOp max;
    unsigned state;
    mlir::Value other;
    ReduceOp top;
    /// How far values may be above it, in powers of 2; how much one of these is.
    float headroom, power;
    /// Where a state is the sum of the weights: by that, instead.
    std::optional<unsigned> sum;
    /// How many of them a thread adds to a row's sum in a step.
    float weightsInStep;
  };
  /// A state that goes with a pivot, and what it is then.
  struct MovedState {
    unsigned state;
    mlir::Value value;
  };

  mlir::LogicalResult prepare();
  // Function ------------------------------------------------------------------
  /// What the host launches with: blocks, and arguments: how many tiles and rounds of
  /// them, tensor maps, operands of the launch, memory that is its own.
  struct HostSide {
    mlir::Value grid;
    llvm::SmallVector<mlir::Value> arguments, memory;
    unsigned firstOperand = 0;
  };
  HostSide makeArguments();
  mlir::Value makeTensorMap(const MatrixTile &tile);
  mlir::gpu::GPUFuncOp makeFunction(mlir::gpu::GPUModuleOp module,
                                    llvm::StringRef name,
                                    llvm::ArrayRef<mlir::Value> arguments);
  void bindArguments(const HostSide &host);
  void divideMemory();
  void findNumbers();
  void byThread(int64_t number, llvm::function_ref<void()> body);
  void prepareBarriers();
  void emitStart(mlir::gpu::GPUFuncOp func);
  void takeRoles(bool movesRegisters, llvm::function_ref<void()> loader,
                 llvm::function_ref<void()> multipliers);
  void emitRoles();
  void emitMerge();
  void emitLaunch(mlir::gpu::GPUFuncOp func, const HostSide &host);
  // Ring ----------------------------------------------------------------------
  mlir::Value fullBarrier(mlir::Value slot);
  mlir::Value emptyBarrier(mlir::Value slot);
  /// A tile in a slot, that many bytes into it.
  mlir::Value tileIn(mlir::Value slot, const MatrixTile &tile,
                     int64_t offset = 0);
  mlir::Value residentTile(const ProductTiles &load);
  Ring advance(Ring ring);
  // Order ---------------------------------------------------------------------
  mlir::Value index(int64_t value);
  mlir::Value countTiles(unsigned d);
  void placeTile(unsigned d, mlir::Value position);
  mlir::Value divide(mlir::Value &x, mlir::Value by);
  /// Neighbours, of which as many are a group as divide all of them, where those are
  /// known.
  struct TileGroup {
    mlir::Value size;
    bool isEven;
  };
  TileGroup groupTiles(mlir::Value others);
  mlir::Value placeRows(mlir::Value block, llvm::ArrayRef<int64_t> grid);
  void placeSegment();
  void placeBlock(mlir::Value block, bool isMultiplier);
  void overTiles(bool isMultiplier,
                 llvm::function_ref<Ring(mlir::Value, Ring)> body);
  void overQueue(bool isMultiplier,
                 llvm::function_ref<Ring(mlir::Value, Ring)> body);
  void emitQueue();
  // Walks ---------------------------------------------------------------------
  void placeThread();
  /// The tiles of the streamed dim that a block walks, or steps to them: from begin
  /// to end, those from wholeBegin to wholeEnd without predicates.
  struct Steps {
    mlir::Value begin, end, wholeBegin, wholeEnd;
    /// Known to be empty: the tiles before and behind the whole ones.
    bool noneBefore = false, noneBehind = false;
  };
  Steps stepsOf();
  Steps stepsOfRows(mlir::Value first, mlir::Value last,
                    std::optional<bool> isMirrored = std::nullopt);
  Steps ownSteps(const Steps &all);
  Ring passSlots(mlir::Value count, Ring ring);
  void setStep(mlir::Value step);
  /// How many tiles of a sum the block has, and the i-th of them.
  mlir::Value tilesOfSum(unsigned d);
  mlir::Value sumTileAt(mlir::Value i);
  /// The numbered barriers of turns; those before are gpu.barrier's and ours.
  static constexpr int64_t kFirstTurn = 2;
  mlir::Value controlWord() { return ptx.add(barriers, layout.slots * 16); }
  mlir::Value queueBarrier(bool isFull) {
    return ptx.barrierAt(
        ptx.add(barriers, layout.slots * 16 + (isFull ? 16 : 24)));
  }
  mlir::Value residentBarrier(bool isFull) {
    return ptx.barrierAt(
        ptx.add(barriers, layout.slots * 16 + (isFull ? 32 : 40)));
  }
  mlir::Value receivedBarrier() { return ptx.barrierAt(receivedCount); }
  // Loader --------------------------------------------------------------------
  void fetchAhead();
  void emitLoader();
  Ring loadBlock(Ring ring);
  Ring loadProduct(unsigned product, Ring ring);
  void loadResidents();
  Ring loadTiles(llvm::ArrayRef<const MatrixTile *> tiles, Ring ring,
                 mlir::Value sumTile);
  llvm::SmallVector<mlir::Value> positionsOf(const MatrixTile &tile,
                                             mlir::Value sumTile);
  llvm::SmallVector<mlir::Value> coordinatesOf(const MatrixTile &tile,
                                               mlir::Value sumTile);
  void loadTile(const MatrixTile &tile, mlir::Value into, mlir::Value barrier,
                mlir::Value sumTile);
  // Multipliers ---------------------------------------------------------------
  void emitMultipliers();
  Ring multiplyBlock(Ring ring);
  Ring multiplyCascade(Ring ring);
  Ring emitInvariants(Ring ring);
  mlir::Value readKept(const MatrixTile &tile, mlir::Value slot,
                       int64_t columns);
  /// Starts a product whose left operand is in registers, from zero or elements.
  mlir::Value start(unsigned product, mlir::Value slot,
                    mlir::ValueRange elements, mlir::Value left);
  /// A whole product with a tiled sum; nothing runs afterwards. Releases the
  /// slots of products that run when it is called.
  llvm::SmallVector<mlir::Value>
  multiplyTiled(unsigned product, Ring &ring,
                llvm::SmallVectorImpl<mlir::Value> &running);
  // Steps ---------------------------------------------------------------------
  void findPivotMoves();
  void findPartialSums();
  llvm::SmallVector<Fragment>
  findLimits(const llvm::DenseMap<unsigned, Fragment> &states);
  mlir::Value findShare(const LazyPivot &lazy);
  llvm::SmallVector<PowerScale> scalePowers();
  mlir::Value findMove(llvm::ArrayRef<Fragment> limits);
  llvm::SmallVector<PowerScale> movePivots(mlir::Value moves,
                                           const Carried &before,
                                           llvm::ArrayRef<MovedState> along);
  void moveStates(mlir::Value moves, llvm::ArrayRef<MovedState> along);
  llvm::SmallVector<Fragment> statesBefore(llvm::ArrayRef<MovedState> along);
  llvm::SmallVector<Fragment> statesAfter(llvm::ArrayRef<MovedState> along);
  void inBranch(mlir::Value condition,
                llvm::MutableArrayRef<Fragment> fragments,
                llvm::function_ref<llvm::SmallVector<Fragment>()> then);
  void setPivots(mlir::Value moves, const Carried &before, Carried &after,
                 llvm::ArrayRef<MovedState> along);
  bool isAsked(const Fragment &state, size_t element) const;
  Fragment carryState(unsigned product, Fragment state);
  bool hasTurns() const;
  void takeTurn();
  void passTurn();
  void inTurns(llvm::function_ref<void()> body);
  void emitTransports(mlir::ValueRange states);
  Carried emitStep(Carried before, bool isFirst);
  llvm::SmallVector<mlir::Value> flatten(const Carried &carried);
  void unflatten(mlir::ValueRange list, Carried &carried);
  void completeSums(llvm::DenseMap<unsigned, Fragment> &states);
  void yieldOthers(const Carried &before, Carried &after);
  Fragment asFragment(unsigned product, mlir::ValueRange elements);
  /// The warp's first row in the block.
  mlir::Value rowOfWarp();
  // Warps that multiply by themselves -------------------------------------------
  void emitWarps();
  void copyRows(const MatrixTile &tile, mlir::Value into, mlir::Value sumTile);
  bool hasAllRows(const MatrixTile &tile) const;
  mlir::Value slotBefore(mlir::Value slot);
  void synchronizeRows(int64_t pending);
  void copyAhead(mlir::Value slot, size_t position, mlir::Value step,
                 mlir::Value end);
  void startStream(Steps steps);
  mlir::Value takeTile(Ring &ring, size_t position, mlir::Value step,
                       mlir::Value end);
  Carried emitStepInOrder(Carried before, bool isFirst, mlir::Value step,
                          mlir::Value end);
  llvm::SmallVector<mlir::Value> multiplyRows(unsigned product);
  void multiplyCascadeByWarps();
  // Shared sums ---------------------------------------------------------------
  void storePartials();
  void mergePartials();
  mlir::Value takeRows(FragmentLayout layout, mlir::Value first);
  // Segments ------------------------------------------------------------------
  using States = llvm::SmallVector<Fragment>;
  void sendStates(const llvm::DenseMap<unsigned, Fragment> &states);
  States loadReceived(mlir::Value row, int64_t block);
  States mergeAll(llvm::SmallVector<States> parts);
  States mergeAtPivot(const CommonPivot &how, llvm::ArrayRef<States> parts);
  llvm::DenseMap<unsigned, Fragment> mergeStored();
  Fragment shapeOfState(unsigned state) const;
  void storeStates(const llvm::DenseMap<unsigned, Fragment> &states);
  mlir::Value countSegment();
  void allocateStates(mlir::Value tiles,
                      llvm::SmallVectorImpl<mlir::Value> &arguments,
                      llvm::SmallVectorImpl<mlir::Value> &memory);
  mlir::Value viewState(mlir::Value segment, unsigned state);
  void mergeSegments(const llvm::DenseMap<unsigned, Fragment> &states);
  void finalizeStates(const llvm::DenseMap<unsigned, Fragment> &states);
  void storeResults();
  void storeStaged(const Fragment &value);
  void byFirstLane(mlir::Value lane, llvm::function_ref<void()> body);
  void waitForCopies(mlir::Value lane);
  void storeValue(mlir::Value memref, mlir::AffineMap map,
                  const Fragment &value);

  KernelOp kernel;
  LaunchOp launch;
  const KernelSpace &space;
  MatrixPlan plan;
  SharedLayout layout;
  PartialSumLayout partials;
  StateLayout stateLayout;
  int64_t units;
  mlir::OpBuilder b;
  mlir::Location loc;
  Ptx ptx;
  std::unique_ptr<FragmentEmitter> emitter;
  std::optional<DimSets> stepSets, finalSets;
  /// Predicates that decide about tiles.
  llvm::SmallVector<StreamMask> masks;
  /// Products of inputs alone, and those that are added to states.
  llvm::SmallVector<unsigned> fronts = plan.productsOf(/*isBack=*/false),
                              backs = plan.productsOf(/*isBack=*/true);
  /// Whether the block's tile is an odd one, by its own count (i32).
  mlir::Value turn;
  /// Tiles of the grid, and how many every block has at least.
  mlir::Value base, barriers, slotRing, thread, warp, group, blocks, rounds;
  /// Where blocks share tiles: the block's tile, and which of its blocks it is.
  mlir::Value tile, rank, workspace, counters;
  /// Where states of other blocks come to, and the address of what counts them.
  mlir::Value received, receivedCount;
  /// Of the blocks with segments: which cluster of the tile, and which of its
  /// blocks (index).
  mlir::Value inGroups, inCluster;
  mlir::Block *entry = nullptr;
  llvm::SmallVector<mlir::Value> maps;
  /// Where the streamed dim starts for this block; where it ends, if before the
  /// dim's end.
  mlir::Value streamBegin, streamEnd;
  /// Where tiles are walked from the last to the first: the sum of a step and its
  /// tile.
  mlir::Value mirror;
  /// What is walked, and the step that is made.
  Steps walked;
  mlir::Value atStep;
  /// All steps but the first are walked by one loop.
  bool hasOneWalk = false;
  /// The block's rows.
  mlir::Value firstRow, lastRow;
  llvm::DenseMap<unsigned, mlir::Value> leftOperands;
  llvm::SmallVector<LazyPivot> lazyPivots;
  /// Powers of matrices whose pivots are lazy.
  llvm::SmallVector<mlir::Operation *> pivotPowers;
  llvm::SmallVector<MovedState> movedStates;
  /// States that are sums of rows, kept by thread during the fold.
  llvm::SmallVector<std::pair<unsigned, ReduceOp>> partialSums;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_MATRIXGENERATOR_H
