#include "runtime/comm/Launcher.h"
#include "runtime/comm/Communicator.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/ranges.h>
#include <optional>
#include <string>

namespace kedge::rt {
namespace {

std::optional<int64_t> number(const char *name) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    return std::nullopt;
  char *end = nullptr;
  const long long value = std::strtoll(text, &end, 10);
  if (*end != 0 || value < 0)
    fail("{}={}: expected a number, as launchers of ranks set it", name, text);
  return value;
}

constexpr int64_t kMostRanks = 1'000'000; // as --ranks

/// A launcher's names of size, rank, and ranks and rank on this machine.
struct Names {
  const char *size, *rank, *localSize, *localRank;
};
constexpr Names kOpenMpi{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
                         "OMPI_COMM_WORLD_LOCAL_RANK"};
constexpr Names kPmi{"PMI_SIZE", "PMI_RANK", "SLURM_NTASKS_PER_NODE", "SLURM_LOCALID"};
constexpr Names kPmix{"SLURM_STEP_NUM_TASKS", "PMIX_RANK", "SLURM_NTASKS_PER_NODE", "SLURM_LOCALID"};
constexpr Names kTorchrun{"WORLD_SIZE", "RANK", "LOCAL_WORLD_SIZE", "LOCAL_RANK"};

std::optional<Launched> launchedBy(const Names &names) {
  const auto size = number(names.size), rank = number(names.rank);
  if (!size || !rank)
    return std::nullopt;
  if (*size < 1 || *size > kMostRanks || *rank >= *size)
    fail("{}={} and {}={} contradict each other, or are too many: start the program by mpirun or srun",
         names.size, *size, names.rank, *rank);
  const char *perMachine = std::getenv(names.localSize); // Slurm also has "2(x3)"
  const int64_t local = perMachine ? std::strtoll(perMachine, nullptr, 10) : 1;
  Launched launched{
      {*rank, *size}, std::clamp<int64_t>(local, 1, *size), number(names.localRank).value_or(0), {}};
  return launched;
}

std::string textOf(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

std::optional<Launched> launchedByTorchrun() {
  auto launched = launchedBy(kTorchrun);
  if (!launched || launched->world.size == 1)
    return launched;
  const auto port = number("MASTER_PORT");
  Rendezvous meeting{textOf("MASTER_ADDR"), port.value_or(0),
                     textOf("TORCHELASTIC_USE_AGENT_STORE") == "True", ""};
  if (meeting.host.empty() || meeting.port < 1 || meeting.port > 65535)
    fail("RANK and WORLD_SIZE are set, MASTER_ADDR={} and MASTER_PORT={} are no place where ranks could "
         "meet: start the "
         "program by torchrun --no-python, mpirun or srun",
         meeting.host, textOf("MASTER_PORT"));
  meeting.job = fmt::format("{} {}", textOf("TORCHELASTIC_RUN_ID"), textOf("TORCHELASTIC_RESTART_COUNT"));
  meeting.allHere = launched->localSize == launched->world.size;
  launched->meeting = meeting;
  return launched;
}

} // namespace

Launched launchedAs(bool withTorchrun) {
  // torchrun itself may have been started by srun, one task a machine.
  if (withTorchrun && std::getenv("TORCHELASTIC_RUN_ID"))
    if (const auto launched = launchedByTorchrun())
      return *launched;
  for (const Names &names : {kOpenMpi, kPmi, kPmix})
    if (const auto launched = launchedBy(names))
      return *launched;
  if (withTorchrun)
    if (const auto launched = launchedByTorchrun())
      return *launched;
  if (const auto tasks = number("SLURM_STEP_NUM_TASKS"); tasks && *tasks > 1)
    fail("srun started {} tasks without PMI, so that they cannot find each other: srun --mpi=pmix, or mpirun",
         *tasks);
  if (const auto size = number("WORLD_SIZE"); size && *size > 1)
    fail("WORLD_SIZE={}: ranks of a CPU program talk by MPI, which torchrun does not start: mpirun -np {} "
         "PROGRAM ...",
         *size, *size);
  return {};
}

int64_t rankForMessages() {
  for (const char *name : {kOpenMpi.rank, kPmi.rank, kPmix.rank, "SLURM_PROCID", "RANK"})
    if (const char *text = std::getenv(name))
      return std::strtoll(text, nullptr, 10);
  return 0;
}

void checkWorldSize(const World &world, const std::vector<int> &compiledFor) {
  if (std::find(compiledFor.begin(), compiledFor.end(), world.size) != compiledFor.end())
    return;
  throw AgreedError(fmt::format(
      "{} rank{} started this program, which was compiled for {}: --ranks must contain the world size; "
      "compile with --ranks {}, or start it by mpirun -np {}",
      world.size, world.size == 1 ? "" : "s", fmt::join(compiledFor, ", "), world.size,
      compiledFor.empty() ? 1 : compiledFor.front()));
}

} // namespace kedge::rt
