// train.grouped_matmul, train.grouped_matmul_grad: the rows of each expert are one product. Places are sorted
// by expert with their order kept, rows are read where they lie while panels are packed, and every product is
// computed on one thread: parts of several products run side by side, and their bits do not depend on the
// cut.
#include "runtime/calls/GatherIndex.h"
#include "runtime/cpu/Registration.h"
#include "runtime/cpu/gemm/Gemm.h"
#include <numeric>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

constexpr int64_t kMostRows = 480, kMostColumns = 768; ///< of a part
constexpr int64_t kDepth = 64; ///< numbers of a lane that are brought together at once

/// As few equal parts as there are when none is above `most`.
int64_t partsOf(int64_t size, int64_t most) { return (size + most - 1) / most; }
/// The largest of them.
int64_t largestOf(int64_t size, int64_t parts) { return (size + parts - 1) / std::max<int64_t>(parts, 1); }
int64_t smallestOf(int64_t size, int64_t parts) { return size / std::max<int64_t>(parts, 1); }

/// What a call says: place p is of token p / slots.
struct GroupedShape {
  int64_t places, slots, experts, k, n;
  bool transB, skips, wideIndex;

  /// Of places: the last is of those that have no expert.
  int64_t lists() const { return experts + skips; }

  /// W, dW: a matrix of k x n.
  template <typename S> Strided<S> matrix(S *base, int64_t expert) const {
    base += expert * k * n;
    return transB ? Strided<S>{base, 1, k} : Strided<S>{base, n, 1};
  }
};

GroupedShape readGrouped(const LibraryCall &call, const TensorDesc &matrices, const TensorDesc &products) {
  const TensorDesc &x = call.inputs[0], &experts = call.inputs[1];
  const bool transB = boolAttr(call, "transB", false), skips = boolAttr(call, "skips", false);
  expectSameType(call, x, matrices);
  expectSameType(call, x, products);
  expectIndexType(call, experts);
  if (x.shape.size() != 2 || experts.shape.size() != 2 || matrices.shape.size() != 3)
    failCall(call, "expected X [T, K], experts [T, S] and matrices of rank 3");
  const GroupedShape shape{experts.elements(),
                           experts.shape[1],
                           matrices.shape[0],
                           x.shape[1],
                           matrices.shape[transB ? 1 : 2],
                           transB,
                           skips,
                           experts.type == DType::I64};
  expectShape(call, experts, {x.shape[0], shape.slots}, "experts");
  expectShape(call, products, {x.shape[0], shape.slots, shape.n}, "Y");
  expectShape(call, matrices,
              transB ? Shape{shape.experts, shape.n, shape.k} : Shape{shape.experts, shape.k, shape.n}, "W");
  if (shape.places > INT32_MAX)
    failCall(call, "more than 2^31 places are not available");
  return shape;
}

/// The places of each expert one behind the other, in their order: those of e are [begins[e], begins[e + 1]).
struct SortedPlaces {
  const int64_t *begins;
  const int32_t *order;

  static size_t bytes(const GroupedShape &shape) {
    return alignedBytes(sizeof(int64_t) * (shape.lists() + 2)) + alignedBytes(sizeof(int32_t) * shape.places);
  }

  SortedPlaces(const GroupedShape &shape, const void *experts, const std::string &what, char *workspace) {
    auto *ends = reinterpret_cast<int64_t *>(workspace);
    auto *places =
        reinterpret_cast<int32_t *>(workspace + alignedBytes(sizeof(int64_t) * (shape.lists() + 2)));
    const IndexReader index{experts, shape.wideIndex};
    FirstBad bad;
    const auto expertOf = [&](int64_t place) {
      return shape.skips && index[place] == shape.experts
                 ? shape.experts
                 : resolveIndex(index[place], shape.experts, place, bad);
    };
    std::fill_n(ends, shape.lists() + 2, 0);
    for (int64_t place = 0; place < shape.places; ++place)
      if (const int64_t expert = expertOf(place); expert >= 0)
        ++ends[expert + 2];
    if (bad.any())
      failIndex(what, index, bad, shape.experts);
    std::partial_sum(ends, ends + shape.lists() + 2, ends);
    for (int64_t place = 0; place < shape.places;
         ++place) // ends[e + 1] goes from where e begins to where it ends
      places[ends[expertOf(place) + 1]++] = static_cast<int32_t>(place);
    begins = ends, order = places;
  }

  int64_t count(int64_t expert) const { return begins[expert + 1] - begins[expert]; }
};

/// Rows of a tensor in the order of sorted places; `each` neighbouring places share one.
template <typename S> struct SortedRows {
  const S *base;
  int64_t width, each;
  const int32_t *order;

  const S *row(int64_t i) const { return base + order[i] / each * width; }
};

/// Panels whose lanes are rows.
template <typename E, typename S> struct RowPanels {
  SortedRows<S> rows;

  void operator()(E *dst, int64_t width, int64_t first, int64_t lanes, int64_t k0, int64_t length) const {
    S together[kMostLanes * kDepth];
    for (int64_t p = 0; p < length; p += kDepth) {
      const int64_t depth = std::min(kDepth, length - p);
      for (int64_t i = 0; i < lanes; ++i)
        std::copy_n(rows.row(first + i) + k0 + p, depth, together + i * kDepth);
      packA<E, S>(dst + p * width, width, Strided<S>{together, kDepth, 1}, lanes, depth);
    }
  }
};

/// Panels whose lanes are columns: terms are rows.
template <typename E, typename S, bool ofA> struct TermPanels {
  SortedRows<S> rows;

  void operator()(E *dst, int64_t width, int64_t first, int64_t lanes, int64_t k0, int64_t length) const {
    S together[kMostLanes * kDepth];
    for (int64_t p = 0; p < length; p += kDepth) {
      const int64_t depth = std::min(kDepth, length - p);
      for (int64_t q = 0; q < depth; ++q)
        std::copy_n(rows.row(k0 + p + q) + first, lanes, together + q * kMostLanes);
      const Strided<S> source{together, 1, kMostLanes};
      if constexpr (ofA)
        packA<E, S>(dst + p * width, width, source, lanes, depth);
      else
        packB<E, S>(dst + p * width, width, source, lanes, depth);
    }
  }
};

/// Panels of a matrix where it lies: lanes are its columns.
template <typename E, typename S> struct ColumnPanels {
  Strided<S> source; ///< transposed

  void operator()(E *dst, int64_t width, int64_t first, int64_t lanes, int64_t k0, int64_t length) const {
    packB<E, S>(dst, width, source.at(first, k0), lanes, length);
  }
  int64_t neighbours(E *dst, int64_t width, int64_t first, int64_t lanes, int64_t k0, int64_t length) const {
    if constexpr (std::is_floating_point_v<E>)
      return packNeighbours(dst, width, source.at(first, k0), lanes, length);
    return 0;
  }
};

/// Calls f with a value of the type that panels for k terms of S have on this machine.
template <typename S, typename F> void inPanels(int64_t k, F &&f) {
  if constexpr (kIsHalf<S>)
    if (runsInBf16<S>(k))
      return f(Bf16PanelsOf<S>{});
  f(Compute<S>{});
}

/// A range of [0, size) that is cut into `parts`.
struct Part {
  int64_t begin, end;
  static Part of(int64_t index, int64_t parts, int64_t size) {
    return {size * index / parts, size * (index + 1) / parts};
  }
  int64_t size() const { return end - begin; }
};

template <typename S> class GroupedMatmul final : public LibraryKernel {
  using T = Compute<S>;

public:
  GroupedMatmul(GroupedShape shape, int threads, std::string what)
      : shape_(shape), columnParts_(partsOf(shape.n, kMostColumns)), threads_(threads),
        what_(std::move(what)) {
    for (int64_t rows = 1; rows <= std::min(shape.places, kMostRows); ++rows)
      for (const int64_t columns : {smallestOf(shape.n, columnParts_), largestOf(shape.n, columnParts_)})
        partBytes_ =
            std::max(partBytes_, alignedBytes(gemmWorkspaceBytes<S>(rows, columns, shape.k, 1, true)));
  }

  size_t workspaceBytes() const override { return SortedPlaces::bytes(shape_) + partBytes_ * threads_; }

  void run(Inputs inputs, Outputs outputs, void *workspace) override {
    char *scratch = static_cast<char *>(workspace);
    const SortedPlaces places(shape_, inputs[1], what_, scratch);
    scratch += SortedPlaces::bytes(shape_);
    const auto *x = static_cast<const S *>(inputs[0]), *w = static_cast<const S *>(inputs[2]);
    auto *y = static_cast<S *>(outputs[0]);
    if (shape_.k == 0)
      std::fill_n(y, shape_.places * shape_.n, S(0));
    if (shape_.skips)
      for (int64_t at = places.begins[shape_.experts]; at < places.begins[shape_.experts + 1]; ++at)
        std::fill_n(y + places.order[at] * shape_.n, shape_.n, S(0));
    int64_t rowParts = 0;
    for (int64_t expert = 0; expert < shape_.experts; ++expert)
      rowParts += partsOf(places.count(expert), kMostRows);
    parallelParts(threads_, shape_.k == 0 ? 0 : rowParts * columnParts_, [&](int64_t part) {
      multiply(x, w, y, places, part, scratch + threadSlot() * partBytes_);
    });
  }

private:
  struct Finish {
    S *y;
    const int32_t *order;
    int64_t n;
  };

  void multiply(const S *x, const S *w, S *y, const SortedPlaces &places, int64_t part, char *scratch) const {
    const Part columns = Part::of(part % columnParts_, columnParts_, shape_.n);
    int64_t number = part / columnParts_, expert = 0;
    for (; number >= partsOf(places.count(expert), kMostRows); ++expert)
      number -= partsOf(places.count(expert), kMostRows);
    const Part rows = Part::of(number, partsOf(places.count(expert), kMostRows), places.count(expert));
    const int32_t *order = places.order + places.begins[expert] + rows.begin;
    const Strided<const S> matrix = shape_.matrix(w, expert).at(0, columns.begin);
    const Finish context{y + columns.begin, order, shape_.n};
    const GemmFinish<T> finish{finishTile, &context};
    inPanels<S>(shape_.k, [&]<typename E>(E) {
      const RowPanels<E, S> left{{x, shape_.k, shape_.slots, order}};
      const ColumnPanels<E, S> right{{matrix.base, matrix.columnStride, matrix.rowStride}};
      gemmBlocked<E>(planGemm<E>(rows.size(), columns.size(), shape_.k, 1, true), left, right,
                     static_cast<T *>(nullptr), 0, GemmStart::Zero, static_cast<const T *>(nullptr), &finish,
                     scratch);
    });
  }

  static void finishTile(const void *context, const T *sums, int64_t stride, int64_t row, int64_t column,
                         int64_t rows, int64_t columns) {
    const Finish &to = *static_cast<const Finish *>(context);
    for (int64_t i = 0; i < rows; ++i)
      convertRows(1, columns, sums + i * stride, stride, to.y + to.order[row + i] * to.n + column, to.n);
  }

  GroupedShape shape_;
  int64_t columnParts_;
  int threads_;
  std::string what_;
  size_t partBytes_ = 0;
};

/// Terms are places, at most kTerms at once, which are added to the sums of those before.
template <typename S> class GroupedMatmulGrad final : public LibraryKernel {
  using T = Compute<S>;
  static constexpr bool kRounds = !std::is_same_v<S, T>;
  static constexpr int64_t kTerms = 512;

public:
  GroupedMatmulGrad(GroupedShape shape, int threads, std::string what)
      : shape_(shape), m_(shape.transB ? shape.n : shape.k), n_(shape.transB ? shape.k : shape.n),
        rowParts_(partsOf(m_, kMostRows)), columnParts_(partsOf(n_, kMostColumns)), threads_(threads),
        what_(std::move(what)) {
    for (int64_t terms = 1; terms <= std::min(shape.places, kTerms); ++terms)
      for (const int64_t rows : {smallestOf(m_, rowParts_), largestOf(m_, rowParts_)})
        for (const int64_t columns : {smallestOf(n_, columnParts_), largestOf(n_, columnParts_)})
          partBytes_ =
              std::max(partBytes_, alignedBytes(gemmWorkspaceBytes<S>(rows, columns, terms, 1, false)));
    if constexpr (kRounds)
      sumBytes_ = alignedBytes(sizeof(T) * largestOf(m_, rowParts_) * largestOf(n_, columnParts_));
  }

  size_t workspaceBytes() const override {
    return SortedPlaces::bytes(shape_) + (partBytes_ + sumBytes_) * threads_;
  }

  void run(Inputs inputs, Outputs outputs, void *workspace) override {
    char *scratch = static_cast<char *>(workspace);
    const SortedPlaces places(shape_, inputs[1], what_, scratch);
    scratch += SortedPlaces::bytes(shape_);
    const auto *x = static_cast<const S *>(inputs[0]), *dY = static_cast<const S *>(inputs[2]);
    parallelParts(threads_, shape_.experts * rowParts_ * columnParts_, [&](int64_t part) {
      sum(x, dY, static_cast<S *>(outputs[0]), places, part,
          scratch + threadSlot() * (partBytes_ + sumBytes_));
    });
  }

private:
  void sum(const S *x, const S *dY, S *dW, const SortedPlaces &places, int64_t part, char *scratch) const {
    const Part columns = Part::of(part % columnParts_, columnParts_, n_),
               rows = Part::of(part / columnParts_ % rowParts_, rowParts_, m_);
    const int64_t expert = part / columnParts_ / rowParts_, terms = places.count(expert);
    S *result = dW + (expert * m_ + rows.begin) * n_ + columns.begin;
    T *sums;
    int64_t stride = n_;
    if constexpr (kRounds)
      sums = reinterpret_cast<T *>(scratch + partBytes_), stride = columns.size();
    else
      sums = result;
    if (terms == 0)
      for (int64_t i = 0; i < rows.size(); ++i)
        std::fill_n(sums + i * stride, columns.size(), T(0));
    for (int64_t term = 0; term < terms; term += kTerms)
      addTerms(x, dY, places.order + places.begins[expert] + term, std::min(kTerms, terms - term), rows,
               columns, sums, stride, term == 0 ? GemmStart::Zero : GemmStart::Keep, scratch);
    if constexpr (kRounds)
      convertRows(rows.size(), columns.size(), sums, stride, result, n_);
  }

  void addTerms(const S *x, const S *dY, const int32_t *order, int64_t terms, Part rows, Part columns,
                T *sums, int64_t stride, GemmStart start, char *scratch) const {
    SortedRows<S> left{x, shape_.k, shape_.slots, order}, right{dY, shape_.n, 1, order};
    if (shape_.transB)
      std::swap(left, right);
    left.base += rows.begin, right.base += columns.begin;
    inPanels<S>(terms, [&]<typename E>(E) {
      gemmBlocked<E>(planGemm<E>(rows.size(), columns.size(), terms, 1, false), TermPanels<E, S, true>{left},
                     TermPanels<E, S, false>{right}, sums, stride, start, static_cast<const T *>(nullptr),
                     static_cast<const GemmFinish<T> *>(nullptr), scratch);
    });
  }

  GroupedShape shape_;
  int64_t m_, n_, rowParts_, columnParts_;
  int threads_;
  std::string what_;
  size_t partBytes_ = 0, sumBytes_ = 0;
};

} // namespace

KEDGE_REGISTER(GroupedMatmul) {
  registerKernel("train.grouped_matmul", [](const LibraryCall &call, int threads) {
    expectCounts(call, 3, 3, 1, 1);
    const GroupedShape shape = readGrouped(call, call.inputs[2], call.outputs[0]);
    return dispatchFloat(call, call.inputs[0].type,
                         [&]<typename S>(TypeTag<S>) -> std::unique_ptr<LibraryKernel> {
                           return std::make_unique<GroupedMatmul<S>>(shape, threads, describe(call));
                         });
  });
  registerKernel("train.grouped_matmul_grad", [](const LibraryCall &call, int threads) {
    expectCounts(call, 3, 3, 1, 1);
    const GroupedShape shape = readGrouped(call, call.outputs[0], call.inputs[2]);
    return dispatchFloat(call, call.inputs[0].type,
                         [&]<typename S>(TypeTag<S>) -> std::unique_ptr<LibraryKernel> {
                           return std::make_unique<GroupedMatmulGrad<S>>(shape, threads, describe(call));
                         });
  });
}

} // namespace kedge::rt::cpu
