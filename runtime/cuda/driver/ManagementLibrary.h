// libnvidia-ml.so.1, which is part of the driver: who holds a GPU's memory. Without it this is unknown.
#pragma once
#include "runtime/cuda/driver/SharedLibrary.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kedge::rt::cuda {

struct MemoryHolder {
  unsigned process = 0;
  std::string name; ///< of the program; "" if unknown
  uint64_t bytes = 0;
};

class ManagementLibrary {
public:
  ManagementLibrary();
  /// Bytes in use on the GPU at this PCI address.
  std::optional<uint64_t> usedBytes(const std::string &busId) const;
  /// Processes that hold memory there, the largest first; empty if unknown.
  std::vector<MemoryHolder> holders(const std::string &busId) const;

private:
  bool find(const std::string &busId, void *&device) const;
  SharedLibrary library;
};

} // namespace kedge::rt::cuda
