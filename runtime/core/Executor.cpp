#include "runtime/core/Executor.h"
#include "runtime/core/Error.h"
#include "runtime/core/ExecutorInternal.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <omp.h>
#include <sys/mman.h>

namespace kedge::rt {
namespace {

constexpr uint64_t kAlign = 64;
constexpr uint64_t kPage = 4096;

uint64_t alignUp(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

constexpr uint64_t kHugePage = uint64_t(1) << 21;

/// Zeroed and resident; on huge pages where there are any, which saves address translation in large models.
char *mapArena(uint64_t bytes, int threads) {
  const uint64_t slack = bytes >= 2 * kHugePage ? kHugePage : 0;
  void *mapped = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    fail("cannot allocate the arena of {} bytes: {}; compile with a smaller batch or a memory budget", bytes,
         std::strerror(errno));
  char *begin = static_cast<char *>(mapped);
  if (slack != 0) {
    const uint64_t skip = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
    if (skip != 0)
      munmap(begin, skip);
    begin += skip;
    const uint64_t used = (bytes + kPage - 1) / kPage * kPage;
    if (skip + used < bytes + slack)
      munmap(begin + used, bytes + slack - skip - used);
    madvise(begin, bytes, MADV_HUGEPAGE);
  }
  // Touched by the threads that will work on it.
  const int64_t pages = static_cast<int64_t>((bytes + kPage - 1) / kPage);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t page = 0; page < pages; ++page)
    std::memset(begin + static_cast<uint64_t>(page) * kPage, 0,
                std::min<uint64_t>(kPage, bytes - static_cast<uint64_t>(page) * kPage));
  return begin;
}

int64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void checkRange(const Program &program, uint64_t offset, uint64_t bytes, const std::string &what) {
  if (offset > program.arenaBytes || bytes > program.arenaBytes - offset)
    fail("the program is damaged: {} at {}+{} lies outside its arena of {} bytes", what, offset, bytes,
         program.arenaBytes);
}

void checkRanges(const Program &program) {
  for (const State &state : program.states)
    checkRange(program, state.offset, state.desc.bytes(), "state '" + state.name + "'");
  for (const ScalarSlot &slot : program.scalars)
    checkRange(program, slot.offset, dtypeSize(slot.type), "scalar '" + slot.name + "'");
  for (const ResultSlot &slot : program.results)
    checkRange(program, slot.offset, slot.desc.bytes(), "result '" + slot.name + "'");
  for (const auto &[name, function] : program.functions) {
    for (const BufferLife &buffer : function.buffers)
      checkRange(program, buffer.offset, buffer.bytes, "buffer '" + buffer.name + "' of @" + name);
    for (const Launch &launch : function.launches)
      for (uint64_t offset : launch.args)
        checkRange(program, offset, 0, "an operand at " + launch.loc);
  }
}

} // namespace

Executor::Executor(const Program &program, const ProgramImage &image, int threads)
    : prog(program), threadCount(std::max(1, threads)) {
  checkFeatures(program.features);
  checkRanges(program);
  omp_set_num_threads(threadCount);
  omp_set_dynamic(0);
  base = mapArena(std::max<uint64_t>(alignUp(program.arenaBytes), kAlign), threadCount);
  prepare(image);
}

Executor::~Executor() {
  functions.clear();
  munmap(base, std::max<uint64_t>(alignUp(prog.arenaBytes), kAlign));
  if (extra)
    munmap(extra, extraBytes);
}

void Executor::prepare(const ProgramImage &image) {
  std::vector<Prepared *> oversized;
  for (const auto &[name, function] : prog.functions) {
    auto ready = std::make_unique<PreparedFunction>();
    ready->function = &function;
    ready->launches.resize(function.launches.size());
    for (size_t i = 0; i < function.launches.size(); ++i) {
      const Launch &source = function.launches[i];
      Prepared &entry = ready->launches[i];
      entry.iterations = source.iterations;
      entry.grain = source.grain;
      for (uint64_t offset : source.args)
        entry.args.push_back(base + offset);
      if (source.reads > entry.args.size())
        fail("the program is damaged: launch {} of @{} reads {} of {} operands", i, name, source.reads,
             entry.args.size());
      entry.inputs.assign(entry.args.begin(), entry.args.begin() + static_cast<ptrdiff_t>(source.reads));
      entry.outputs.assign(entry.args.begin() + static_cast<ptrdiff_t>(source.reads), entry.args.end());
      if (!source.kernel.empty()) {
        entry.kernel = image.kernel ? image.kernel(source.kernel) : nullptr;
        if (!entry.kernel)
          fail("the program is damaged: it has no kernel '{}'", source.kernel);
        continue;
      }
      entry.library = makeKernel({source.library, source.attrs, source.inputs, source.outputs}, threadCount);
      entry.workspace = base + source.workspaceOffset;
      if (entry.library->workspaceBytes() > source.workspaceBytes) {
        oversized.push_back(&entry);
        extraBytes = std::max(extraBytes, alignUp(entry.library->workspaceBytes()));
      }
    }
    functions.emplace(name, std::move(ready));
  }
  if (extraBytes != 0)
    extra = mapArena(extraBytes, threadCount);
  for (Prepared *entry : oversized)
    entry->workspace = extra;
}

void Executor::launch(const Prepared &entry) {
  if (entry.library) {
    entry.library->run(entry.inputs.data(), entry.outputs.data(), entry.workspace);
    return;
  }
  char *const *args = entry.args.data();
  const KedgeKernel kernel = entry.kernel;
  const int64_t iterations = entry.iterations, grain = entry.grain;
  const int64_t blocks = (iterations + grain - 1) / grain;
  if (blocks <= 1 || threadCount == 1) {
    kernel(args, 0, iterations);
    return;
  }
  // Always the whole team: libgomp ends the threads that a smaller team has no use for.
#pragma omp parallel num_threads(threadCount)
  {
    const int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    const int64_t begin = blocks * thread / team * grain;
    const int64_t end = std::min(iterations, blocks * (thread + 1) / team * grain);
    if (begin < end)
      kernel(args, begin, end);
  }
}

Executor::PreparedFunction &Executor::prepared(const std::string &function) {
  auto found = functions.find(function);
  if (found == functions.end())
    fail("the program '{}' has no function @{}", prog.name, function);
  return *found->second;
}

bool Executor::run(const std::string &name, LaunchObserver *observer) {
  PreparedFunction &ready = prepared(name);
  const Function &function = *ready.function;
  if (poisoning)
    poison(ready, -1);
  if (observer && !observer->afterLaunch(function, -1))
    return false;
  for (size_t i = 0; i < ready.launches.size(); ++i) {
    const int64_t begin = clock ? nanoseconds() : 0;
    launch(ready.launches[i]);
    if (clock)
      clock->record(function, static_cast<int>(i), begin, nanoseconds());
    if (observer && !observer->afterLaunch(function, static_cast<int>(i)))
      return false;
    if (poisoning)
      poison(ready, static_cast<int>(i));
  }
  return true;
}

char *Executor::input(const std::string &function, const std::string &name) const {
  if (const Function *found = prog.function(function))
    for (const Place &place : found->inputs)
      if (place.name == name)
        return base + place.offset;
  fail("@{} has no input '{}'", function, name);
}

char *Executor::output(const std::string &function, const std::string &name) const {
  if (const Function *found = prog.function(function))
    for (const Place &place : found->outputs)
      if (place.name == name)
        return base + place.offset;
  fail("@{} has no output '{}'", function, name);
}

} // namespace kedge::rt
