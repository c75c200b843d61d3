#include "runtime/exec/Executor.h"
#include "runtime/comm/CollectiveKernel.h"
#include "runtime/io/Error.h"
#include "runtime/platform/Process.h"
#include <algorithm>
#include <set>

namespace kedge::rt {
namespace {

void checkRange(const Program &program, uint64_t offset, uint64_t bytes, const std::string &what,
                Space space = Space::Device) {
  const bool host = space == Space::Host;
  const uint64_t size = host ? program.hostArenaBytes : program.arenaBytes;
  if (offset > size || bytes > size - offset)
    fail("the program is damaged: {} at {}+{} is outside its {} of {} bytes", what, offset, bytes,
         host ? "host arena" : "arena", size);
}

/// A copy moves between the arenas; every other launch works on the arena alone.
void checkSpaces(const Launch &launch) {
  const bool isCopy = launch.library == "copy",
             hasBoth = launch.args.size() == 2 && launch.outputs.size() == 1;
  if (isCopy ? !hasBoth || launch.hostArg < 0 || launch.hostArg > 1 : launch.hostArg != -1)
    fail("the program is damaged: a launch at {} has host operand {} of {}, expected one of two of a copy, "
         "and none of "
         "any other launch",
         launch.loc, launch.hostArg, launch.args.size());
}

void checkLaunch(const Program &program, const std::string &function, size_t at, const Launch &launch) {
  if (launch.reads > launch.args.size())
    fail("the program is damaged: launch {} of @{} reads {} of {} operands", at, function, launch.reads,
         launch.args.size());
  checkSpaces(launch);
  for (size_t i = 0; i < launch.args.size(); ++i)
    checkRange(program, launch.args[i], launch.hostArg < 0 ? 0 : launch.outputs[0].bytes(),
               "an operand at " + launch.loc,
               static_cast<int>(i) == launch.hostArg ? Space::Host : Space::Device);
  checkRange(program, launch.workspaceOffset, launch.workspaceBytes, "the workspace at " + launch.loc);
}

/// Copies leave the stream that computes for those of copies, collectives for that of ranks, transfers of a
/// pipeline for their own. Libraries have workspaces that are no part of the plan, so their calls do not go
/// beside others.
bool mayRunOn(const Launch &launch) {
  if (launch.stream == abi::kSideStream)
    return launch.onGpu && launch.library.empty() && launch.hostArg < 0;
  if (launch.stream == kTransferStream)
    return isPeerTransfer(launch.library);
  if (launch.stream == kRankStream)
    return launch.library.starts_with("dist.");
  return launch.stream == abi::kComputeStream ||
         (launch.stream > abi::kComputeStream && launch.stream < kRankStream && launch.hostArg >= 0);
}

/// Events are waited for behind the launch that records them.
void checkStreams(const Function &function) {
  std::set<int> recorded;
  for (const Launch &launch : function.launches) {
    if (!mayRunOn(launch))
      fail("the program is damaged: a launch at {} of @{} is on stream {}, expected 0, below {} of a copy, "
           "{} of a collective, {} of a send or receive, {} of a GPU's kernel",
           launch.loc, function.name, launch.stream, kRankStream, kRankStream, kTransferStream,
           static_cast<int>(abi::kSideStream));
    for (int event : launch.waits)
      if (!recorded.count(event))
        fail("the program is damaged: a launch at {} of @{} waits for event {}, which no earlier launch "
             "records",
             launch.loc, function.name, event);
    if (launch.records >= 0 && !recorded.insert(launch.records).second)
      fail("the program is damaged: two launches of @{} record event {}", function.name, launch.records);
  }
}

void checkRanges(const Program &program) {
  if (diskBytes(program) > program.hostPersistentBytes)
    fail("the program is damaged: files hold {} bytes of its host arena, which keeps {}", diskBytes(program),
         program.hostPersistentBytes);
  for (const State &state : program.states)
    checkRange(program, state.offset, state.desc.bytes(), "state '" + state.name + "'", state.space);
  for (const ScalarSlot &slot : program.scalars)
    checkRange(program, slot.offset, dtypeSize(slot.type), "scalar '" + slot.name + "'");
  for (const ResultSlot &slot : program.results)
    checkRange(program, slot.offset, slot.desc.bytes(), "result '" + slot.name + "'");
  for (const auto &[name, function] : program.functions) {
    for (const BufferLife &buffer : function.buffers)
      checkRange(program, buffer.offset, buffer.bytes, "buffer '" + buffer.name + "' of @" + name,
                 buffer.space);
    for (const GradientSlot &place : function.gradients)
      checkRange(program, place.offset, dtypeSize(place.type), "the gradient of '" + place.parameter + "'",
                 place.space);
    for (size_t at = 0; at < function.launches.size(); ++at)
      checkLaunch(program, name, at, function.launches[at]);
    checkStreams(function);
  }
}

const ArenaSlot *placeNamed(const std::vector<ArenaSlot> &places, const std::string &name) {
  for (const ArenaSlot &place : places)
    if (place.name == name)
      return &place;
  return nullptr;
}

std::unique_ptr<Device> makeDevice(const Program &program, const ProgramImage &image, int threads,
                                   Communicator *communicator) {
  checkRanges(program);
  if (image.device)
    return image.device(program, image, threads, communicator);
  if (program.target.kind != "cpu")
    fail("the program '{}' was compiled for {}, and this runtime has no such device: link it with the "
         "runtime of that "
         "target",
         program.name, program.target.kind);
  return makeHostDevice(program, image, threads, communicator);
}

} // namespace

Executor::Executor(const Program &program, const ProgramImage &image, int threads, Communicator *communicator)
    : prog(program), threadCount(std::max(1, threads)), ranks(communicator),
      target(makeDevice(program, image, threadCount, communicator)) {
  if (program.hostArenaBytes != 0 && !target->hostArena())
    fail("the program '{}' keeps {} bytes in host memory, which its device '{}' cannot yet: compile it "
         "without --offload",
         program.name, program.hostArenaBytes, program.target.kind);
}

Executor::~Executor() = default;

const Function &Executor::functionNamed(const std::string &name) const {
  const Function *found = prog.function(name);
  if (!found)
    fail("the program '{}' has no function @{}", prog.name, name);
  return *found;
}

bool Executor::run(const std::string &name, LaunchObserver *observer) {
  const Function &function = functionNamed(name);
  const int count = static_cast<int>(function.launches.size());
  const auto watched = [&](int launch) { return observer && observer->watches(function, launch); };
  const auto skipped = [&](int launch) { return observer && observer->skips(function, launch); };
  target->begin(function);
  if (poisoning)
    poison(function, -1);
  if (watched(-1) && !observer->afterLaunch(function, -1))
    return false;
  for (int first = 0, end = 0; first < count; first = end) {
    bool stop = false;
    const bool leftOut = skipped(first);
    if (&function == stopped && first == stopLaunch)
      platform::stopProcess();
    for (end = first; end < count && !stop && skipped(end) == leftOut; ++end)
      stop = poisoning || watched(end) || (&function == stopped && end + 1 == stopLaunch);
    if (!leftOut)
      target->run(function, first, end, clock);
    if (watched(end - 1) && !observer->afterLaunch(function, end - 1))
      return false;
    if (poisoning)
      poison(function, end - 1);
  }
  return true;
}

char *Executor::input(const std::string &function, const std::string &name) const {
  if (const Function *found = prog.function(function))
    if (const ArenaSlot *place = placeNamed(found->inputs, name))
      return target->input(*found, *place);
  fail("@{} has no input '{}'", function, name);
}

const char *Executor::output(const std::string &function, const std::string &name) const {
  if (const Function *found = prog.function(function))
    if (const ArenaSlot *place = placeNamed(found->outputs, name))
      return target->read(place->offset, place->desc.bytes());
  fail("@{} has no output '{}'", function, name);
}

} // namespace kedge::rt
