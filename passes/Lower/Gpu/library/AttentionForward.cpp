// train.attention: a block owns some queries of one head and walks over the keys; softmax is computed as it
// goes.
#include "passes/Lower/Gpu/library/Attention.h"
#include "passes/Lower/Gpu/library/Generators.h"
#include "passes/Lower/Gpu/library/HalfAttention.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;
using namespace kedge::lower::gpu::attention;

namespace {

struct Forward {
  AttentionShape shape;
  int64_t depth, valueDepth; ///< padded
  AttentionBlocks blocks;

  explicit Forward(const CallKernels &kernels, const AttentionShape &shape)
      : shape(shape), depth(paddedDepth(shape.depth)), valueDepth(paddedDepth(shape.valueDepth)) {
    for (AttentionBlocks candidate :
         {AttentionBlocks{64, 64}, AttentionBlocks{32, 32}, AttentionBlocks{16, 16}}) {
      blocks = candidate;
      if (sharedFloats() <= kSharedFloats)
        return;
    }
    rt::calls::failCall(kernels.call,
                        "heads of depth {} do not fit shared memory: attention for CUDA takes up to 256",
                        std::max(shape.depth, shape.valueDepth));
  }

  /// Keys lie where weights lie later.
  int64_t keyFloats() const { return blocks.keys * std::max(depth, blocks.queries); }
  int64_t sharedFloats() const { return blocks.queries * depth + keyFloats() + blocks.keys * valueDepth; }
  int64_t queryBlocks() const { return ceilDiv(shape.queries, blocks.queries); }
  int64_t gridBlocks() const { return shape.batch * shape.queryHeads * queryBlocks(); }
};

/// State of the softmax: a thread has it for its rows, all threads of a row the same.
struct Softmax {
  Nums maximum, sum, values; ///< values: the thread's part of the weighted values

  /// Before any key; a sink is one score more, whose value is 0.
  static Softmax start(KernelBuilder &k, const TilePart &values, std::optional<Num> sink) {
    Num none = k.f32(-std::numeric_limits<double>::infinity());
    return {Nums(values.rows.size(), sink ? *sink : none), Nums(values.rows.size(), k.f32(sink ? 1 : 0)),
            Nums(values.size(), k.f32(0))};
  }
  Nums pack() const {
    Nums all = maximum;
    all.append(sum);
    all.append(values);
    return all;
  }
  static Softmax unpack(const Nums &all, size_t rows) {
    ArrayRef<Num> list = all;
    return {Nums(list.take_front(rows)), Nums(list.slice(rows, rows)), Nums(list.drop_front(2 * rows))};
  }
};

class ForwardKernel {
public:
  ForwardKernel(KernelBuilder &k, const Forward &plan, Memory q, Memory key, Memory v, Memory o, Memory lse,
                const OptionalOperands &optional)
      : k(k), plan(plan), shape(plan.shape), keyMemory(key), valueMemory(v), scores(k, shape, optional.mask),
        dropout(k, shape, optional.counters), grid(Grid::of(k, 8, 16)),
        queryTile(k, k.shared(k.b.getF32Type(), plan.blocks.queries * plan.depth), plan.blocks.queries,
                  plan.depth),
        keyShared(k.shared(k.b.getF32Type(), plan.keyFloats())),
        keyTile(k, keyShared, plan.blocks.keys, plan.depth),
        weightTile(k, keyShared, plan.blocks.queries, plan.blocks.keys),
        valueTile(k, k.shared(k.b.getF32Type(), plan.blocks.keys * plan.valueDepth), plan.blocks.keys,
                  plan.valueDepth),
        rows(Share::of(grid.y, 8, plan.blocks.queries)),
        scorePart{rows, Share::of(grid.x, 16, plan.blocks.keys)},
        valuePart{rows, depthShare(grid.x, plan.valueDepth)} {
    int64_t heads = shape.batch * shape.queryHeads;
    // Of causal heads the last queries see most keys: they begin first.
    Num block = (plan.queryBlocks() - 1) - k.block() / heads, head = k.block() % heads;
    position = {head / shape.queryHeads, head % shape.queryHeads, block * plan.blocks.queries, k.index(0)};
    run(q, o, lse, optional.sinks);
  }

private:
  void run(Memory q, Memory o, Memory lse, const std::optional<Memory> &sinks) {
    Num left = shape.queries - position.query;
    fill(k, queryTile, headRows(q, shape.q, position.batch, position.head, position.query, left, shape.depth),
         kThreads, scores.queryScale());
    const KeyRange keys = keysOf(k, shape, position.query, plan.blocks.queries, plan.blocks.keys);
    std::optional<Num> sink;
    if (sinks)
      sink = Scores::sink(k, *sinks, position.head);
    size_t count = rows.size();
    Nums last =
        k.loop(keys.begin, keys.end, k.index(plan.blocks.keys), Softmax::start(k, valuePart, sink).pack(),
               [&](Num key, Nums carried) { return keyBlock(key, Softmax::unpack(carried, count)).pack(); });
    finish(Softmax::unpack(last, count), left, o, lse);
  }

  Softmax keyBlock(Num key, Softmax softmax) {
    position.key = key;
    Num keyHead = position.head / shape.group(), left = shape.keys - key;
    k.barrier(); // weights and values of the last block are read
    fill(k, keyTile, headRows(keyMemory, shape.k, position.batch, keyHead, key, left, shape.depth), kThreads);
    fill(k, valueTile, headRows(valueMemory, shape.v, position.batch, keyHead, key, left, shape.valueDepth),
         kThreads);
    k.barrier();
    Nums values = productNT(k, scorePart, queryTile, keyTile, plan.depth, Nums(scorePart.size(), k.f32(0)));
    scores.finish(scorePart, position, values);
    k.barrier(); // keys are read
    weigh(values, softmax);
    k.barrier();
    softmax.values = productNN(k, valuePart, weightTile, valueTile, plan.blocks.keys, softmax.values);
    return softmax;
  }

  /// Scores become weights in shared memory; what was summed before is brought to the new maximum.
  void weigh(const Nums &values, Softmax &softmax) {
    int64_t columns = scorePart.columns.size();
    Nums kept = dropout.isOn() ? dropout.kept(scorePart, position) : Nums();
    for (int64_t r = 0; r < rows.size(); ++r) {
      ArrayRef<Num> row = ArrayRef<Num>(values).slice(r * columns, columns);
      Num top = row[0];
      for (Num score : row.drop_front())
        top = max(score, top);
      top = max(k.reduceLanes(top, 16, [](Num a, Num b) { return max(a, b); }), softmax.maximum[r]);
      // All scores -inf: any finite reference gives weights of 0.
      Num reference = select(top < -1e37, k.f32(0), top), rescale = k.exp2(softmax.maximum[r] - reference);
      Num sum = k.f32(0);
      for (int64_t c = 0; c < columns; ++c) {
        Num weight = k.exp2(row[c] - reference);
        sum = sum + weight;
        if (dropout.isOn()) // finish() multiplies those that stay
          weight = select(kept[r * columns + c], weight, k.f32(0));
        weightTile.store(rows.at(r), scorePart.columns.at(c), weight);
      }
      sum = k.reduceLanes(sum, 16, [](Num a, Num b) { return a + b; });
      softmax.sum[r] = fma(softmax.sum[r], rescale, sum);
      softmax.maximum[r] = top;
      for (int64_t c = 0; c < valuePart.columns.size(); ++c) {
        Num &value = softmax.values[r * valuePart.columns.size() + c];
        value = value * rescale;
      }
    }
  }

  void finish(Softmax softmax, Num left, Memory o, Memory lse) {
    Num sums = (position.batch * shape.queryHeads + position.head) * shape.queries + position.query;
    for (int64_t r = 0; r < rows.size(); ++r) {
      Num sum = softmax.sum[r], isEmpty = sum == 0;
      Num inverse = select(isEmpty, k.f32(0), shape.dropout.kept / sum);
      for (int64_t c = 0; c < valuePart.columns.size(); ++c) {
        Num &value = softmax.values[r * valuePart.columns.size() + c];
        value = value * inverse;
      }
      k.when((grid.x == 0) & (rows.at(r) < left), [&] {
        Num none = k.f32(-std::numeric_limits<double>::infinity());
        Num total = fma(softmax.maximum[r], k.f32(kLn2), k.log(sum));
        k.store(lse, sums + rows.at(r), select(isEmpty, none, total));
      });
    }
    storePart(k, valuePart, softmax.values,
              headRows(o, shape.o, position.batch, position.head, position.query, left, shape.valueDepth));
  }

  KernelBuilder &k;
  const Forward &plan;
  const AttentionShape &shape;
  Memory keyMemory, valueMemory;
  Scores scores;
  Dropout dropout;
  Grid grid;
  Tile queryTile;
  Memory keyShared;
  Tile keyTile, weightTile, valueTile;
  Share rows;
  TilePart scorePart, valuePart;
  ScorePosition position;
};

} // namespace

void kedge::lower::gpu::generateAttention(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  bool packed = rt::calls::boolAttr(call, "packed", false);
  rt::calls::expectCounts(call, packed ? 1 : 3, packed ? 7 : 9, 2, 2);
  expectTypes(kernels);
  AttentionShape shape = rt::calls::readAttention(call, 0, call.outputs[0], packed ? 1 : 3);
  expectOnGpu(kernels, shape);
  Operand q = kernels.input(0), key = packed ? q : kernels.input(1), value = packed ? q : kernels.input(2);
  if (isHalf(shape, {q, key, value, kernels.output(0)}))
    return generateHalfAttention(kernels, shape, {kernels.output(0), kernels.output(1), q, key, value});
  Forward plan(kernels, shape);
  SmallVector<Operand> operands = {kernels.output(0), kernels.output(1), kernels.input(0)};
  if (!packed)
    operands.append({kernels.input(1), kernels.input(2)});
  size_t others = operands.size();
  appendOptional(kernels, plan.shape, operands);
  kernels.kernel("attention", plan.gridBlocks(), kThreads, operands,
                 [&](KernelBuilder &k, ArrayRef<Memory> memory) {
                   k.residentBlocks(residentBlocks(plan.shape));
                   Memory q = memory[2], key = packed ? q : memory[3], v = packed ? q : memory[4];
                   OptionalOperands optional(plan.shape, memory.drop_front(others));
                   ForwardKernel(k, plan, q, key, v, memory[0], memory[1], optional);
                 });
}
