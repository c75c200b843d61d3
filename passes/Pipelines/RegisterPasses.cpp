#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Adapters/Passes.h"
#include "passes/Autodiff/Passes.h"
#include "passes/Import/Passes.h"
#include "passes/Levels/Passes.h"
#include "passes/Lower/Passes.h"
#include "passes/Memory/Passes.h"
#include "passes/Mesh/Passes.h"
#include "passes/Offload/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Pipeline/Passes.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Precision/Passes.h"
#include "passes/Rematerialize/Passes.h"
#include "passes/Schedule/Passes.h"

namespace kedge::pipelines {
namespace {
struct RematerializeFlags : mlir::PassPipelineOptions<RematerializeFlags> {
  Option<remat::Policy> policy{*this, "policy", llvm::cl::desc("as --recompute"),
                               llvm::cl::init(remat::Policy{remat::Policy::Kind::Auto})};
  Option<MemoryBudget> budget{*this, "budget", llvm::cl::desc("as --memory-budget"),
                              llvm::cl::init(MemoryBudget())};
  Option<std::string> device{*this, "device", llvm::cl::desc("as --device"), llvm::cl::init("")};
  Option<int64_t> effort{*this, "effort", llvm::cl::desc("as --effort"), llvm::cl::init(0)};
  Option<int> threads{*this, "threads", llvm::cl::desc("that workspaces are sized for"), llvm::cl::init(0)};
  Option<bool> offload{*this, "offload", llvm::cl::desc("values may go to host memory"),
                       llvm::cl::init(false)};
  Option<int64_t> hostBudget{*this, "host-budget", llvm::cl::desc("as --host-memory-budget"),
                             llvm::cl::init(0)};
};

void registerPipelines() {
  mlir::PassPipelineRegistration<RematerializeFlags>(
      "kedge-rematerialize", "kedge-choose-recompute, then kedge-insert-recompute",
      [](mlir::OpPassManager &manager, const RematerializeFlags &flags) {
        ChooseRecomputeOptions choose;
        choose.policy = flags.policy;
        choose.budget = flags.budget;
        choose.device = flags.device;
        choose.effort = flags.effort;
        choose.threads = flags.threads;
        choose.offload = flags.offload;
        choose.hostBudget = flags.hostBudget;
        addRematerializePipeline(manager, choose);
      });
}
} // namespace

void registerPasses() {
  mlir::registerTransformsPasses();
  levels::registerLevelsPasses();
  raise::registerImportPasses();
  lower::registerLowerPasses();
  adapters::registerAdaptersPasses();
  precision::registerPrecisionPasses();
  autodiff::registerAutodiffPasses();
  partition::registerPartitionPasses();
  mesh::registerMeshPasses();
  pipeline::registerPipelinePasses();
  schedule::registerSchedulePasses();
  remat::registerRematerializePasses();
  offload::registerOffloadPasses();
  memory::registerMemoryPasses();
  registerPipelines();
}

} // namespace kedge::pipelines
