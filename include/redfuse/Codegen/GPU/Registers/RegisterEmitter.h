//===- RegisterEmitter.h - tile programs held in registers ---------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_REGISTERS_REGISTEREMITTER_H
#define REDFUSE_CODEGEN_GPU_REGISTERS_REGISTEREMITTER_H

#include "redfuse/Codegen/GPU/SharedMemory/GpuEmitter.h"

namespace redfuse {

struct CommonPivot;

/// How the positions of one dim of a tile are dealt out: position
/// (r * threads + t) * lanes + l belongs to thread t, as lane l of its r-th
/// vector. The number of the thread along the dim is a field of the bits of its
/// number in the block; dims that no value has together may share bits.
struct DimShare {
  int64_t lanes = 1, repeats = 1, threads = 1;
  unsigned bit = 0;

  int64_t getSpan() const { return lanes * repeats * threads; }
  unsigned getBits() const { return unsigned(threads - 1) << bit; }
};

/// An input of which a block's part is copied into shared memory, by the threads
/// that read it: one that several programs walk; or, where blocks walk tiles of the
/// grid in a loop, what all tiles read, and the next tile's part.
/// Also one of which the cache is asked for a part.
struct KeptInput {
  /// The number of the argument, and where the programs read it.
  unsigned argument;
  mlir::AffineMap map;
  int64_t bytes;
};

/// One layout for all values of a kernel: a value has the positions of its dims,
/// and every thread along another dim has a copy of it.
struct RegisterLayout {
  llvm::SmallVector<DimShare> dims;
  unsigned threads = 32, lanes = 1;
  /// Threads of a warp or wave; a block has whole ones.
  unsigned warp = 32;
  /// Blocks that share a tile of the grid: `threads` are theirs together, numbered
  /// block after block.
  unsigned cluster = 1;
  unsigned getThreadsOfBlock() const { return threads / cluster; }
  /// Blocks that a multiprocessor should run at a time at least; 0: any number.
  unsigned leastBlocksPerUnit = 0;
  /// Shared memory that a launch asks for at least.
  int64_t leastSharedBytes = 0;
  llvm::SmallVector<KeptInput> kept;
  /// Arguments that go past the first-level cache, as others are to stay there.
  llvm::SmallVector<unsigned> movedOnce;
  /// What all blocks read is loaded where it is used: it is near.
  bool loadsSharedLate = false;
  /// ... but before threads exchange what they have reduced for the last time: it
  /// is under way meanwhile.
  bool loadsSharedBeforeExchange = false;
  /// Blocks walk tiles of the grid in a loop, that many of them on a
  /// multiprocessor: the next tile is loaded before this one is computed.
  unsigned loopingBlocks = 0;
  /// Inputs of whose tiles a block asks the second-level cache for that many bytes
  /// before it waits for the kernel before it.
  llvm::SmallVector<KeptInput> ahead;
  /// The first so many tiles alone; 0: all.
  int64_t aheadTiles = 0;
  /// The next kernel starts when this one has read all: what it asked that cache for
  /// before would be gone when it needs it.
  bool startsNextLate = false;
  /// Of what a block that walks tiles by way of shared memory asks that cache for the
  /// tile after the next.
  llvm::SmallVector<KeptInput> following;
  /// Short floats stay as they were loaded from one group of ops to the next, and
  /// are extended again for each.
  bool staysPacked = false;
  /// What a step reads is all under way before anything is computed: the assembler
  /// would load what is needed last when it is needed, to save registers.
  bool awaitsLoads = false;
  /// Groups of ops read again what those before them have read: it is in the
  /// first-level cache.
  bool readsAgain = false;
  /// Loads can tell the caches what to keep.
  bool hasPolicies = false;
  /// What a step of a loop reads is loaded before the one before it is computed.
  bool loadsStepsAhead = false;
};

/// Emits tile programs whose tiles are registers of the threads.
///
/// All that is kept between groups is in registers, laid out by one
/// RegisterLayout; nothing but what threads exchange to combine results goes
/// through shared memory. A reduction combines what a thread has, then what the
/// threads along the reduced dims have; all of them get the result. Along a
/// *private* dim (one that a fold walks) every thread has a state of its own,
/// and reductions stop at the thread: the states are merged once, at the end.
///
/// In a cluster, threads that differ in the block exchange by storing to the
/// shared memory of each block: all have read what was there before, as a barrier
/// of the cluster stands between two exchanges in the same place, and none has
/// ended, as one stands behind every exchange.
///
/// Barriers and shuffles stand in code that all threads of the block reach. What
/// lies beyond the end of a dim is masked: reductions skip it, stores leave it
/// out, and loads read the last position instead.
class RegisterEmitter : public GpuEmitter {
public:
  RegisterEmitter(mlir::OpBuilder &b, mlir::Location loc,
                  const RegisterLayout &layout,
                  llvm::MutableArrayRef<SpaceDim> dims)
      : GpuEmitter(b, loc, layout.lanes, dims, layout.warp, layout.threads),
        layout(layout) {
    loaded.emplace_back();
    if (layout.loadsSharedLate)
      whose = Whose::Own;
  }

  mlir::LogicalResult emitGroup(const Group &group) override;
  void emitFill(const TileBuffer &buffer, mlir::TypedAttr value) override;

  /// Loads what the groups need and is not loaded yet: all inputs that have
  /// dims in `streamed` or (if not `streams`) none of them, and of which a
  /// thread has at most `most` elements.
  void prefetch(llvm::ArrayRef<const Group *> groups,
                const llvm::SmallBitVector &streamed, bool streams,
                int64_t most = INT64_MAX);
  /// Memrefs of which every element is moved once: they need no place in a cache
  /// that others use.
  llvm::DenseSet<mlir::Value> movedOnce;
  /// Which inputs are loaded ahead: those that blocks have for themselves, those
  /// that all have, or both.
  enum class Whose { Own, Shared, All } whose = Whose::All;
  /// Loads of single elements stay where they are emitted.
  bool pinsLoads = false;
  /// Nothing is read again behind the current group of ops.
  bool isReadingLast = false;
  /// Called once, when a reduction has combined what each thread has.
  std::function<void()> beforeExchange;
  /// Called once each, before and behind the next barrier.
  std::function<void()> beforeBarrier, behindBarrier;
  /// Exchanges through shared memory so far.
  unsigned numExchanges = 0;
  /// Reads `tile` (shared memory) where `memref` is read by `map`.
  void keep(mlir::Value memref, mlir::AffineMap map, mlir::Value tile);
  /// Nothing behind this starts before all that was loaded in this scope is there.
  void awaitLoaded();
  /// Starts to copy what this thread reads of kept inputs in the current step, of
  /// those that `which` names.
  void fetchKept(Whose which = Whose::All);
  /// Ends a group of copies; waits for all copies of this thread.
  void commitKept();
  void awaitKept();
  /// Accesses from here on follow those of this warp so far.
  void finishReads();
  /// Values loaded or kept from here on are known up to `popScope`.
  void pushScope() { loaded.emplace_back(); }
  void popScope() { loaded.pop_back(); }
  /// Vectors are loaded again.
  void forgetVectors();
  /// What has been loaded in this scope, in the order of the loads; and the same
  /// again, of another tile.
  llvm::SmallVector<mlir::Value> takeLoaded();
  void setLoaded(llvm::ArrayRef<mlir::Value> values);
  /// The elements of a tile, to be carried through loops.
  llvm::SmallVector<mlir::Value> takeTile(const TileBuffer &buffer);
  void setTile(const TileBuffer &buffer, llvm::ArrayRef<mlir::Value> elements);
  /// Merges the states that the threads along private dims have. `isForFirst`: only
  /// the first of these threads needs the result.
  void mergeStates(FoldOp fold, bool isForFirst = false);
  /// The states of `fold` become those of `other` merged after them.
  void mergeWith(FoldOp fold, llvm::ArrayRef<mlir::Value> other);
  llvm::SmallVector<mlir::Value> takeStates(FoldOp fold);
  void setStates(FoldOp fold, llvm::ArrayRef<mlir::Value> elements);
  /// Stores the states of `fold`, which all threads have, in words from `place`
  /// on, and reads them back.
  void storeStates(FoldOp fold, mlir::Value words, mlir::Value place);
  llvm::SmallVector<mlir::Value> loadStates(FoldOp fold, mlir::Value words,
                                            mlir::Value place);
  int64_t countStateWords(FoldOp fold);
  /// Whether threads have exchanged something through shared memory since the
  /// last call; then nothing may be exchanged before a barrier.
  bool takeExchanged() {
    bool was = hasExchanged;
    hasExchanged = false;
    return was;
  }
  void synchronize() { barrier(); }
  /// In a cluster: says that this block runs, and waits until all do.
  void startCluster();
  void awaitCluster();
  /// Asks the second-level cache for the first bytes of the block's tile of an
  /// input, which lie one after another.
  void fetchAhead(mlir::Value memref, mlir::AffineMap map, int64_t bytes);
  /// The number of this thread among those with states of their own.
  mlir::Value getPrivateNumber();
  /// The i32 that the first thread has.
  mlir::Value shareWord(mlir::Value word);
  mlir::Value isFirstThread() { return isFirstOf(layout.threads - 1); }
  /// i32, the number of the thread in all blocks of the cluster, and in its warp.
  mlir::Value getThreadWord();
  mlir::Value getLane();

  /// Every thread has a state of its own along these dims: reductions along them
  /// stay in a thread. Other dims may have the same bits of the thread's number.
  void setPrivate(llvm::ArrayRef<int64_t> ofDims);
  llvm::SmallVector<unsigned> privateDims;
  unsigned privateBits = 0;
  /// Bytes of shared memory that exchanges take.
  int64_t exchangeBytes = 0;

private:
  /// The elements of a value that a thread has, by the repeats of its dims, the
  /// last fastest; a vector each where one of the dims has lanes.
  struct Array {
    llvm::SmallVector<unsigned> dims;
    llvm::SmallVector<mlir::Value> elements;
  };

  // Positions -----------------------------------------------------------------
  std::optional<unsigned> laneDimOf(llvm::ArrayRef<unsigned> ofDims) const;
  void forPoints(const Env &from, llvm::ArrayRef<unsigned> ofDims,
                 llvm::function_ref<void(Env &)> body);
  void bind(Env &env, unsigned dim, int64_t repeat);
  bool isBeyond(unsigned dim, int64_t repeat) const;
  mlir::Value maskOf(unsigned dim, int64_t repeat);
  mlir::Value maskOf(const Env &env, llvm::ArrayRef<unsigned> ofDims);
  mlir::Value getStart(unsigned dim);
  mlir::Value isFirstOf(unsigned bits);
  unsigned getBits(llvm::ArrayRef<unsigned> ofDims) const;
  /// Of the dims that the group reduces, all that threads combine.
  unsigned getCombinedBits() const;
  int64_t countElements(llvm::ArrayRef<unsigned> ofDims) const;
  int64_t indexOf(llvm::ArrayRef<unsigned> ofDims,
                  llvm::ArrayRef<int64_t> local) const;

  // Memory --------------------------------------------------------------------
  mlir::Value loadTile(const TileBuffer &buffer, Env &env) override;
  void storeTile(const TileBuffer &buffer, mlir::Value value,
                 Env &env) override;
  mlir::Value loadAt(mlir::Value memref, mlir::AffineMap map, Env &env,
                     bool isLocal) override;
  void storeAt(mlir::Value memref, mlir::AffineMap map, mlir::Value value,
               Env &env, bool isLocal) override;
  mlir::Value existsAt(const Env &env,
                       const llvm::SmallBitVector &ofDims) override;
  bool loadInterleaved(mlir::Value memref, mlir::AffineMap map, Env &env);
  struct KeptTile {
    mlir::Value memref;
    mlir::AffineMap map;
    mlir::Value tile;
    /// All blocks have the same.
    bool isShared;
  };
  llvm::SmallVector<mlir::Value> positionsInKept(const KeptTile &kept,
                                                 const Env &env);
  mlir::Value loadByPolicy(mlir::vector::LoadOp load, mlir::AffineMap map);
  mlir::Value addressOf(mlir::Value memref, mlir::ValueRange indices,
                        unsigned space);
  mlir::Value *findLoaded(mlir::Value memref, mlir::AffineMap map,
                          const Env &env);
  using LoadKey = std::tuple<void *, const void *, std::vector<int64_t>>;
  LoadKey keyOf(mlir::Value memref, mlir::AffineMap map, const Env &env) const;
  void remember(LoadKey key, mlir::Value value) {
    loaded.back().values[key] = value;
    loaded.back().order.push_back(std::move(key));
  }
  void forgetExtended();
  void loadBehind(mlir::Value v);
  /// Values by what they were loaded from, and the order of the loads.
  struct Scope {
    std::map<LoadKey, mlir::Value> values;
    std::vector<LoadKey> order;
  };

  // Reductions ----------------------------------------------------------------
  void emitReduction();
  bool emitCounts();
  using Combine =
      llvm::function_ref<void(Parts &, llvm::ArrayRef<mlir::Value>)>;
  using CombineLanes = llvm::function_ref<void(Parts &, unsigned)>;
  class Exchange;
  void combineAcross(Parts &parts, unsigned bits, Combine combine,
                     CombineLanes combineLanes = {}, bool isForFirst = false);
  bool combineByShares(Parts &parts, llvm::ArrayRef<mlir::Operation *> combines,
                       unsigned bits);
  mlir::Value takeFrom(mlir::Value part, mlir::Value lane);
  void barrier();
  void sendWords(mlir::ValueRange parts, mlir::Value place, int64_t places,
                 mlir::Value block);
  /// Moves the bits of `mask` together, or from there to the places of `mask`.
  mlir::Value moveBits(mlir::Value word, unsigned mask, bool isCompressed);
  mlir::Value compress(mlir::Value word, unsigned mask);
  mlir::Value deposit(mlir::Value word, unsigned mask);
  mlir::Value word(int64_t value);

  // Merges --------------------------------------------------------------------
  llvm::SmallVector<mlir::Value>
  evaluateMerge(FoldOp fold, llvm::ArrayRef<mlir::Value> left,
                llvm::ArrayRef<mlir::Value> right);
  void mergeLanes(FoldOp fold, const CommonPivot &how, Parts &states,
                  unsigned bits);
  llvm::SmallVector<Array> evaluateIn(mlir::Block &block,
                                      llvm::DenseMap<mlir::Value, Array> known,
                                      llvm::ArrayRef<mlir::Value> wanted);
  void forElements(llvm::ArrayRef<unsigned> ofDims,
                   llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body);
  llvm::SmallVector<mlir::Value> elementsLike(const Array &from,
                                              mlir::Value to);
  llvm::SmallVector<Array> unflatten(FoldOp fold,
                                     llvm::ArrayRef<mlir::Value> elements);
  mlir::Value elementOf(const Array &array, llvm::ArrayRef<int64_t> local);

  template <typename Body>
  void forStateElements(FoldOp fold, Body body);
  mlir::Value placeOf(mlir::Type type, unsigned bits, int64_t first,
                      mlir::Value place);

  const RegisterLayout &layout;
  llvm::DenseMap<unsigned, Array> arrays;
  std::vector<Scope> loaded;
  llvm::DenseMap<unsigned, mlir::Value> starts, firsts;
  llvm::DenseMap<mlir::Value, mlir::Value> flattened;
  llvm::SmallVector<KeptTile> keptTiles;
  mlir::Value threadWord;
  int64_t exchangeUsed = 0;
  bool hasExchanged = false;
  /// Whether blocks of the cluster may still have to start.
  bool isStarting = false;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_REGISTERS_REGISTEREMITTER_H
