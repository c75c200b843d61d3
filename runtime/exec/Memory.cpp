#include "runtime/exec/Memory.h"
#include "runtime/comm/CollectiveKernel.h"
#include "runtime/exec/ThreadPool.h"
#include "runtime/io/Error.h"
#include "runtime/platform/Memory.h"
#include "runtime/program/Buckets.h"
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

namespace kedge::rt {
namespace {

uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

uint64_t pageAligned(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

} // namespace

uint64_t anonymousBytes() { return platform::anonymousBytes(); }

uint64_t residentBytes() { return anonymousBytes() + platform::sharedBytes(); }

MemoryMeter::MemoryMeter() : atStart(anonymousBytes()), beforeArena(atStart) {}

void MemoryMeter::startThreads(int count) {
  atStart = anonymousBytes();
  rt::startThreads(count);
  beforeArena = anonymousBytes();
}

void MemoryMeter::noteKernels(const Executor &executor) {
  afterKernels = afterSteps = anonymousBytes();
  workspaces = executor.device().extraWorkspaceBytes();
}

void MemoryMeter::noteStep(int64_t done) {
  constexpr int64_t kFirstSteps = 4;
  if (done < kFirstSteps)
    afterSteps = std::max(afterSteps, anonymousBytes());
}

namespace {

/// Communication of the functions that make up a step: one row for each collective, axis of --mesh and type,
/// scalars apart.
nlohmann::ordered_json communicationOf(const Executor &executor, int64_t steps) {
  struct Row {
    int64_t calls = 0, elements = 0;
  };
  const bool meshed = !executor.program().options.mesh.empty();
  std::map<std::tuple<std::string, std::string, DType>, Row> rows;
  for (const auto &[name, function] : executor.program().functions) {
    const std::string_view of = withoutLength(name);
    if (of != "step" && of != "micro" && of != "update")
      continue;
    for (size_t i = 0; i < function.launches.size(); ++i) {
      const Launch &launch = function.launches[i];
      const int64_t times = executor.device().timesLaunched(function, static_cast<int>(i));
      std::set<std::tuple<std::string, std::string, DType>> called;
      for (const Traffic &traffic : trafficOf(launch.library, launch.inputs, launch.outputs)) {
        const std::string axis = meshed ? axisOf(launch.attrs) : "";
        const auto key = std::tuple(traffic.scalar ? traffic.collective + "_scalar" : traffic.collective,
                                    axis, traffic.type);
        rows[key].elements += traffic.elements * times;
        rows[key].calls += called.insert(key).second ? times : 0;
      }
    }
  }
  auto list = nlohmann::ordered_json::array();
  for (const auto &[key, row] : rows) {
    const auto &[collective, axis, type] = key;
    const int64_t elements = row.elements / steps;
    list.push_back({{"collective", collective},
                    {"type", dtypeName(type)},
                    {"calls", row.calls / steps},
                    {"elements", elements},
                    {"bytes", elements * static_cast<int64_t>(dtypeSize(type))}});
    if (meshed)
      list.back()["axis"] = axis;
  }
  return list;
}

} // namespace

std::string MemoryMeter::report(const Executor &executor, int64_t steps) const {
  Device &device = executor.device();
  const uint64_t arena = executor.program().arenaBytes, host = hostMemoryBytes(executor.program()),
                 staging = diskStagingBytes(executor.program());
  nlohmann::ordered_json report = nlohmann::ordered_json::object();
  for (const auto &[key, value] : executor.program().plan.items())
    report[key] = value;
  auto list = nlohmann::ordered_json::array();
  uint64_t sum = 0;
  const auto add = [&](const char *name, uint64_t bytes, const char *source) {
    list.push_back({{"name", name}, {"bytes", bytes}, {"source", source}});
    sum += bytes;
  };
  const auto measured = [&](const char *name, uint64_t before, uint64_t after, uint64_t known,
                            const char *source) {
    add(name, minus(after, before + known), source);
    list.back()["rss_anon_before"] = before;
    list.back()["rss_anon_after"] = after;
  };
  for (const DeviceReservation &entry : device.reservations())
    add(entry.name.c_str(), entry.bytes, entry.source.c_str());
  // A device of its own has its own memory: the host's is no part of the budget.
  const bool onHost = list.empty();
  if (onHost) {
    measured("threads", atStart, beforeArena, 0, "measured: RssAnon around the start of the threads");
    measured(
        "library_kernels", beforeArena, afterKernels,
        pageAligned(arena) + pageAligned(host) + staging + workspaces,
        "measured: RssAnon around the mapping of the arenas and the making of the kernels, less the arenas");
    if (staging != 0)
      add(kDiskStagingName, staging, kDiskStagingSource);
    if (workspaces != 0)
      add("library_workspaces", workspaces, "computed: more threads than compiled for");
    measured("first_steps", afterKernels, afterSteps, 0,
             "measured: growth of RssAnon until the fourth step is done");
  }
  if (const Communicator *ranks = executor.communicator()) {
    if (onHost)
      add("mpi", ranks->memoryBytes(), "measured: RssAnon and RssShmem around MPI's start");
    if (steps > 0)
      report["communication"] = communicationOf(executor, steps);
  }
  if (nlohmann::json figures = device.memoryFigures(); !figures.is_null())
    report["device"] = figures;
  report["reservations"] = list;
  report["arena_bytes"] = arena;
  report["host_bytes"] = host + (onHost ? 0 : staging);
  report["peak_bytes"] = arena + sum;
  return report.dump(1) + "\n";
}

} // namespace kedge::rt
