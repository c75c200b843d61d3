#include "lib/Analysis/SideWork.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/abi/Streams.h"
#include "lib/Analysis/LaunchesByFunction.h"
#include <array>
#include <deque>
#include <set>

using namespace mlir;

namespace kedge::analysis {
namespace {

/// One function's launches, each with the time that is left of it.
class StreamSimulation {
public:
  StreamSimulation(exec::FunctionOp function, ArrayRef<ScheduledLaunch> costs, bool isApart) : costs(costs) {
    for (auto launch : function.getBody().getOps<exec::LaunchInterface>()) {
      left.push_back(costs[launches.size()].seconds);
      const bool isAside = launch.getStream() == abi::kSideStream;
      streams[isAside && !isApart ? size_t(abi::kComputeStream) : launch.getStream()].push_back(
          launches.size());
      launches.push_back(launch);
    }
  }

  /// When the last launch is done.
  double run() {
    double now = 0;
    for (std::vector<size_t> running = startable(); !running.empty(); running = startable()) {
      double next = std::numeric_limits<double>::max();
      std::vector<double> speeds; // of all, before the first of them is done
      for (size_t launch : running)
        if (speeds.push_back(speedOf(launch, running)); speeds.back() > 0)
          next = std::min(next, left[launch] / speeds.back());
      for (auto [launch, speed] : llvm::zip(running, speeds))
        advance(launch, next * speed);
      now += next;
    }
    return now;
  }

private:
  /// The first of each stream, unless it waits.
  std::vector<size_t> startable() const {
    std::vector<size_t> found;
    for (const std::deque<size_t> &stream : streams)
      if (!stream.empty() &&
          llvm::all_of(waitsOf(stream.front()), [&](int64_t event) { return recorded.count(event) != 0; }))
        found.push_back(stream.front());
    return found;
  }

  ArrayRef<int64_t> waitsOf(size_t launch) const {
    exec::LaunchInterface op = launches[launch];
    return op.getWaits().value_or(ArrayRef<int64_t>());
  }

  bool isFirstOf(size_t launch, abi::Stream stream) const {
    return !streams[stream].empty() && streams[stream].front() == launch;
  }

  double speedOf(size_t launch, ArrayRef<size_t> running) const {
    if (!isFirstOf(launch, abi::kSideStream))
      return 1;
    for (size_t other : running)
      if (isFirstOf(other, abi::kComputeStream))
        return costs[other].cost.product() ? kIdleBesideProducts : 0;
    return 1;
  }

  void advance(size_t launch, double seconds) {
    constexpr double kRounding = 1e-12;
    left[launch] -= seconds;
    if (left[launch] > kRounding)
      return;
    for (std::deque<size_t> &stream : streams)
      if (!stream.empty() && stream.front() == launch)
        stream.pop_front();
    exec::LaunchInterface op = launches[launch];
    if (std::optional<uint64_t> event = op.getRecords())
      recorded.insert(static_cast<int64_t>(*event));
  }

  ArrayRef<ScheduledLaunch> costs;
  std::vector<exec::LaunchInterface> launches;
  std::vector<double> left;
  std::array<std::deque<size_t>, abi::kStreams> streams;
  std::set<int64_t> recorded;
};

} // namespace

SideWork sideWorkOf(ModuleOp module, const std::vector<ScheduledLaunch> &launches, int64_t accumulate) {
  SideWork step;
  for (FunctionLaunches &own : byFunction(module, launches, accumulate)) {
    const double seconds =
        own.secondsOf([](exec::LaunchInterface launch) { return launch.getStream() == abi::kSideStream; });
    if (own.runs == 0 || seconds == 0)
      continue;
    const double saved = StreamSimulation(own.function, own.rows, /*isApart=*/false).run() -
                         StreamSimulation(own.function, own.rows, /*isApart=*/true).run();
    step.seconds += own.runs * seconds;
    step.hidden += own.runs * std::max(0.0, saved);
  }
  return step;
}

} // namespace kedge::analysis
