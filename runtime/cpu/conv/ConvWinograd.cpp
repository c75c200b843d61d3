// Y or dX of 3x3 convolutions with stride 1, by F(2x2, 3x3): each tile of 4x4 places of the source, which
// overlaps its neighbours by two, gives 2x2 results. Image and filters are transformed, and each of the 16
// elements of transformed tiles is a matrix product over channels, with tiles as its columns. A thread takes
// some tiles at a time through all three stages, so that what is transformed stays in its L2. Every sum runs
// over the channels in their order, so the bits depend on the shape alone.
#include "runtime/cpu/conv/ConvWinograd.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/conv/WinogradRows.h"
#include "runtime/cpu/gemm/GemmPack.h"
#include "runtime/cpu/gemm/GemmTile.h"

namespace kedge::rt::cpu {
using namespace calls;

namespace {

constexpr int64_t kPanel = kWinogradPanel;
constexpr int64_t kMostRows = 12;    ///< of a product tile
constexpr int64_t kVector = 16;      ///< elements of the longest vector
constexpr int64_t kFewChannels = 32; ///< of filters that are transformed together
constexpr int64_t kSumPanels = 2;    ///< panels whose sums are in the L1 together
constexpr int64_t kSumColumns = kSumPanels * kPanel;
constexpr int64_t kMostPanels = 14;        ///< of a block
constexpr int64_t kBlockBytes = 896 << 10; ///< transformed tiles of a block, which stay in the L2

int64_t blocksOf(int64_t size, int64_t block) { return (size + block - 1) / block; }

/// The convolution that is computed: Y, or dX as a convolution of dY with turned filters.
struct Task {
  int64_t batch, depth, rows;             ///< channels of the source and of the result
  int64_t fromHigh, fromWide, high, wide; ///< source and result
  int64_t padHigh, padWide;
  int64_t tilesWide, tilesOfImage, panels;

  Task(const ConvShape &c, bool back) : Task(c, back, WinogradTiles(c, back)) {}
  Task(const ConvShape &c, bool back, const WinogradTiles &tiles)
      : batch(c.batch), depth(back ? c.filters : c.channels), rows(back ? c.channels : c.filters),
        fromHigh(back ? c.out[1] : c.in[1]), fromWide(back ? c.out[2] : c.in[2]),
        high(back ? c.in[1] : c.out[1]), wide(back ? c.in[2] : c.out[2]),
        padHigh(back ? 2 - c.pad[1] : c.pad[1]), padWide(back ? 2 - c.pad[2] : c.pad[2]),
        tilesWide(tiles.wide), tilesOfImage(tiles.ofImage), panels(tiles.panels) {}

  /// The most panels of a block: enough to read the filters seldom, and few enough for the L2.
  int64_t panelsOfBlock() const {
    const int64_t panelBytes = kWinogradProducts * depth * kPanel * static_cast<int64_t>(sizeof(float));
    return std::clamp<int64_t>(kBlockBytes / panelBytes, 1, kMostPanels);
  }
};

/// Tiles of one image among those of a block.
struct Piece {
  int64_t image, first, count; ///< tiles [first, first + count) of the image
  int64_t at;                  ///< the first one's place in the block
};

class Winograd final : public LibraryKernel {
public:
  Winograd(const ConvShape &c, bool back, int source, int weights, int bias, int threads)
      : c_(c), task_(c, back), back_(back), source_(source), weights_(weights), bias_(bias),
        threads_(threads),
        blocks_(std::min(blocksOf(blocksOf(task_.panels, task_.panelsOfBlock()), threads) * threads,
                         task_.panels)),
        columns_(blocksOf(task_.panels, blocks_) * kPanel),
        plane_(columns_ + 3 * task_.tilesWide + kBehindWinograd), // rows of tiles at both ends, and one below
        filterFloats_(kWinogradProducts * (task_.depth + kBehindWinograd) * (task_.rows + kMostRows)) {}

  size_t workspaceBytes() const override {
    return alignedBytes(sizeof(float) * filterFloats_) + ownBytes() * threads_;
  }
  void run(Inputs in, Outputs out, void *workspace) override {
    float *filters = static_cast<float *>(workspace);
    char *own = static_cast<char *>(workspace) + alignedBytes(sizeof(float) * filterFloats_);
    const int64_t rowPanels = blocksOf(task_.rows, tile_.rows);
    parallelFor(threads_, rowPanels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel)
        transformFilters(static_cast<const float *>(in[weights_]), panel, filters);
    });
    const float *bias = bias_ < 0 ? nullptr : static_cast<const float *>(in[bias_]);
    parallelParts(threads_, blocks_, [&](int64_t number) {
      const Scratch scratch(*this, own + threadSlot() * ownBytes());
      block(number, static_cast<const float *>(in[source_]), filters, bias, static_cast<float *>(out[0]),
            scratch);
    });
  }

private:
  /// A thread's part of the workspace.
  struct Scratch {
    float *tiles;   ///< of all channels: [product][panel of tiles][channel][tile]
    float *sums;    ///< of a panel of rows: [product][row][tile]
    float *staged;  ///< a channel's rows, transformed along the width: [parity of the row][4][row][tile]
    float *line;    ///< a row with its padding, or transformed tiles on their way to a panel
    float *results; ///< two rows of results for each row of tiles

    Scratch(const Winograd &k, char *at) {
      auto take = [&](size_t floats) {
        float *here = reinterpret_cast<float *>(at);
        at += alignedBytes(sizeof(float) * floats);
        return here;
      };
      tiles = take(k.tileFloats());
      sums = take(k.sumFloats());
      staged = take(8 * k.plane_);
      line = take(k.lineFloats());
      results = take(2 * k.resultFloats());
    }
  };
  size_t tileFloats() const { return kWinogradProducts * task_.depth * columns_; }
  size_t sumFloats() const { return kWinogradProducts * kMostRows * kSumColumns + kBehindWinograd; }
  size_t lineFloats() const {
    return std::max(2 * task_.tilesWide + 2 + 2 * kBehindWinograd,
                    kWinogradProducts * (columns_ + kBehindWinograd));
  }
  size_t resultFloats() const { return 2 * kSumColumns + 2 * kBehindWinograd; }
  size_t ownBytes() const {
    return alignedBytes(sizeof(float) * tileFloats()) + alignedBytes(sizeof(float) * sumFloats()) +
           alignedBytes(sizeof(float) * 8 * plane_) + alignedBytes(sizeof(float) * lineFloats()) +
           alignedBytes(sizeof(float) * 2 * resultFloats());
  }

  /// Elements from one product's filters of a panel of rows to the next: [channel][row].
  int64_t filterMatrix(int64_t width) const { return task_.depth * width + kBehindWinograd; }
  float *filtersOf(float *filters, int64_t panel) const {
    return filters + kWinogradProducts * filterMatrix(tile_.rows) * panel;
  }

  void transformFilters(const float *weights, int64_t panel, float *filters) const {
    const int64_t row = panel * tile_.rows, rows = std::min<int64_t>(tile_.rows, task_.rows - row),
                  width = tile_.panelRows(rows);
    const int64_t rowStride = back_ ? 9 : 9 * c_.channels, depthStride = back_ ? 9 * c_.channels : 9,
                  matrix = filterMatrix(width);
    float *to = filtersOf(filters, panel);
    alignas(64) float taps[9 * kFewChannels * kMostRows + kBehindWinograd];
    for (int64_t channel = 0; channel < task_.depth; channel += kFewChannels) {
      const int64_t count = std::min(kFewChannels, task_.depth - channel);
      const float *from = weights + row * rowStride + channel * depthStride;
      if (back_)
        for (int64_t i = 0; i < count; ++i)
          packPanel(taps + 9 * i * width, width, Strided<float>{from + i * depthStride, rowStride, 1}, rows,
                    9);
      else
        packPanel(taps, width, Strided<float>{from, rowStride, 1}, rows, 9 * count);
      transforms_.filters(taps, width, back_, count, to + channel * width, matrix);
    }
  }

  void block(int64_t number, const float *source, float *filters, const float *bias, float *result,
             const Scratch &scratch) const {
    const int64_t first = task_.panels * number / blocks_ * kPanel;
    const int64_t end =
        std::min(task_.panels * (number + 1) / blocks_ * kPanel, task_.batch * task_.tilesOfImage);
    forPieces(first, end, [&](const Piece &piece) {
      for (int64_t channel = 0; channel < task_.depth; ++channel) {
        stage(source + (piece.image * task_.depth + channel) * task_.fromHigh * task_.fromWide, piece,
              scratch);
        transformTiles(piece, channel, scratch);
      }
    });
    for (int64_t row = 0; row < task_.rows; row += tile_.rows)
      for (int64_t at = first; at < end; at += kSumPanels * kPanel) {
        const int64_t rows = std::min<int64_t>(tile_.rows, task_.rows - row),
                      last = std::min(end, at + kSumPanels * kPanel);
        multiply(filtersOf(filters, row / tile_.rows), rows, (at - first) / tile_.columns,
                 blocksOf(last - first, tile_.columns), scratch);
        forPieces(at, last, [&](const Piece &piece) {
          for (int64_t i = 0; i < rows; ++i)
            writeRows(piece, scratch.sums + i * kSumColumns + piece.at, bias ? bias[row + i] : 0.0f,
                      result + (piece.image * task_.rows + row + i) * task_.high * task_.wide, scratch);
        });
      }
  }

  template <typename F> void forPieces(int64_t first, int64_t end, F &&f) const {
    for (int64_t at = first; at < end;) {
      const int64_t image = at / task_.tilesOfImage, tile = at % task_.tilesOfImage;
      const int64_t count = std::min(end - at, task_.tilesOfImage - tile);
      f(Piece{image, tile, count, at - first});
      at += count;
    }
  }

  /// Transforms along the width what the rows of tiles read that the piece begins, goes through and ends in.
  void stage(const float *plane, const Piece &piece, const Scratch &scratch) const {
    const int64_t begin = piece.first / task_.tilesWide,
                  end = (piece.first + piece.count - 1) / task_.tilesWide + 2;
    for (int64_t row = begin; row < end; ++row)
      for (int64_t parity = 0; parity < 2; ++parity) {
        readLine(plane, 2 * row + parity - task_.padHigh, scratch.line);
        transforms_.along(scratch.line, task_.tilesWide,
                          scratch.staged + 4 * parity * plane_ + (row - begin) * task_.tilesWide, plane_);
      }
  }

  /// A row of the source behind its padding; zeros follow it.
  void readLine(const float *plane, int64_t row, float *line) const {
    const int64_t length = 2 * task_.tilesWide + 2;
    if (row < 0 || row >= task_.fromHigh) {
      std::fill_n(line, length, 0.0f);
      return;
    }
    const int64_t last = std::min(length, task_.padWide + task_.fromWide);
    std::fill_n(line, task_.padWide, 0.0f);
    std::memcpy(line + task_.padWide, plane + row * task_.fromWide, sizeof(float) * (last - task_.padWide));
    std::fill_n(line + last, length - last, 0.0f);
  }

  /// Finishes the transform, and writes the channel's row of each panel.
  void transformTiles(const Piece &piece, int64_t channel, const Scratch &scratch) const {
    const int64_t width = tile_.columns, matrix = task_.depth * columns_;
    const float *even = scratch.staged + piece.first % task_.tilesWide, *odd = even + 4 * plane_;
    auto forPanels = [&](auto &&f) {
      for (int64_t done = 0; done < piece.count;) {
        const int64_t at = piece.at + done, count = std::min(piece.count - done, width - at % width);
        f(done, count, scratch.tiles + (at / width * task_.depth + channel) * width + at % width);
        done += count;
      }
    };
    if (piece.at % kVector == 0) // no vector goes beyond its panel
      return forPanels([&](int64_t done, int64_t count, float *to) {
        transforms_.down(even + done, odd + done, plane_, task_.tilesWide, count, to, matrix);
      });
    const int64_t pitch = columns_ + kBehindWinograd;
    transforms_.down(even, odd, plane_, task_.tilesWide, piece.count, scratch.line, pitch);
    forPanels([&](int64_t done, int64_t count, float *to) {
      for (int product = 0; product < kWinogradProducts; ++product)
        std::memcpy(to + product * matrix, scratch.line + product * pitch + done, sizeof(float) * count);
    });
  }

  /// A panel of rows times some panels of tiles. Panels of many channels are multiplied in parts of equal
  /// length, which fit the L1.
  void multiply(const float *filters, int64_t rows, int64_t firstPanel, int64_t endPanel,
                const Scratch &scratch) const {
    const int64_t width = tile_.panelRows(rows), parts = blocksOf(task_.depth, tile_.mostK);
    for (int product = 0; product < kWinogradProducts; ++product) {
      const float *left = filters + product * filterMatrix(width),
                  *tiles = scratch.tiles + product * task_.depth * columns_;
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t begin = task_.depth * part / parts, end = task_.depth * (part + 1) / parts;
        for (int64_t panel = firstPanel; panel < endPanel; ++panel)
          tile_.run(end - begin, left + begin * width, tiles + (panel * task_.depth + begin) * tile_.columns,
                    scratch.sums + product * kMostRows * kSumColumns + (panel - firstPanel) * tile_.columns,
                    kSumColumns, static_cast<int>(rows), tile_.columns, part > 0, nullptr);
      }
    }
  }

  /// A row's results: both rows of each row of tiles.
  void writeRows(const Piece &piece, const float *sums, float bias, float *plane,
                 const Scratch &scratch) const {
    float *upper = scratch.results, *lower = upper + resultFloats();
    transforms_.results(sums, kMostRows * kSumColumns, piece.count, bias, upper, lower);
    for (int64_t done = 0; done < piece.count;) {
      const int64_t row = (piece.first + done) / task_.tilesWide,
                    column = (piece.first + done) % task_.tilesWide;
      const int64_t tiles = std::min(piece.count - done, task_.tilesWide - column), at = 2 * column;
      const size_t bytes = sizeof(float) * (std::min(2 * (column + tiles), task_.wide) - at);
      float *to = plane + 2 * row * task_.wide + at;
      std::memcpy(to, upper + 2 * done, bytes);
      if (2 * row + 1 < task_.high)
        std::memcpy(to + task_.wide, lower + 2 * done, bytes);
      done += tiles;
    }
  }

  ConvShape c_;
  Task task_;
  bool back_;
  int source_, weights_, bias_, threads_;
  int64_t blocks_;
  int64_t columns_; ///< tiles of the largest block, whole panels
  int64_t plane_;   ///< elements of a staged plane
  size_t filterFloats_;
  const GemmTile<float> &tile_ = gemmTile<float>();
  const WinogradRows &transforms_ = winogradRows();
};

} // namespace

std::unique_ptr<LibraryKernel> makeWinograd(const ConvShape &c, bool back, int source, int weights, int bias,
                                            int threads) {
  return std::make_unique<Winograd>(c, back, source, weights, bias, threads);
}

} // namespace kedge::rt::cpu
