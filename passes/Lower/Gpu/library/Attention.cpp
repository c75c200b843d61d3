#include "passes/Lower/Gpu/library/Attention.h"
#include "passes/Lower/Gpu/library/Copies.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

namespace kedge::lower::gpu::attention {

namespace {
/// Columns in a group: wide ones unless they waste more than a quarter.
int64_t groupWidth(int64_t depth) {
  for (int64_t width : {4, 2})
    if (ceilDiv(depth, 16 * width) * 16 * width * 4 <= depth * 5)
      return width;
  return 1;
}
} // namespace

int64_t paddedDepth(int64_t depth) {
  int64_t row = 16 * groupWidth(depth);
  return ceilDiv(depth, row) * row;
}

Share depthShare(Num thread, int64_t padded) { return Share::of(thread, 16, padded, 4); }

GlobalRows headRows(Memory memory, const HeadView &view, Num batch, Num head, Num first, Num count,
                    int64_t depth) {
  unsigned width = vectorWidth(memory.element, {view.offset, view.batch, view.head, view.row, depth});
  Num position = batch * view.batch + head * view.head + first * view.row + view.offset;
  return {memory, position, view.row, count, depth, width < 4 ? 1 : width};
}

void appendOptional(const CallKernels &kernels, const AttentionShape &shape,
                    SmallVectorImpl<Operand> &operands) {
  if (shape.mask.index >= 0)
    operands.push_back(kernels.input(shape.mask.index));
  for (int counter = 0; shape.drops() && counter < 3; ++counter)
    operands.push_back(kernels.input(shape.dropout.firstInput + counter));
  if (shape.sinks >= 0)
    operands.push_back(kernels.input(shape.sinks));
}

void expectTypes(const CallKernels &kernels) {
  using rt::DType;
  for (const auto *list : {&kernels.call.inputs, &kernels.call.outputs})
    for (const rt::TensorDesc &tensor : *list)
      if (!llvm::is_contained({DType::F32, DType::F16, DType::BF16, DType::Bool, DType::I64}, tensor.type))
        rt::calls::failCall(kernels.call,
                            "attention for CUDA computes in f32 on f16, bf16 or f32, and masks are floats "
                            "or bool: cast before it, or compile for --target cpu");
}

KeyRange keysOf(KernelBuilder &k, const AttentionShape &shape, Num query, int64_t queries, int64_t step) {
  Num all = k.index(shape.keys), none = k.index(0), begin = none, end = all;
  if (shape.hidesBehind()) {
    Num last = min(query + queries, k.index(shape.queries)) - 1;
    end = max(none, min(all, last + (shape.right + 1)));
  }
  if (shape.hidesBefore())
    begin = min(max(none, query - shape.left), end) / step * step;
  return {begin, end};
}

QueryRange queriesOf(KernelBuilder &k, const AttentionShape &shape, Num key, int64_t keys, int64_t step) {
  Num all = k.index(shape.queries), none = k.index(0), begin = none, end = all;
  if (shape.hidesBehind())
    begin = max(key - shape.right, none) / step * step;
  if (shape.hidesBefore()) {
    Num last = min(key + keys, k.index(shape.keys)) - 1;
    end = max(none, min(all, last + (shape.left + 1)));
  }
  return {begin, end};
}

bool hasBlindQueries(const AttentionShape &shape, int64_t rows, int64_t step) {
  for (int64_t query = 0; query < shape.queries; query += rows) {
    const int64_t end = shape.endKey(std::min(query + rows, shape.queries) - 1);
    if (std::min(shape.firstKey(query), end) / step * step >= end)
      return true;
  }
  return false;
}

bool hasUnseenKeys(const AttentionShape &shape, int64_t rows, int64_t step) {
  for (int64_t key = 0; key < shape.keys; key += rows) {
    const int64_t last = std::min(key + rows, shape.keys) - 1,
                  end = shape.hidesBefore() ? shape.endQuery(last) : shape.queries;
    if (shape.hidesBehind() && std::max<int64_t>(key - shape.right, 0) / step >= ceilDiv(end, step))
      return true;
    if (end == 0)
      return true;
  }
  return false;
}

void expectOnGpu(const CallKernels &kernels, const AttentionShape &shape) {
  if (shape.places >= 0)
    rt::calls::failCall(kernels.call,
                        "queries at places of their own, which an axis 'context' makes, are not available "
                        "yet for CUDA: compile for --target cpu");
  if (shape.documents >= 0)
    rt::calls::failCall(kernels.call,
                        "borders of documents for CUDA are not available yet: compile for --target cpu");
}

Num Scores::cap(Num score, Num *factor) {
  // tanh(y) = sign(y) (1 - e) / (1 + e), e = exp(-2 |y|)
  Num y = score * (1 / shape.softcap), isNegative = y < 0;
  Num e = k.exp2(select(isNegative, -y, y) * (-2 * kLog2e));
  Num t = (1.0 - e) / (1.0 + e);
  if (factor)
    *factor = 4.0 * e / ((1.0 + e) * (1.0 + e));
  return select(isNegative, -t, t) * (shape.softcap * kLog2e);
}

Num Scores::maskValue(const ScorePosition &position, Num query, Num key) {
  const rt::calls::AttentionMask &mask = shape.mask;
  query = min(query, k.index(shape.queries - 1)), key = min(key, k.index(shape.keys - 1));
  Num at = position.batch * mask.batch + position.head * mask.head + query * mask.query + key * mask.key;
  Num value = k.load(*maskMemory, at);
  if (isa<FloatType>(maskMemory->element))
    return value * kLog2e;
  return select(value != 0, k.f32(0), k.f32(-std::numeric_limits<double>::infinity()));
}

void Scores::finish(const TilePart &part, const ScorePosition &position, Nums &scores, Nums *factors) {
  Num hidden = k.f32(-std::numeric_limits<double>::infinity());
  for (int64_t r = 0; r < part.rows.size(); ++r)
    for (int64_t c = 0; c < part.columns.size(); ++c) {
      int64_t at = r * part.columns.size() + c;
      Num query = position.query + part.rows.at(r), key = position.key + part.columns.at(c),
          &score = scores[at];
      Num seen = key < shape.keys;
      if (shape.hidesBehind())
        seen = seen & (key <= query + shape.right);
      if (shape.hidesBefore())
        seen = seen & (key >= query - shape.left);
      if (shape.softcap != 0)
        score = cap(score, factors ? &(*factors)[at] : nullptr);
      if (maskMemory)
        score = score + maskValue(position, query, key);
      score = select(seen, score, hidden);
    }
}

void Scores::bend(const TilePart &part, const ScorePosition &position, Nums &scores, Nums *factors) {
  for (int64_t r = 0; r < part.rows.size(); ++r)
    for (int64_t c = 0; c < part.columns.size(); ++c) {
      int64_t at = r * part.columns.size() + c;
      Num &score = scores[at];
      if (shape.softcap != 0)
        score = cap(score, factors ? &(*factors)[at] : nullptr);
      if (maskMemory)
        score =
            score + maskValue(position, position.query + part.rows.at(r), position.key + part.columns.at(c));
    }
}

void Scores::hide(const TilePart &part, const ScorePosition &position, Nums &scores) {
  Num hidden = k.f32(-std::numeric_limits<double>::infinity());
  for (int64_t r = 0; r < part.rows.size(); ++r) {
    Num query = position.query + part.rows.at(r), keys = k.index(shape.keys);
    if (shape.hidesBehind())
      keys = min(keys, query + (shape.right + 1));
    keys = select(query < shape.queries, keys, k.index(0));
    // From the thread's first column on, so that each comparison is with a constant.
    Num first = position.key + part.columns.at(0), seen = keys - first;
    std::optional<Num> unseen;
    if (shape.hidesBefore())
      unseen = query - shape.left - first;
    for (int64_t c = 0; c < part.columns.size(); ++c) {
      int64_t offset = c / part.columns.vec * part.columns.threads * part.columns.vec + c % part.columns.vec;
      Num &score = scores[r * part.columns.size() + c];
      score = select(unseen ? (offset < seen) & (offset >= *unseen) : offset < seen, score, hidden);
    }
  }
}

} // namespace kedge::lower::gpu::attention
