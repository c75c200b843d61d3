#include "test/support/PtxBlock.h"
#include "lib/Support/Error.h"
#include "test/support/GpuMatrices.h"
#include <algorithm>
#include <numeric>

namespace kedge::test {
namespace {

using Kind = PtxInstruction::Kind;
constexpr size_t kLanes = 32;
constexpr int64_t kMostInstructions = 4'000'000'000;

uint64_t lowBytes(uint64_t value, int64_t bytes) {
  return bytes >= 8 ? value : value & ((uint64_t(1) << (8 * bytes)) - 1);
}

} // namespace

PtxBlock::PtxBlock(PtxInterpreter &interpreter, const PtxLaunch &launch, const PtxKernel &kernel)
    : interpreter(interpreter), launch(launch), kernel(kernel) {
  const size_t count = launch.block[0] * launch.block[1] * launch.block[2];
  threads.resize(count);
  order.resize(count);
  std::iota(order.begin(), order.end(), 0);
}

/// Shared memory and what lies in registers are new for each block.
void PtxBlock::begin(const std::array<int64_t, 3> &place) {
  std::vector<uint64_t> first = kernel.registers;
  for (size_t at = 0; at < launch.arguments.size(); ++at)
    first[kernel.parameters[at]] = reinterpret_cast<uint64_t>(launch.arguments[at]);
  const auto set = [&](uint64_t *to, const std::string &name, const std::array<int64_t, 3> &values) {
    for (int dim = 0; dim < 3; ++dim)
      if (const auto found = kernel.byName.find(name + "." + "xyz"[dim]); found != kernel.byName.end())
        to[found->second] = values[dim];
  };
  set(first.data(), "%ctaid", place);
  set(first.data(), "%ntid", launch.block);
  set(first.data(), "%nctaid", launch.grid);
  registers.resize(first.size() * threads.size());
  for (size_t number = 0; number < threads.size(); ++number) {
    uint64_t *to = registers.data() + number * first.size();
    std::copy(first.begin(), first.end(), to);
    const auto at = static_cast<int64_t>(number);
    const auto &[x, y, z] = launch.block;
    set(to, "%tid", {at % x, at / x % y, at / x / y});
    if (const auto lane = kernel.byName.find("%laneid"); lane != kernel.byName.end())
      to[lane->second] = number % kLanes;
    threads[number] = Thread();
    if (kernel.hasArrivals)
      threads[number].changed.assign(first.size(), 0);
    threads[number].registers = to;
  }
  shared.assign(kernel.sharedBytes, char(0xff));
  shadow = PtxShadow(kernel.sharedBytes);
  arrivals = PtxArrivals(kernel.hasArrivals ? threads.size() / kLanes : 0, kernel.sharedBytes);
  boxes.clear();
  std::shuffle(order.begin(), order.end(), interpreter.random);
}

void PtxBlock::run(const std::array<int64_t, 3> &place, PtxMoment &moment) {
  now = &moment;
  now->blockBegin = ++now->epoch;
  begin(place);
  const auto isDone = [](const Thread &thread) { return thread.state == State::Done; };
  // An arrival may have woken those whose turn was before.
  const auto isReady = [](const Thread &thread) { return thread.state == State::Ready; };
  do {
    for (size_t number : order)
      if (threads[number].state == State::Ready)
        go(number);
    std::rotate(order.begin(), order.begin() + interpreter.random() % order.size(), order.end());
    if (std::all_of(threads.begin(), threads.end(), isDone))
      return checkEnd();
  } while (meetInWarps() || meetInGroups() || meetInBlock() ||
           std::any_of(threads.begin(), threads.end(), isReady) || land());
  interpreter.report(kernel.name + ": threads of a block wait for each other in different places");
}

void PtxBlock::report(const PtxInstruction &instruction, const std::string &what) {
  interpreter.report(kernel.name + ": " + what + ": " + instruction.text);
}

/// Until the thread waits or is done.
void PtxBlock::go(size_t number) {
  Thread &thread = threads[number];
  now->thread = static_cast<uint16_t>(number);
  while (thread.state == State::Ready) {
    if (++interpreter.executed > kMostInstructions)
      fail("PTX kernel {} does not end", kernel.name);
    const PtxInstruction &instruction = kernel.code[thread.at++];
    const bool skipped =
        instruction.predicate >= 0 && (thread.registers[instruction.predicate] & 1) == instruction.whenFalse;
    if (skipped)
      continue;
    if (kernel.hasArrivals)
      checkRegisters(thread, instruction);
    if (instruction.kind == Kind::Compute) {
      uint64_t values[3] = {};
      for (size_t at = 0; at < instruction.operands.size(); ++at)
        values[at] = thread.registers[instruction.operands[at]];
      thread.registers[instruction.results[0]] = instruction.compute(values[0], values[1], values[2]);
    } else if (!step(thread, instruction)) {
      --thread.at; // who it meets looks at it
    }
  }
}

/// False where the thread waits for others.
bool PtxBlock::step(Thread &thread, const PtxInstruction &instruction) {
  switch (instruction.kind) {
  case Kind::Pack: {
    uint64_t packed = 0;
    for (size_t at = 0; at < instruction.operands.size(); ++at)
      packed |= lowBytes(thread.registers[instruction.operands[at]], instruction.bytes)
                << (8 * instruction.bytes * at);
    thread.registers[instruction.results[0]] = packed;
    return true;
  }
  case Kind::Unpack: {
    const uint64_t packed = thread.registers[instruction.operands[0]];
    for (size_t at = 0; at < instruction.results.size(); ++at)
      thread.registers[instruction.results[at]] =
          lowBytes(packed >> (8 * instruction.bytes * at), instruction.bytes);
    return true;
  }
  case Kind::Load:
    return load(thread, instruction), true;
  case Kind::Store:
    return store(thread, instruction), true;
  case Kind::Jump:
    return thread.at = instruction.targets[0], true;
  case Kind::JumpByTable:
    return thread.at =
               instruction.targets.at(static_cast<uint32_t>(thread.registers[instruction.operands[0]])),
           true;
  case Kind::Copy:
    return copy(thread, instruction), true;
  case Kind::Commit:
    thread.groups.push_back(std::move(thread.open));
    return thread.open.clear(), true;
  case Kind::Wait:
    ++instruction.times;
    return waitFor(thread, thread.registers[instruction.operands[0]]), true;
  case Kind::Trap:
    report(instruction, "ends by a trap");
    return end(thread), true;
  case Kind::Return:
    return end(thread), true;
  case Kind::Barrier:
    ++instruction.times;
    return thread.state = State::Barrier, false;
  case Kind::Shuffle:
  case Kind::Multiply:
  case Kind::LoadMatrix:
    return thread.state = State::Warp, false;
  case Kind::Compute:
  case Kind::Nothing:
    return true;
  default:
    return hopper(thread, instruction);
  }
}

char *PtxBlock::global(uint64_t address, int64_t bytes, bool writes, const PtxInstruction &instruction) {
  for (PtxInterpreter::Region &region : interpreter.regions) {
    const int64_t at = static_cast<int64_t>(address - reinterpret_cast<uint64_t>(region.bytes.data()));
    if (at < 0 || at + bytes > static_cast<int64_t>(region.bytes.size()))
      continue;
    noteGlobal(region, at, bytes, writes, instruction);
    return region.bytes.data() + at;
  }
  if (!writes && interpreter.program.isInTable(address, bytes))
    return reinterpret_cast<char *>(address);
  report(instruction, "an address outside of operands");
  return nullptr;
}

void PtxBlock::noteGlobal(PtxInterpreter::Region &region, int64_t at, int64_t bytes, bool writes,
                          const PtxInstruction &instruction) {
  const auto wrong = writes ? region.shadow.write(at, bytes, *now) : region.shadow.read(at, bytes, *now);
  if (!wrong)
    return;
  // Several writers, and copies, are always wrong.
  if (region.isInPlace && instruction.kind != Kind::Copy && wrong != PtxShadow::kTwoWriters)
    interpreter.readsReplaced = true;
  else
    report(instruction, wrong);
}

void PtxBlock::estrange(uint64_t address, const PtxInstruction &instruction, uint64_t &value) {
  for (PtxInterpreter::Region &region : interpreter.regions) {
    const int64_t at = static_cast<int64_t>(address - reinterpret_cast<uint64_t>(region.bytes.data()));
    if (!region.isInPlace || at < 0 || at + instruction.bytes > region.replaced.size())
      continue;
    for (int64_t byte = 0; byte < instruction.bytes; ++byte)
      if (region.replaced.isAnothers(at + byte, *now))
        reinterpret_cast<char *>(&value)[byte] = *interpreter.stranger;
  }
}

char *PtxBlock::access(uint64_t address, int64_t bytes, bool isShared, bool writes,
                       const PtxInstruction &instruction) {
  if (address % bytes != 0)
    report(instruction, "an address that is not aligned");
  if (!isShared)
    return global(address, bytes, writes, instruction);
  const int64_t at = static_cast<int64_t>(address - kPtxShared);
  if (at < 0 || at + bytes > kernel.sharedBytes) {
    report(instruction, "an address outside of shared memory");
    return nullptr;
  }
  const size_t warp = now->thread / kLanes;
  const char *wrong = kernel.hasArrivals
                          ? (writes ? arrivals.write(at, bytes, warp) : arrivals.read(at, bytes, warp))
                          : (writes ? shadow.write(at, bytes, *now) : shadow.read(at, bytes, *now));
  if (wrong)
    report(instruction, wrong);
  return shared.data() + at;
}

void PtxBlock::load(Thread &thread, const PtxInstruction &instruction) {
  const auto count = static_cast<int64_t>(instruction.results.size());
  const uint64_t address = thread.registers[instruction.operands[0]] + instruction.offsets[0];
  const char *from = access(address, instruction.bytes * count, instruction.isShared, false, instruction);
  for (int64_t at = 0; at < count; ++at) {
    uint64_t value = 0;
    if (from)
      std::memcpy(&value, from + at * instruction.bytes, instruction.bytes);
    if (interpreter.stranger && !instruction.isShared)
      estrange(address + at * instruction.bytes, instruction, value);
    if (instruction.isSigned && instruction.bytes < 8) {
      const int unused = 64 - 8 * instruction.bytes;
      value = static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
    }
    thread.registers[instruction.results[at]] = value;
  }
}

void PtxBlock::store(Thread &thread, const PtxInstruction &instruction) {
  // The address, then the values.
  const auto count = static_cast<int64_t>(instruction.operands.size()) - 1;
  const uint64_t address = thread.registers[instruction.operands[0]] + instruction.offsets[0];
  char *to = access(address, instruction.bytes * count, instruction.isShared, true, instruction);
  for (int64_t at = 0; to && at < count; ++at)
    std::memcpy(to + at * instruction.bytes, &thread.registers[instruction.operands[at + 1]],
                instruction.bytes);
}

/// What lay there goes at once; the rest of the bytes becomes zero when the copy lands.
void PtxBlock::copy(Thread &thread, const PtxInstruction &instruction) {
  const auto value = [&](size_t at) { return thread.registers[instruction.operands[at]]; };
  if (kernel.hasArrivals)
    fail("PTX kernel {}: the interpreter does not know cp.async beside barriers on which copies arrive",
         kernel.name);
  const uint64_t to = value(0) + instruction.offsets[0], from = value(1) + instruction.offsets[1];
  const auto bytes = static_cast<int64_t>(value(2));
  const auto given =
      instruction.operands.size() > 3 ? static_cast<int64_t>(static_cast<uint32_t>(value(3))) : bytes;
  if (to % bytes != 0 || from % bytes != 0)
    report(instruction, "an address that is not aligned");
  const char *source = given ? global(from, given, false, instruction) : nullptr;
  const int64_t at = static_cast<int64_t>(to - kPtxShared);
  if (at < 0 || at + bytes > kernel.sharedBytes)
    return report(instruction, "an address outside of shared memory");
  if (const char *wrong = shadow.begin(at, bytes, *now))
    report(instruction, wrong);
  std::memset(shared.data() + at, 0xff, bytes);
  thread.open.push_back({at, source, bytes, source ? given : 0});
}

void PtxBlock::waitFor(Thread &thread, size_t groups) {
  while (thread.groups.size() > groups) {
    for (const Copy &copy : thread.groups.front()) {
      std::memset(shared.data() + copy.to, 0, copy.bytes);
      if (copy.given)
        std::memcpy(shared.data() + copy.to, copy.from, copy.given);
      shadow.land(copy.to, copy.bytes, *now);
    }
    thread.groups.erase(thread.groups.begin());
  }
}

void PtxBlock::end(Thread &thread) {
  thread.state = State::Done;
  const auto holds = [](const std::vector<Copy> &group) { return !group.empty(); };
  if (holdsProducts(thread))
    interpreter.report(kernel.name + ": ends before its products are waited for");
  if (holds(thread.open) || std::any_of(thread.groups.begin(), thread.groups.end(), holds))
    interpreter.report(kernel.name + ": ends before its copies to shared memory are waited for");
}

bool PtxBlock::meetInWarps() {
  bool met = false;
  for (size_t from = 0; from < threads.size(); from += kLanes) {
    const size_t to = std::min(threads.size(), from + kLanes);
    const auto isThere = [&](const Thread &thread) {
      return thread.state == State::Warp && thread.at == threads[from].at;
    };
    if (!std::all_of(threads.begin() + from, threads.begin() + to, isThere))
      continue;
    meet(from, to, kernel.code[threads[from].at]);
    for (size_t at = from; at < to; ++at) {
      threads[at].state = State::Ready;
      ++threads[at].at;
    }
    met = true;
  }
  return met;
}

bool PtxBlock::meetInBlock() {
  const auto isThere = [&](const Thread &thread) {
    return thread.state == State::Barrier && thread.at == threads[0].at;
  };
  if (!std::all_of(threads.begin(), threads.end(), isThere))
    return false;
  ++now->epoch;
  if (kernel.hasArrivals)
    arrivals.meet();
  for (Thread &thread : threads) {
    thread.state = State::Ready;
    ++thread.at;
  }
  return true;
}

void PtxBlock::meet(size_t from, size_t to, const PtxInstruction &instruction) {
  if (instruction.kind == Kind::SyncWarp)
    return;
  if (instruction.kind == Kind::Shuffle)
    return exchange(from, to, instruction);
  if (to - from != kLanes)
    return report(instruction, "a warp that is not whole");
  matrices(from, to, instruction);
}

void PtxBlock::exchange(size_t from, size_t to, const PtxInstruction &instruction) {
  std::vector<uint64_t> values;
  for (size_t at = from; at < to; ++at) {
    const auto lane = static_cast<int64_t>(at - from);
    const auto by = static_cast<int32_t>(threads[at].registers[instruction.operands[1]]);
    int64_t other = instruction.shuffle == 'b'   ? lane ^ by
                    : instruction.shuffle == 'i' ? by & 31
                    : instruction.shuffle == 'u' ? lane - by
                                                 : lane + by;
    if (other < 0 || other >= static_cast<int64_t>(kLanes))
      other = lane;
    if (from + other >= to || !(threads[at].registers[instruction.operands[3]] >> lane & 1)) {
      report(instruction, "takes part with a lane that is not there");
      other = lane;
    }
    values.push_back(threads[from + other].registers[instruction.operands[0]]);
  }
  for (size_t at = from; at < to; ++at)
    threads[at].registers[instruction.results[0]] = lowBytes(values[at - from], 4);
}

/// Words of each lane, as runMatrices takes them.
void PtxBlock::matrices(size_t from, size_t to, const PtxInstruction &instruction) {
  int32_t words[kLanes][10] = {};
  std::array<int32_t *, kLanes> pointers;
  const bool loads = instruction.kind == Kind::LoadMatrix;
  const size_t count = instruction.results.size(), first = loads ? 0 : 6;
  for (size_t at = from; at < to; ++at) {
    const size_t lane = at - from;
    pointers[lane] = words[lane];
    const Thread &thread = threads[at];
    now->thread = static_cast<uint16_t>(at);
    if (loads && lane < 8 * count) {
      const uint64_t address = thread.registers[instruction.operands[0]] + instruction.offsets[0];
      const char *row = access(address, 16, true, false, instruction);
      if (!row || address % 16 != 0)
        return;
      std::memcpy(words[lane], &row, sizeof row);
    }
    for (size_t word = 0; !loads && word < instruction.operands.size(); ++word)
      words[lane][word] = static_cast<int32_t>(thread.registers[instruction.operands[word]]);
  }
  const auto loading = [&](MatrixWork one, MatrixWork two, MatrixWork four) {
    return count == 1 ? one : count == 2 ? two : four;
  };
  runMatrices(!loads ? (instruction.isBrain ? MatrixWork::MultiplyBrain : MatrixWork::MultiplyHalf)
              : instruction.isTransposed ? loading(MatrixWork::LoadTransposed1, MatrixWork::LoadTransposed2,
                                                   MatrixWork::LoadTransposed4)
                                         : loading(MatrixWork::Load1, MatrixWork::Load2, MatrixWork::Load4),
              pointers);
  for (size_t at = from; at < to; ++at)
    for (size_t word = 0; word < count; ++word)
      threads[at].registers[instruction.results[word]] =
          static_cast<uint32_t>(words[at - from][first + word]);
}

} // namespace kedge::test
