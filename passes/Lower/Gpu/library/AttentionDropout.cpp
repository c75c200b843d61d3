#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Lower/Cluster/ScalarOps.h"
#include "passes/Lower/Gpu/library/Attention.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;
using namespace kedge::lower::gpu::attention;

namespace {

Num shiftRight(Num value, int64_t bits) {
  KernelBuilder &k = *value.kernel;
  return {k, arith::ShRUIOp::create(k.b, k.loc, value.value, literal(value, bits).value)};
}

} // namespace

std::pair<Num, Num> Dropout::blockOf(const TilePart &part, const ScorePosition &position, int64_t number) {
  // Elements count within a row of the step; one that has more of them than 32 bits count takes 64.
  int64_t elements = shape.dropout.rowSize * shape.queryHeads * shape.queries * shape.keys;
  Type type = elements > INT32_MAX / 2 ? k.b.getI64Type() : k.b.getI32Type();
  auto wide = [&](Num index) { return k.convert(index, type); };
  Num query = position.query + part.rows.at(number / part.columns.size());
  Num key = position.key + part.columns.at(number % part.columns.size());
  Num line = wide(position.batch % shape.dropout.rowSize) * shape.queryHeads + wide(position.head);
  Num element = (line * shape.queries + wide(query)) * shape.keys + wide(key);
  return {k.convert(shiftRight(element, 2), k.b.getI32Type()), k.convert(element & 3, k.b.getI32Type())};
}

std::array<Num, 4> Dropout::draw(const ScorePosition &position, Num block) {
  Type i32 = k.b.getI32Type();
  auto counter = [&](int number) { return k.load(counters[number], k.index(0)); };
  auto low = [&](Num value) { return k.convert(value, i32); };
  auto high = [&](Num value) { return k.convert(shiftRight(value, 32), i32); };
  Num seed = counter(0), step = counter(1);
  Num row = low(counter(2)) + k.convert(position.batch / shape.dropout.rowSize, i32);
  Num key1 = high(seed) ^ int64_t(int32_t(shape.dropout.opId));
  lower::ScalarOps ops(k.b, k.loc);
  auto words =
      ops.philox({block.value, row.value, low(step).value, high(step).value}, low(seed).value, key1.value);
  return {Num(k, words[0]), Num(k, words[1]), Num(k, words[2]), Num(k, words[3])};
}

void Dropout::exchange(std::array<Num, 4> &words, int64_t a, int64_t b, int64_t bit, Num lane,
                       unsigned distance) {
  Num isUpper = (lane & bit) != 0;
  Num received = k.shuffleXor(select(isUpper, words[a], words[b]), distance);
  words[a] = select(isUpper, received, words[a]);
  words[b] = select(isUpper, words[b], received);
}

void Dropout::drawTogether(const TilePart &part, const ScorePosition &position, int64_t first, Nums &words) {
  Num lane = part.columns.thread % 4;
  int64_t count = std::min<int64_t>(4, part.size() - first);
  Num block = blockOf(part, position, first).first;
  for (int64_t at = 1; at < count; ++at)
    block = select(lane == at, blockOf(part, position, first + at).first, block);
  std::array<Num, 4> drawn = draw(position, block);
  unsigned next = part.columns.distance;
  exchange(drawn, 0, 1, 1, lane, next), exchange(drawn, 2, 3, 1, lane, next);
  exchange(drawn, 0, 2, 2, lane, 2 * next), exchange(drawn, 1, 3, 2, lane, 2 * next);
  words.append(drawn.begin(), drawn.begin() + count);
}

void Dropout::drawPairs(const TilePart &part, const ScorePosition &position, int64_t first, Nums &words) {
  Num isUpper = part.columns.thread % 2 != 0;
  Num block = select(isUpper, blockOf(part, position, first + 2).first, blockOf(part, position, first).first);
  std::array<Num, 4> drawn = draw(position, block);
  // Each keeps its half of what it drew, and gives the other one its own.
  for (int64_t word = 0; word < 2; ++word) {
    Num sent = select(isUpper, drawn[word], drawn[word + 2]);
    Num received = k.shuffleXor(sent, part.columns.distance);
    drawn[word] = select(isUpper, received, drawn[word]);
    drawn[word + 2] = select(isUpper, drawn[word + 2], received);
  }
  words.append(drawn.begin(), drawn.end());
}

Nums Dropout::kept(const TilePart &part, const ScorePosition &position) {
  Nums words;
  bool aligned = shape.keys % 4 == 0,
       together = aligned && part.columns.vec == 1 && part.columns.threads % 4 == 0;
  bool paired =
      aligned && part.columns.vec == 2 && part.columns.threads % 2 == 0 && part.columns.groups % 2 == 0;
  for (int64_t number = 0; number < part.size();) {
    if (paired) {
      drawPairs(part, position, number, words);
      number += 4;
      continue;
    }
    if (together) {
      drawTogether(part, position, number, words);
      number += 4;
      continue;
    }
    auto [block, word] = blockOf(part, position, number++);
    std::array<Num, 4> drawn = draw(position, block);
    Num chosen = drawn[3];
    for (int64_t at = 0; at < 3; ++at)
      chosen = select(word == at, drawn[at], chosen);
    words.push_back(chosen);
  }
  Nums kept;
  for (Num word : words)
    kept.push_back(shiftRight(word, 8) >= int64_t(shape.dropout.smallest));
  return kept;
}
