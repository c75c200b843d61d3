// The CPU's kernel and the GPU's kernels of clusters, on the same numbers.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/support/GpuPtx.h"
#include "test/support/GpuSimulator.h"
#include <vector>

namespace kedge::test {

/// A test's function with clusters. Throws std::runtime_error with the text when it does not parse.
mlir::OwningOpRef<mlir::ModuleOp> parseClusters(mlir::MLIRContext &context, const std::string &text);

class KernelPair {
public:
  /// Compiles the distinct clusters of a module for both. With an architecture the GPU's kernels run as its
  /// PTX, else in the simulator of threads. Throws kedge::Error.
  explicit KernelPair(mlir::ModuleOp module, llvm::StringRef arch = "");
  ~KernelPair();

  size_t size() const { return clusters.size(); }
  /// The cluster, for messages.
  std::string text(size_t cluster);
  const lower::gpu::LaunchCode &code(size_t cluster) const { return launches[cluster]; }
  /// Runs a cluster on random numbers in [low, high); "" when the results agree (reductions to 1e-4 of their
  /// size), the GPU gives the same bits twice and on overwritten inputs (in the simulator), and keeps to its
  /// memory. Else what is wrong.
  std::string compare(size_t cluster, unsigned seed, float low, float high);
  /// With an architecture: noticed is what compare() says.
  Removals removals(size_t cluster);

private:
  struct Cpu;
  std::vector<sched::ClusterOp> clusters;
  std::vector<lower::gpu::LaunchCode> launches;
  std::unique_ptr<Cpu> cpu;
  std::unique_ptr<GpuSimulator> gpu;
  std::unique_ptr<GpuPtx> ptx;
};

} // namespace kedge::test
