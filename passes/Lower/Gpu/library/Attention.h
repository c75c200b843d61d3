// What both directions of attention share. docs/rationale/gpu-attention.md tells how the kernels are cut.
#pragma once
#include "passes/Lower/Gpu/library/CallKernels.h"
#include "passes/Lower/Gpu/library/Tiles.h"
#include "runtime/calls/AttentionShape.h"

namespace kedge::lower::gpu::attention {

using rt::calls::AttentionShape;
using rt::calls::HeadView;

inline constexpr double kLog2e = 1.4426950408889634, kLn2 = 0.6931471805599453;
inline constexpr int64_t kThreads = 128;
inline constexpr int64_t kSharedFloats = 12288; ///< 48 KiB

/// How many columns a tile has for `depth`, when 16 threads share a row of it in groups of up to 4.
int64_t paddedDepth(int64_t depth);
/// The share of 16 threads of a row of that many columns.
Share depthShare(Num thread, int64_t padded);

/// Sizes of the blocks of queries and keys.
struct AttentionBlocks {
  int64_t queries, keys;
};

/// Rows of one head of an operand, from row number `first` on; `count` of them.
GlobalRows headRows(Memory memory, const HeadView &view, Num batch, Num head, Num first, Num count,
                    int64_t depth);

/// Where one (batch, query head) and a block of its scores stand.
struct ScorePosition {
  Num batch, head, query, key; ///< first query and key of the block
};

/// Scores of a part in units of log 2, from products of keys and queries that were scaled by `queryScale`:
/// capped, masked, -inf where a key is hidden or missing. Factors: derivatives of the cap, when asked for.
class Scores {
public:
  Scores(KernelBuilder &k, const AttentionShape &shape, std::optional<Memory> mask)
      : k(k), shape(shape), maskMemory(mask) {}

  /// The sink of a head, a score in units of log 2.
  static Num sink(KernelBuilder &k, Memory sinks, Num head) { return k.load(sinks, head) * kLog2e; }
  double queryScale() const { return shape.softcap != 0 ? shape.scale : shape.scale * kLog2e; }
  void finish(const TilePart &part, const ScorePosition &position, Nums &scores, Nums *factors = nullptr);

  // The same in two steps, for kernels that know which blocks have hidden keys.
  /// Whether scores are more than products times a positive number.
  bool areShaped() const { return shape.softcap != 0 || maskMemory || shape.scale <= 0; }
  /// Cap and mask, of scores that were scaled.
  void bend(const TilePart &part, const ScorePosition &position, Nums &scores, Nums *factors = nullptr);
  /// -inf for keys that are hidden or missing and queries that are missing.
  void hide(const TilePart &part, const ScorePosition &position, Nums &scores);

private:
  Num cap(Num score, Num *factor);
  Num maskValue(const ScorePosition &position, Num query, Num key);

  KernelBuilder &k;
  const AttentionShape &shape;
  std::optional<Memory> maskMemory;
};

/// Dropout of the probabilities, drawn as runtime/format/Philox.h says.
class Dropout {
public:
  /// `counters`: seed, step and row_base, or nothing.
  Dropout(KernelBuilder &k, const AttentionShape &shape, llvm::ArrayRef<Memory> counters)
      : k(k), shape(shape), counters(counters) {}

  bool isOn() const { return shape.drops(); }
  /// Whether the elements of a part are kept. All threads of the block take part.
  Nums kept(const TilePart &part, const ScorePosition &position);

private:
  /// Number of the block of four that an element lies in, and its place there.
  std::pair<Num, Num> blockOf(const TilePart &part, const ScorePosition &position, int64_t number);
  std::array<Num, 4> draw(const ScorePosition &position, Num block);
  /// Four threads that own neighbouring elements draw one block each and exchange their words.
  void drawTogether(const TilePart &part, const ScorePosition &position, int64_t first, Nums &words);
  /// Two threads that own two neighbours of four each draw a block each: for two groups of columns, from
  /// `first` on.
  void drawPairs(const TilePart &part, const ScorePosition &position, int64_t first, Nums &words);
  /// Threads whose number has `bit` are `distance` lanes behind those without.
  void exchange(std::array<Num, 4> &words, int64_t a, int64_t b, int64_t bit, Num lane, unsigned distance);

  KernelBuilder &k;
  const AttentionShape &shape;
  llvm::SmallVector<Memory> counters;
};

/// The last operands of a kernel: mask, then seed, step and row_base, then sinks, where the call has them.
void appendOptional(const CallKernels &kernels, const AttentionShape &shape,
                    llvm::SmallVectorImpl<Operand> &operands);
struct OptionalOperands {
  OptionalOperands(const AttentionShape &shape, llvm::ArrayRef<Memory> memory) {
    if (shape.mask.index >= 0)
      mask = memory[0];
    if (shape.drops())
      counters = memory.slice(mask ? 1 : 0, 3);
    if (shape.sinks >= 0)
      sinks = memory[(mask ? 1 : 0) + counters.size()];
  }
  std::optional<Memory> mask, sinks;
  llvm::ArrayRef<Memory> counters;
};

/// Blocks that run on a processor at once, which bounds the registers of a thread: three hold 168 each.
/// Random numbers need more.
inline int64_t residentBlocks(const AttentionShape &shape) { return shape.drops() ? 2 : 3; }

/// Checks the types: kernels compute in f32 on floats of 16 or 32 bits.
void expectTypes(const CallKernels &kernels);
/// Where the walk over keys of a block of queries from `query` on begins, a multiple of `step`, and where it
/// ends.
struct KeyRange {
  Num begin, end;
};
KeyRange keysOf(KernelBuilder &k, const AttentionShape &shape, Num query, int64_t queries, int64_t step);
/// The same for the queries that see a block of keys.
struct QueryRange {
  Num begin, end;
};
QueryRange queriesOf(KernelBuilder &k, const AttentionShape &shape, Num key, int64_t keys, int64_t step);
/// Whether some block of `rows` queries walks over no block of `step` keys.
bool hasBlindQueries(const AttentionShape &shape, int64_t rows, int64_t step);
/// Whether no query of any block of `step` sees some block of `rows` keys.
bool hasUnseenKeys(const AttentionShape &shape, int64_t rows, int64_t step);
/// Refuses what only the CPU's kernels have.
void expectOnGpu(const CallKernels &kernels, const AttentionShape &shape);

} // namespace kedge::lower::gpu::attention
