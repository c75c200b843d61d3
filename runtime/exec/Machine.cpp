// What this machine offers: instruction sets and physical cores.
#include "runtime/exec/Executor.h"
#include "runtime/io/Error.h"
#include "runtime/io/ProcessorFeatures.h"
#include <fstream>
#include <sched.h>
#include <set>
#include <unistd.h>

namespace kedge::rt {
namespace {

std::string firstLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int coresAmong(const cpu_set_t &allowed) {
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed))
      continue;
    const std::string siblings =
        firstLine(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    cores.insert(siblings.empty() ? std::to_string(cpu) : siblings);
  }
  return std::max<int>(1, static_cast<int>(cores.size()));
}

} // namespace

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

int physicalCores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? coresAmong(allowed) : 1;
}

int machineCores() {
  cpu_set_t online;
  CPU_ZERO(&online);
  for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); ++cpu)
    CPU_SET(static_cast<int>(cpu), &online);
  return coresAmong(online);
}

} // namespace kedge::rt
