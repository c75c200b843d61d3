#include "passes/Lower/Gpu/library/Tiles.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

Tile::Tile(KernelBuilder &k, Memory memory, int64_t rows, int64_t columns)
    : rows(rows), columns(columns), k(&k), memory(memory) {
  constexpr int64_t kMostExchanged = 8; // chunks of 16 bytes that cover all banks
  int64_t chunks = columns / 4;
  mask = std::min(chunks & -chunks, kMostExchanged) - 1;
}

Num Tile::place(Num row, Num column) const {
  Num chunk = column / 4 ^ (row & mask);
  return row * columns + chunk * 4 + column % 4;
}

Num Tile::chunk(Num row, Num number) const {
  return k->load(memory, row * columns + (number ^ (row & mask)) * 4, 4);
}
Num Tile::load(Num row, Num column, unsigned width) const {
  return k->load(memory, place(row, column), width);
}
void Tile::store(Num row, Num column, Num value) const { k->store(memory, place(row, column), value); }

Share Share::of(Num thread, int64_t threads, int64_t count, int64_t most) {
  int64_t own = count / threads, vec = std::min(most, own & -own);
  return {thread, threads, own / vec, vec};
}

namespace {

/// A thread's indices of one row of a tile, loaded in their groups.
Nums loadGroups(KernelBuilder &k, const Tile &tile, Num row, const Share &share) {
  Nums values;
  for (int64_t g = 0; g < share.groups; ++g) {
    Num group = tile.load(row, share.group(g), share.vec);
    for (int64_t v = 0; v < share.vec; ++v)
      values.push_back(k.lane(group, v));
  }
  return values;
}

/// Chunk number `chunk` of each of a thread's rows.
Nums loadChunks(const Tile &tile, const Share &rows, Num chunk) {
  Nums values;
  for (int64_t r = 0; r < rows.size(); ++r)
    values.push_back(tile.chunk(rows.at(r), chunk));
  return values;
}

void addOuter(const TilePart &part, const Nums &a, const Nums &b, Nums &sums) {
  for (int64_t r = 0; r < part.rows.size(); ++r)
    for (int64_t c = 0; c < part.columns.size(); ++c) {
      Num &sum = sums[r * part.columns.size() + c];
      sum = fma(a[r], b[c], sum);
    }
}

Nums lanes(KernelBuilder &k, const Nums &chunks, unsigned lane) {
  Nums values;
  for (Num chunk : chunks)
    values.push_back(k.lane(chunk, lane));
  return values;
}

} // namespace

Nums kedge::lower::gpu::productNT(KernelBuilder &k, const TilePart &part, const Tile &a, const Tile &b,
                                  int64_t depth, Nums sums) {
  return k.loop(k.index(0), k.index(depth / 4), k.index(1), sums, [&](Num chunk, Nums sums) {
    Nums left = loadChunks(a, part.rows, chunk), right = loadChunks(b, part.columns, chunk);
    for (unsigned lane = 0; lane < 4; ++lane)
      addOuter(part, lanes(k, left, lane), lanes(k, right, lane), sums);
    return sums;
  });
}

Nums kedge::lower::gpu::productNN(KernelBuilder &k, const TilePart &part, const Tile &a, const Tile &b,
                                  int64_t depth, Nums sums) {
  return k.loop(k.index(0), k.index(depth / 4), k.index(1), sums, [&](Num chunk, Nums sums) {
    Nums left = loadChunks(a, part.rows, chunk);
    for (unsigned lane = 0; lane < 4; ++lane)
      addOuter(part, lanes(k, left, lane), loadGroups(k, b, chunk * 4 + lane, part.columns), sums);
    return sums;
  });
}

Nums kedge::lower::gpu::productTN(KernelBuilder &k, const TilePart &part, const Tile &a, const Tile &b,
                                  int64_t depth, Nums sums) {
  constexpr int64_t kUnroll = 4;
  int64_t step = depth % kUnroll == 0 ? kUnroll : 1;
  return k.loop(k.index(0), k.index(depth), k.index(step), sums, [&](Num row, Nums sums) {
    for (int64_t next = 0; next < step; ++next)
      addOuter(part, loadGroups(k, a, row + next, part.rows), loadGroups(k, b, row + next, part.columns),
               sums);
    return sums;
  });
}

void kedge::lower::gpu::fill(KernelBuilder &k, const Tile &tile, const GlobalRows &rows, int64_t threads,
                             double scale) {
  int64_t width = rows.vector == 8 && tile.columns % 8 == 0 ? 8 : 4;
  int64_t groups = tile.columns / width, count = tile.rows * groups;
  auto scaled = [&](Num value) { return scale == 1 ? value : value * literal(value, scale); };
  auto loadGroup = [&](Num place, Num column) -> Num {
    if (rows.vector % width == 0)
      return scaled(k.load(rows.memory, place + column, width));
    Nums values;
    for (int64_t v = 0; v < width; ++v)
      values.push_back(k.choose(
          column + v < rows.columns,
          [&]() -> Nums { return {scaled(k.load(rows.memory, place + column + v))}; },
          [&]() -> Nums { return {k.f32(0)}; })[0]);
    return k.vector(values);
  };
  for (int64_t first = 0; first < count; first += threads) {
    Num flat = k.thread() + first, row = flat / groups, column = flat % groups * width;
    auto move = [&] {
      Num inside = (row < rows.count) & (column < rows.columns);
      Num group = k.choose(
          inside, [&]() -> Nums { return {loadGroup(rows.first + row * rows.stride, column)}; },
          [&]() -> Nums { return {k.zeros(k.b.getF32Type(), width)}; })[0];
      if (width == 4)
        return tile.store(row, column, group);
      for (int64_t chunk = 0; chunk < width; chunk += 4)
        tile.store(row, column + chunk,
                   k.vector(Nums{k.lane(group, chunk), k.lane(group, chunk + 1), k.lane(group, chunk + 2),
                                 k.lane(group, chunk + 3)}));
    };
    if (first + threads <= count)
      move();
    else
      k.when(flat < count, move);
  }
}

void kedge::lower::gpu::storePart(KernelBuilder &k, const TilePart &part, Nums values,
                                  const GlobalRows &rows) {
  for (int64_t r = 0; r < part.rows.size(); ++r) {
    Num row = part.rows.at(r);
    k.when(row < rows.count, [&] {
      Num place = rows.first + row * rows.stride;
      for (int64_t g = 0; g < part.columns.groups; ++g) {
        int64_t vec = part.columns.vec, at = r * part.columns.size() + g * vec;
        Num column = part.columns.group(g);
        if (rows.vector % vec == 0) {
          k.when(column < rows.columns, [&] {
            k.store(rows.memory, place + column, k.vector(ArrayRef<Num>(values).slice(at, vec)));
          });
          continue;
        }
        for (int64_t v = 0; v < vec; ++v)
          k.when(column + v < rows.columns,
                 [&] { k.store(rows.memory, place + column + v, values[at + v]); });
      }
    });
  }
}
