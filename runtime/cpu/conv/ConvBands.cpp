// dW of dense convolutions of flat images with stride 1. With all rows padded to the same width, what a tap
// reads lies at one distance from each position. So a band of rows is packed once, with channels as the
// columns of a tile, and all taps read it, each from its own first row. A product with an im2col matrix packs
// the image once for each tap, which takes as long as multiplying where there are few filters.
#include "runtime/cpu/conv/ConvBands.h"
#include "runtime/calls/Types.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/gemm/GemmPack.h"
#include "runtime/cpu/gemm/GemmTile.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

constexpr int64_t kLanes =
    32; ///< channels of a block, or twice as many: a multiple of the columns of every tile
constexpr int64_t kLongRow = 48; ///< a shorter band is over so soon that adding to more sums in memory costs
                                 ///< more than packing dY twice
constexpr int64_t kMostTileRows = 12;
constexpr int64_t kDepth =
    256; ///< positions of a tile's sum: rows of the band are still in the L1 for the next tap
constexpr int64_t kBandBytes = 448 << 10; ///< of a packed band, which stays in the L2
constexpr int64_t kMostParts = 8;         ///< enough for all threads to be busy until the end

/// How the work is divided. It depends on the shape alone, so the sums do, too.
struct Bands {
  int64_t lanes; ///< channels of a block; dY is packed once for each
  int64_t width; ///< of a padded row
  int64_t reach; ///< padded positions from a position to the farthest that a tap reads
  int64_t rows;  ///< of dY in a band
  int64_t perImage, blocks,
      parts; ///< bands of an image, blocks of channels, parts of all bands whose sums are added at the end

  Bands(const ConvShape &c, int64_t elementBytes) {
    lanes = c.channels >= 4 * kLanes && c.channels % (2 * kLanes) == 0 && c.out[2] >= kLongRow ? 2 * kLanes
                                                                                               : kLanes;
    width = c.out[2] + (c.kernel[2] - 1) * c.dilation[2];
    reach = (c.kernel[1] - 1) * c.dilation[1] * width + (c.kernel[2] - 1) * c.dilation[2];
    const int64_t most = kBandBytes / (elementBytes * lanes) - reach;
    rows = std::clamp<int64_t>(most / width, 1, c.out[1]);
    perImage = (c.out[1] + rows - 1) / rows;
    blocks = (c.channels + lanes - 1) / lanes;
    parts = std::clamp<int64_t>(kMostParts / blocks, 1, c.batch * perImage);
  }
  int64_t packedPositions() const { return rows * width + reach; }
};

/// S: element type. Sums are of the type that S computes in.
template <typename S> class BandedFilterGradient final : public LibraryKernel {
  using T = Compute<S>;

public:
  BandedFilterGradient(const ConvShape &c, int x, int dy, int threads)
      : c_(c), bands_(c, sizeof(T)), x_(x), dy_(dy), threads_(threads),
        sumsOfUnit_(c.taps() * c.filters * bands_.lanes), units_(bands_.blocks * bands_.parts),
        ownBytes_(alignedBytes(sizeof(T) * bands_.lanes * bands_.packedPositions()) +
                  alignedBytes(sizeof(T) * kMostTileRows * kDepth)) {}

  size_t workspaceBytes() const override { return sizeof(T) * sumsOfUnit_ * units_ + ownBytes_ * threads_; }

  void run(Inputs in, Outputs out, void *workspace) override {
    T *sums = static_cast<T *>(workspace);
    char *own = reinterpret_cast<char *>(sums + sumsOfUnit_ * units_);
    parallelParts(threads_, units_, [&](int64_t unit) {
      addUp(static_cast<const S *>(in[x_]), static_cast<const S *>(in[dy_]), unit, sums + unit * sumsOfUnit_,
            own + threadSlot() * ownBytes_);
    });
    parallelFor(threads_, c_.filters, 1, [&](int64_t begin, int64_t end) {
      for (int64_t filter = begin; filter < end; ++filter)
        write(sums, filter, static_cast<S *>(out[0]) + filter * c_.channels * c_.taps());
    });
  }

private:
  /// The sums of a block of channels over a part of the bands: [tap][filter][channel].
  void addUp(const S *x, const S *dy, int64_t unit, T *sums, char *own) const {
    T *band = reinterpret_cast<T *>(own), *panel = band + bands_.lanes * bands_.packedPositions();
    const int64_t block = unit / bands_.parts, part = unit % bands_.parts, all = c_.batch * bands_.perImage;
    const int64_t channel = block * bands_.lanes, channels = std::min(bands_.lanes, c_.channels - channel);
    bool first = true;
    for (int64_t number = all * part / bands_.parts; number < all * (part + 1) / bands_.parts; ++number) {
      const int64_t image = number / bands_.perImage, row = number % bands_.perImage * bands_.rows;
      const int64_t positions = std::min(bands_.rows, c_.out[1] - row) * bands_.width;
      packBand(x + (image * c_.channels + channel) * c_.inSize(), channels, row, positions, band);
      for (int64_t at = 0; at < positions; at += kDepth, first = false)
        multiply(dy + image * c_.filters * c_.outSize(), row, at, std::min(kDepth, positions - at), band,
                 panel, sums, first);
    }
  }

  /// Positions [at, at + depth) of the band that begins at `row`: all filters with all taps.
  void multiply(const S *dy, int64_t row, int64_t at, int64_t depth, const T *band, T *panel, T *sums,
                bool first) const {
    const int64_t width = tile_.columns;
    for (int64_t filter = 0; filter < c_.filters; filter += tile_.rows) {
      const int64_t count = std::min<int64_t>(tile_.rows, c_.filters - filter);
      packResults(dy + filter * c_.outSize(), count, row, at, depth, panel);
      for (int64_t lane = 0; lane < bands_.lanes; lane += width)
        for (int64_t tap = 0; tap < c_.taps(); ++tap)
          tile_.run(depth, panel, band + lane * bands_.packedPositions() + (at + distance(tap)) * width,
                    sums + (tap * c_.filters + filter) * bands_.lanes + lane, bands_.lanes,
                    static_cast<int>(count), static_cast<int>(width), !first, nullptr);
    }
  }

  int64_t distance(int64_t tap) const {
    return tap / c_.kernel[2] * c_.dilation[1] * bands_.width + tap % c_.kernel[2] * c_.dilation[2];
  }

  /// What the taps of `positions` padded positions from `row` on read: the tile's panels of channels, one
  /// after the other.
  void packBand(const S *x, int64_t channels, int64_t row, int64_t positions, T *band) const {
    const int64_t width = tile_.columns, end = positions + bands_.reach;
    for (int64_t lane = 0; lane < bands_.lanes; lane += width) {
      T *panel = band + lane * bands_.packedPositions();
      const int64_t count = std::clamp<int64_t>(channels - lane, 0, width);
      for (int64_t at = 0; at < end; at += bands_.width)
        packRow(x + lane * c_.inSize(), count, row + at / bands_.width - c_.pad[1],
                std::min(bands_.width, end - at), panel + at * width);
    }
  }

  /// The first `length` places of a padded row.
  void packRow(const S *x, int64_t count, int64_t row, int64_t length, T *panel) const {
    const int64_t width = tile_.columns;
    const bool isInside = row >= 0 && row < c_.in[1] && count > 0;
    const int64_t first = isInside ? std::min(c_.pad[2], length) : length;
    const int64_t last = isInside ? std::clamp(c_.pad[2] + c_.in[2], first, length) : length;
    std::fill_n(panel, first * width, T(0));
    packPanel(panel + first * width, width, Strided<S>{x + row * c_.in[2], c_.inSize(), 1}, count,
              last - first);
    std::fill_n(panel + last * width, (length - last) * width, T(0));
  }

  /// dY at padded positions [at, at + depth) behind `row`, zeros where there is none.
  void packResults(const S *dy, int64_t count, int64_t row, int64_t at, int64_t depth, T *panel) const {
    const int64_t width = tile_.panelRows(count);
    for (int64_t done = 0; done < depth;) {
      const int64_t w = (at + done) % bands_.width, h = row + (at + done) / bands_.width;
      const int64_t length = std::min(depth - done, bands_.width - w),
                    whole = std::clamp<int64_t>(c_.out[2] - w, 0, length);
      packPanel(panel + done * width, width, Strided<S>{dy + h * c_.out[2] + w, c_.outSize(), 1}, count,
                whole);
      std::fill_n(panel + (done + whole) * width, (length - whole) * width, T(0));
      done += length;
    }
  }

  /// A filter's gradients: its sums over all parts, in their order.
  void write(const T *sums, int64_t filter, S *to) const {
    for (int64_t channel = 0; channel < c_.channels; ++channel)
      for (int64_t tap = 0; tap < c_.taps(); ++tap) {
        const T *from = sums + channel / bands_.lanes * bands_.parts * sumsOfUnit_ +
                        (tap * c_.filters + filter) * bands_.lanes + channel % bands_.lanes;
        T sum = from[0];
        for (int64_t part = 1; part < bands_.parts; ++part)
          sum += from[part * sumsOfUnit_];
        to[channel * c_.taps() + tap] = static_cast<S>(sum);
      }
  }

  ConvShape c_;
  Bands bands_;
  int x_, dy_, threads_;
  int64_t sumsOfUnit_, units_; ///< a unit: a block of channels and a part of the bands
  size_t ownBytes_;            ///< a thread's band and panel of dY
  const GemmTile<T> &tile_ = gemmTile<T>();
};

} // namespace

bool isBanded(const ConvShape &c) {
  const bool isFlat = c.in[0] == 1 && c.kernel[0] == 1 && c.out[0] == 1 && c.pad[0] == 0;
  // Short rows and few channels would multiply too many zeros.
  const bool isFull = 12 * (c.kernel[2] - 1) * c.dilation[2] <= c.out[2] && c.channels >= 24;
  // With more filters packing is little of the work, and the sums of all channels would take much memory.
  const bool isFew = c.filters > 0 && c.filters < 256;
  return isFlat && isFull && isFew && c.groups == 1 && c.stride == Space{1, 1, 1} && c.taps() > 1 &&
         c.batch * c.outSize() > 0 && c.pad[1] >= 0 && c.pad[2] >= 0;
}

std::unique_ptr<LibraryKernel> makeBandedFilterGradient(const LibraryCall &call, const ConvShape &c, int x,
                                                        int dy, int threads) {
  return dispatchFloat(call, call.outputs[0].type,
                       [&]<typename S>(TypeTag<S>) -> std::unique_ptr<LibraryKernel> {
                         return std::make_unique<BandedFilterGradient<S>>(c, x, dy, threads);
                       });
}

} // namespace kedge::rt::cpu
