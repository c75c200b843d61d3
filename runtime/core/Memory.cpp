#include "runtime/core/Memory.h"
#include "runtime/core/Error.h"
#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <omp.h>
#include <unistd.h>

namespace kedge::rt {
namespace {

uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

uint64_t pageAligned(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

} // namespace

uint64_t anonymousBytes() {
  char text[4096];
  const int descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return 0;
  const ssize_t count = read(descriptor, text, sizeof(text) - 1);
  close(descriptor);
  if (count <= 0)
    return 0;
  text[count] = 0;
  const char *line = std::strstr(text, "RssAnon:");
  return line ? std::strtoull(line + 8, nullptr, 10) * 1024 : 0;
}

MemoryMeter::MemoryMeter() : beforeArena(anonymousBytes()) {}

void MemoryMeter::startThreads(int count) {
  const uint64_t before = anonymousBytes();
  omp_set_num_threads(count);
  int running = 0;
#pragma omp parallel num_threads(count) reduction(+ : running)
  running += 1;
  beforeArena = anonymousBytes();
  threads = running > 0 ? minus(beforeArena, before) : 0;
}

void MemoryMeter::noteKernels(const Executor &executor) {
  afterKernels = anonymousBytes();
  workspaces = executor.extraWorkspaceBytes();
  kernels = minus(afterKernels, beforeArena + pageAligned(executor.program().arenaBytes) + workspaces);
}

void MemoryMeter::noteStep() {
  const uint64_t now = anonymousBytes();
  steps = std::max(steps, minus(now, afterKernels));
}

std::string MemoryMeter::report(const Executor &executor) const {
  nlohmann::ordered_json report = nlohmann::ordered_json::object();
  for (const auto &[key, value] : executor.program().plan.items())
    report[key] = value;
  auto list = nlohmann::ordered_json::array();
  uint64_t sum = 0;
  const auto add = [&](const char *name, uint64_t bytes, const char *source) {
    list.push_back({{"name", name}, {"bytes", bytes}, {"source", source}});
    sum += bytes;
  };
  add("openmp_threads", threads, "measured: RssAnon around the start of the threads");
  add("library_kernels", kernels, "measured: RssAnon around the making of the kernels, less the arena");
  if (workspaces != 0)
    add("library_workspaces", workspaces, "computed: more threads than compiled for");
  add("first_steps", steps, "measured: growth of RssAnon over the steps");
  report["reservations"] = list;
  report["arena_bytes"] = executor.program().arenaBytes;
  report["peak_bytes"] = executor.program().arenaBytes + sum;
  return report.dump(1) + "\n";
}

} // namespace kedge::rt
