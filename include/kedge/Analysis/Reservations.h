// What a program holds on its device beside its arena.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::analysis {

/// An allowance, in bytes: budgets and `peak_bytes` count it. The program's --memory-report has what it measured instead.
struct Reservation {
  std::string name;
  int64_t bytes = 0;
  std::string source;
};

/// Of a CPU program that runs with this many threads. The measured sum over the golden models and GPT-2 124M is 8 to
/// 20 KiB with two threads (docs/results.md); a test keeps the report of each below the allowance.
std::vector<Reservation> cpuReservations(int threads);

/// Of a CUDA program: the context with the code of kernels and libraries; NCCL where there are several ranks.
std::vector<Reservation> cudaReservations(int64_t ranks);

/// By the module's target and ranks.
std::vector<Reservation> reservationsOf(mlir::ModuleOp module, int threads);

int64_t sumOf(const std::vector<Reservation> &reservations);

} // namespace kedge::analysis
