#include "runtime/comm/RollCall.h"
#include "runtime/comm/Communicator.h"
#include "runtime/io/Say.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kedge::rt {

/// Of a rank, all zero before it begins.
struct alignas(64) RollCall::Line {
  std::atomic<int64_t> process, heard, left;
  std::atomic<uint64_t> processNamespace;
};

namespace {

constexpr std::chrono::milliseconds kBeat{100};
/// MPI's own words, and those of a rank that tells why it ends, come first.
constexpr int64_t kGrace = 1'000'000'000;
constexpr std::chrono::seconds kSpeaking{2};

std::string variable(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

/// The same for all ranks of a job, and for no other job.
std::string jobName() {
  std::string name = variable("PMIX_NAMESPACE");
  if (name.empty())
    name = variable("OMPI_MCA_ess_base_jobid");
  if (name.empty() && !variable("SLURM_JOB_ID").empty())
    name = variable("SLURM_JOB_ID") + "." + variable("SLURM_STEP_ID");
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

std::string placeOfFile() {
  const std::string job = jobName();
  if (job.empty())
    return "";
  std::string folder = variable("PMIX_SERVER_TMPDIR"); // the launcher removes it
  if (folder.empty() || access(folder.c_str(), W_OK) != 0)
    folder = "/dev/shm";
  return fmt::format("{}/kedge-ranks-{}-{}", folder, getuid(), job);
}

uint64_t ownNamespace() {
  struct stat status{};
  return stat("/proc/self/ns/pid", &status) == 0 ? static_cast<uint64_t>(status.st_ino) : 0;
}

} // namespace

std::unique_ptr<RollCall> RollCall::begin() {
  const World world = launchedAs(/*withTorchrun=*/true).world;
  const std::string file = placeOfFile();
  if (world.size == 1 || file.empty())
    return nullptr;
  std::unique_ptr<RollCall> roll(new RollCall(file, world.rank, world.size));
  return roll->lines ? std::move(roll) : nullptr;
}

RollCall::RollCall(const std::string &file, int64_t rank, int64_t size)
    : file(file), own(rank), size(size), processNamespace(ownNamespace()) {
  const size_t bytes = static_cast<size_t>(size) * sizeof(Line);
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return;
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) == 0)
    if (void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        mapped != MAP_FAILED)
      lines = static_cast<Line *>(mapped);
  close(descriptor);
  if (!lines)
    return;
  Line &line = lines[own];
  line.processNamespace = processNamespace;
  line.heard = steadyNanoseconds();
  line.left = 0;
  line.process = getpid();
  sigset_t all, before; // signals are the main thread's
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

RollCall::~RollCall() {
  {
    const std::lock_guard lock(mutex);
    ending = true;
  }
  wake.notify_one();
  if (thread.joinable())
    thread.join();
  if (lines)
    munmap(lines, static_cast<size_t>(size) * sizeof(Line));
}

void RollCall::watch(const Launched &launched, double timeoutSeconds, const char *where) {
  const std::lock_guard lock(mutex);
  waitingIn = where;
  waitingSince = steadyNanoseconds();
  timeout = static_cast<int64_t>(timeoutSeconds * 1e9);
  allHere = launched.localSize == size;
  foundAt = 0;
}

void RollCall::rest() {
  const std::lock_guard lock(mutex);
  waitingIn = nullptr;
}

void RollCall::leave() {
  rest();
  lines[own].left = 1;
  if (own == 0)
    unlink(file.c_str()); // who has it open keeps it
}

void RollCall::run() {
  for (std::unique_lock lock(mutex); !ending;) {
    const int64_t now = steadyNanoseconds();
    lines[own].heard = now;
    if (waitingIn)
      judge(now);
    wake.wait_for(lock, kBeat, [this] { return ending; });
  }
}

bool RollCall::isGone(const Line &line) const {
  return line.processNamespace == processNamespace && line.left == 0 &&
         kill(static_cast<pid_t>(line.process), 0) != 0 && errno == ESRCH;
}

/// What is wrong with a rank of this machine; empty: nothing.
std::string RollCall::foundOf(int64_t rank, int64_t now) const {
  const Line &line = lines[rank];
  const double seconds = static_cast<double>(timeout) / 1e9;
  if (line.process == 0)
    return allHere && now - waitingSince > timeout
               ? fmt::format("rank {} has not begun within {} s (--comm-timeout)", rank, seconds)
               : "";
  if (isGone(line))
    return fmt::format("rank {} is gone: its process {} has ended", rank, line.process.load());
  const bool silent = line.left == 0 && now - line.heard > timeout;
  return silent ? fmt::format(
                      "rank {} has not been heard of for {} s (--comm-timeout): its process {} is stopped",
                      rank, seconds, line.process.load())
                : "";
}

void RollCall::judge(int64_t now) {
  std::string found;
  for (int64_t rank = 0; rank < size && found.empty(); ++rank)
    if (rank != own)
      found = foundOf(rank, now);
  if (found.empty() && !allHere && now - waitingSince > timeout)
    found = fmt::format("the ranks of other machines did not come within {} s (--comm-timeout)",
                        static_cast<double>(timeout) / 1e9);
  if (found.empty())
    foundAt = 0;
  else if (foundAt == 0)
    foundAt = now;
  else if (now - foundAt > kGrace)
    end(found);
}

/// The first one that lives speaks.
void RollCall::end(const std::string &found) const {
  bool speaks = true;
  for (int64_t rank = 0; rank < own; ++rank)
    speaks &= lines[rank].process == 0 || lines[rank].left != 0 || isGone(lines[rank]) ||
              steadyNanoseconds() - lines[rank].heard > std::max<int64_t>(kGrace, timeout / 2);
  if (!speaks)
    std::this_thread::sleep_for(kSpeaking);
  else
    say(fmt::format("kedge: error: {}; rank {} was in {}", found, own, waitingIn));
  _exit(1);
}

} // namespace kedge::rt
