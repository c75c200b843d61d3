// Depthwise convolutions and others whose groups have few rows: no tiles, sums are read as they come.
#include "passes/Lower/Gpu/library/convolution/Convolution.h"

using namespace mlir;
using namespace kedge::lower::gpu;

namespace kedge::lower::gpu::convolution {
namespace {

/// Loops over [0, counts), the last fastest; dims of one are no loops, and a short last one is written out.
Nums nest(KernelBuilder &k, ArrayRef<Num> counts, Nums index, Nums carried, Fn<Nums(Nums, Nums)> body) {
  if (index.size() == counts.size())
    return body(index, carried);
  auto enter = [&](Num at, Nums values) {
    Nums inner = index;
    inner.push_back(at);
    return nest(k, counts, inner, values, body);
  };
  Num count = counts[index.size()];
  constexpr int64_t kWrittenOut = 8;
  int64_t known = count.constant().value_or(0);
  if (known == 1 || (0 < known && known <= kWrittenOut && index.size() + 1 == counts.size())) {
    for (int64_t at = 0; at < known; ++at)
      carried = enter(k.index(at), carried);
    return carried;
  }
  return k.loop(k.index(0), count, k.index(1), carried, enter);
}

/// A thread: all rows of its group at one position.
class DirectImage {
public:
  DirectImage(KernelBuilder &k, const ImageMatmul &p, ArrayRef<Memory> memory)
      : k(k), p(p), source(memory[0]), filter(memory[1]), result(memory[2]) {
    if (memory.size() > 3)
      bias = memory[3];
  }

  void run(Num flat) {
    at = k.split(flat, {p.batch, p.groups, p.walks[0].result, p.walks[1].result, p.walks[2].result});
    Nums counts;
    for (int d = 0; d < 3; ++d) {
      const TapWalk &walk = p.walks[d];
      phases.push_back(TapPhase::of(k, walk, walk.phases == 1 ? k.index(0) : at[d + 2] % walk.phases));
      origin.push_back((walk.phases == 1 ? at[d + 2] : at[d + 2] / walk.phases) * walk.scale +
                       phases[d].start);
      counts.push_back(phases[d].count);
    }
    Nums zeros(p.rows, k.zeros(p.sum, 1));
    Nums sums = nest(k, counts, {}, zeros, [&](Nums tap, Nums sums) { return addTap(tap, sums); });
    for (int64_t row = 0; row < p.rows; ++row) {
      Num channel = at[1] * p.rows + row, value = sums[row];
      if (bias)
        value = value + k.load(*bias, channel);
      Num plane = at[0] * (p.groups * p.rows) + channel;
      k.store(result, plane * p.resultSize() + flatten(ArrayRef<Num>(at).drop_front(2), p.resultSpace()),
              value);
    }
  }

private:
  Nums addTap(Nums tap, Nums sums) {
    Num inside = always(k);
    Nums read;
    for (int d = 0; d < 3; ++d) {
      read.push_back(origin[d] + tap[d] * p.walks[d].step);
      if (p.walks[d].leaves())
        inside = inside & isWithin(read[d], p.walks[d].source);
    }
    Num from = (at[0] * p.groups + at[1]) * (p.depth * p.sourceSize()) + flatten(read, p.sourceSpace());
    Num weights = at[1] * p.groupWeights() + p.tap(phases, tap);
    if (p.depth == 1) { // depthwise: no branch around so little
      Num value = k.load(source, select(inside, from, k.index(0)));
      return addChannel(select(inside, value, k.zeros(p.sum, 1)), weights, sums);
    }
    auto addChannels = [&] {
      return nest(k, {k.index(p.depth)}, {}, sums, [&](Nums channel, Nums so) {
        Num value = k.load(source, from + channel[0] * p.sourceSize());
        return addChannel(value, weights + channel[0] * p.depthStep, so);
      });
    };
    return k.choose(inside, addChannels, [&] { return sums; });
  }

  Nums addChannel(Num value, Num weights, Nums sums) {
    for (int64_t row = 0; row < p.rows; ++row)
      sums[row] = fma(k.load(filter, weights + row * p.rowStep), value, sums[row]);
    return sums;
  }

  KernelBuilder &k;
  const ImageMatmul &p;
  Memory source, filter, result;
  std::optional<Memory> bias;
  Nums at, origin;
  SmallVector<TapPhase> phases;
};

/// A block sums some taps of one pair of a filter and a channel over a part of the positions.
struct PairPlan {
  static constexpr int64_t kThreads = 128, kMostTaps = 32;
  const ConvShape &c;
  TapWalks walks;
  int64_t chunks, taps; ///< of a pair; of a chunk
  int64_t positions, parts, positionsOfPart;

  explicit PairPlan(const ConvShape &c) : c(c), positions(c.batch * c.outSize()) {
    for (int d = 0; d < 3; ++d)
      walks[d] = TapWalk::forward(c, d);
    chunks = ceilDiv(c.taps(), kMostTaps), taps = ceilDiv(c.taps(), chunks);
    int64_t operands = c.batch * (c.channels * c.inSize() + c.filters * c.outSize());
    constexpr int64_t kPositionsOfThread = 8, kBlocksOfProcessor = 4;
    int64_t rounds = ceilDiv(positions, kThreads);
    parts = partsOf(ceilDiv(pairs() * chunks, kBlocksOfProcessor), rounds, kPositionsOfThread, elements(),
                    operands);
    positionsOfPart = ceilDiv(rounds, parts) * kThreads;
  }
  int64_t pairs() const { return c.filters * c.groupChannels(); }
  int64_t elements() const { return pairs() * c.taps(); }
};

class PairKernel {
public:
  PairKernel(KernelBuilder &k, const PairPlan &plan, Type sum, ArrayRef<Memory> memory)
      : k(k), plan(plan), c(plan.c), sum(sum), image(memory[0]), result(memory[1]), filter(memory[2]) {
    Nums at = k.split(k.block(), {plan.parts, c.filters, c.groupChannels(), plan.chunks});
    part = at[0], row = at[1], column = at[2], firstTap = at[3] * plan.taps;
  }

  void run() {
    for (int64_t tap = 0; tap < plan.taps; ++tap)
      taps.push_back(
          k.split(min(firstTap + tap, k.index(c.taps() - 1)), {c.kernel[0], c.kernel[1], c.kernel[2]}));
    Num begin = part * plan.positionsOfPart, end = min(begin + plan.positionsOfPart, k.index(plan.positions));
    Nums sums = k.loop(begin + k.thread(), end, k.index(PairPlan::kThreads), Nums(plan.taps, k.zeros(sum, 1)),
                       [&](Num position, Nums so) { return addPosition(position, so); });
    join(sums);
  }

private:
  Nums addPosition(Num position, Nums sums) {
    Nums at = k.split(position, {c.batch, c.out[0], c.out[1], c.out[2]});
    ArrayRef<Num> space = ArrayRef<Num>(at).drop_front();
    Num dy = k.load(result, (at[0] * c.filters + row) * c.outSize() + flatten(space, c.out));
    Num channel = row / c.groupFilters() * c.groupChannels() + column;
    Num plane = (at[0] * c.channels + channel) * c.inSize(), zero = k.zeros(sum, 1);
    for (int64_t tap = 0; tap < plan.taps; ++tap) {
      Num inside = always(k);
      Nums read;
      for (int d = 0; d < 3; ++d) {
        read.push_back(space[d] * c.stride[d] + taps[tap][d] * c.dilation[d] - c.pad[d]);
        if (plan.walks[d].leaves())
          inside = inside & isWithin(read[d], c.in[d]);
      }
      Num x = k.load(image, select(inside, plane + flatten(read, c.in), k.index(0)));
      sums[tap] = fma(select(inside, x, zero), dy, sums[tap]);
    }
    return sums;
  }

  /// Of all threads, in two stages: kFolders threads a tap, then one.
  void join(const Nums &sums) {
    constexpr int64_t kFolders = 4, kLine = PairPlan::kThreads + kFolders;
    Memory all = k.shared(sum, plan.taps * kLine), few = k.shared(sum, plan.taps * kFolders);
    for (int64_t tap = 0; tap < plan.taps; ++tap)
      k.store(all, tap * kLine + k.thread(), sums[tap]);
    k.barrier();
    auto reduce = [&](Memory from, Num first, int64_t count, int64_t step) {
      return k.loop(k.index(1), k.index(count), k.index(1), {k.load(from, first)},
                    [&](Num at, Nums so) -> Nums { return {so[0] + k.load(from, first + at * step)}; })[0];
    };
    k.when(k.thread() < plan.taps * kFolders, [&] {
      Num first = k.thread() / kFolders * kLine + k.thread() % kFolders;
      k.store(few, k.thread(), reduce(all, first, PairPlan::kThreads / kFolders, kFolders));
    });
    k.barrier();
    Num tap = firstTap + k.thread();
    k.when((k.thread() < plan.taps) & (tap < c.taps()), [&] {
      Num pair = row * c.groupChannels() + column;
      k.store(filter, part * plan.elements() + pair * c.taps() + tap,
              reduce(few, k.thread() * kFolders, kFolders, 1));
    });
  }

  KernelBuilder &k;
  const PairPlan &plan;
  const ConvShape &c;
  Type sum;
  Memory image, result, filter;
  Num part, row, column, firstTap;
  SmallVector<Nums> taps;
};

} // namespace

void directImages(CallKernels &kernels, const ImageMatmul &product) {
  SmallVector<Operand> operands = {product.source, product.filter, product.result};
  if (product.bias)
    operands.push_back(*product.bias);
  kernels.forEach("convolution_direct", product.batch * product.groups * product.resultSize(), operands,
                  [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
                    DirectImage(k, product, memory).run(flat);
                  });
}

void directWeights(CallKernels &kernels, const Convolution &convolution) {
  PairPlan plan(convolution.shape);
  Operand sums = partialsOf(kernels, convolution.filter, convolution.sum, plan.parts, plan.elements());
  kernels.kernel(
      "convolution_pairs", plan.parts * plan.pairs() * plan.chunks, PairPlan::kThreads,
      {convolution.image, convolution.result, sums},
      [&](KernelBuilder &k, ArrayRef<Memory> memory) { PairKernel(k, plan, convolution.sum, memory).run(); });
  joinParts(kernels, sums, convolution.filter, plan.parts, plan.elements());
}

} // namespace kedge::lower::gpu::convolution
