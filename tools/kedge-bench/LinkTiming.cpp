#include "tools/kedge-bench/LinkTiming.h"
#include "lib/Support/Error.h"
#include "runtime/comm/CollectiveKernel.h"
#include "runtime/comm/Launcher.h"
#include "runtime/comm/mpi/Connect.h"
#include <algorithm>
#include <functional>

namespace kedge::bench {
namespace {

constexpr int kRounds = 9;
constexpr double kTimeout = 30;
/// Elements of fp32: a few, and about what a bucket has.
constexpr int64_t kSmall = 256, kLarge = int64_t(1) << 22;

class LinkTiming {
public:
  explicit LinkTiming(const rt::World &world) : world(world), ranks(rt::connectByMpi(world, kTimeout)) {}
  ~LinkTiming() { ranks->close(); }

  /// The least seconds of the slowest rank, for one collective of `elements`.
  double bestSeconds(const char *name, int64_t elements) {
    const bool gathers = std::string(name) == "dist.all_gather";
    const int64_t part = rt::shardSize(elements, world.size);
    rt::calls::LibraryCall call{name,
                                {{"ranks", world.size}},
                                {{rt::DType::F32, {gathers ? part : elements}}},
                                {{rt::DType::F32, {gathers ? elements : part}}}};
    const auto kernel = rt::calls::makeKernel(call, 1);
    std::vector<float> input(static_cast<size_t>(elements), 1), output(static_cast<size_t>(elements));
    std::vector<char> workspace(kernel->workspaceBytes());
    const void *in = input.data();
    void *out = output.data();
    const auto run =
        dynamic_cast<rt::CollectiveKernel &>(*kernel).bind(*ranks, &in, &out, workspace.data(), false, "");
    double least = HUGE_VAL;
    for (int round = 0; round < kRounds; ++round) {
      ranks->barrier();
      const int64_t begin = rt::steadyNanoseconds();
      run->start(), run->wait();
      const int64_t taken = rt::maxOverRanks(ranks.get(), rt::steadyNanoseconds() - begin);
      least = std::min(least, 1e-9 * static_cast<double>(taken));
    }
    if (world.isFirst())
      fmt::print("{:<20}{:>12} bytes {:>12.6f} s\n", name + std::string_view("dist.").size(), 4 * elements,
                 least);
    return least;
  }

private:
  const rt::World world;
  std::unique_ptr<rt::Communicator> ranks;
};

} // namespace

analysis::LinkLevels measuredLinks() {
  const rt::World world = rt::launchedAs(false).world;
  if (world.size < 2)
    fail("--links: one rank has no links; start it with mpirun -np N");
  LinkTiming timing(world);
  double small = 0, large = 0;
  for (const char *name : {"dist.reduce_scatter", "dist.all_gather"}) {
    small += timing.bestSeconds(name, kSmall) / 2;
    large += timing.bestSeconds(name, kLarge) / 2;
  }
  const double others = 1 - 1 / static_cast<double>(world.size);
  analysis::LinkLevel level;
  level.name = fmt::format("{} ranks measured", world.size);
  level.seconds = small;
  level.bytesPerSecond = others * 4 * (kLarge - kSmall) / std::max(1e-9, large - small);
  return {level};
}

bool isFirstRank() { return rt::launchedAs(false).world.isFirst(); }

} // namespace kedge::bench
