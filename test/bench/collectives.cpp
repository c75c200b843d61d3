// kedge-bench-collectives kedge|mpi, under mpirun: bytes a second of reduce-scatters and all-gathers, by the
// runtime's engine or by MPI's own functions. Prints "COLLECTIVE ELEMENTS SECONDS" lines (the least of all
// rounds, of the slowest rank); collectives.py puts the two side by side.
#include "runtime/comm/CollectiveKernel.h"
#include "runtime/comm/Launcher.h"
#include "runtime/comm/mpi/Connect.h"
#include "runtime/comm/mpi/Mpi.h"
#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <functional>

namespace {

using namespace kedge::rt;

constexpr int64_t kSizes[] = {1 << 14, 1 << 18, 1 << 20, 1 << 22};
constexpr int kRounds = 15;

/// The slowest rank's seconds for one run of `work`; `largest` is a maximum over ranks.
double measure(const std::function<void()> &work, const std::function<void()> &barrier,
               const std::function<double(double)> &largest) {
  double least = 1e9;
  for (int round = 0; round < kRounds + 2; ++round) {
    barrier();
    const int64_t begin = steadyNanoseconds();
    work();
    const double seconds = largest(static_cast<double>(steadyNanoseconds() - begin) * 1e-9);
    if (round >= 2)
      least = std::min(least, seconds);
  }
  return least;
}

void print(const World &world, const char *name, int64_t elements, double seconds) {
  if (world.isFirst())
    fmt::print("{} {} {:.9f}\n", name, elements, seconds);
}

void measureKedge(const World &world) {
  const auto ranks = connectByMpi(world, 30);
  const auto barrier = [&] { ranks->barrier(); };
  const auto largest = [&](double value) {
    return static_cast<double>(maxOverRanks(ranks.get(), static_cast<int64_t>(value * 1e9))) * 1e-9;
  };
  for (int64_t n : kSizes)
    for (const char *name : {"dist.reduce_scatter", "dist.all_gather"}) {
      const bool gathers = std::strcmp(name, "dist.all_gather") == 0;
      const int64_t part = shardSize(n, world.size);
      LibraryCall call{name,
                       {{"ranks", world.size}},
                       {{DType::F32, {gathers ? part : n}}},
                       {{DType::F32, {gathers ? n : part}}}};
      const auto kernel = makeKernel(call, 1);
      std::vector<float> input(static_cast<size_t>(n), 1), output(static_cast<size_t>(n));
      std::vector<char> workspace(kernel->workspaceBytes());
      const void *in = input.data();
      void *out = output.data();
      const auto run =
          dynamic_cast<CollectiveKernel &>(*kernel).bind(*ranks, &in, &out, workspace.data(), false, "");
      print(world, name + 5, n, measure([&] { run->start(), run->wait(); }, barrier, largest));
    }
  ranks->close();
}

template <typename Function> void find(const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

void measureMpi(const World &world) {
  const mpi::Mpi &api = mpi::openMpi();
  decltype(&::MPI_Reduce_scatter) reduceScatter = nullptr;
  decltype(&::MPI_Allgather) allGather = nullptr;
  decltype(&::MPI_Allreduce) allReduce = nullptr;
  decltype(&::MPI_Barrier) wait = nullptr;
  find("MPI_Reduce_scatter", reduceScatter);
  find("MPI_Allgather", allGather);
  find("MPI_Allreduce", allReduce);
  find("MPI_Barrier", wait);
  const auto real = static_cast<MPI_Datatype>(dlsym(RTLD_DEFAULT, "ompi_mpi_float"));
  const auto wide = static_cast<MPI_Datatype>(dlsym(RTLD_DEFAULT, "ompi_mpi_double"));
  const auto sum = static_cast<MPI_Op>(dlsym(RTLD_DEFAULT, "ompi_mpi_op_sum"));
  const auto maximum = static_cast<MPI_Op>(dlsym(RTLD_DEFAULT, "ompi_mpi_op_max"));
  int provided = 0;
  api.Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  const auto barrier = [&] { wait(api.world); };
  const auto largest = [&](double value) {
    double all = 0;
    allReduce(&value, &all, 1, wide, maximum, api.world);
    return all;
  };
  for (int64_t n : kSizes) {
    const int part = static_cast<int>(n / world.size);
    std::vector<float> input(static_cast<size_t>(n), 1), output(static_cast<size_t>(n));
    const std::vector<int> counts(static_cast<size_t>(world.size), part);
    print(world, "reduce_scatter", n,
          measure([&] { reduceScatter(input.data(), output.data(), counts.data(), real, sum, api.world); },
                  barrier, largest));
    print(world, "all_gather", n,
          measure([&] { allGather(input.data(), part, real, output.data(), part, real, api.world); }, barrier,
                  largest));
  }
  api.Finalize();
}

} // namespace

int main(int argc, char **argv) {
  const World world = launchedAs(false).world;
  if (argc != 2 || world.size < 2)
    return fmt::print(stderr, "usage: mpirun -np N kedge-bench-collectives kedge|mpi\n"), 2;
  if (std::strcmp(argv[1], "kedge") == 0)
    measureKedge(world);
  else
    measureMpi(world);
  return 0;
}
