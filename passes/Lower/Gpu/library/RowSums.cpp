// Sums of gathered rows without atomics. The table's rows are cut into buckets. A first kernel lists the
// positions of each bucket in ascending order (a stable partition); a second one gives each bucket and slab
// of columns to a warp that walks the list, every lane adding up its own columns. Where buckets and slabs are
// too few to fill a device, positions are cut into parts that are added up in order by a third kernel.
#include "passes/Lower/Gpu/library/Copies.h"
#include "passes/Lower/Gpu/library/Indices.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

namespace {

constexpr int64_t kBuckets = 512;          ///< wanted: each reads all indices
constexpr int64_t kMostRows = 64;          ///< of a bucket
constexpr int64_t kTableBytes = 32 * 1024; ///< of shared memory, for a bucket's rows of a slab
constexpr int64_t kWantedWarps = 512;
constexpr int64_t kListThreads = 256;
constexpr int64_t kAhead = 16; ///< rows loaded before the first is added

struct RowSumsPlan {
  RowSums sums;
  int64_t rows, buckets; ///< of a bucket; number of buckets
  unsigned width;
  int64_t slabs, parts, partPositions;

  RowSumsPlan(const RowSums &sums, const Operand &dst) : sums(sums) {
    width = vectorWidth(dst.element, {sums.columns});
    int64_t rowBytes = 32 * width * dst.compute.getIntOrFloatBitWidth() / 8;
    rows = std::clamp<int64_t>(ceilDiv(sums.slots, kBuckets), 1, std::min(kMostRows, kTableBytes / rowBytes));
    buckets = ceilDiv(sums.slots, rows);
    slabs = ceilDiv(sums.columns, 32 * width);
    int64_t warps = buckets * slabs * sums.outer;
    // Parts cost memory: at most twice what is summed.
    int64_t most = std::max<int64_t>(1, std::min(sums.positions / 64, 2 * sums.positions / sums.slots));
    parts = std::clamp<int64_t>(kWantedWarps / warps, 1, most);
    partPositions = ceilDiv(sums.positions, parts);
    parts = ceilDiv(sums.positions, partPositions);
  }

  int64_t tableElements() const { return sums.outer * sums.slots * sums.columns; }
  /// Positions of part number `part`.
  std::pair<Num, Num> range(KernelBuilder &k, Num part) const {
    Num begin = part * partPositions;
    return {begin, min(begin + partPositions, k.index(sums.positions))};
  }
};

/// How many threads of the block before this one have a hit, and how many in all.
std::pair<Num, Num> countBefore(KernelBuilder &k, Memory warpSums, Num isHit) {
  Num hit = k.convert(isHit, warpSums.element); // shuffles take 32 bits
  Num lane = k.thread() % 32, warp = k.thread() / 32, sum = hit;
  for (int64_t distance = 1; distance < 32; distance *= 2) {
    Num other = k.shuffleFrom(sum, (lane - distance) & 31);
    sum = select(lane >= distance, sum + other, sum);
  }
  k.when(lane == 31, [&] { k.store(warpSums, warp, sum); });
  k.barrier();
  Num before = sum - hit, all = literalOf(hit, 0);
  for (int64_t w = 0; w < kListThreads / 32; ++w) {
    Num count = k.load(warpSums, k.index(w));
    before = before + select(warp > w, count, literalOf(count, 0));
    all = all + count;
  }
  k.barrier();
  return {k.asIndex(before), k.asIndex(all)};
}

void writeLists(KernelBuilder &k, const RowSumsPlan &plan, Memory indices, Memory order, Memory bounds) {
  Num bucket = k.block() % plan.buckets, part = k.block() / plan.buckets;
  Num firstRow = bucket * plan.rows, endRow = firstRow + plan.rows;
  auto [begin, end] = plan.range(k, part);
  Num from = begin, to = end;
  Memory warpSums = k.shared(order.element, kListThreads / 32);
  auto slotAt = [&](Num position) -> Num {
    return k.choose(
        position < to, [&]() -> Nums { return {plan.sums.slotOf(k, indices, position, Checks::Trap)}; },
        [&]() -> Nums { return {k.index(-1)}; })[0];
  };
  // Positions of lower buckets come first.
  Num lower = k.loop(from + k.thread(), to, k.index(kListThreads), {k.zeros(order.element, 1)},
                     [&](Num position, Nums count) -> Nums {
                       Num slot = plan.sums.slotOf(k, indices, position, Checks::Trap);
                       return {count[0] + k.convert((slot >= 0) & (slot < firstRow), order.element)};
                     })[0];
  Num lowerBefore = k.reduceLanes(lower, 32, [](Num a, Num b) { return a + b; });
  k.when(k.thread() % 32 == 0, [&] { k.store(warpSums, k.thread() / 32, lowerBefore); });
  k.barrier();
  Num first = from;
  for (int64_t w = 0; w < kListThreads / 32; ++w)
    first = first + k.asIndex(k.load(warpSums, k.index(w)));
  k.barrier();
  Num last = k.loop(from, to, k.index(kListThreads), {first}, [&](Num start, Nums place) -> Nums {
    Num position = start + k.thread(), slot = slotAt(position);
    Num hit = (slot >= firstRow) & (slot < endRow);
    auto [before, all] = countBefore(k, warpSums, hit);
    Num at = place[0] + before;
    k.when(hit, [&] { k.store(order, at, k.convert(position, order.element)); });
    return {place[0] + all};
  })[0];
  k.when(k.thread() == 0, [&] {
    k.store(bounds, k.block() * 2, k.convert(first, bounds.element));
    k.store(bounds, k.block() * 2 + 1, k.convert(last, bounds.element));
  });
}

/// One warp: the rows of a bucket in shared memory, of which a lane sees its own columns only.
void sumLists(KernelBuilder &k, const RowSumsPlan &plan, ArrayRef<Memory> memory) {
  Memory src = memory[0], indices = memory[1], order = memory[2], bounds = memory[3], dst = memory[4];
  const RowSums &sums = plan.sums;
  Nums index = k.split(k.block(), {plan.parts, sums.outer, plan.buckets, plan.slabs});
  Num part = index[0], outer = index[1], bucket = index[2], lane = k.thread();
  Num column = (index[3] * 32 + lane) * int64_t(plan.width);
  Memory table = k.shared(src.compute, plan.rows * 32 * plan.width);
  auto cell = [&](Num row) { return (row * 32 + lane) * int64_t(plan.width); };
  k.when(column < sums.columns, [&] {
    Num one = k.index(1);
    k.loop(k.index(0), k.index(plan.rows), one,
           [&](Num row) { k.store(table, cell(row), k.zeros(src.compute, plan.width)); });
    Num list = (part * plan.buckets + bucket) * 2;
    Num begin = k.asIndex(k.load(bounds, list)), end = k.asIndex(k.load(bounds, list + 1));
    k.loop(begin, end, k.index(kAhead), [&](Num start) {
      Nums rows, values;
      for (int64_t ahead = 0; ahead < kAhead; ++ahead) {
        Num at = start + ahead, position = k.asIndex(k.load(order, min(at, end - 1)));
        rows.push_back(sums.slotOf(k, indices, position, Checks::None) - bucket * plan.rows);
        Num value = k.load(src, (outer * sums.positions + position) * sums.columns + column, plan.width);
        values.push_back(select(at < end, value, k.zeros(src.compute, plan.width)));
      }
      for (int64_t ahead = 0; ahead < kAhead; ++ahead) {
        Num at = cell(rows[ahead]);
        k.store(table, at, k.load(table, at, plan.width) + values[ahead]);
      }
    });
    k.loop(k.index(0), k.index(plan.rows), one, [&](Num row) {
      Num slot = bucket * plan.rows + row;
      k.when(slot < sums.slots, [&] {
        Num place = ((part * sums.outer + outer) * sums.slots + slot) * sums.columns + column;
        k.store(dst, place, k.load(table, cell(row), plan.width));
      });
    });
  });
}

} // namespace

void kedge::lower::gpu::sumRows(CallKernels &kernels, Operand src, Operand indices, Operand dst,
                                const RowSums &sums) {
  kernels.expectFloat(dst);
  if (sums.outer * sums.slots * sums.columns == 0)
    return;
  if (sums.positions == 0) {
    copyInset(kernels, dst, dst, {{sums.outer * sums.slots * sums.columns, 0, 0}});
    return;
  }
  RowSumsPlan plan(sums, dst);
  Operand order = kernels.workspace(kernels.integer(32), sums.positions);
  Operand bounds = kernels.workspace(kernels.integer(32), 2 * plan.buckets * plan.parts);
  Operand tables = plan.parts == 1 ? dst : kernels.workspace(dst.compute, plan.parts * plan.tableElements());
  kernels.kernel("row_lists", plan.buckets * plan.parts, kListThreads, {indices, order, bounds},
                 [&](KernelBuilder &k, ArrayRef<Memory> memory) {
                   writeLists(k, plan, memory[0], memory[1], memory[2]);
                 });
  kernels.kernel("row_sums", plan.parts * sums.outer * plan.buckets * plan.slabs, 32,
                 {src, indices, order, bounds, tables},
                 [&](KernelBuilder &k, ArrayRef<Memory> memory) { sumLists(k, plan, memory); });
  if (plan.parts == 1)
    return;
  int64_t vectors = plan.tableElements() / plan.width;
  kernels.forEach(
      "row_parts", vectors, {tables, dst}, [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
        Num at = flat * int64_t(plan.width), sum = k.load(memory[0], at, plan.width);
        sum = k.loop(k.index(1), k.index(plan.parts), k.index(1), {sum}, [&](Num part, Nums so) -> Nums {
          return {so[0] + k.load(memory[0], part * plan.tableElements() + at, plan.width)};
        })[0];
        k.store(memory[1], at, sum);
      });
}
