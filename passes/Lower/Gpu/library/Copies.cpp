#include "passes/Lower/Gpu/library/Copies.h"
#include "passes/Lower/Gpu/library/Generators.h"
#include "runtime/calls/CopyPlans.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;
using kedge::rt::calls::CopyDim;

unsigned kedge::lower::gpu::vectorWidth(Type element, ArrayRef<int64_t> strides) {
  unsigned width = 128 / element.getIntOrFloatBitWidth();
  while (width > 1 && llvm::any_of(strides, [&](int64_t stride) { return stride % width != 0; }))
    width /= 2;
  return width;
}

namespace {

struct StridedJob {
  std::vector<CopyDim> dims; ///< simplified
  int64_t from, to;

  SmallVector<int64_t> sizes() const {
    return each([](const CopyDim &d) { return d.size; });
  }
  SmallVector<int64_t> srcStrides() const {
    return each([](const CopyDim &d) { return d.src; });
  }
  SmallVector<int64_t> dstStrides() const {
    return each([](const CopyDim &d) { return d.dst; });
  }
  int64_t count() const {
    int64_t product = 1;
    for (const CopyDim &d : dims)
      product *= d.size;
    return product;
  }

private:
  template <typename F> SmallVector<int64_t> each(F &&f) const {
    SmallVector<int64_t> values;
    for (const CopyDim &d : dims)
      values.push_back(f(d));
    return values;
  }
};

/// Vectors of the innermost dimension are what is moved from here on; gives their width.
unsigned formVectors(StridedJob &job, Type element) {
  if (job.dims.empty() || job.dims.back().src != 1 || job.dims.back().dst != 1)
    return 1;
  SmallVector<int64_t> all = {job.from, job.to, job.dims.back().size};
  for (const CopyDim &d : ArrayRef(job.dims).drop_back())
    all.append({d.src, d.dst});
  unsigned width = vectorWidth(element, all);
  job.dims.back() = {job.dims.back().size / width, width, width};
  return width;
}

/// Row copies of a call in one kernel: each has blocks of its own, whose threads move one vector each.
class RowCopies {
public:
  void add(Operand src, Operand dst, StridedJob job) {
    unsigned width = formVectors(job, src.element);
    int64_t count = job.count();
    copies.push_back({std::move(job), width, count, blocks});
    operands.append({src, dst});
    blocks += ceilDiv(count, kElementThreads);
  }
  void emit(CallKernels &kernels) {
    kernels.kernel("copy", blocks, kElementThreads, operands, [&](KernelBuilder &k, ArrayRef<Memory> memory) {
      for (auto [i, copy] : llvm::enumerate(copies)) {
        int64_t end = i + 1 < copies.size() ? copies[i + 1].firstBlock : blocks;
        Num isOwn = k.index(0) == k.index(0);
        if (copies.size() > 1)
          isOwn = (k.block() >= copy.firstBlock) & (k.block() < end);
        Num flat = (k.block() - copy.firstBlock) * kElementThreads + k.thread();
        if (copy.count % kElementThreads != 0)
          isOwn = isOwn & (flat < copy.count);
        k.when(isOwn, [&, i = i, &copy = copy] { move(k, copy, memory[2 * i], memory[2 * i + 1], flat); });
      }
    });
  }

private:
  struct Copy {
    StridedJob job;
    unsigned width;
    int64_t count, firstBlock;
  };
  static void move(KernelBuilder &k, const Copy &copy, Memory src, Memory dst, Num flat) {
    Nums index = k.split(flat, copy.job.sizes());
    Num value = k.load(src, k.dot(index, copy.job.srcStrides()) + copy.job.from, copy.width);
    k.store(dst, k.dot(index, copy.job.dstStrides()) + copy.job.to, value);
  }

  std::vector<Copy> copies;
  SmallVector<Operand> operands;
  int64_t blocks = 0;
};

constexpr int64_t kTile = 32, kTileRows = 8;

/// `along`: the dimension that src is contiguous along; dst is along the last one. A block turns a tile of 32
/// x 32: both sides are read and written in whole lines.
void copyTransposed(CallKernels &kernels, Operand src, Operand dst, StridedJob job, size_t along) {
  CopyDim column = job.dims.back(), row = job.dims[along];
  job.dims.pop_back();
  job.dims.erase(job.dims.begin() + along);
  int64_t columnTiles = ceilDiv(column.size, kTile), rowTiles = ceilDiv(row.size, kTile);
  int64_t blocks = job.count() * rowTiles * columnTiles;
  kernels.kernel(
      "transpose", blocks, kTile * kTileRows, {src, dst}, [&](KernelBuilder &k, ArrayRef<Memory> memory) {
        Memory tile = k.shared(src.element, kTile * (kTile + 1));
        Num lane = k.thread() % kTile, line = k.thread() / kTile;
        Num firstColumn = k.block() % columnTiles * kTile, rest = k.block() / columnTiles;
        Num firstRow = rest % rowTiles * kTile;
        Nums outer = k.split(rest / rowTiles, job.sizes());
        Num from = k.dot(outer, job.srcStrides()) + job.from, to = k.dot(outer, job.dstStrides()) + job.to;
        for (int64_t part = 0; part < kTile; part += kTileRows) {
          Num r = firstRow + lane, c = firstColumn + line + part;
          k.when((r < row.size) & (c < column.size), [&] {
            k.store(tile, (line + part) * (kTile + 1) + lane,
                    k.load(memory[0], from + r * row.src + c * column.src));
          });
        }
        k.barrier();
        for (int64_t part = 0; part < kTile; part += kTileRows) {
          Num r = firstRow + line + part, c = firstColumn + lane;
          k.when((r < row.size) & (c < column.size), [&] {
            k.store(memory[1], to + r * row.dst + c * column.dst,
                    k.load(tile, lane * (kTile + 1) + line + part));
          });
        }
      });
}

/// A trailing dimension that is whole joins the one before it.
std::vector<Inset> simplify(std::vector<Inset> dims) {
  auto isWhole = [](const Inset &d) { return d.size == d.inner && d.start == 0 && d.step == 1; };
  std::vector<Inset> merged;
  for (const Inset &d : llvm::reverse(dims)) {
    if (!merged.empty() && isWhole(merged.back()) && d.step == 1) {
      int64_t run = merged.back().size;
      merged.back() = {d.size * run, d.inner * run, d.start * run};
    } else {
      merged.push_back(d);
    }
  }
  std::reverse(merged.begin(), merged.end());
  return merged;
}

/// Whether all of `index` lie in the inner tensor, and where there.
std::pair<Num, Num> insetPlace(KernelBuilder &k, ArrayRef<Num> index, ArrayRef<Inset> dims, int64_t width) {
  Num place = k.index(0), inside = k.index(0) == k.index(0);
  for (auto [i, d] : llvm::zip_equal(index, dims)) {
    bool last = &d == &dims.back();
    int64_t scale = last ? width : 1, step = std::abs(d.step), limit = d.inner * step;
    Num at = i * scale - d.start;
    if (d.step < 0)
      at = -at;
    if (d.start != 0 || limit < d.size)
      inside = inside & ((at >= 0) & (at < limit));
    if (step != 1) {
      inside = inside & (at % step == 0);
      at = at / step;
    }
    place = place * d.inner + at;
  }
  return {inside, place};
}

} // namespace

namespace {
/// Emits a copy that is a transpose at once, others with the rest of the call.
void addCopy(CallKernels &kernels, RowCopies &rows, Operand src, Operand dst, std::vector<CopyDim> dims,
             int64_t from, int64_t to) {
  if (llvm::any_of(dims, [](const CopyDim &d) { return d.size == 0; }))
    return;
  StridedJob job{rt::calls::simplify(std::move(dims)), from, to};
  Operand srcBits = kernels.bits(src), dstBits = kernels.bits(dst);
  if (!job.dims.empty() && job.dims.back().src != 1 && job.dims.back().size >= 8)
    for (size_t d = 0; d + 1 < job.dims.size(); ++d)
      if (job.dims[d].src == 1 && job.dims[d].size >= 8)
        return copyTransposed(kernels, srcBits, dstBits, std::move(job), d);
  rows.add(srcBits, dstBits, std::move(job));
}
} // namespace

void kedge::lower::gpu::copyStrided(CallKernels &kernels, Operand src, Operand dst, std::vector<CopyDim> dims,
                                    int64_t from, int64_t to) {
  RowCopies rows;
  addCopy(kernels, rows, src, dst, std::move(dims), from, to);
  rows.emit(kernels);
}

void kedge::lower::gpu::copyInset(CallKernels &kernels, Operand src, Operand dst, std::vector<Inset> dims,
                                  std::optional<Operand> outside, int64_t constant) {
  src = kernels.bits(src), dst = kernels.bits(dst);
  if (dims.empty())
    dims.push_back({1, 1, 0});
  dims = simplify(std::move(dims));
  Inset &last = dims.back();
  unsigned width = last.step != 1 ? 1 : vectorWidth(src.element, {last.size, last.inner, last.start});
  SmallVector<int64_t> sizes;
  for (const Inset &d : dims)
    sizes.push_back(d.size);
  sizes.back() /= width;
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  SmallVector<Operand> operands = {src, dst};
  if (outside)
    operands.push_back(kernels.bits(*outside));
  kernels.forEach("pad", count, operands, [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
    auto [inside, place] = insetPlace(k, k.split(flat, sizes), dims, width);
    Num source = place;
    Nums value = k.choose(
        inside, [&]() -> Nums { return {k.load(memory[0], source, width)}; },
        [&]() -> Nums {
          Num fill = outside ? k.load(memory[2], k.index(0)) : literal(k.zeros(src.element, 1), constant);
          return {k.vector(Nums(width, fill))};
        });
    k.store(memory[1], flat * width, value[0]);
  });
}

Operand kedge::lower::gpu::accumulatorOf(CallKernels &kernels, const Operand &result, int64_t count) {
  return result.isRounded() ? kernels.workspace(result.compute, count) : result;
}

void kedge::lower::gpu::convertElements(CallKernels &kernels, const Operand &from, const Operand &to,
                                        int64_t count) {
  unsigned width = std::max(vectorWidth(from.element, {count}), vectorWidth(to.element, {count}));
  kernels.forEach("convert", count / width, {from, to},
                  [&](KernelBuilder &k, ArrayRef<Memory> memory, Num flat) {
                    Num at = flat * int64_t(width);
                    k.store(memory[1], at, k.load(memory[0], at, width));
                  });
}

void kedge::lower::gpu::generateCopies(CallKernels &kernels) {
  std::vector<rt::calls::CopyPlan> plans = *rt::calls::planCopies(kernels.call);
  RowCopies rows;
  for (rt::calls::CopyPlan &plan : plans)
    addCopy(kernels, rows, kernels.input(plan.input), kernels.output(plan.output), std::move(plan.dims),
            plan.from, plan.to);
  rows.emit(kernels);
}

void kedge::lower::gpu::generateSliceGrad(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  rt::calls::expectCounts(call, 1, 1, 1, 1);
  const rt::TensorDesc &whole = call.outputs[0];
  auto ranges = rt::calls::readRanges(call, whole, call.inputs[0]);
  std::vector<Inset> dims;
  for (size_t d = 0; d < ranges.size(); ++d)
    dims.push_back({whole.shape[d], ranges[d].size, ranges[d].start, ranges[d].step});
  copyInset(kernels, kernels.input(0), kernels.output(0), std::move(dims));
}

void kedge::lower::gpu::generateCenterCropPad(CallKernels &kernels) {
  const rt::calls::LibraryCall &call = kernels.call;
  rt::calls::expectCounts(call, 1, 1, 1, 1);
  const auto &in = call.inputs[0].shape, &out = call.outputs[0].shape;
  if (in.size() != out.size())
    rt::calls::failCall(call, "operand and result differ in rank");
  std::vector<Inset> dims;
  for (size_t d = 0; d < in.size(); ++d) {
    int64_t difference = in[d] - out[d];
    dims.push_back({out[d], in[d], difference > 0 ? -(difference / 2) : -difference / 2});
  }
  copyInset(kernels, kernels.input(0), kernels.output(0), std::move(dims));
}
