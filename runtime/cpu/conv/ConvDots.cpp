// dW of dense convolutions as dot products of planes: positions are neighbours in dY and in X (or in a row of
// its im2col matrix), so vectors of them are multiplied as they lie. A matrix product would turn both
// operands into panels first, which takes longer than multiplying where there are few filters or few columns.
#include "runtime/cpu/conv/ConvDots.h"
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/conv/ConvTaps.h"
#include "runtime/cpu/conv/DotTile.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

constexpr int64_t kMostParts =
    8; ///< whose sums are added at the end: enough for all threads to be busy until then
constexpr int64_t kMostLength = 1024; ///< positions of a sum: rows of a tile stay in the L1

/// Y's positions in pieces of about the same length, by the shape alone.
struct Pieces {
  int64_t perImage, length;

  explicit Pieces(int64_t positions) {
    perImage = (positions + kMostLength - 1) / kMostLength;
    length = (positions / perImage + kLeastDotLength - 1) / kLeastDotLength * kLeastDotLength;
    perImage = std::max<int64_t>(1, positions / length); // the last one takes the rest
  }
};

template <typename T> class DotFilterGradient final : public LibraryKernel {
public:
  DotFilterGradient(const ConvShape &c, int x, int dy, int threads)
      : c_(c), pieces_(c.outSize()), columns_(c.channels * c.taps()),
        parts_(std::min(kMostParts, c.batch * pieces_.perImage)), x_(x), dy_(dy), threads_(threads),
        readBytes_(c.taps() == 1 && c.inSize() == c.outSize()
                       ? 0
                       : alignedBytes(sizeof(T) * columns_ * rowLength())) {}

  size_t workspaceBytes() const override { return sumBytes() * (parts_ - 1) + readBytes_ * threads_; }

  void run(Inputs in, Outputs out, void *workspace) override {
    const T *x = static_cast<const T *>(in[x_]), *dy = static_cast<const T *>(in[dy_]);
    T *result = static_cast<T *>(out[0]), *sums = static_cast<T *>(workspace);
    char *read = static_cast<char *>(workspace) + sumBytes() * (parts_ - 1);
    const int64_t all = c_.batch * pieces_.perImage, stride = static_cast<int64_t>(sumBytes() / sizeof(T));
    parallelParts(threads_, parts_, [&](int64_t part) {
      T *to = part ? sums + (part - 1) * stride : result;
      std::fill_n(to, c_.filters * columns_, T(0));
      for (int64_t piece = all * part / parts_; piece < all * (part + 1) / parts_; ++piece)
        add(x, dy, piece, to, reinterpret_cast<T *>(read + threadSlot() * readBytes_));
    });
    for (int64_t part = 1; part < parts_; ++part)
      for (int64_t i = 0; i < c_.filters * columns_; ++i)
        result[i] += sums[(part - 1) * stride + i];
  }

private:
  size_t sumBytes() const { return alignedBytes(sizeof(T) * c_.filters * columns_); }
  int64_t rowLength() const { return 2 * pieces_.length; } ///< the last piece is at most as long

  void add(const T *x, const T *dy, int64_t piece, T *sums, T *read) const {
    const int64_t image = piece / pieces_.perImage, at = piece % pieces_.perImage * pieces_.length;
    const bool isLast = (piece + 1) % pieces_.perImage == 0;
    const int64_t length = isLast ? c_.outSize() - at : pieces_.length;
    const T *right = x + image * c_.channels * c_.inSize() + at,
            *left = dy + image * c_.filters * c_.outSize() + at;
    int64_t pitch = c_.inSize();
    if (readBytes_) {
      readColumns(x + image * c_.channels * c_.inSize(), at, length, read);
      right = read, pitch = rowLength();
    }
    for (int64_t row = 0; row < c_.filters; row += tile_.rows)
      for (int64_t column = 0; column < columns_; column += kDotColumns)
        tile_.run(length, left + row * c_.outSize(), c_.outSize(), right + column * pitch, pitch,
                  sums + row * columns_ + column, columns_,
                  static_cast<int>(std::min<int64_t>(tile_.rows, c_.filters - row)),
                  static_cast<int>(std::min<int64_t>(kDotColumns, columns_ - column)));
  }

  /// What the taps of all channels read for positions [at, at + length).
  void readColumns(const T *image, int64_t at, int64_t length, T *to) const {
    Segment rows[kMostLength * 2];
    const int64_t count = cutRows(c_.out, at, length, rows);
    for (int64_t channel = 0; channel < c_.channels; ++channel, image += c_.inSize())
      for (int64_t td = 0; td < c_.kernel[0]; ++td)
        for (int64_t th = 0; th < c_.kernel[1]; ++th)
          for (int64_t tw = 0; tw < c_.kernel[2]; ++tw, to += rowLength())
            for (int64_t r = 0; r < count; ++r)
              readTap(c_, image, rows[r], td, th, tw, to + rows[r].at);
  }

  ConvShape c_;
  Pieces pieces_;
  int64_t columns_, parts_;
  int x_, dy_, threads_;
  size_t readBytes_; ///< rows of the im2col matrix; 0: those of X serve
  const DotTile<T> &tile_ = dotTile<T>();
};

} // namespace

bool isDots(const ConvShape &c) {
  constexpr int64_t kLong = 2048, kFew = 32, kFewChannels = 4; // measured: docs/rationale/cpu-convolutions.md
  const bool isFew = c.taps() == 1 ? std::min(c.filters, c.channels) <= kFew : c.channels <= kFewChannels;
  return c.groups == 1 && c.batch > 0 && c.filters > 0 && c.channels > 0 && c.outSize() >= kLong && isFew;
}

std::unique_ptr<LibraryKernel> makeDotFilterGradient(const LibraryCall &call, const ConvShape &c, int x,
                                                     int dy, int threads) {
  if (call.outputs[0].type == DType::F64)
    return std::make_unique<DotFilterGradient<double>>(c, x, dy, threads);
  return std::make_unique<DotFilterGradient<float>>(c, x, dy, threads);
}

} // namespace kedge::rt::cpu
