//===- RegisterRecord.cpp - layouts as attributes -------------------------===//
#include "InputPlaces.h"
#include "Tuning.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// What is chosen, recorded
//===----------------------------------------------------------------------===//

static SmallVector<InputTileAttr> recordInputs(MLIRContext *context,
                                               ArrayRef<KeptInput> inputs) {
  return llvm::map_to_vector(inputs, [&](const KeptInput &input) {
    return InputTileAttr::get(context, input.argument,
                              AffineMapAttr::get(input.map), input.bytes);
  });
}

static SmallVector<KeptInput> inputsOf(ArrayRef<InputTileAttr> records) {
  return llvm::map_to_vector(records, [](InputTileAttr record) {
    return KeptInput{unsigned(record.getArgument()), record.getMap().getValue(),
                     record.getBytes()};
  });
}

/// The fields of a layout that are choices, and nothing else.
static constexpr std::pair<RegisterChoice, bool RegisterLayout::*> kChoices[] =
    {{RegisterChoice::LoadSharedLate, &RegisterLayout::loadsSharedLate},
     {RegisterChoice::LoadSharedBeforeExchange,
      &RegisterLayout::loadsSharedBeforeExchange},
     {RegisterChoice::StayPacked, &RegisterLayout::staysPacked},
     {RegisterChoice::AwaitLoads, &RegisterLayout::awaitsLoads},
     {RegisterChoice::ReadAgain, &RegisterLayout::readsAgain},
     {RegisterChoice::LoadStepsAhead, &RegisterLayout::loadsStepsAhead},
     {RegisterChoice::StartNextLate, &RegisterLayout::startsNextLate}};

RegisterLayoutAttr redfuse::recordLayout(const RegisterLayout &layout,
                                         LaunchOp launch) {
  MLIRContext *context = launch.getContext();
  auto dims = llvm::map_to_vector(layout.dims, [&](const DimShare &share) {
    return DimShareAttr::get(context, share.lanes, share.repeats, share.threads,
                             share.bit, share.run);
  });
  SmallVector<int64_t> movedOnce(layout.movedOnce.begin(),
                                 layout.movedOnce.end());
  SmallVector<RegisterChoice> choices;
  for (auto [choice, field] : kChoices)
    if (layout.*field)
      choices.push_back(choice);
  auto fail = [&] { return launch.emitOpError("cannot be planned: "); };
  SmallVector<InputTileAttr> kept = recordInputs(context, layout.kept),
                             ahead = recordInputs(context, layout.ahead),
                             following =
                                 recordInputs(context, layout.following);
  return RegisterLayoutAttr::getChecked(
      function_ref<InFlightDiagnostic()>(fail), context,
      int64_t(layout.threads), int64_t(layout.cluster), int64_t(layout.lanes),
      ArrayRef<DimShareAttr>(dims), int64_t(layout.leastBlocksPerUnit),
      layout.leastSharedBytes, int64_t(layout.loopingBlocks),
      ArrayRef<InputTileAttr>(kept), ArrayRef<int64_t>(movedOnce),
      ArrayRef<InputTileAttr>(ahead), layout.aheadTiles,
      ArrayRef<InputTileAttr>(following), ArrayRef<RegisterChoice>(choices));
}

static RegisterLayout layoutOf(RegisterLayoutAttr record,
                               const DeviceLimits &limits) {
  RegisterLayout layout;
  for (DimShareAttr dim : record.getDims())
    layout.dims.push_back({dim.getLanes(), dim.getRepeats(), dim.getThreads(),
                           unsigned(dim.getBit()), dim.getRun()});
  layout.threads = record.getThreads();
  layout.lanes = record.getLanes();
  layout.warp = limits.warp;
  layout.cluster = record.getCluster();
  layout.leastBlocksPerUnit = record.getBlocks();
  layout.leastSharedBytes = record.getSharedBytes();
  layout.loopingBlocks = record.getLoopingBlocks();
  layout.kept = inputsOf(record.getKept());
  layout.movedOnce.assign(record.getMovedOnce().begin(),
                          record.getMovedOnce().end());
  layout.ahead = inputsOf(record.getAhead());
  layout.aheadTiles = record.getAheadTiles();
  layout.following = inputsOf(record.getFollowing());
  for (auto [choice, field] : kChoices)
    layout.*field = record.has(choice);
  layout.hasPolicies = layout.readsAgain && limits.overlapsLaunches;
  return layout;
}

//===----------------------------------------------------------------------===//
// What is recorded, as far as it fits the kernel
//===----------------------------------------------------------------------===//

namespace {
/// Whether a kernel can run as a layout says that somebody may have written by hand.
class LayoutChecker {
public:
  LayoutChecker(const RegisterDemands &demands, const RegisterLayout &layout)
      : demands(demands), layout(layout) {}

  /// Why it cannot; empty: it can.
  std::string check() const;

private:
  std::string checkDim(unsigned d) const;
  std::string checkBlocks() const;
  std::string checkInputs() const;

  const RegisterDemands &demands;
  const RegisterLayout &layout;
};
} // namespace

/// Why a dim cannot be dealt out as the layout says; empty: it can.
std::string LayoutChecker::checkDim(unsigned d) const {
  const DimShare &share = layout.dims[d];
  if (!demands.streamed.test(d) && share.getSpan() < demands.capacity[d])
    return llvm::formatv("dim {0} has {1} positions in a tile, and a share for "
                         "{2}",
                         d, demands.capacity[d], share.getSpan());
  bool mayEndInside = share.run > 1 ? demands.canEndInRun(d)
                                    : demands.canOverlap(d, share.lanes);
  if (!mayEndInside && !demands.isMultiple(d, share.getPiece()))
    return llvm::formatv("the tiles of dim {0} are not of whole vectors of {1}",
                         d, share.getPiece());
  if (share.run > 1 && !demands.canEndInRun(d) &&
      (!llvm::isPowerOf2_64(share.run) || share.run > kMostRun))
    return llvm::formatv("dim {0} has runs of {1}, which no vectors are", d,
                         share.run);
  if (share.run > 1 && (share.lanes > 1 ||
                        (demands.streamed.test(d) && !demands.canEndInRun(d))))
    return llvm::formatv(
        "dim {0} has runs of {1}: it cannot have vectors of its "
        "own, nor be walked in steps",
        d, share.run);
  for (unsigned other : demands.together[d].set_bits()) {
    const DimShare &its = layout.dims[other];
    if (other == d)
      continue;
    if (share.lanes > 1 && its.lanes > 1)
      return llvm::formatv("dims {0} and {1} occur together, and both have "
                           "vectors",
                           d, other);
    if (share.getBits() & its.getBits())
      return llvm::formatv("dims {0} and {1} occur together, and share bits of "
                           "the number of a thread",
                           d, other);
  }
  return "";
}

/// Why blocks cannot be as the layout says.
std::string LayoutChecker::checkBlocks() const {
  int64_t threads = layout.getThreadsOfBlock();
  if (threads > kBlockThreads || threads % demands.limits.warp != 0)
    return llvm::formatv("a block has whole warps of {0} threads, and {1} "
                         "threads at most, not {2}",
                         demands.limits.warp, kBlockThreads, threads);
  if (layout.cluster > demands.limits.cluster ||
      (layout.cluster > 1 && demands.isSplit()))
    return llvm::formatv("{0} blocks cannot share a tile here", layout.cluster);
  if (layout.cluster > 1 && demands.scanned.any())
    return "blocks of a cluster have no order for a scan";
  if (layout.leastSharedBytes > demands.limits.sharedBytes)
    return llvm::formatv("a multiprocessor has no {0} bytes of shared memory",
                         layout.leastSharedBytes);
  // A loop has the tile after this one in registers, whole.
  bool isHeld = llvm::all_of(demands.streamed.set_bits(), [&](unsigned d) {
    int64_t extent = demands.space.staticExtents[d];
    return !ShapedType::isDynamic(extent) && layout.dims[d].getSpan() >= extent;
  });
  if ((layout.loopingBlocks != 0 || layout.readsAgain) &&
      (!isHeld || mergesInLaunch(demands.kernel)))
    return "blocks that loop or read again hold a tile whole";
  if (layout.readsAgain && (layout.loopingBlocks != 0 || layout.cluster > 1))
    return "blocks that read again have one tile each";
  if (layout.loadsStepsAhead && (demands.streamed.count() != 1 ||
                                 demands.isMapped || !layout.kept.empty()))
    return "steps are loaded ahead in folds along one dim";
  return "";
}

/// Why inputs cannot be moved as the layout says.
std::string LayoutChecker::checkInputs() const {
  auto find = [&](const KeptInput &input) {
    auto found =
        llvm::find_if(demands.accesses, [&](const TensorAccess &access) {
          return access.isInput && access.map == input.map &&
                 access.argument.getArgNumber() == input.argument;
        });
    return found == demands.accesses.end() ? nullptr : &*found;
  };
  int64_t all = layout.kept.empty() ? 0 : kExchangeBytes;
  for (const KeptInput &input : layout.kept) {
    const TensorAccess *access = find(input);
    std::optional<KeptInput> own =
        access ? InputPlaces::find(demands, layout, *access)
               : std::optional<KeptInput>();
    if (!own || own->bytes != input.bytes)
      return llvm::formatv("shared memory cannot keep {0} bytes of argument "
                           "{1}",
                           input.bytes, input.argument);
    all += input.bytes;
  }
  if (all > demands.limits.sharedBytes)
    return llvm::formatv("a multiprocessor has no {0} bytes of shared memory",
                         all);
  if (!layout.kept.empty() && layout.loopingBlocks == 0 &&
      (demands.streamed.count() != 1 || layout.cluster > 1))
    return "one block keeps what it walks along one dim";
  for (ArrayRef<KeptInput> asked :
       {ArrayRef(layout.ahead), ArrayRef(layout.following)})
    for (const KeptInput &input : asked) {
      const TensorAccess *access = find(input);
      if (!access || !demands.isInOnePiece(*access) ||
          input.bytes > demands.bytesOfTile(*access))
        return llvm::formatv("argument {0} has no tiles of {1} bytes in one "
                             "piece to ask for",
                             input.argument, input.bytes);
    }
  for (unsigned argument : layout.movedOnce)
    if (llvm::none_of(demands.accesses, [&](const TensorAccess &access) {
          return access.argument.getArgNumber() == argument;
        }))
      return llvm::formatv("argument {0} is no tensor that it reads or writes",
                           argument);
  return "";
}

std::string LayoutChecker::check() const {
  if (layout.dims.size() != demands.space.numDims)
    return llvm::formatv("'dims' has {0} entries, the kernel {1} dims",
                         layout.dims.size(), demands.space.numDims);
  for (unsigned d = 0; d < demands.space.numDims; ++d)
    if (std::string why = checkDim(d); !why.empty())
      return why;
  if (std::string why = checkBlocks(); !why.empty())
    return why;
  return checkInputs();
}

std::optional<RegisterLayout>
redfuse::readLayout(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                    const KernelPrograms &programs, const DeviceLimits &limits,
                    RegisterLayoutAttr record, std::string &why) {
  std::optional<RegisterDemands> demands =
      RegisterDemands::find(kernel, launch, space, programs, limits, why);
  if (!demands)
    return std::nullopt;
  RegisterLayout layout = layoutOf(record, limits);
  why = LayoutChecker(*demands, layout).check();
  return why.empty() ? std::optional(layout) : std::nullopt;
}
