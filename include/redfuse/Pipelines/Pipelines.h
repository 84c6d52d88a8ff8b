//===- Pipelines.h - the compiler as pipelines of passes --------*- C++ -*-===//
#ifndef REDFUSE_PIPELINES_PIPELINES_H
#define REDFUSE_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace redfuse {

/// What the pipelines `redfuse-cpu`, `redfuse-cuda`, `redfuse-rocm`,
/// `redfuse-state`, `redfuse-state-cuda` and `redfuse-unfused` are asked for. For which machine says the
/// module's `redfuse.target` (`redfuse-attach-target`).
struct CompileOptions : mlir::PassPipelineOptions<CompileOptions> {
  ListOption<std::string> stages{
      *this, "stages",
      llvm::cl::desc("these stages of the pipeline alone (all of them)")};
  Option<bool> strict{*this, "strict",
                      llvm::cl::desc("refuse everything that changes the order "
                                     "of floating-point operations"),
                      llvm::cl::init(false)};
  Option<bool> approximate{*this, "approximate",
                           llvm::cl::desc("take rounding and saturation in the "
                                          "way of a merge for the identity"),
                           llvm::cl::init(false)};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("resident, stream or split, wherever it is legal"),
      llvm::cl::init("")};
  ListOption<int64_t> tiles{
      *this, "tiles",
      llvm::cl::desc("extents of tiles by iteration dim; 0 keeps the model's")};
  Option<int64_t> splits{
      *this, "splits",
      llvm::cl::desc("how many splits a split schedule has; 0: the "
                     "model's number"),
      llvm::cl::init(0)};
  Option<int64_t> lazy{*this, "lazy",
                       llvm::cl::desc("powers of 2 that pivots may lag behind "
                                      "the running maximum"),
                       llvm::cl::init(0)};
  Option<bool> plans{
      *this, "plans",
      llvm::cl::desc("ask, before groups are fused for an NVIDIA "
                     "GPU, how they would run"),
      llvm::cl::init(true)};
  Option<bool> prices{
      *this, "prices",
      llvm::cl::desc(
          "keep apart what is faster so (never where a state is made)"),
      llvm::cl::init(true)};
  ListOption<int64_t> cuts{
      *this, "cuts", llvm::cl::desc("numbers of cascades that begin a kernel")};
  ListOption<int64_t> joins{
      *this, "joins",
      llvm::cl::desc("numbers of cascades that are fused with what they need")};
  Option<bool> record{*this, "record",
                      llvm::cl::desc("say which cascades became which kernel"),
                      llvm::cl::init(false)};
  ListOption<int64_t> along{
      *this, "along",
      llvm::cl::desc("number and axis of the argument that a state streams")};
  Option<int64_t> chunk{
      *this, "chunk",
      llvm::cl::desc("how long the chunks of a state are; 0: as they come"),
      llvm::cl::init(0)};
  Option<std::string> only{
      *this, "only",
      llvm::cl::desc("of a state's functions, first or last alone"),
      llvm::cl::init("")};
  ListOption<int64_t> shard{
      *this, "shard",
      llvm::cl::desc("dims that the program has a part of: number of an "
                     "argument and axis, of each in turn")};
  ListOption<int64_t> shardSizes{
      *this, "shard-sizes",
      llvm::cl::desc("how long the part of each such dim is; 0: open")};
  Option<unsigned> level{*this, "opt-level",
                         llvm::cl::desc("LLVM's optimisation level"),
                         llvm::cl::init(3)};
  Option<std::string> format{
      *this, "format",
      llvm::cl::desc(
          "what kernels end as. For an NVIDIA GPU: isa (PTX, which the "
          "driver compiles), bin (a cubin) or fatbin (both), made by "
          "ptxas and fatbinary of a CUDA toolkit; for an AMD GPU: isa "
          "(assembly) or bin (a code object), made by redfuse[rocm], or llvm "
          "(LLVM IR)"),
      llvm::cl::init("isa")};
  Option<bool> hostAlone{
      *this, "host-alone",
      llvm::cl::desc("leave the host's code without the kernels, which who "
                     "loads it has already"),
      llvm::cl::init(false)};
};

/// What a pipeline compiles for, and how.
enum class PipelineKind { CPU, CUDA, ROCM, State, StateCUDA, Unfused };

/// The name that redfuse-opt has for a pipeline: `redfuse-cpu` and so on.
llvm::StringRef getPipelineName(PipelineKind kind);
/// The pipeline of this name.
std::optional<PipelineKind> findPipeline(llvm::StringRef name);
/// The names of its stages, in order.
llvm::SmallVector<llvm::StringRef> getStages(PipelineKind kind);

/// Appends the passes of the stages that `options` names; fails, telling `fail`, for
/// one that the pipeline has not.
llvm::LogicalResult buildPipeline(
    mlir::OpPassManager &pm, PipelineKind kind, const CompileOptions &options,
    llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)> fail);

/// Makes all pipelines known to textual descriptions and to redfuse-opt.
void registerPipelines();

/// Lets fusion ask what the passes behind it would plan (KernelPlannerInterface).
void registerKernelPlanner(mlir::DialectRegistry &registry);

} // namespace redfuse

#endif // REDFUSE_PIPELINES_PIPELINES_H
