// Buffers and lifetimes of one scheduled function.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace kedge::memory {

/// A byte range with a lifetime in launches (see exec.buffer).
struct PlannedBuffer {
  std::string name;
  mlir::Type type;
  int64_t bytes = 0;
  int64_t first = 0, last = 0;
  int64_t offset = 0;
  bool host = false;               ///< in the arena of host memory
  train::BindingAttr binding = {}; ///< what is outside the function; null for what lives inside
  int64_t room =
      0; ///< launches before `first` in which its bytes are free already: what fills it may start early

  /// Whether it keeps its content between functions.
  bool persistent() const;
  bool isState() const { return binding && binding.is(train::BindingKind::State); }
  /// Whether the host reads the whole of it when the function has run.
  bool holdsOutput() const { return binding && binding.is(train::BindingKind::Output) && !binding.getPart(); }
};

struct PlannedLaunch {
  mlir::Operation *op = nullptr;
  llvm::SmallVector<size_t> reads, writes;
  int64_t workspace = -1; ///< buffer, or -1
};

struct PlannedGradient {
  std::string parameter;
  size_t buffer;
  int64_t after;
  mlir::Type type;
};

struct FunctionPlan {
  mlir::func::FuncOp function;
  std::vector<PlannedBuffer> buffers;
  std::vector<PlannedLaunch> launches;
  std::vector<PlannedGradient> gradients;
  int64_t reusedInPlace = 0;
  int64_t transientBytes = 0, hostTransientBytes = 0;
};

/// Constants that live in the persistent region, one a distinct value over all functions.
using ConstantTable = llvm::MapVector<mlir::Attribute, std::string>;

/// Lifetimes and in-place reuse; offsets come later. `workspaceOf` gives a launch's scratch bytes.
mlir::FailureOr<FunctionPlan>
planFunction(mlir::func::FuncOp function, ConstantTable &constants,
             llvm::function_ref<mlir::FailureOr<int64_t>(mlir::Operation *)> workspaceOf);

/// Time for collectives, as far as no more is live at once than anyway: what they read, and their scratch,
/// lives on until a launch takes what they make; what a gather of states fills is free from the collective
/// before it on. How many buffers that are.
int64_t makeRoomForCollectives(FunctionPlan &plan);
/// Time for kernels beside products (kedge-place-side-launches), in the same way: what they read, and their
/// scratch, lives on for two products.
int64_t makeRoomForSideLaunches(FunctionPlan &plan);
/// Copies between the arenas that run while launches compute: on a CPU those to and from files alone.
enum class CopiesAside { OfFiles, All };
/// The same for these copies: `bytes` of them, in each direction, may be under way while launches run.
int64_t makeRoomForCopies(FunctionPlan &plan, CopiesAside which, int64_t bytes);

} // namespace kedge::memory
