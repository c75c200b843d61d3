#include "driver/CompileOptions.h"
#include "driver/GpuTarget.h"
#include "kedge/Support/Error.h"
#include "kedge/Support/MemoryBudget.h"

namespace kedge::driver {

std::string CompileOptions::deviceName() const {
  if (!device.empty() || !onGpu())
    return device;
  const std::string arch = architectureOf(target);
  return arch == "sm_80" ? "a100" : arch == "sm_86" || arch == "sm_89" ? "rtx4090" : "h200";
}

std::optional<int64_t> CompileOptions::hostLimit() const {
  if (hostMemoryBudget.empty())
    return std::nullopt;
  MemoryBudget given = parseMemoryBudget(hostMemoryBudget);
  if (given.kind != MemoryBudget::Kind::Bytes)
    fail("--host-memory-budget {}: expected bytes (17179869184, 16GiB)", hostMemoryBudget);
  return given.bytes;
}

} // namespace kedge::driver
