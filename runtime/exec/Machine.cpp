// What this machine offers: instruction sets and physical cores.
#include "runtime/exec/Executor.h"
#include "runtime/io/Error.h"
#include "runtime/io/ProcessorFeatures.h"
#include "runtime/platform/Threads.h"

namespace kedge::rt {
void checkFeatures(const std::vector<std::string> &features) {
  std::string missing;
  for (const std::string &feature : features)
    if (processorHas(feature) == 0)
      missing += (missing.empty() ? "" : ", ") + feature;
  if (!missing.empty())
    fail("this program was compiled for a processor with {}, which this machine lacks: compile it on this "
         "machine, or on one like it",
         missing);
}

int physicalCores() { return platform::usableCores(); }

int machineCores() { return platform::machineCores(); }

} // namespace kedge::rt
