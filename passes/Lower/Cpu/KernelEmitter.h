// Clusters -> kernel functions in arith, math, scf, vector and llvm loads and stores.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace kedge::lower {

struct KernelInfo {
  std::string name;       ///< symbol of type KedgeKernel (include/kedge/abi.h)
  int64_t iterations = 0; ///< size of the parallel iteration space; 0 when there is nothing to do
  int64_t grain = 1;      ///< iterations worth giving to one thread
};

/// Emits kernels into one module, each distinct cluster (domain, maps, types, body) once. The kernel's
/// arguments are the cluster's inputs, then its outputs. An output may share its bytes with an input that the
/// cluster reads at the very same element (equal maps, equal element size): every element is read before it
/// is written.
class KernelEmitter {
public:
  explicit KernelEmitter(mlir::ModuleOp kernels);
  /// Fails after a diagnostic at the cluster.
  mlir::FailureOr<KernelInfo> emit(sched::ClusterOp cluster);
  /// Every kernel so far, in order of emission.
  mlir::ArrayRef<KernelInfo> emitted() const { return infos; }

private:
  mlir::ModuleOp kernels;
  llvm::StringMap<size_t> byText;
  llvm::SmallVector<KernelInfo> infos;
};

} // namespace kedge::lower
