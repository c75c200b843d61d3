#include "runtime/cuda/library/MatmulLaunch.h"
#include "runtime/io/Error.h"
#include <algorithm>

namespace kedge::rt::cuda {
using namespace calls;

void MatmulLaunch::enqueue() {
  const Driver &driver = gpu.driver();
  const MatmulShape &shape = calls.shape;
  const uint64_t bytes = static_cast<uint64_t>(shape.m * shape.rowY * shape.batch) * calls.offsetsA.size() *
                         dtypeSize(shape.type);
  if (calls.broadcasts)
    broadcastAddend();
  if (!state) {
    // Sums of nothing; an addend of such a product is refused when the launch is made.
    if (bytes != 0 && !calls.broadcasts)
      driver.check(driver.memsetD8Async(pointers.operand(calls.result), 0, bytes, gpu.stream()),
                   "a result cannot be cleared");
    return;
  }
  if (padded)
    return multiplyPadded();
  const bool whole = calls.addend >= 0 && !shape.bias && !calls.broadcasts;
  const CUdeviceptr c = whole ? pointers.operand(calls.addend) : pointers.operand(calls.result);
  const auto after = [](CUdeviceptr base, int64_t elements, DType type) {
    return base + static_cast<uint64_t>(elements) * dtypeSize(type);
  };
  for (size_t call = 0; call < calls.offsetsA.size(); ++call) {
    const int64_t result = static_cast<int64_t>(call) * shape.batch * shape.m * shape.n;
    multiply(after(pointers.inputs[0], calls.offsetsA[call], shape.typeA),
             after(pointers.inputs[1], calls.offsetsB[call], shape.typeB), after(c, result, shape.type),
             after(pointers.operand(calls.result), result, shape.type));
  }
}

/// Elements of 16 bits.
void MatmulLaunch::clear(CUdeviceptr at, int64_t row, int64_t width, int64_t rows) {
  if (width > 0 && rows > 0)
    gpu.driver().check(gpu.driver().memsetD2D16Async(at, static_cast<size_t>(row) * 2, 0,
                                                     static_cast<size_t>(width), static_cast<size_t>(rows),
                                                     gpu.stream()),
                       "the padding of a product cannot be cleared");
}

/// Copies a matrix that has no room for its padding. Zeros where sums read; what lies elsewhere only gets
/// into the padding of the result, which nobody reads.
void MatmulLaunch::prepare(const WideMatrix &matrix, CUdeviceptr own) {
  const CUdeviceptr place = placeOf(matrix, own);
  const int64_t row = matrix.wideRow();
  if (matrix.isCopied)
    copyRows(place, static_cast<uint64_t>(row) * 2, own, static_cast<uint64_t>(matrix.row) * 2,
             static_cast<uint64_t>(matrix.width) * 2, matrix.rows);
  if (!matrix.isSummed && !matrix.isCopied)
    return;
  clear(place + static_cast<uint64_t>(matrix.width) * 2, row, matrix.wideWidth - matrix.width, matrix.rows);
  clear(place + static_cast<uint64_t>(matrix.rows * row) * 2, row, matrix.wideWidth,
        matrix.wideRows - matrix.rows);
}

std::optional<LeftCopy> MatmulLaunch::leftCopy() const {
  if (!padded || !padded->b.isCopied)
    return std::nullopt;
  const WideMatrix &b = padded->b;
  return LeftCopy{pointers.inputs[1],
                  static_cast<uint64_t>(b.rows * b.row) * dtypeSize(b.type),
                  b.offset,
                  b.rows,
                  b.width,
                  b.row,
                  b.wideRows,
                  b.wideWidth};
}

void MatmulLaunch::multiplyPadded() {
  const WideMatrix &y = padded->y;
  const CUdeviceptr own = pointers.operand(calls.result), result = placeOf(y, own);
  prepare(padded->a, pointers.inputs[0]);
  if (!hasCopyOfB)
    prepare(padded->b, pointers.inputs[1]);
  const uint64_t element = dtypeSize(y.type);
  const bool adds = calls.addend >= 0 && !calls.shape.bias;
  const CUdeviceptr addend = adds ? pointers.operand(calls.addend) : own;
  if (adds && y.isCopied)
    copyRows(result, static_cast<uint64_t>(y.wideRow()) * element, addend,
             static_cast<uint64_t>(y.row) * element, static_cast<uint64_t>(y.width) * element, y.rows);
  multiply(placeOf(padded->a, pointers.inputs[0]), placeOf(padded->b, pointers.inputs[1]),
           y.isCopied ? result : addend, result);
  if (y.isCopied)
    copyRows(own, static_cast<uint64_t>(y.row) * element, result,
             static_cast<uint64_t>(y.wideRow()) * element, static_cast<uint64_t>(y.width) * element, y.rows);
}

void MatmulLaunch::copyRows(CUdeviceptr destination, uint64_t destinationPitch, CUdeviceptr source,
                            uint64_t sourcePitch, uint64_t width, int64_t rows) {
  CUDA_MEMCPY2D copy{}; // NOLINT(bugprone-invalid-enum-default-initialization): both types are set
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = source;
  copy.srcPitch = sourcePitch;
  copy.dstDevice = destination;
  copy.dstPitch = destinationPitch;
  copy.WidthInBytes = width;
  copy.Height = static_cast<size_t>(rows);
  gpu.driver().check(gpu.driver().memcpy2DAsync(&copy, gpu.stream()), "rows of a product cannot be copied");
}

/// The first column of `rows` rows is there: copies double what is filled.
void MatmulLaunch::doubleColumns(CUdeviceptr y, uint64_t element, int64_t rows) {
  const uint64_t pitch = static_cast<uint64_t>(calls.shape.rowY) * element;
  for (int64_t filled = 1; filled < calls.shape.n; filled *= 2) {
    const uint64_t width = static_cast<uint64_t>(std::min(filled, calls.shape.n - filled)) * element;
    copyRows(y + static_cast<uint64_t>(filled) * element, pitch, y, pitch, width, rows);
  }
}

void MatmulLaunch::doubleRows(CUdeviceptr y, uint64_t element) {
  const uint64_t row = static_cast<uint64_t>(calls.shape.rowY) * element;
  for (int64_t filled = 1; filled < calls.shape.m; filled *= 2) {
    const uint64_t bytes = static_cast<uint64_t>(std::min(filled, calls.shape.m - filled)) * row;
    gpu.driver().check(
        gpu.driver().memcpyDtoDAsync(y + static_cast<uint64_t>(filled) * row, y, bytes, gpu.stream()),
        "an addend cannot be spread");
  }
}

/// Rare (a Gemm with beta or alpha, or whose C is a column): by copies, so that no kernel has to exist for
/// it.
void MatmulLaunch::broadcastAddend() {
  const MatmulShape &shape = calls.shape;
  if (shape.m == 0 || shape.n == 0)
    return;
  const uint64_t element = dtypeSize(shape.type), row = static_cast<uint64_t>(shape.n) * element;
  const uint64_t pitch = static_cast<uint64_t>(shape.rowY) * element;
  const CUdeviceptr c = pointers.operand(calls.addend), y = pointers.operand(calls.result);
  const bool columns = calls.columnStride != 0, rows = calls.rowStride != 0;
  const int64_t height = rows ? shape.m : 1;
  copyRows(y, pitch, c, rows ? static_cast<uint64_t>(calls.rowStride) * element : row,
           columns ? row : element, height);
  if (!columns)
    doubleColumns(y, element, height);
  if (!rows)
    doubleRows(y, element);
}

namespace {

struct TimedPair {
  explicit TimedPair(const Driver &driver) : driver(driver) {
    for (CUevent &event : pair)
      driver.check(driver.eventCreate(&event, CU_EVENT_DEFAULT), "no event to tune with");
  }
  ~TimedPair() {
    for (CUevent event : pair)
      driver.eventDestroy(event);
  }
  TimedPair(const TimedPair &) = delete;
  TimedPair &operator=(const TimedPair &) = delete;
  const Driver &driver;
  std::array<CUevent, 2> pair{};
};

} // namespace

double MatmulLaunch::measure(const std::array<CUevent, 2> &events, int count) {
  const Driver &driver = gpu.driver();
  driver.check(driver.eventRecord(events[0], gpu.stream()), "tuning");
  for (int i = 0; i < count; ++i)
    enqueue();
  driver.check(driver.eventRecord(events[1], gpu.stream()), "tuning");
  gpu.synchronize();
  float milliseconds = 0;
  driver.check(driver.eventElapsedTime(&milliseconds, events[0], events[1]), "tuning");
  return static_cast<double>(milliseconds) * 1e3;
}

/// A small product takes less than the events around it, so several stand between them.
std::optional<double> MatmulLaunch::measure() {
  constexpr int kRuns = 11, kMost = 64;
  constexpr double kMicroseconds = 200;
  try {
    enqueue();
  } catch (const RuntimeError &) {
    gpu.synchronize();
    return std::nullopt;
  }
  const TimedPair events(gpu.driver());
  const double one = std::max(0.5, measure(events.pair, 1));
  const int count = std::clamp(static_cast<int>(kMicroseconds / one), 1, kMost);
  std::vector<double> times;
  for (int run = 0; run < kRuns; ++run)
    times.push_back(measure(events.pair, count) / count);
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  return times[kRuns / 2];
}

double copyMicroseconds(Gpu &gpu, CUdeviceptr from, CUdeviceptr to, size_t bytes) {
  constexpr int kRuns = 11;
  const Driver &driver = gpu.driver();
  const auto copy = [&] { driver.check(driver.memcpyDtoDAsync(to, from, bytes, gpu.stream()), "tuning"); };
  copy();
  const TimedPair events(driver);
  std::vector<double> times;
  for (int run = 0; run < kRuns; ++run) {
    driver.check(driver.eventRecord(events.pair[0], gpu.stream()), "tuning");
    copy();
    driver.check(driver.eventRecord(events.pair[1], gpu.stream()), "tuning");
    gpu.synchronize();
    float milliseconds = 0;
    driver.check(driver.eventElapsedTime(&milliseconds, events.pair[0], events.pair[1]), "tuning");
    times.push_back(static_cast<double>(milliseconds) * 1e3);
  }
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  return times[kRuns / 2];
}

} // namespace kedge::rt::cuda
