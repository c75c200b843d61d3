#include "lib/Solver/Arena/PackingMemo.h"

#include <algorithm>

namespace kedge::solver {
namespace {
constexpr int64_t quickEffort = 10'000'000, quickEffortOfBuffer = 25'000;

size_t hashOf(const std::vector<Buffer> &buffers) {
  uint64_t hash = buffers.size();
  auto mix = [&](int64_t number) {
    hash = (hash ^ static_cast<uint64_t>(number)) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  };
  for (const Buffer &buffer : buffers) {
    mix(buffer.lower);
    mix(buffer.upper);
    mix(buffer.size);
  }
  return hash;
}

} // namespace

PackingMemo &PackingMemo::ofProcess() {
  static PackingMemo memo;
  return memo;
}

Packing PackingMemo::pack(const std::vector<Buffer> &buffers, const PackOptions &options) {
  const size_t hash = hashOf(buffers);
  if (auto known = options.timeLimit > 0 ? std::nullopt : find(hash, buffers, options))
    return *std::move(known);
  Packing packing = packArena(buffers, options);
  if (options.timeLimit <= 0)
    keep({hash, buffers, options, packing});
  return packing;
}

Packing PackingMemo::packQuickly(const std::vector<Buffer> &buffers, int64_t align, int64_t times) {
  PackOptions options;
  options.align = align;
  options.effort = times * std::max(quickEffort, quickEffortOfBuffer * static_cast<int64_t>(buffers.size()));
  return pack(buffers, options);
}

Packing PackingMemo::packWithin(const std::vector<Buffer> &buffers, int64_t good, int64_t align) {
  PackOptions options;
  options.align = align;
  if (good <= 0)
    return pack(buffers, options);
  Packing best = packQuickly(buffers, align);
  for (const bool isWhole : {false, true})
    if (best.height > good) {
      Packing other = isWhole ? pack(buffers, options) : packQuickly(buffers, align, closer);
      if (other.height < best.height)
        best = std::move(other);
    }
  return best;
}

std::optional<Packing> PackingMemo::find(size_t hash, const std::vector<Buffer> &buffers,
                                         const PackOptions &options) {
  const std::lock_guard lock(mutex);
  for (const Entry &entry : entries)
    if (entry.hash == hash && entry.options == options && entry.buffers == buffers) {
      ++sums.found;
      return entry.packing;
    }
  return std::nullopt;
}

void PackingMemo::keep(Entry entry) {
  const std::lock_guard lock(mutex);
  ++sums.searched;
  bufferCount += entry.buffers.size();
  entries.push_back(std::move(entry));
  for (; bufferCount > mostBuffers; entries.pop_front())
    bufferCount -= entries.front().buffers.size();
}

PackingMemo::Counts PackingMemo::counts() const {
  const std::lock_guard lock(mutex);
  return sums;
}

} // namespace kedge::solver
