// train.attention on Hopper: two warpgroups own 64 queries each; a thread of a third one brings keys and
// values, as boxes of the copy engine, two stages ahead at most.
#include "passes/Lower/Gpu/library/WarpgroupAttention.h"
#include "passes/Lower/Gpu/library/Warpgroups.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;
using namespace kedge::lower::gpu::attention;

namespace {

/// Registers of a thread that brings, and of one that computes: together what a block alone on a processor
/// has when it begins (168 a thread).
constexpr int64_t kFewRegisters = 40, kManyRegisters = 232;
constexpr int64_t kStages = 2, kConsumers = 2 * kWarpgroup, kConsumerWarps = kConsumers / 32;

/// Rows of the heads of one operand, as a tensor map has them.
class HeadBoxes {
public:
  enum Dim { Row, Head, Batch };

  /// `counts` by Dim. Nothing where the copy engine does not take such strides.
  static std::optional<HeadBoxes> of(const Operand &operand, const HeadView &view,
                                     std::array<int64_t, 3> counts, int64_t depth, int64_t boxRows) {
    constexpr int64_t kMostBytes = int64_t(1) << 40;
    const std::array<int64_t, 3> strides{view.row, view.head, view.batch};
    HeadBoxes boxes;
    for (Dim dim : {Row, Head, Batch})
      if (dim == Row || counts[dim] > 1)
        boxes.dims.push_back(dim);
    llvm::stable_sort(boxes.dims, [&](Dim a, Dim b) { return strides[a] < strides[b]; });
    boxes.map = {operand.place.value, 2 * view.offset, operand.element.isBF16(), {depth}, {}, {kSlabColumns}};
    int64_t least = 2 * depth;
    for (Dim dim : boxes.dims) {
      int64_t stride = 2 * strides[dim];
      if (stride < least || stride % 16 != 0 || stride >= kMostBytes ||
          (!boxes.map.strides.empty() && stride % boxes.map.strides.back() != 0))
        return std::nullopt;
      least = stride * counts[dim];
      boxes.map.sizes.push_back(counts[dim]);
      boxes.map.strides.push_back(stride);
      boxes.map.box.push_back(dim == Row ? boxRows : 1);
    }
    if (boxes.map.offset % 16 != 0)
      return std::nullopt;
    return boxes;
  }

  /// `places` by Dim.
  Nums coordinates(Num column, std::array<Num, 3> places) const {
    Nums all{column};
    for (Dim dim : dims)
      all.push_back(places[dim]);
    return all;
  }

  TensorMap map;

private:
  llvm::SmallVector<Dim, 3> dims;
};

/// How the kernel is cut, and where what lies. Queries pass through the last stages' memory into registers.
struct Plan {
  AttentionShape shape;
  int64_t slabs, valueSlabs, keys;
  std::optional<HeadBoxes> q, k, v;

  Plan(const AttentionShape &shape, ArrayRef<Operand> operands)
      : shape(shape), slabs(ceilDiv(shape.depth, kSlabColumns)),
        valueSlabs(ceilDiv(shape.valueDepth, kSlabColumns)), keys(slabs + valueSlabs <= 2 ? 64 : 32) {
    q = HeadBoxes::of(operands[2], shape.q, {shape.queries, shape.queryHeads, shape.batch}, shape.depth,
                      rows());
    k = HeadBoxes::of(operands[3], shape.k, {shape.keys, shape.keyHeads, shape.batch}, shape.depth, keys);
    v = HeadBoxes::of(operands[4], shape.v, {shape.keys, shape.keyHeads, shape.batch}, shape.valueDepth,
                      keys);
  }

  bool isPossible() const {
    const HeadView &o = shape.o;
    int64_t alignment = o.offset | o.batch | o.head | o.row | shape.depth | shape.valueDepth;
    return q && k && v && alignment % 8 == 0 && slabs <= 2 && valueSlabs <= 2 && !shape.drops() &&
           shape.batch * shape.queryHeads > 0;
  }

  int64_t rows() const { return 2 * 64; }
  Tiling tiling() const { return {kConsumerWarps, 1, keys, kStages, true}; }
  int64_t queryNumbers() const { return rows() * slabs * kSlabColumns; }
  int64_t keyNumbers() const { return keys * slabs * kSlabColumns; }
  int64_t valueNumbers() const { return keys * valueSlabs * kSlabColumns; }
  int64_t stageNumbers() const { return keyNumbers() + valueNumbers(); }
  /// The first stage whose memory queries pass through.
  int64_t queryStage() const {
    return std::max<int64_t>(0, kStages - ceilDiv(queryNumbers(), stageNumbers()));
  }
  int64_t sharedNumbers() const {
    return std::max(kStages * stageNumbers(), queryStage() * stageNumbers() + queryNumbers());
  }
  int64_t queryBlocks() const { return ceilDiv(shape.queries, rows()); }
  int64_t gridBlocks() const { return shape.batch * shape.queryHeads * queryBlocks(); }
};

/// Numbers of the barriers. Keys and values of a stage come, and go, on their own.
constexpr int64_t kQueries = 0, kKeysCame = 1, kValuesCame = 3, kKeysLeft = 5, kValuesLeft = 7;

class WarpgroupKernel : QueryRows {
public:
  /// `memory`: O, LSE, and the maps of Q, K, V.
  WarpgroupKernel(KernelBuilder &k, const Plan &plan, Type type, ArrayRef<Memory> memory,
                  const OptionalOperands &optional)
      : QueryRows(k, plan.shape, plan.tiling(), type, plan.sharedNumbers(), optional, false, kSlabAlignment),
        plan(plan), memory(memory), sinks(optional.sinks),
        arrivals(k, {1, 1, 1, 1, 1, kConsumerWarps, kConsumerWarps, kConsumerWarps, kConsumerWarps}),
        queries{k.shifted(pool, k.index(plan.queryStage() * plan.stageNumbers())), plan.rows(), plan.slabs},
        keys{pool, plan.keys, plan.slabs},
        values{k.shifted(pool, k.index(plan.keyNumbers())), plan.keys, plan.valueSlabs} {
    int64_t heads = shape.batch * shape.queryHeads;
    // Of causal heads the last queries see most keys: they begin first.
    Num block = (plan.queryBlocks() - 1) - k.block() / heads, head = k.block() % heads;
    firstQuery = block * plan.rows();
    position = {head / shape.queryHeads, head % shape.queryHeads, firstQuery + warpRow, k.index(0)};
    const KeyRange range = keysOf(k, shape, firstQuery, plan.rows(), plan.keys);
    firstOfKeys = range.begin;
    count = range.end;
    if (shape.hidesBefore())
      count = count - firstOfKeys;
    count = (count + (plan.keys - 1)) / plan.keys;
    k.when(k.thread() < kConsumers, [&] { consume(); });
    k.when(k.thread() >= kConsumers, [&] {
      keepRegisters(k, kFewRegisters, /*more=*/false);
      k.when(k.thread() == kConsumers, [&] { produce(); });
    });
  }

private:
  Num keyOf(Num n) const { return shape.hidesBefore() ? firstOfKeys + n * plan.keys : n * plan.keys; }
  Num shiftOf(Num stage) const { return stage * plan.stageNumbers(); }

  void bring(int64_t map, const HeadBoxes &boxes, const SlabMatrix &to, Num shift, Num row, Num head,
             Num barrier) {
    arrivals.expect(barrier, 2 * to.size());
    for (int64_t slab = 0; slab < to.slabs; ++slab)
      bringBox(k, memory[map], boxes.coordinates(k.index(slab * kSlabColumns), {row, head, position.batch}),
               k.shifted(to.tile(k, slab).memory, shift), arrivals, barrier);
  }

  void produce() {
    for (int64_t map : {2, 3, 4})
      acquireMap(k, memory[map]);
    Num none = k.index(0), keyHead = position.head / shape.group();
    bring(2, *plan.q, queries, none, firstQuery, position.head, k.index(kQueries));
    k.loop(none, count, k.index(1), [&](Num n) {
      Num stage = n % kStages, row = keyOf(n);
      // Of a stage that queries pass through, their leaving is the first phase.
      Num before = n / kStages + 1 + select(stage >= plan.queryStage(), k.index(1), none);
      arrivals.wait(stage + kKeysLeft, before % 2);
      bring(3, *plan.k, keys, shiftOf(stage), row, keyHead, stage + kKeysCame);
      arrivals.wait(stage + kValuesLeft, before % 2);
      bring(4, *plan.v, values, shiftOf(stage), row, keyHead, stage + kValuesCame);
    });
  }

  /// A warp has read.
  void leave(Num barrier) {
    k.when(k.thread() % 32 == 0, [&] { arrivals.arrive(barrier); });
  }

  void consume() {
    keepRegisters(k, kManyRegisters, /*more=*/true);
    holdQueries();
    size_t rows = part.rows.size();
    Nums last =
        k.loop(k.index(0), count, k.index(1), startOf(plan.valueSlabs * kSlabColumns, sinks).pack(),
               [&](Num n, Nums carried) { return keyBlock(n, HalfSoftmax::unpack(carried, rows)).pack(); });
    finish(HalfSoftmax::unpack(last, rows));
  }

  void holdQueries() {
    arrivals.wait(k.index(kQueries), k.index(0));
    for (int64_t slab = 0; slab < plan.slabs; ++slab) {
      PartReader reader(k, queries.tile(k, slab), PartReader::Below, warpRow);
      for (int64_t step = 0; step < kSlabColumns / 16; ++step)
        held.push_back(reader.load(0, 2 * step, /*transposed=*/false, k.index(0)));
    }
    syncWarp(k);
    for (int64_t stage = plan.queryStage(); stage < kStages; ++stage)
      for (int64_t barrier : {kKeysLeft, kValuesLeft})
        leave(k.index(barrier + stage));
  }

  HalfSoftmax keyBlock(Num n, HalfSoftmax softmax) {
    Num stage = n % kStages, parity = n / kStages % 2;
    position.key = keyOf(n);
    arrivals.wait(stage + kKeysCame, parity);
    auto queryWords = [&](int64_t, int64_t step) { return held[step]; };
    Nums products =
        beginMatmulByRows(k, type, queryWords, keys, shiftOf(stage), plan.slabs * kSlabColumns / 16);
    Nums weights = waitForProducts(k, products);
    leave(stage + kKeysLeft);
    weights = scoresFrom(std::move(weights));
    weigh(weights, softmax);
    arrivals.wait(stage + kValuesCame, parity);
    auto words = [&](int64_t i, int64_t step) { return leftWords(k, type, pieces, weights, i, step); };
    softmax.values = waitForProducts(
        k, beginMatmulByColumns(k, type, words, values, shiftOf(stage), plan.keys / 16, softmax.values));
    leave(stage + kValuesLeft);
    return softmax;
  }

  /// Each lane stores its words: other warps may still read shared memory.
  void finish(HalfSoftmax softmax) {
    Num left = shape.queries - firstQuery;
    Num sums = (position.batch * shape.queryHeads + position.head) * shape.queries + firstQuery;
    Nums results = finishRows(std::move(softmax), memory[1], sums, left);
    GlobalRows rows =
        headRows(memory[0], shape.o, position.batch, position.head, firstQuery, left, shape.valueDepth);
    Memory words{rows.memory.pointer, k.b.getI32Type()};
    Pieces all = sumsOf(plan.valueSlabs * kSlabColumns);
    for (int64_t half = 0; half < 2; ++half) {
      Num row = warpRow + part.rows.at(half), first = rows.first + row * rows.stride;
      k.when(row < left, [&] {
        for (int64_t j = 0; j < shape.valueDepth / 8; ++j)
          k.store(words, (first + 8 * j) / 2 + part.columns.thread,
                  leftWords(k, type, all, results, 0, j / 2)[j % 2 * 2 + half]);
      });
    }
  }

  const Plan &plan;
  ArrayRef<Memory> memory;
  std::optional<Memory> sinks;
  Arrivals arrivals;
  SlabMatrix queries, keys, values;   ///< of the first stage, but for queries
  SmallVector<Nums> held;             ///< words of queries, by step
  Num firstQuery, firstOfKeys, count; ///< of the block; blocks of keys
};

} // namespace

bool attention::generateWarpgroupAttention(CallKernels &kernels, const AttentionShape &shape,
                                           ArrayRef<Operand> operands) {
  if (!kernels.hasWarpgroups())
    return false;
  Plan plan(shape, operands);
  if (!plan.isPossible())
    return false;
  Type type = operands[2].element;
  SmallVector<Operand> all{operands[0], operands[1], kernels.map(plan.q->map), kernels.map(plan.k->map),
                           kernels.map(plan.v->map)};
  size_t others = all.size();
  appendOptional(kernels, shape, all);
  kernels.kernel("attention_warpgroups", plan.gridBlocks(), kConsumers + kWarpgroup, all,
                 [&](KernelBuilder &k, ArrayRef<Memory> memory) {
                   k.residentBlocks(1);
                   WarpgroupKernel(k, plan, type, memory, OptionalOperands(shape, memory.drop_front(others)));
                 });
  return true;
}
