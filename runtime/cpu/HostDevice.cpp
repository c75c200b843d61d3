// The host as a device: the arena is the process's own memory, mapped once, and so is that of
// host memory; only launches that move bytes between them copy. Collectives of ranks, and copies to and from
// files, are started and run while others compute until their event is waited for. No allocation in run().
#include "kedge/abi/LinkedKernels.h"
#include "runtime/comm/CollectiveKernel.h"
#include "runtime/cpu/LinkedKernel.h"
#include "runtime/cpu/isa/Level.h"
#include "runtime/exec/Device.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/ThreadPool.h"
#include "runtime/io/Error.h"
#include "runtime/platform/Memory.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace kedge::rt {
using namespace calls;

namespace {

constexpr uint64_t kAlign = 64;
constexpr uint64_t kPage = 4096;

uint64_t alignUp(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// Zeroed and resident.
char *mapArena(uint64_t bytes, int threads) {
  char *begin = platform::mapMemory(bytes);
  if (!begin)
    fail("cannot allocate the arena of {} bytes ({:.2f} GiB): {}; compile with a smaller batch, or with "
         "--memory-budget: kedge "
         "plan --compare tells what each way to save memory costs",
         bytes, static_cast<double>(bytes) / (1 << 30), std::strerror(errno));
  // Touched by the threads that will work on it.
  const int64_t pages = static_cast<int64_t>((bytes + kPage - 1) / kPage);
  parallelFor(threads, pages, 1, [&](int64_t first, int64_t end) {
    const uint64_t offset = static_cast<uint64_t>(first) * kPage;
    std::memset(begin + offset, 0, std::min<uint64_t>(static_cast<uint64_t>(end) * kPage, bytes) - offset);
  });
  return begin;
}

bool isSet(const char *variable) {
  const char *value = std::getenv(variable);
  return value && std::strcmp(value, "1") == 0;
}

struct Range {
  const char *begin;
  uint64_t bytes;
  bool overlaps(const char *other, uint64_t count) const {
    return begin < other + count && other < begin + bytes;
  }
};

/// A launch with every pointer resolved.
struct Prepared {
  std::vector<Range> touched; ///< by a collective
  KedgeKernel kernel = nullptr;
  std::unique_ptr<LibraryKernel> library;
  std::vector<char *> args;
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  void *workspace = nullptr;
  std::unique_ptr<CollectiveRun> collective;
  std::optional<DiskCopy> disk;
  DiskCopies::Ticket ticket = 0; ///< of a copy's stream, once it was started
  TimeSpan span;                 ///< of the latest copy
  int64_t launched = 0;          ///< how often
  int64_t iterations = 1, grain = 1;
};

/// A collective under way beside what computes.
struct Pending {
  const Function *function;
  int launch;
  Prepared *entry;
  LaunchTimer *timer;
};

class HostDevice final : public Device {
public:
  HostDevice(const Program &program, const ProgramImage &image, int threads, Communicator *communicator)
      : threads(std::max(1, threads)), communicator(communicator), overlaps(!isSet("KEDGE_NO_OVERLAP")) {
    checkFeatures(program.features);
    const std::string level = cpu::takeLevel(program.features);
    baseBytes = std::max<uint64_t>(alignUp(program.arenaBytes), kAlign);
    base = mapArena(baseBytes, this->threads);
    hostBytes = alignUp(hostMemoryBytes(program));
    if (hostBytes != 0)
      host = mapArena(hostBytes, this->threads);
    if (program.hostArenaBytes != 0)
      hostArenaOf.emplace(program, host, communicator ? static_cast<int>(communicator->world().rank) : 0);
    for (const auto &[name, function] : program.functions)
      prepare(function, image, level);
    placeOversized();
    for (const auto &[name, function] : program.functions)
      bindCollectives(function);
    if (mostDiskCopies != 0) {
      copies.emplace(mostDiskCopies, diskStagingBytes(program));
      onTheirWay.reserve(mostDiskCopies);
    }
  }

  ~HostDevice() override {
    copies.reset();
    if (!pending.empty()) { // an error left them: their messages may still come, until the process ends
      new (std::nothrow) auto(std::move(functions));
      return;
    }
    functions.clear();
    platform::unmapMemory(base, baseBytes);
    if (host)
      platform::unmapMemory(host, hostBytes);
    if (extra)
      platform::unmapMemory(extra, extraBytes);
  }

  const char *read(uint64_t offset, uint64_t bytes) override {
    finishThoseAt(base + offset, bytes);
    return base + offset;
  }
  char *beginWrite(uint64_t offset, uint64_t bytes) override {
    finishThoseAt(base + offset, bytes);
    return base + offset;
  }
  void endWrite() override {}
  void fill(uint64_t offset, uint64_t bytes, unsigned char value) override {
    finishThoseAt(base + offset, bytes); // bytes may be dead for one stream and not yet for another
    std::memset(base + offset, value, bytes);
  }
  HostArena *hostArena() override {
    if (copies)
      copies->waitForAll();
    return hostArenaOf ? &*hostArenaOf : nullptr;
  }
  char *input(const Function &, const ArenaSlot &place) override { return base + place.offset; }
  char *scalar(const ScalarSlot &slot) override { return base + slot.offset; }
  void begin(const Function &) override {
    finishPending(pending.size());
    finishCopies();
    if (hostArenaOf)
      hostArenaOf->letGo();
  }
  int64_t timesLaunched(const Function &function, int launch) const override {
    return functions.find(&function)->second[static_cast<size_t>(launch)].launched;
  }
  uint64_t extraWorkspaceBytes() const override { return extraBytes; }

  void run(const Function &function, int first, int end, LaunchTimer *timer) override {
    std::vector<Prepared> &launches = functions.find(&function)->second;
    for (int i = first; i < end; ++i) {
      Prepared &entry = launches[static_cast<size_t>(i)];
      const Launch &source = function.launches[static_cast<size_t>(i)];
      for (int event : source.waits)
        finishUntil(function, event);
      ++entry.launched;
      if (entry.disk) {
        startCopy(function, i, entry, timer);
        continue;
      }
      if (copies)
        finishCopiesFor(function, source, entry);
      if (entry.collective && isBackground(function.launches[static_cast<size_t>(i)])) {
        entry.collective->start();
        pending.push_back({&function, i, &entry, timer});
        continue;
      }
      const int64_t begin = timer ? steadyNanoseconds() : 0;
      launch(entry);
      if (timer)
        timer->record(function, i, begin, steadyNanoseconds());
    }
    if (end == static_cast<int>(launches.size())) {
      finishPending(pending.size());
      finishCopies();
    }
  }

private:
  struct OnItsWay {
    const Function *function;
    int launch;
    const Prepared *entry;
    LaunchTimer *timer;
  };

  /// What it waits for of the other direction is waited for on the way, so that this thread computes on.
  void startCopy(const Function &function, int at, Prepared &entry, LaunchTimer *timer) {
    const Launch &source = function.launches[static_cast<size_t>(at)];
    DiskCopies::Ticket afterOthers = 0;
    for (int event : source.waits)
      if (const Copied earlier = copiedUntil(function, event); earlier.writes != entry.disk->writes)
        afterOthers = std::max(afterOthers, earlier.ticket);
    entry.ticket = copies->start(*entry.disk, afterOthers, entry.span);
    onTheirWay.push_back({&function, at, &entry, timer});
    if (!overlaps || source.stream == abi::kComputeStream)
      finishCopies();
  }

  /// Copies to and from files that a launch of any other kind needs to be done. A stream's own order is part
  /// of what its events say, so that of copies within memory has the ticket of the files' copies before it.
  void finishCopiesFor(const Function &function, const Launch &source, Prepared &entry) {
    for (int event : source.waits)
      if (const Copied earlier = copiedUntil(function, event); earlier.ticket != 0)
        copies->wait(earlier.writes, earlier.ticket);
    if (source.hostArg < 0)
      return;
    const bool writes = source.hostArg == 1;
    finishCopiesAt(entry.args[writes ? 0 : 1], source.outputs[0].bytes());
    entry.ticket = copies->latest(writes);
  }

  struct Copied {
    bool writes = false;
    DiskCopies::Ticket ticket = 0;
  };
  /// What the copies of a stream have done when one of them records `event`; no ticket when none of them
  /// does.
  Copied copiedUntil(const Function &function, int event) const {
    const int at = recorders.find(&function)->second[static_cast<size_t>(event)];
    const Launch &source = function.launches[static_cast<size_t>(at)];
    if (source.hostArg < 0)
      return {};
    return {source.hostArg == 1, functions.find(&function)->second[static_cast<size_t>(at)].ticket};
  }

  void finishCopiesAt(const char *bytes, uint64_t count) {
    for (const OnItsWay &one : onTheirWay)
      if (const DiskCopy &copy = *one.entry->disk; Range{copy.memory, copy.bytes}.overlaps(bytes, count))
        copies->wait(copy.writes, one.entry->ticket);
  }

  void finishCopies() {
    if (!copies)
      return;
    copies->waitForAll();
    for (const OnItsWay &one : onTheirWay)
      if (one.timer)
        one.timer->record(*one.function, one.launch, one.entry->span.begin, one.entry->span.end);
    onTheirWay.clear();
  }

  void bindCopy(Prepared &entry, const Launch &source) {
    const bool writes = source.hostArg == 1;
    const uint64_t offset = source.args[writes ? 1 : 0];
    char *&there = entry.args[writes ? 1 : 0];
    there = nullptr;
    if (hostArenaOf->isOnDisk(offset))
      entry.disk = hostArenaOf->copyOf(offset, entry.args[writes ? 0 : 1], source.outputs[0].bytes(), writes);
    else
      there = hostArenaOf->at(offset);
  }

  void noteRecorders(const Function &function) {
    std::vector<int> &list = recorders[&function];
    size_t copied = 0;
    for (size_t i = 0; i < function.launches.size(); ++i) {
      if (const int event = function.launches[i].records; event >= 0) {
        list.resize(std::max(list.size(), static_cast<size_t>(event) + 1), -1);
        list[static_cast<size_t>(event)] = static_cast<int>(i);
      }
      copied += functions[&function][i].disk.has_value();
    }
    mostDiskCopies = std::max(mostDiskCopies, copied);
  }

  void prepare(const Function &function, const ProgramImage &image, const std::string &level) {
    std::vector<Prepared> &ready = functions[&function];
    ready.resize(function.launches.size());
    for (size_t i = 0; i < ready.size(); ++i) {
      const Launch &source = function.launches[i];
      Prepared &entry = ready[i];
      entry.iterations = source.iterations;
      entry.grain = source.grain;
      for (uint64_t offset : source.args)
        entry.args.push_back(base + offset);
      if (source.hostArg >= 0)
        bindCopy(entry, source);
      entry.inputs.assign(entry.args.begin(), entry.args.begin() + static_cast<ptrdiff_t>(source.reads));
      entry.outputs.assign(entry.args.begin() + static_cast<ptrdiff_t>(source.reads), entry.args.end());
      if (source.library.empty())
        entry.kernel = kernelOf(level.empty() ? source.kernel : source.kernel + "." + level, image);
      else
        bindLibrary(entry, source, image);
    }
    noteRecorders(function);
  }

  static KedgeKernel kernelOf(const std::string &name, const ProgramImage &image) {
    const KedgeKernel kernel = image.kernel ? image.kernel(name) : nullptr;
    if (!kernel)
      fail("the program is damaged: it has no kernel '{}'", name);
    return kernel;
  }

  void bindLibrary(Prepared &entry, const Launch &source, const ProgramImage &image) {
    const LibraryCall call{source.library, source.attrs, source.inputs, source.outputs};
    // A function that is linked with the program, in the table as any other: C may cast it, and back (by way
    // of a function of no form, which compilers take for meant).
    if (source.isLinked) {
      const KedgeKernel linked = kernelOf(abi::linkedKernelName(source.library), image);
      auto function = reinterpret_cast<kedge_kernel>(reinterpret_cast<void (*)()>(linked));
      entry.library = cpu::makeLinkedKernel(call, function, source.iterations, threads);
    } else {
      entry.library = makeKernel(call, threads);
    }
    entry.workspace = base + source.workspaceOffset;
    if (entry.library->workspaceBytes() <= source.workspaceBytes)
      return;
    oversized.push_back(&entry);
    extraBytes = std::max(extraBytes, alignUp(entry.library->workspaceBytes()));
  }

  bool isBackground(const Launch &launch) const { return overlaps && isOfRanks(launch.stream); }

  /// Behind placeOversized: workspaces have their places then.
  void bindCollectives(const Function &function) {
    std::vector<Prepared> &ready = functions[&function];
    size_t most = 0;
    for (size_t i = 0; i < ready.size(); ++i) {
      const auto *kernel = dynamic_cast<const CollectiveKernel *>(ready[i].library.get());
      if (!kernel)
        continue;
      const Launch &source = function.launches[i];
      if (!communicator)
        fail("the program is damaged: {} at {} needs ranks, and this process is alone", source.library,
             source.loc);
      Prepared &entry = ready[i];
      const bool background = isBackground(source);
      entry.collective =
          kernel->bind(*communicator, entry.inputs.data(), entry.outputs.data(), entry.workspace, background,
                       source.loc.empty() ? "@" + function.name : source.loc + " in @" + function.name);
      for (size_t k = 0; k < source.inputs.size(); ++k)
        entry.touched.push_back({entry.args[k], source.inputs[k].bytes()});
      for (size_t k = 0; k < source.outputs.size(); ++k)
        entry.touched.push_back({entry.args[source.reads + k], source.outputs[k].bytes()});
      entry.touched.push_back({static_cast<const char *>(entry.workspace), source.workspaceBytes});
      most += background;
    }
    pending.reserve(std::max(pending.capacity(), most));
  }

  /// The first `count` collectives that are under way.
  void finishPending(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const Pending &one = pending[i];
      const TimeSpan span = one.entry->collective->wait();
      if (one.timer)
        one.timer->record(*one.function, one.launch, span.begin, span.end);
    }
    pending.erase(pending.begin(), pending.begin() + static_cast<ptrdiff_t>(count));
  }

  /// Those up to the one that records `event`; they end in order. None when that is no collective, or has
  /// ended.
  void finishUntil(const Function &function, int event) {
    for (size_t i = pending.size(); i-- > 0;)
      if (pending[i].function == &function &&
          function.launches[static_cast<size_t>(pending[i].launch)].records == event)
        return finishPending(i + 1);
  }

  void finishThoseAt(const char *bytes, uint64_t count) {
    finishCollectivesAt(bytes, count);
    finishCopiesAt(bytes, count);
  }

  void finishCollectivesAt(const char *bytes, uint64_t count) {
    for (size_t i = pending.size(); i-- > 0;)
      for (const Range &range : pending[i].entry->touched)
        if (range.overlaps(bytes, count))
          return finishPending(i + 1);
  }

  void placeOversized() {
    if (extraBytes != 0)
      extra = mapArena(extraBytes, threads);
    for (Prepared *entry : oversized)
      entry->workspace = extra;
  }

  void launch(const Prepared &entry) {
    if (entry.collective) {
      entry.collective->start();
      entry.collective->wait();
      return;
    }
    if (entry.library) {
      entry.library->run(entry.inputs.data(), entry.outputs.data(), entry.workspace);
      return;
    }
    char *const *args = entry.args.data();
    const KedgeKernel kernel = entry.kernel;
    const int64_t iterations = entry.iterations, grain = entry.grain;
    const int64_t blocks = (iterations + grain - 1) / grain;
    parallelFor(threads, blocks, 1, [&](int64_t begin, int64_t end) {
      kernel(args, begin * grain, std::min(iterations, end * grain));
    });
  }

  int threads;
  Communicator *communicator;
  bool overlaps;                ///< KEDGE_NO_OVERLAP=1: collectives run where they stand, for comparison
  std::vector<Pending> pending; ///< in the order of their starts
  char *base = nullptr, *host = nullptr, *extra = nullptr;
  uint64_t baseBytes = 0, hostBytes = 0, extraBytes = 0;
  std::optional<HostArena> hostArenaOf;
  std::optional<DiskCopies> copies; ///< when the program keeps states in files
  std::vector<OnItsWay> onTheirWay; ///< copies to and from files of this run of a function
  size_t mostDiskCopies = 0;        ///< of one run
  std::map<const Function *, std::vector<int>> recorders; ///< of each event, the launch
  std::map<const Function *, std::vector<Prepared>> functions;
  std::vector<Prepared *> oversized;
};

} // namespace

std::unique_ptr<Device> makeHostDevice(const Program &program, const ProgramImage &image, int threads,
                                       Communicator *communicator) {
  return std::make_unique<HostDevice>(program, image, threads, communicator);
}

} // namespace kedge::rt
