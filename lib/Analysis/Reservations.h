// The memory that a program needs on its device in addition to its arena.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::analysis {

/// An estimate in bytes, part of budgets and of `peak_bytes`. The program's --memory-report has measured
/// values.
struct Reservation {
  std::string name;
  int64_t bytes = 0;
  std::string source;
};

/// For a CPU program with this many threads. The golden models and GPT-2 124M were measured at 8
/// to 20 KiB with two threads (docs/rationale/history/gpt2.md); a test checks that each stays below the
/// estimate.
std::vector<Reservation> cpuReservations(int threads);

/// For a CUDA program: the context with the code of kernels and libraries, and NCCL if there are several
/// ranks.
std::vector<Reservation> cudaReservations(int64_t ranks);

/// For the target and the ranks of this module.
std::vector<Reservation> reservationsOf(mlir::ModuleOp module, int threads);

int64_t sumOf(const std::vector<Reservation> &reservations);

/// Threads of a program, given a pass's option of that name: 0 is this machine's cores.
int teamOf(int threads);

/// Bytes that the device holds all the time, whatever is recomputed: states, scalars, results, constants, and
/// reservations.
int64_t heldBytes(mlir::ModuleOp module, int threads);

} // namespace kedge::analysis
