#include "test/support/PtxArrivals.h"
#include <algorithm>

namespace kedge::test {
namespace {

constexpr int64_t kCell = 16;
constexpr const char *kNoBarrier = "there is no barrier";

} // namespace

PtxArrivals::PtxArrivals(size_t warps, int64_t sharedBytes)
    : warps(warps), clocks(warps, Clock(warps + kMostBarriers, 0)), cells(sharedBytes / kCell + 1),
      reads(cells.size() * warps, 0) {
  for (size_t warp = 0; warp < warps; ++warp)
    clocks[warp][warp] = 1;
}

void PtxArrivals::join(Clock &to, const Clock &from) {
  for (size_t agent = 0; agent < to.size(); ++agent)
    to[agent] = std::max(to[agent], from[agent]);
}

PtxArrivals::Barrier *PtxArrivals::find(int64_t barrier) {
  const auto found = barriers.find(barrier);
  return found == barriers.end() ? nullptr : &found->second;
}

PtxArrivals::Wrong PtxArrivals::make(int64_t at, int64_t count, size_t warp) {
  if (barriers.contains(at))
    return "makes a barrier again";
  if (barriers.size() == kMostBarriers)
    return "more barriers than the interpreter knows";
  Barrier &barrier = barriers[at];
  barrier.count = barrier.missing = count;
  barrier.producer = warp, barrier.made = clocks[warp][warp], barrier.agent = warps + barriers.size() - 1;
  barrier.arriving = barrier.known = Clock(warps + kMostBarriers, 0);
  return nullptr;
}

/// The next phase begins when nothing is missing.
void PtxArrivals::turn(Barrier &barrier) {
  if (barrier.missing != 0 || barrier.bytes != 0)
    return;
  barrier.missing = barrier.count;
  ++barrier.phase;
  join(barrier.known, barrier.arriving);
}

void PtxArrivals::release(Barrier &barrier, size_t warp) {
  join(barrier.arriving, clocks[warp]);
  ++clocks[warp][warp];
}

PtxArrivals::Wrong PtxArrivals::arrive(int64_t at, int64_t bytes, size_t warp) {
  Barrier *barrier = find(at);
  if (!barrier)
    return kNoBarrier;
  const bool isOrdered = barrier->producer == warp || clocks[warp][barrier->producer] >= barrier->made;
  if (barrier->missing == 0)
    return "more threads arrive than a phase has";
  release(*barrier, warp);
  --barrier->missing;
  barrier->bytes += bytes;
  turn(*barrier);
  return isOrdered ? nullptr : "nothing orders this after the making of the barrier";
}

bool PtxArrivals::isComplete(int64_t at, uint64_t parity) const {
  const auto found = barriers.find(at);
  return found == barriers.end() || (found->second.phase & 1) != (parity & 1);
}

PtxArrivals::Wrong PtxArrivals::know(int64_t at, size_t warp) {
  Barrier *barrier = find(at);
  if (!barrier)
    return kNoBarrier;
  const bool isOrdered = barrier->producer == warp || clocks[warp][barrier->producer] >= barrier->made;
  join(clocks[warp], barrier->known);
  return isOrdered ? nullptr : "nothing orders this after the making of the barrier";
}

PtxArrivals::Wrong PtxArrivals::checkWritten(const Cell &cell, size_t warp) const {
  if (cell.isComing)
    return "touches what a copy is on its way to";
  if (cell.written != 0 && cell.writer != warp && clocks[warp][cell.writer] < cell.written)
    return cell.writer < warps ? "touches what another warp writes"
                               : "touches what a copy brought, and has not waited for it";
  return nullptr;
}

PtxArrivals::Wrong PtxArrivals::checkRead(size_t cell, size_t warp) const {
  if (cells[cell].products != 0)
    return "writes what a product reads";
  for (size_t other = 0; other < warps; ++other)
    if (other != warp && clocks[warp][other] < reads[cell * warps + other])
      return "writes what another warp reads";
  return nullptr;
}

PtxArrivals::Wrong PtxArrivals::read(int64_t at, int64_t bytes, size_t warp) {
  Wrong wrong = nullptr;
  for (int64_t cell = at / kCell; cell <= (at + bytes - 1) / kCell; ++cell) {
    if (Wrong found = checkWritten(cells[cell], warp))
      wrong = found;
    reads[cell * warps + warp] = clocks[warp][warp];
  }
  return wrong;
}

PtxArrivals::Wrong PtxArrivals::write(int64_t at, int64_t bytes, size_t warp) {
  Wrong wrong = nullptr;
  for (int64_t cell = at / kCell; cell <= (at + bytes - 1) / kCell; ++cell) {
    if (Wrong found = checkWritten(cells[cell], warp))
      wrong = found;
    if (Wrong found = checkRead(cell, warp))
      wrong = found;
    cells[cell].writer = warp, cells[cell].written = clocks[warp][warp], cells[cell].isStored = true;
  }
  return wrong;
}

PtxArrivals::Wrong PtxArrivals::beginCopy(int64_t barrier, int64_t at, size_t warp) {
  const Barrier *found = find(barrier);
  if (!found)
    return kNoBarrier;
  Cell &cell = cells[at / kCell];
  Wrong wrong = checkWritten(cell, warp);
  if (Wrong other = checkRead(at / kCell, warp))
    wrong = other;
  if (cell.isStored)
    wrong = "writes what threads stored, without fence.proxy.async";
  if (!found->isFenced)
    wrong = "arrives on a barrier that was made without fence.proxy.async";
  cell.isComing = true;
  return wrong;
}

void PtxArrivals::landCopy(int64_t at, int64_t to) {
  Barrier &barrier = *find(at);
  Cell &cell = cells[to / kCell];
  cell.isComing = cell.isStored = false;
  cell.writer = barrier.agent, cell.written = barrier.landed + 1;
}

void PtxArrivals::bringBytes(int64_t at, int64_t bytes) {
  Barrier &barrier = *find(at);
  barrier.arriving[barrier.agent] = ++barrier.landed;
  barrier.bytes -= bytes;
  turn(barrier);
}

PtxArrivals::Wrong PtxArrivals::beginProduct(int64_t at, size_t firstWarp) {
  Cell &cell = cells[at / kCell];
  Wrong wrong = nullptr;
  for (size_t warp = firstWarp; warp < firstWarp + kWarpsOfGroup; ++warp)
    if (Wrong found = checkWritten(cell, warp))
      wrong = found;
  if (cell.isStored)
    wrong = "reads what threads stored, without fence.proxy.async";
  cell.products += kWarpsOfGroup;
  return wrong;
}

void PtxArrivals::endProduct(int64_t at, size_t warp) {
  --cells[at / kCell].products;
  reads[at / kCell * warps + warp] = clocks[warp][warp];
}

void PtxArrivals::fenceProxy(size_t warp) {
  for (Cell &cell : cells)
    cell.isStored &= cell.writer != warp;
  for (auto &[at, barrier] : barriers)
    barrier.isFenced |= barrier.producer == warp;
}

void PtxArrivals::meet() {
  Clock all = clocks.front();
  for (const Clock &clock : clocks)
    join(all, clock);
  for (size_t warp = 0; warp < warps; ++warp) {
    clocks[warp] = all;
    ++clocks[warp][warp];
  }
}

} // namespace kedge::test
