// Hopper's own instructions in the interpreter of PTX.
#include "lib/Support/Error.h"
#include "test/support/PtxBlock.h"
#include "test/support/PtxProducts.h"
#include <algorithm>
#include <cstring>

namespace kedge::test {
namespace {

using Kind = PtxInstruction::Kind;
constexpr size_t kWarp = 32, kGroup = 128;
constexpr int64_t kChunk = 16, kRow = 128, kRegisters = 65536;

} // namespace

void PtxBlock::complain(const PtxInstruction &instruction, const char *wrong) {
  if (wrong)
    report(instruction, wrong);
}

bool PtxBlock::holdsProducts(const Thread &thread) const {
  return !thread.openProducts.empty() || !thread.productGroups.empty();
}

/// Registers that tensor cores work on are theirs until the thread has waited; a product after it may go on
/// with the same sums.
void PtxBlock::checkRegisters(Thread &thread, const PtxInstruction &instruction) {
  if (instruction.kind != Kind::Product && holdsProducts(thread)) {
    const auto uses = [&](const Product &product) {
      const auto isIn = [](const std::vector<int32_t> &list, int32_t one) {
        return one != 0 && std::find(list.begin(), list.end(), one) != list.end();
      };
      return std::any_of(instruction.results.begin(), instruction.results.end(),
                         [&](int32_t one) { return isIn(product.registers, one); }) ||
             std::any_of(instruction.operands.begin(), instruction.operands.end(),
                         [&](int32_t one) { return isIn(product.sums, one); });
    };
    bool isUsed = std::any_of(thread.openProducts.begin(), thread.openProducts.end(), uses);
    for (const auto &group : thread.productGroups)
      isUsed |= std::any_of(group.begin(), group.end(), uses);
    if (isUsed)
      report(instruction, "uses registers of a product that is not waited for");
  }
  if (instruction.kind != Kind::Product)
    for (int32_t result : instruction.results)
      thread.changed[result] = 1;
}

bool PtxBlock::hopper(Thread &thread, const PtxInstruction &instruction) {
  ++instruction.times;
  const auto value = [&](size_t at) { return thread.registers[instruction.operands[at]]; };
  switch (instruction.kind) {
  case Kind::MakeBarrier:
    complain(instruction,
             arrivals.make(sharedPlace(value(0)), static_cast<int64_t>(value(1)), warpOf(thread)));
    return true;
  case Kind::Arrive:
    complain(instruction,
             arrivals.arrive(sharedPlace(value(0)),
                             instruction.operands.size() > 1 ? static_cast<int64_t>(value(1)) : 0,
                             warpOf(thread)));
    return wake(), true;
  case Kind::TryWait:
    return tryWait(thread, instruction);
  case Kind::Bring:
    return bring(thread, instruction), true;
  case Kind::FenceProxy:
    return arrivals.fenceProxy(warpOf(thread)), true;
  case Kind::FenceMap:
    return thread.maps.insert(value(0)), true;
  case Kind::FenceProducts:
    return std::fill(thread.changed.begin(), thread.changed.end(), 0), true;
  case Kind::CommitProducts:
    thread.productGroups.push_back(std::move(thread.openProducts));
    return thread.openProducts.clear(), true;
  case Kind::WaitForProducts:
    return waitForProducts(thread, value(0)), true;
  case Kind::KeepRegisters:
    return thread.kept = static_cast<int64_t>(value(0)), true;
  case Kind::Product:
    return thread.state = State::Group, false;
  default:
    return thread.state = State::Warp, false;
  }
}

/// Says no now and then, as a device may: who asks has to ask again.
bool PtxBlock::tryWait(Thread &thread, const PtxInstruction &instruction) {
  const int64_t barrier = sharedPlace(thread.registers[instruction.operands[0]]);
  uint64_t &result = thread.registers[instruction.results[0]];
  const bool isComplete = arrivals.isComplete(barrier, thread.registers[instruction.operands[1]]);
  if (instruction.isRemoved || (!isComplete && interpreter.random() % 4 == 0)) {
    result = instruction.isRemoved;
    return true;
  }
  if (!isComplete)
    return thread.state = State::Arrival, false;
  result = 1;
  complain(instruction, arrivals.know(barrier, warpOf(thread)));
  return true;
}

/// Who waits for a phase looks again.
void PtxBlock::wake() {
  for (Thread &thread : threads)
    if (thread.state == State::Arrival)
      thread.state = State::Ready;
}

/// Rows of 128 bytes whose chunks are exchanged by bits of the address; zeros beyond the tensor.
void PtxBlock::bring(Thread &thread, const PtxInstruction &instruction) {
  const auto value = [&](size_t at) { return thread.registers[instruction.operands[at]]; };
  const size_t rank = instruction.operands.size() - 3;
  const auto *map = reinterpret_cast<const PtxTensorMap *>(value(1));
  if (!interpreter.isMap(value(1)) || map->rank != rank)
    return report(instruction, "an address that is none of a tensor map of this rank");
  if (!thread.maps.contains(value(1)))
    report(instruction, "a map that the host wrote, without fence.proxy.tensormap");
  std::vector<int64_t> from(rank), size(map->box, map->box + rank), at(rank, 0);
  for (size_t dim = 0; dim < rank; ++dim)
    from[dim] = static_cast<int32_t>(value(2 + dim));
  const int64_t to = sharedPlace(value(0)), barrier = sharedPlace(value(2 + rank));
  Box box{barrier, 0, {}};
  if (to % kRow != 0 || size[0] * 2 != kRow)
    return report(instruction, "a box whose rows are not aligned to 128 bytes");
  for (int64_t row = 0; at[rank - 1] < size[rank - 1]; ++row) {
    uint64_t source = map->address;
    bool isInside = true;
    for (size_t dim = 1; dim < rank; ++dim) {
      const int64_t place = from[dim] + at[dim];
      isInside &= place >= 0 && place < map->sizes[dim];
      source += place * map->strides[dim - 1];
    }
    for (int64_t chunk = 0; chunk < kRow / kChunk; ++chunk) {
      const int64_t column = from[0] + chunk * 8, place = to + row * kRow + chunk * kChunk;
      const int64_t exchanged = place ^ ((place >> 7 & 7) << 4);
      auto &[where, bytes] = box.chunks.emplace_back(exchanged, std::array<char, kChunk>{});
      if (exchanged < 0 || exchanged + kChunk > kernel.sharedBytes)
        return report(instruction, "an address outside of shared memory");
      complain(instruction, arrivals.beginCopy(barrier, where, warpOf(thread)));
      const int64_t inside = isInside ? std::clamp<int64_t>(map->sizes[0] - column, 0, 8) : 0;
      if (inside > 0 && column >= 0)
        if (const char *bits = global(source + 2 * column, 2 * inside, false, instruction))
          std::memcpy(bytes.data(), bits, 2 * inside);
      box.bytes += kChunk;
    }
    for (size_t dim = 1; dim < rank && ++at[dim] == size[dim] && dim + 1 < rank; ++dim)
      at[dim] = 0;
  }
  boxes.push_back(std::move(box));
}

/// As late as can be: when no thread goes on without it.
bool PtxBlock::land() {
  if (boxes.empty())
    return false;
  const size_t chosen = interpreter.random() % boxes.size();
  for (const auto &[to, bytes] : boxes[chosen].chunks) {
    std::memcpy(shared.data() + to, bytes.data(), bytes.size());
    arrivals.landCopy(boxes[chosen].barrier, to);
  }
  arrivals.bringBytes(boxes[chosen].barrier, boxes[chosen].bytes);
  boxes.erase(boxes.begin() + static_cast<int64_t>(chosen));
  wake();
  return true;
}

bool PtxBlock::meetInGroups() {
  bool met = false;
  for (size_t from = 0; from + kGroup <= threads.size(); from += kGroup) {
    const auto isThere = [&](const Thread &thread) {
      return thread.state == State::Group && thread.at == threads[from].at;
    };
    const auto begin = threads.begin() + static_cast<int64_t>(from), end = begin + kGroup;
    if (!std::all_of(begin, end, isThere))
      continue;
    multiply(from, kernel.code[threads[from].at]);
    for (auto thread = begin; thread != end; ++thread) {
      thread->state = State::Ready;
      ++thread->at;
    }
    met = true;
  }
  return met;
}

void PtxBlock::multiply(size_t from, const PtxInstruction &instruction) {
  PtxProduct product;
  product.columns = static_cast<int64_t>(instruction.results.size()) * 2;
  product.isBrain = instruction.isBrain;
  const Thread &one = threads[from];
  const uint64_t descriptor = one.registers[instruction.operands[4]];
  product.adds = one.registers[instruction.operands[5]] & 1;
  const PtxSharedMatrix matrix(descriptor, instruction.isTransposed);
  if (const char *wrong = matrix.wrong())
    return report(instruction, wrong);
  std::set<int64_t> cells;
  for (int64_t step = 0; step < 16; ++step)
    for (int64_t column = 0; column < product.columns; ++column)
      cells.insert(sharedPlace(matrix.at(step, column)) / kChunk * kChunk);
  if (*cells.begin() < 0 || *cells.rbegin() + kChunk > kernel.sharedBytes)
    return report(instruction, "an address outside of shared memory");
  for (int64_t cell : cells)
    complain(instruction, arrivals.beginProduct(cell, from / kWarp));
  product.right = [&](int64_t step, int64_t column) {
    uint16_t bits;
    std::memcpy(&bits, shared.data() + sharedPlace(matrix.at(step, column)), sizeof bits);
    return bits;
  };
  for (size_t at = from; at < from + kGroup; ++at) {
    Thread &thread = threads[at];
    if (thread.registers[instruction.operands[4]] != descriptor)
      report(instruction, "threads of a warpgroup that differ in the descriptor");
    auto &words = product.left.emplace_back();
    for (size_t word = 0; word < 4; ++word)
      words[word] = static_cast<uint32_t>(thread.registers[instruction.operands[word]]);
    auto &sums = product.sums.emplace_back();
    Product begun{instruction.results, instruction.results, {}};
    begun.registers.insert(begun.registers.end(), instruction.operands.begin(),
                           instruction.operands.begin() + 4);
    if (at % kWarp == 0)
      begun.cells.assign(cells.begin(), cells.end());
    for (int32_t result : instruction.results) {
      float sum;
      std::memcpy(&sum, &thread.registers[result], sizeof sum);
      sums.push_back(sum);
    }
    if (std::any_of(begun.registers.begin() + (product.adds ? 0 : static_cast<int64_t>(sums.size())),
                    begun.registers.end(), [&](int32_t used) { return thread.changed[used] != 0; }))
      report(instruction, "registers that changed since wgmma.fence");
    thread.openProducts.push_back(std::move(begun));
  }
  product.run();
  for (size_t at = from; at < from + kGroup; ++at)
    for (size_t sum = 0; sum < instruction.results.size(); ++sum) {
      uint32_t bits;
      std::memcpy(&bits, &product.sums[at - from][sum], sizeof bits);
      threads[at].registers[instruction.results[sum]] = bits;
    }
}

void PtxBlock::waitForProducts(Thread &thread, size_t groups) {
  while (thread.productGroups.size() > groups) {
    for (const Product &product : thread.productGroups.front())
      for (int64_t cell : product.cells)
        arrivals.endProduct(cell, warpOf(thread));
    thread.productGroups.erase(thread.productGroups.begin());
  }
}

/// What a block has when it begins: .minnctapersm blocks share the registers, in steps of eight a thread.
void PtxBlock::checkEnd() {
  if (!boxes.empty())
    interpreter.report(kernel.name + ": ends before its boxes have come");
  const auto count = static_cast<int64_t>(threads.size());
  int64_t kept = 0;
  for (const Thread &thread : threads)
    kept += thread.kept;
  if (kept > kRegisters / (kernel.blocks * count) / 8 * 8 * count)
    interpreter.report(kernel.name + ": setmaxnreg asks for more registers than the block has");
}

} // namespace kedge::test
