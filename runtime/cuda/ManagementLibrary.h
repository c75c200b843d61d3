// libnvidia-ml.so.1: who holds a GPU's memory. Part of the driver; without it these things are unknown.
#pragma once
#include "runtime/cuda/SharedLibrary.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kedge::rt::cuda {

struct MemoryHolder {
  unsigned process = 0;
  std::string name; ///< of the program; "" when it cannot be told
  uint64_t bytes = 0;
};

class ManagementLibrary {
public:
  ManagementLibrary();
  /// Bytes in use on the GPU at this PCI address.
  std::optional<uint64_t> usedBytes(const std::string &busId) const;
  /// Processes that hold memory there, the largest first; empty when it is not known.
  std::vector<MemoryHolder> holders(const std::string &busId) const;

private:
  bool find(const std::string &busId, void *&device) const;
  SharedLibrary library;
};

} // namespace kedge::rt::cuda
