#include "passes/Lower/Gpu/library/MatrixTiles.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

namespace {

constexpr int64_t kBankChunks = 8; ///< chunks of 16 bytes that cover all banks

int64_t exchangedChunks(int64_t chunks) { return std::min(chunks & -chunks, kBankChunks); }

Num lane(KernelBuilder &k) { return k.thread() % 32; }

/// Two f32 in a word, rounded to nearest even; `lower` comes first in memory.
Num packed(KernelBuilder &k, Type type, Num lower, Num upper) {
  Type pair = VectorType::get({2}, type);
  auto rounding = NVVM::FPRoundingMode::RN;
  Value both = type.isBF16() ? Value(NVVM::ConvertF32x2ToBF16x2Op::create(k.b, k.loc, pair, upper.value,
                                                                          lower.value, Value(), rounding))
                             : Value(NVVM::ConvertF32x2ToF16x2Op::create(k.b, k.loc, pair, upper.value,
                                                                         lower.value, Value(), rounding));
  return {k, LLVM::BitcastOp::create(k.b, k.loc, k.b.getI32Type(), both)};
}

/// Words as the operands of a product: f16 comes in pairs, bf16 as integers.
SmallVector<Value> operands(KernelBuilder &k, Type type, ArrayRef<Num> words) {
  SmallVector<Value> values;
  for (Num word : words)
    values.push_back(type.isBF16()
                         ? word.value
                         : LLVM::BitcastOp::create(k.b, k.loc, VectorType::get({2}, type), word.value));
  return values;
}

/// Adds the product of a 16 x 16 and a 16 x 8 matrix to one piece.
void multiplyAdd(KernelBuilder &k, Type type, const Pieces &pieces, int64_t i, int64_t j, ArrayRef<Num> left,
                 ArrayRef<Num> right, Nums &sums) {
  SmallVector<Value> before;
  for (int64_t e = 0; e < 4; ++e)
    before.push_back(sums[pieces.number(i, j, e)].value);
  Type f32 = k.b.getF32Type(),
       result = LLVM::LLVMStructType::getLiteral(k.b.getContext(), {f32, f32, f32, f32});
  auto kind = type.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  auto product =
      NVVM::MmaOp::create(k.b, k.loc, result, operands(k, type, left), operands(k, type, right), before,
                          ArrayRef<int64_t>{16, 8, 16}, std::nullopt, std::nullopt, std::array{kind, kind},
                          std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (int64_t e = 0; e < 4; ++e)
    sums[pieces.number(i, j, e)] = {k, LLVM::ExtractValueOp::create(k.b, k.loc, product.getRes(), e)};
}

/// The rows that threads move together: chunk number `number` of the tile for each of them.
struct ChunkPosition {
  Num row, chunk;
};
/// Calls `body` for every chunk of a tile, shared among the threads.
void forChunks(KernelBuilder &k, const MatrixTile &tile, int64_t threads, Fn<void(ChunkPosition)> body) {
  int64_t chunks = tile.chunks(), count = tile.rows * chunks;
  for (int64_t first = 0; first < count; first += threads) {
    ChunkPosition place;
    if (threads % chunks == 0) {
      place = {k.thread() / chunks + first / chunks, k.thread() % chunks};
    } else {
      Num flat = k.thread() + first;
      place = {flat / chunks, flat % chunks};
    }
    if (first + threads <= count)
      body(place);
    else
      k.when(k.thread() + first < count, [&] { body(place); });
  }
}

Memory asBits(KernelBuilder &k, Memory memory) { return {memory.pointer, k.b.getI16Type()}; }

void beginCopy(KernelBuilder &k, Memory to, Memory from, Num isInside) {
  Type i32 = k.b.getI32Type();
  Num sixteen{k, LLVM::ConstantOp::create(k.b, k.loc, i32, k.b.getI32IntegerAttr(16))};
  Value given = isInside.constant() ? Value() : select(isInside, sixteen, literal(sixteen, int64_t(0))).value;
  NVVM::CpAsyncOp::create(k.b, k.loc, to.pointer, from.pointer, 16, NVVM::LoadCacheModifierKind::CG, given);
}

} // namespace

MatrixTile::MatrixTile(Memory memory, int64_t rows, int64_t columns)
    : memory(memory), rows(rows), columns(columns), divisor(kBankChunks / exchangedChunks(columns / 8)),
      mask(exchangedChunks(columns / 8) - 1) {}

PartReader::PartReader(KernelBuilder &k, const MatrixTile &tile, Second second, Num firstRow)
    : k(&k), tile(tile) {
  Num number = lane(k), in = number % 8, low = number / 8 % 2, high = number / 16;
  Num row = in + (second == Below ? low : high) * 8;
  start = (firstRow + row) * tile.columns;
  // Chunk numbers are even: adding the part's half is an exchange, too.
  exchanged = (second == Below ? high : low) ^ tile.exchange(in);
}

Nums PartReader::load(int64_t row, int64_t chunk, bool transposed, Num shift) const {
  KernelBuilder &k = *this->k;
  // What is the same for all rows first, so that they differ by a constant in the instruction.
  Memory memory =
      k.shifted(k.shifted(tile.memory, start + shift + (exchanged ^ chunk) * 8), k.index(row * tile.columns));
  Type i32 = k.b.getI32Type(),
       result = LLVM::LLVMStructType::getLiteral(k.b.getContext(), {i32, i32, i32, i32});
  auto layout = transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  auto loaded = NVVM::LdMatrixOp::create(k.b, k.loc, result, memory.pointer, 4, layout,
                                         NVVM::LdStMatrixShapeAttr::get(k.b.getContext(), 8, 8),
                                         NVVM::LdStMatrixEltType::B16);
  Nums words;
  for (int64_t m = 0; m < 4; ++m)
    words.emplace_back(k, LLVM::ExtractValueOp::create(k.b, k.loc, loaded.getRes(), m));
  return words;
}

TilePart Pieces::part(KernelBuilder &k) const {
  Share rows{lane(k) / 4, 8, 2 * rowTiles, 1, /*distance=*/4}, columns{lane(k) % 4, 4, columnTiles, 2};
  return flipped ? TilePart{columns, rows} : TilePart{rows, columns};
}

Nums kedge::lower::gpu::multiplyByRows(KernelBuilder &k, Type type, const Pieces &pieces, LeftWords left,
                                       const PartReader &right, Num shift, int64_t steps, Nums sums) {
  for (int64_t step = 0; step < steps; ++step) {
    SmallVector<Nums> rows;
    for (int64_t i = 0; i < pieces.rowTiles; ++i)
      rows.push_back(left(i, step));
    for (int64_t j = 0; j < pieces.columnTiles; j += 2) {
      Nums words = right.load(8 * j, 2 * step, /*transposed=*/false, shift);
      for (int64_t i = 0; i < pieces.rowTiles; ++i)
        for (int64_t side = 0; side < 2; ++side)
          multiplyAdd(k, type, pieces, i, j + side, rows[i], ArrayRef<Num>(words).slice(2 * side, 2), sums);
    }
  }
  return sums;
}

Nums kedge::lower::gpu::multiplyByColumns(KernelBuilder &k, Type type, const Pieces &pieces, LeftWords left,
                                          const PartReader &right, Num shift, int64_t steps, Nums sums) {
  for (int64_t step = 0; step < steps; ++step) {
    SmallVector<Nums> rows;
    for (int64_t i = 0; i < pieces.rowTiles; ++i)
      rows.push_back(left(i, step));
    for (int64_t j = 0; j < pieces.columnTiles; j += 2) {
      Nums words = right.load(16 * step, j, /*transposed=*/true, shift);
      for (int64_t i = 0; i < pieces.rowTiles; ++i)
        for (int64_t side = 0; side < 2; ++side)
          multiplyAdd(k, type, pieces, i, j + side, rows[i], ArrayRef<Num>(words).slice(2 * side, 2), sums);
    }
  }
  return sums;
}

Nums kedge::lower::gpu::leftWords(KernelBuilder &k, Type type, const Pieces &pieces, const Nums &values,
                                  int64_t i, int64_t step) {
  Nums words;
  for (int64_t j : {2 * step, 2 * step + 1})
    for (int64_t e : {0, 2})
      words.push_back(packed(k, type, values[pieces.number(i, j, e)], values[pieces.number(i, j, e + 1)]));
  return words;
}

Num kedge::lower::gpu::fastExp2(Num x) {
  KernelBuilder &k = *x.kernel;
  auto name = k.b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32");
  return {
      k, LLVM::CallIntrinsicOp::create(k.b, k.loc, k.b.getF32Type(), name, ValueRange{x.value}).getResult(0)};
}

void kedge::lower::gpu::beginFill(KernelBuilder &k, const MatrixTile &tile, const GlobalRows &rows,
                                  int64_t threads, Num shift) {
  Memory from = asBits(k, rows.memory);
  forChunks(k, tile, threads, [&](ChunkPosition place) {
    Num to = tile.place(place.row, place.chunk) + shift, inside = place.row < rows.count;
    Num first = rows.first + min(place.row, rows.count - 1) * rows.stride, column = place.chunk * 8;
    if (rows.vector == 8) {
      if (rows.columns < tile.columns) {
        inside = inside & (column < rows.columns);
        column = min(column, k.index(rows.columns - 8));
      }
      return beginCopy(k, k.shifted(tile.memory, to), k.shifted(from, first + column), inside);
    }
    // Rows that are not aligned go through registers.
    int64_t width = rows.vector;
    for (int64_t at = 0; at < 8; at += width) {
      Num group = k.choose(
          inside & (column + at < rows.columns),
          [&]() -> Nums { return {k.load(from, first + column + at, width)}; },
          [&]() -> Nums { return {k.zeros(k.b.getI16Type(), width)}; })[0];
      k.store(tile.memory, to + at, group);
    }
  });
  NVVM::CpAsyncCommitGroupOp::create(k.b, k.loc);
}

void kedge::lower::gpu::waitForFills(KernelBuilder &k) { NVVM::CpAsyncWaitGroupOp::create(k.b, k.loc, 0); }

void kedge::lower::gpu::storePieces(KernelBuilder &k, Type type, const Pieces &pieces, const Nums &values,
                                    const MatrixTile &tile, Num firstRow) {
  Memory words{tile.memory.pointer, k.b.getI32Type()};
  Num group = lane(k) / 4, member = lane(k) % 4;
  for (int64_t i = 0; i < pieces.rowTiles; ++i)
    for (int64_t j = 0; j < pieces.columnTiles; ++j)
      for (int64_t half = 0; half < 2; ++half) {
        Num word =
            packed(k, type, values[pieces.number(i, j, 2 * half)], values[pieces.number(i, j, 2 * half + 1)]);
        k.store(words, tile.place(firstRow + group + (16 * i + 8 * half), k.index(j)) / 2 + member, word);
      }
}

void kedge::lower::gpu::storeTile(KernelBuilder &k, const MatrixTile &tile, const GlobalRows &rows,
                                  int64_t threads) {
  Memory to = asBits(k, rows.memory);
  forChunks(k, tile, threads, [&](ChunkPosition place) {
    Num from = tile.place(place.row, place.chunk), column = place.chunk * 8;
    Num first = rows.first + place.row * rows.stride + column;
    int64_t width = rows.vector;
    k.when(place.row < rows.count, [&] {
      for (int64_t at = 0; at < 8; at += width)
        k.when(column + at < rows.columns,
               [&] { k.store(to, first + at, k.load(tile.memory, from + at, width)); });
    });
  });
}
