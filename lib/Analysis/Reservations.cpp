#include "lib/Analysis/Reservations.h"
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Analysis/PersistentRegion.h"
#include "runtime/exec/DiskCopies.h"
#include "runtime/exec/Executor.h"

namespace kedge::analysis {
namespace {
constexpr int64_t kKernelObjects = 64 << 10;  ///< launch tables and kernel objects that only some paths touch
constexpr int64_t kThread = 16 << 10;         ///< the part of a stack that kernels touch
constexpr int64_t kCudaContext = 512 << 20;   ///< not measured: no GPU was at hand
constexpr int64_t kCudaLibraries = 192 << 20; ///< the same
constexpr int64_t kNccl = 384 << 20; ///< the same; buffers of its channels, for each GPU that it talks to
} // namespace

std::vector<Reservation> cudaReservations(int64_t ranks) {
  std::vector<Reservation> list{{"cuda_context", kCudaContext, "allowance"},
                                {"cuda_code_and_libraries", kCudaLibraries, "allowance"}};
  if (ranks > 1)
    list.push_back({"nccl", kNccl, "allowance"});
  return list;
}

std::vector<Reservation> reservationsOf(mlir::ModuleOp module, int threads) {
  if (targetOf(module) == TargetKind::Cuda)
    return cudaReservations(dist::meshRanks(module));
  std::vector<Reservation> list = cpuReservations(threads);
  if (const int64_t staging = diskStagingBytes(module); staging != 0)
    list.push_back({rt::kDiskStagingName, staging, rt::kDiskStagingSource});
  return list;
}

std::vector<Reservation> cpuReservations(int threads) {
  return {{"threads", threads * kThread, "allowance"}, {"library_kernels", kKernelObjects, "allowance"}};
}

int64_t sumOf(const std::vector<Reservation> &reservations) {
  int64_t sum = 0;
  for (const Reservation &reservation : reservations)
    sum += reservation.bytes;
  return sum;
}

int teamOf(int threads) { return threads > 0 ? threads : rt::physicalCores(); }

int64_t heldBytes(mlir::ModuleOp module, int threads) {
  return persistentBytes(module) + sumOf(reservationsOf(module, teamOf(threads)));
}

} // namespace kedge::analysis
