// A block's part of a product: rows x columns of sums in registers, both operands in two buffers of shared
// memory, so that the next step is read while this one is multiplied.
#pragma once
#include "passes/Lower/Gpu/library/Tiles.h"

namespace kedge::lower::gpu {

inline constexpr int64_t kTileThreads = 256;

struct TileShape {
  int64_t rows, columns;
  int64_t depth; ///< of a step
  int64_t own;   ///< own x own sums a thread; rows * columns = kTileThreads * own * own

  int64_t rowTiles(int64_t count) const { return (count + rows - 1) / rows; }
  int64_t columnTiles(int64_t count) const { return (count + columns - 1) / columns; }

  /// The tile with the least padding for `products` matrix products of rows x columns results of this type.
  static TileShape of(int64_t rows, int64_t columns, int64_t products, mlir::Type sum);
};

/// Which elements of a step's operand a thread moves: `lines` x `along` elements, `width` neighbours along at
/// once.
struct TileMoves {
  int64_t lines, along, width;

  int64_t lineStep() const { return kTileThreads * width / along; } ///< lines that all threads move at once
  int64_t count() const { return std::max<int64_t>(1, lines / lineStep()); }
  Num line(KernelBuilder &k, int64_t number) const {
    return k.thread() / (along / width) + number * lineStep();
  }
  Num place(KernelBuilder &k) const { return k.thread() % (along / width) * width; }
  /// Runs `body` in the threads that move something.
  void whenMoving(KernelBuilder &k, Fn<void()> body) const {
    if (lineStep() <= lines)
      return body();
    k.when(k.thread() < lines * along / width, body);
  }
};

class MatmulTiles {
public:
  /// `padA`, `padB`: elements between the lines of a step in shared memory beyond rows and columns.
  MatmulTiles(KernelBuilder &k, const TileShape &tile, mlir::Type sum, int64_t padA, int64_t padB);

  /// The sums over `steps` steps. `first` is the first step's place; `advance` gives the next one's; `load`
  /// reads what the thread moves of a step, and past the last one anything within bounds; `put` writes
  /// that into a buffer by storeA and storeB.
  using Advance = Fn<Nums(Nums place)>;
  using Load = Fn<Nums(const Nums &place)>;
  using Put = Fn<void(Num buffer, const Nums &values)>;
  Nums sumSteps(Num steps, Nums first, Advance advance, Load load, Put put);
  void storeA(Num buffer, Num depth, Num row, Num values) {
    k.store(a, place(buffer, depth, row, strideA), values);
  }
  void storeB(Num buffer, Num depth, Num column, Num values) {
    k.store(b, place(buffer, depth, column, strideB), values);
  }

  /// The sums of each of the thread's rows, in groups of neighbouring columns.
  using Group = Fn<void(Num row, Num column, llvm::ArrayRef<Num> values)>;
  void forEachGroup(llvm::ArrayRef<Num> sums, Group body) const;

  /// Elements in an access of 16 bytes.
  static unsigned widthOf(mlir::Type element) { return 128 / element.getIntOrFloatBitWidth(); }

private:
  Num place(Num buffer, Num depth, Num at, int64_t stride) const {
    return (buffer * tile.depth + depth) * stride + at;
  }
  Nums addStep(Num buffer, Nums sums) const;
  Nums loadShare(Memory memory, Num from, const Share &share) const;

  KernelBuilder &k;
  TileShape tile;
  mlir::Type sum;
  int64_t strideA, strideB;
  Memory a, b;
  Share rows, columns;
};

} // namespace kedge::lower::gpu
