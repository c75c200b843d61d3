// dW of 3x3 convolutions with stride 1, by the derivative of F(2x2, 3x3): tiles of X and of dY are
// transformed with channels, or filters, as the lanes of vectors; each of the 16 elements of transformed
// tiles is a matrix product over tiles; the 16 sums of a filter and a channel become 9. A block of channels
// and a part of the rows of tiles is one thread's. The shape alone says how the work is divided, so the bits
// do not depend on the number of threads.
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/conv/ConvWinograd.h"
#include "runtime/cpu/conv/WinogradRows.h"
#include "runtime/cpu/gemm/GemmPack.h"
#include "runtime/cpu/gemm/GemmTile.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

constexpr int64_t kLanes =
    32; ///< channels of a block, or twice as many: a multiple of the columns of every machine's tile
constexpr int64_t kMostRows = 12;         ///< of a product tile
constexpr int64_t kBandBytes = 480 << 10; ///< transformed tiles of X in a band, which stay in the L2
constexpr int64_t kMostParts = 8;         ///< enough for all threads to be busy until the end

/// How the work is divided.
struct Division {
  int64_t lanes;                ///< channels of a block; dY is transformed once for each
  int64_t tilesHigh, tilesWide; ///< of an image
  int64_t rows;                 ///< of tiles in a band, which may go on in the next image
  int64_t bands, blocks, parts;

  explicit Division(const ConvShape &c)
      : lanes(c.channels > kLanes ? 2 * kLanes : kLanes), tilesHigh((c.out[1] + 1) / 2),
        tilesWide((c.out[2] + 1) / 2),
        rows(std::clamp<int64_t>(
            kBandBytes / (kWinogradProducts * lanes * tilesWide * static_cast<int64_t>(sizeof(float))), 1,
            c.batch * tilesHigh)),
        bands((c.batch * tilesHigh + rows - 1) / rows), blocks((c.channels + lanes - 1) / lanes),
        parts(std::clamp<int64_t>(kMostParts / blocks, 1, bands)) {}
  int64_t tiles() const { return rows * tilesWide; } ///< of a band
};

/// Rows of tiles of one image in a band.
struct Piece {
  int64_t image, row, rows;
  int64_t at; ///< the first one's place in the band
};

class WinogradFilter final : public LibraryKernel {
public:
  WinogradFilter(const ConvShape &c, int x, int dy, int threads)
      : c_(c), d_(c), x_(x), dy_(dy), threads_(threads),
        sumsOfUnit_(kWinogradProducts * c.filters * d_.lanes), units_(d_.blocks * d_.parts) {}

  size_t workspaceBytes() const override {
    return sizeof(float) * sumsOfUnit_ * units_ + ownBytes() * threads_;
  }

  void run(Inputs in, Outputs out, void *workspace) override {
    float *sums = static_cast<float *>(workspace);
    char *own = reinterpret_cast<char *>(sums + sumsOfUnit_ * units_);
    parallelParts(threads_, units_, [&](int64_t unit) {
      const Scratch scratch(*this, own + threadSlot() * ownBytes());
      addUp(static_cast<const float *>(in[x_]), static_cast<const float *>(in[dy_]), unit,
            sums + unit * sumsOfUnit_, scratch);
    });
    parallelFor(threads_, c_.filters, 1, [&](int64_t begin, int64_t end) {
      for (int64_t filter = begin; filter < end; ++filter)
        write(sums, filter, static_cast<float *>(out[0]) + filter * c_.channels * 9);
    });
  }

private:
  /// A thread's part of the workspace.
  struct Scratch {
    float *raw;       ///< rows of X or of dY: [row][position][lane]
    float *source;    ///< transformed tiles of X: [panel of lanes][product][tile][lane]
    float *gradients; ///< of dY, a panel of filters: [product][tile][filter]

    Scratch(const WinogradFilter &k, char *at)
        : raw(reinterpret_cast<float *>(at)),
          source(reinterpret_cast<float *>(at + alignedBytes(k.rawBytes()))),
          gradients(
              reinterpret_cast<float *>(at + alignedBytes(k.rawBytes()) + alignedBytes(k.sourceBytes()))) {}
  };
  size_t rawBytes() const {
    return sizeof(float) *
           ((2 * std::min(d_.rows, d_.tilesHigh) + 2) * (2 * d_.tilesWide + 2) * kLanes + kBehindWinograd);
  }
  size_t sourceBytes() const { return sizeof(float) * kWinogradProducts * d_.lanes * d_.tiles(); }
  size_t gradientBytes() const {
    return sizeof(float) * kWinogradProducts * (kMostRows * d_.tiles() + kBehindWinograd);
  }
  size_t ownBytes() const {
    return alignedBytes(rawBytes()) + alignedBytes(sourceBytes()) + alignedBytes(gradientBytes());
  }

  /// The sums of a block of channels over a part of the bands: [product][filter][channel].
  void addUp(const float *x, const float *dy, int64_t unit, float *sums, const Scratch &scratch) const {
    const int64_t channel = unit / d_.parts * d_.lanes, part = unit % d_.parts,
                  first = d_.bands * part / d_.parts;
    for (int64_t band = first; band < d_.bands * (part + 1) / d_.parts; ++band) {
      const int64_t begin = band * d_.rows, end = std::min(begin + d_.rows, c_.batch * d_.tilesHigh);
      for (int64_t lane = 0; lane < d_.lanes; lane += tile_.columns)
        transformSource(x, channel + lane, begin, end, scratch.source + lane * kWinogradProducts * d_.tiles(),
                        scratch.raw);
      for (int64_t filter = 0; filter < c_.filters; filter += tile_.rows) {
        const int64_t count = std::min<int64_t>(tile_.rows, c_.filters - filter);
        transformGradients(dy, filter, count, begin, end, scratch);
        multiply(count, (end - begin) * d_.tilesWide, scratch, sums + filter * d_.lanes, band > first);
      }
    }
  }

  void multiply(int64_t count, int64_t tiles, const Scratch &scratch, float *sums, bool accumulate) const {
    const int64_t matrix = gradientMatrix(tile_.panelRows(count));
    for (int product = 0; product < kWinogradProducts; ++product)
      for (int64_t lane = 0; lane < d_.lanes; lane += tile_.columns)
        tile_.run(tiles, scratch.gradients + product * matrix,
                  scratch.source + (lane * kWinogradProducts + product * tile_.columns) * d_.tiles(),
                  sums + product * c_.filters * d_.lanes + lane, d_.lanes, static_cast<int>(count),
                  tile_.columns, accumulate, nullptr);
  }

  /// f(piece) for each image's rows of tiles in [begin, end).
  template <typename F> void forPieces(int64_t begin, int64_t end, F &&f) const {
    for (int64_t at = begin; at < end;) {
      const int64_t row = at % d_.tilesHigh, rows = std::min(end - at, d_.tilesHigh - row);
      f(Piece{at / d_.tilesHigh, row, rows, at - begin});
      at += rows;
    }
  }

  /// A tile's columns of channels, from `channel` on.
  void transformSource(const float *x, int64_t channel, int64_t begin, int64_t end, float *to,
                       float *raw) const {
    const int64_t lanes = tile_.columns, count = std::clamp<int64_t>(c_.channels - channel, 0, lanes);
    const int64_t width = 2 * d_.tilesWide + 2, pitch = width * lanes;
    forPieces(begin, end, [&](const Piece &piece) {
      const float *planes = x + (piece.image * c_.channels + channel) * c_.inSize();
      for (int64_t i = 0; i < 2 * piece.rows + 2; ++i)
        turnRow(planes, c_.in, count, 2 * piece.row + i - c_.pad[1], c_.pad[2], width, raw + i * pitch,
                lanes);
      for (int64_t i = 0; i < piece.rows; ++i)
        lanes_.source(raw + 2 * i * pitch, pitch, d_.tilesWide, lanes,
                      to + (piece.at + i) * d_.tilesWide * lanes, lanes * d_.tiles());
    });
  }

  int64_t gradientMatrix(int64_t width) const { return width * d_.tiles() + kBehindWinograd; }

  void transformGradients(const float *dy, int64_t filter, int64_t count, int64_t begin, int64_t end,
                          const Scratch &scratch) const {
    const int64_t lanes = tile_.panelRows(count), width = 2 * d_.tilesWide, pitch = width * lanes;
    forPieces(begin, end, [&](const Piece &piece) {
      const float *planes = dy + (piece.image * c_.filters + filter) * c_.outSize();
      for (int64_t i = 0; i < 2 * piece.rows; ++i)
        turnRow(planes, c_.out, count, 2 * piece.row + i, 0, width, scratch.raw + i * pitch, lanes);
      for (int64_t i = 0; i < piece.rows; ++i)
        lanes_.gradient(scratch.raw + 2 * i * pitch, pitch, d_.tilesWide, lanes,
                        scratch.gradients + (piece.at + i) * d_.tilesWide * lanes, gradientMatrix(lanes));
    });
  }

  /// A row of `count` planes, planes as lanes, behind `pad` zeros; zeros behind it and where there is no such
  /// row.
  static void turnRow(const float *planes, const Space &size, int64_t count, int64_t row, int64_t pad,
                      int64_t width, float *to, int64_t lanes) {
    const bool isInside = row >= 0 && row < size[1] && count > 0;
    const int64_t first = isInside ? pad : width, last = isInside ? std::min(pad + size[2], width) : width;
    std::fill_n(to, first * lanes, 0.0f);
    if (isInside)
      packPanel(to + first * lanes, lanes, Strided<float>{planes + row * size[2], size[1] * size[2], 1},
                count, last - first);
    std::fill_n(to + last * lanes, (width - last) * lanes, 0.0f);
  }

  /// A filter's gradients: the sums of all parts in their order, transformed back.
  void write(const float *sums, int64_t filter, float *to) const {
    alignas(64) float taps[9 * 2 * kLanes];
    for (int64_t channel = 0; channel < c_.channels; channel += d_.lanes) {
      const int64_t count = std::min(d_.lanes, c_.channels - channel);
      lanes_.taps(sums + channel / d_.lanes * d_.parts * sumsOfUnit_ + filter * d_.lanes,
                  c_.filters * d_.lanes, sumsOfUnit_, d_.parts, d_.lanes, taps, d_.lanes);
      packPanel(to + channel * 9, 9, Strided<float>{taps, d_.lanes, 1}, 9, count);
    }
  }

  ConvShape c_;
  Division d_;
  int x_, dy_, threads_;
  int64_t sumsOfUnit_, units_; ///< a unit: a block of channels and a part of the bands
  const GemmTile<float> &tile_ = gemmTile<float>();
  const WinogradLanes &lanes_ = winogradLanes();
};

} // namespace

std::unique_ptr<LibraryKernel> makeWinogradFilter(const ConvShape &c, int x, int dy, int threads) {
  return std::make_unique<WinogradFilter>(c, x, dy, threads);
}

} // namespace kedge::rt::cpu
