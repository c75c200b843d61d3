// train.gather_grad, train.add_gather_grad, train.gather_elements_grad, train.gather_nd_grad: sums without
// atomics, in order of position.
#include "runtime/calls/GatherIndex.h"
#include "runtime/calls/IndexTuples.h"
#include "runtime/calls/LineMap.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/Registration.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

/// What becomes of a row of dst that has been there.
enum class Before { Replaced, Added };

/// Row r of dst = sum of the rows of src whose slot is r, or is added to it. Lists of the source rows of each
/// slot are made first, then every row of dst is written once.
class RowSums {
public:
  RowSums(const LibraryCall &call, int64_t slots, int64_t rows, int64_t columns, int threads)
      : slots_(slots), rows_(rows), columns_(columns), threads_(threads) {
    if (slots > INT32_MAX || rows > INT32_MAX)
      failCall(call, "more than 2^31 rows are not available");
  }

  size_t workspaceBytes() const { return alignedBytes(4 * slots_) + alignedBytes(4 * rows_); }

  /// slotOf(row): the slot, or -1 for a row that is dropped.
  template <Before before = Before::Replaced, typename T, typename SlotOf>
  void run(const T *src, T *dst, void *workspace, SlotOf &&slotOf) const {
    int32_t *head = static_cast<int32_t *>(workspace), *next = head + alignedBytes(4 * slots_) / 4;
    std::fill_n(head, slots_, -1);
    for (int64_t row = rows_; row-- > 0;) { // backwards, so that lists go up
      int64_t slot = slotOf(row);
      if (slot < 0)
        continue;
      next[row] = head[slot];
      head[slot] = static_cast<int32_t>(row);
    }
    int64_t grain = std::max<int64_t>(1, grainFor(columns_ * sizeof(T)) / 8),
            blocks = (slots_ + grain - 1) / grain;
    // Tokens crowd in few rows: blocks are handed out one by one.
    parallelParts(threads_, blocks, [&](int64_t block) {
      for (int64_t slot = block * grain; slot < std::min(slots_, (block + 1) * grain); ++slot)
        sumRow<before>(src, dst + slot * columns_, head[slot], next);
    });
  }

private:
  template <Before before, typename T>
  void sumRow(const T *src, T *dst, int32_t first, const int32_t *next) const {
    using C = Compute<T>;
    constexpr int64_t kChunk = 256;
    if (first < 0) {
      if constexpr (before == Before::Replaced)
        std::fill_n(dst, columns_, T(0));
      return;
    }
    for (int64_t begin = 0; begin < columns_; begin += kChunk) {
      int64_t length = std::min(kChunk, columns_ - begin);
      C sum[kChunk] = {};
      for (int32_t row = first; row >= 0; row = next[row]) {
        const T *from = src + row * columns_ + begin;
        for (int64_t j = 0; j < length; ++j)
          sum[j] += static_cast<C>(from[j]);
      }
      for (int64_t j = 0; j < length; ++j) {
        T &place = dst[begin + j];
        const T own = static_cast<T>(sum[j]); // rounded before it is added
        place = before == Before::Added ? static_cast<T>(static_cast<C>(place) + static_cast<C>(own)) : own;
      }
    }
  }

  int64_t slots_, rows_, columns_;
  int threads_;
};

/// The addend is the first of the operands that only train.add_gather_grad has.
constexpr size_t kAddend = 2;

template <typename T> void copyAddend(const void *addend, void *to, int64_t elements, int threads) {
  if (addend == to)
    return;
  parallelFor(threads, elements, grainFor(sizeof(T)), [&](int64_t begin, int64_t end) {
    std::copy(static_cast<const T *>(addend) + begin, static_cast<const T *>(addend) + end,
              static_cast<T *>(to) + begin);
  });
}

template <Before before> std::unique_ptr<LibraryKernel> makeGatherGrad(const LibraryCall &call, int threads) {
  constexpr bool adds = before == Before::Added;
  expectCounts(call, 2 + adds, 2 + adds, 1, 1);
  const TensorDesc &dy = call.inputs[0], &indices = call.inputs[1], &dx = call.outputs[0];
  expectSameType(call, dy, dx);
  if constexpr (adds) {
    expectSameType(call, call.inputs[kAddend], dx);
    expectShape(call, call.inputs[kAddend], dx.shape, "the addend");
  }
  expectIndexType(call, indices);
  int64_t axis = normalAxis(call, intAttr(call, "axis", 0), dx.shape.size());
  Shape expected(dx.shape.begin(), dx.shape.begin() + axis);
  expected.insert(expected.end(), indices.shape.begin(), indices.shape.end());
  expected.insert(expected.end(), dx.shape.begin() + axis + 1, dx.shape.end());
  expectShape(call, dy, expected, "the incoming gradient");
  AxisView view = viewAlong(dx.shape, axis);
  int64_t count = indices.elements(), padding = -1;
  if (hasAttr(call, "padding_idx")) {
    padding = intAttr(call, "padding_idx", 0);
    padding += padding < 0 ? view.size : 0;
  }
  bool wide = indices.type == DType::I64;
  RowSums sums(call, view.outer * view.size, view.outer * count, view.inner, threads);
  return dispatchFloat(call, dx.type, [&]<typename T>(TypeTag<T>) -> std::unique_ptr<LibraryKernel> {
    return closure(sums.workspaceBytes(), [=, elements = dx.elements(),
                                           what = describe(call)](Inputs in, Outputs out, void *workspace) {
      IndexReader index{in[1], wide};
      FirstBad bad;
      if constexpr (adds)
        copyAddend<T>(in[kAddend], out[0], elements, threads);
      sums.run<before>(static_cast<const T *>(in[0]), static_cast<T *>(out[0]), workspace, [&](int64_t row) {
        int64_t place = resolveIndex(index[row % count], view.size, row % count, bad);
        return place < 0 || place == padding ? -1 : row / count * view.size + place;
      });
      if (bad.any())
        failIndex(what, index, bad, view.size);
    });
  });
}

std::unique_ptr<LibraryKernel> makeGatherNDGrad(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 2, 1, 1);
  const TensorDesc &dy = call.inputs[0], &dx = call.outputs[0];
  expectSameType(call, dy, dx);
  IndexTuples tuples = readTuples(call, dx, call.inputs[1], dy, intAttr(call, "batch_dims", 0));
  RowSums sums(call, tuples.slots, tuples.count, tuples.sliceElements, threads);
  return dispatchFloat(call, dx.type, [&]<typename T>(TypeTag<T>) -> std::unique_ptr<LibraryKernel> {
    return closure(sums.workspaceBytes(),
                   [=, what = describe(call)](Inputs in, Outputs out, void *workspace) {
                     IndexReader index{in[1], tuples.wide};
                     FirstBad bad;
                     sums.run(static_cast<const T *>(in[0]), static_cast<T *>(out[0]), workspace,
                              [&](int64_t row) { return tuples.slot(index, row, bad); });
                     if (bad.any())
                       failIndex(what, index, bad, tuples.sizes[bad.position() % tuples.depth]);
                   });
  });
}

/// A line of dX is summed in the thread's own part of the workspace; lines that no index names are zero.
template <typename T> class ElementsGrad final : public LibraryKernel {
public:
  ElementsGrad(const LibraryCall &call, int threads)
      : lines_(mapLines(call, call.outputs[0], call.inputs[1])), wide_(call.inputs[1].type == DType::I64),
        elements_(call.outputs[0].elements()), threads_(threads), what_(describe(call)) {}

  size_t workspaceBytes() const override { return lineBytes() * threads_; }

  void run(Inputs in, Outputs out, void *workspace) override {
    T *dx = static_cast<T *>(out[0]);
    IndexReader index{in[1], wide_};
    FirstBad bad;
    parallelFor(threads_, elements_, grainFor(sizeof(T)),
                [&](int64_t begin, int64_t end) { std::fill(dx + begin, dx + end, T(0)); });
    parallelFor(threads_, lines_.count, 1, [&](int64_t begin, int64_t end) {
      C *sum = reinterpret_cast<C *>(static_cast<char *>(workspace) + threadSlot() * lineBytes());
      for (int64_t line = begin; line < end; ++line)
        sumLine(line, static_cast<const T *>(in[0]), index, dx, sum, bad);
    });
    if (bad.any())
      failIndex(what_, index, bad, lines_.dataSize);
  }

private:
  using C = Compute<T>;
  size_t lineBytes() const { return alignedBytes(sizeof(C) * lines_.dataSize); }

  void sumLine(int64_t line, const T *dy, const IndexReader &index, T *dx, C *sum, FirstBad &bad) const {
    int64_t dataStart = lines_.dataStart(line), indexStart = lines_.indexStart(line);
    std::fill_n(sum, lines_.dataSize, C(0));
    for (int64_t i = 0; i < lines_.indexSize; ++i) {
      int64_t position = indexStart + i * lines_.indexStride;
      int64_t place = resolveIndex(index[position], lines_.dataSize, position, bad);
      if (place >= 0)
        sum[place] += static_cast<C>(dy[position]);
    }
    for (int64_t i = 0; i < lines_.dataSize; ++i)
      dx[dataStart + i * lines_.dataStride] = static_cast<T>(sum[i]);
  }

  LineMap lines_;
  bool wide_;
  int64_t elements_;
  int threads_;
  std::string what_;
};

std::unique_ptr<LibraryKernel> makeGatherElementsGrad(const LibraryCall &call, int threads) {
  expectCounts(call, 2, 2, 1, 1);
  expectSameType(call, call.inputs[0], call.outputs[0]);
  expectShape(call, call.inputs[0], call.inputs[1].shape, "the incoming gradient");
  return dispatchFloat(call, call.outputs[0].type,
                       [&]<typename T>(TypeTag<T>) -> std::unique_ptr<LibraryKernel> {
                         return std::make_unique<ElementsGrad<T>>(call, threads);
                       });
}

} // namespace

KEDGE_REGISTER(GatherGrad) {
  registerKernel("train.gather_grad", makeGatherGrad<Before::Replaced>);
  registerKernel("train.add_gather_grad", makeGatherGrad<Before::Added>);
  registerKernel("train.gather_elements_grad", makeGatherElementsGrad);
  registerKernel("train.gather_nd_grad", makeGatherNDGrad);
}

} // namespace kedge::rt::cpu
