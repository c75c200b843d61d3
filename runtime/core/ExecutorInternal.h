// Launches with every pointer resolved; private to the Executor's files.
#pragma once
#include "runtime/core/Executor.h"

namespace kedge::rt {

struct Executor::Prepared {
  KedgeKernel kernel = nullptr;
  std::unique_ptr<LibraryKernel> library;
  std::vector<char *> args;
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  void *workspace = nullptr;
  int64_t iterations = 1, grain = 1;
};

struct Executor::PreparedFunction {
  const Function *function = nullptr;
  std::vector<Prepared> launches;
  /// Byte ranges to poison after launch i - 1 (0: before the first); filled when poisoning is on.
  std::vector<std::vector<std::pair<uint64_t, uint64_t>>> dead;
};

} // namespace kedge::rt
