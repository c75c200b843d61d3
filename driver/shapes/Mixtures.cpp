// Mixtures of experts, as exports with experts_implementation="batched_mm" have them: each token's own
// matrices.
#include "driver/shapes/TransformerParts.h"
#include <fmt/format.h>

namespace kedge::driver::shapes {
namespace {

using model::Attribute;
using Value = GraphMaker::Value;
using Values = GraphMaker::Values;

/// A model while it is made.
struct MixtureMaking {
  GraphMaker &g;
  const Transformer &sizes;
  const Mixture &experts;
  Values tables; ///< cosines, sines
  Value length;

  int64_t headSize() const { return experts.headSize ? experts.headSize : sizes.width / sizes.heads; }
  /// The last axis as heads that come before the rows.
  Value heads(const Value &x, int64_t count, int64_t size) const {
    const Value apart =
        g.op("Reshape", {x, g.op("Concat", {g.integer(0), g.integer(0), g.integer(count), g.integer(size)},
                                 {Attribute::makeInt("axis", 0)})});
    return g.op("Transpose", {apart}, {Attribute::makeInts("perm", {0, 2, 1, 3})});
  }
  Value rotated(const Value &x, int64_t size) const {
    const Values rows = rotations(g, tables, length, size / 2);
    return g.op("RotaryEmbedding", {x, rows[0], rows[1]});
  }
  Values split(const Value &x, const std::vector<int64_t> &sizesOfParts) const {
    Values counts;
    for (int64_t size : sizesOfParts)
      counts.push_back(g.integer(size));
    return g.ops("Split", {x, g.op("Concat", counts, {Attribute::makeInt("axis", 0)})}, counts.size(),
                 {Attribute::makeInt("axis", -1)});
  }
};

/// Heads [batch, heads, length, size] that attend, and the product behind them.
Value attended(const MixtureMaking &m, const Values &operands, const std::string &name, int64_t size) {
  const Value y = m.g.op("Attention", operands, {Attribute::makeInt("is_causal", 1)});
  const Value rows = m.g.op("Transpose", {y}, {Attribute::makeInts("perm", {0, 2, 1, 3})});
  const int64_t wide = m.sizes.heads * size;
  const Value flat =
      m.g.op("Reshape", {rows, m.g.op("Concat", {m.g.integer(0), m.g.integer(0), m.g.integer(wide)},
                                      {Attribute::makeInt("axis", 0)})});
  return m.g.linear(flat, name + ".o", wide, m.sizes.width, m.experts.hasBiases);
}

Value groupedAttention(const MixtureMaking &m, const Value &x, const std::string &name) {
  const int64_t size = m.headSize(), width = m.sizes.width;
  const auto part = [&](const char *of, int64_t count) {
    return m.heads(m.g.linear(x, name + of, width, count * size, m.experts.hasBiases), count, size);
  };
  Value q = part(".q", m.sizes.heads), k = part(".k", m.sizes.keyHeads);
  const Value v = part(".v", m.sizes.keyHeads);
  if (m.experts.normsHeads) {
    q = m.g.rmsNorm(q, name + ".q_norm", size);
    k = m.g.rmsNorm(k, name + ".k_norm", size);
  }
  return attended(m, {m.rotated(q, size), m.rotated(k, size), v}, name, size);
}

/// Queries, keys and values out of two narrow vectors a token; a part of each key is all heads' own.
Value latentAttention(const MixtureMaking &m, const Value &x, const std::string &name) {
  const LatentAttention &of = m.experts.latent;
  const int64_t width = m.sizes.width, heads = m.sizes.heads, size = of.plain + of.turned;
  GraphMaker &g = m.g;
  const Value narrow =
      g.rmsNorm(g.linear(x, name + ".q_a", width, of.queries, false), name + ".q_norm", of.queries);
  const Values q =
      m.split(m.heads(g.linear(narrow, name + ".q_b", of.queries, heads * size, false), heads, size),
              {of.plain, of.turned});
  const Values both =
      m.split(g.linear(x, name + ".kv_a", width, of.keys + of.turned, false), {of.keys, of.turned});
  const Value stored = g.rmsNorm(both[0], name + ".kv_norm", of.keys);
  const Values kv =
      m.split(m.heads(g.linear(stored, name + ".kv_b", of.keys, heads * (of.plain + of.values), false), heads,
                      of.plain + of.values),
              {of.plain, of.values});
  const Value shared = m.rotated(m.heads(both[1], 1, of.turned), of.turned);
  const Value turned =
      g.op("Expand", {shared, g.op("Concat", {g.integer(1), g.integer(heads), g.integer(1), g.integer(1)},
                                   {Attribute::makeInt("axis", 0)})});
  const auto joined = [&](const Value &plain, const Value &other) {
    return g.op("Concat", {plain, other}, {Attribute::makeInt("axis", -1)});
  };
  return attended(m, {joined(q[0], m.rotated(q[1], of.turned)), joined(kv[0], turned), kv[1]}, name,
                  of.values);
}

struct RoutedTokens {
  Value experts, shares;
};

RoutedTokens routed(const MixtureMaking &m, const Value &x, const std::string &name) {
  GraphMaker &g = m.g;
  const int64_t count = m.experts.experts;
  const Values last;
  const GraphMaker::Attributes axis{Attribute::makeInt("axis", -1)};
  const Value scores = g.linear(x, name + ".router", m.sizes.width, count, m.experts.hasBiases);
  const Value most = g.integer(m.experts.chosen);
  if (!m.experts.scoresBySigmoid) {
    const Values top = g.ops("TopK", {scores, most}, 2, axis);
    return {top[1], g.op("Softmax", {top[0]}, axis)};
  }
  const Value shares = g.op("Sigmoid", {scores});
  const Value corrected = g.op("Add", {shares, g.filled({count}, 0)});
  const Value experts = g.ops("TopK", {corrected, most}, 2, axis)[1];
  const Value own = g.op("GatherElements", {shares, experts}, axis);
  return {experts, g.op("Div", {own, g.op("ReduceSum", {own, g.integer(-1)})})};
}

/// y[token, place] = W[experts[token, place]] x[token, place], W [experts, outputs, inputs].
Value expertProduct(const MixtureMaking &m, const Value &column, const Value &experts,
                    const std::string &name, int64_t inputs, int64_t outputs) {
  GraphMaker &g = m.g;
  const Value weight = g.parameter(name, {m.experts.experts, outputs, inputs});
  const Value y =
      g.op("Squeeze", {g.op("MatMul", {g.op("Gather", {weight, experts}), column}), g.integer(4)});
  return m.experts.hasBiases
             ? g.op("Add",
                    {y, g.op("Gather", {g.parameter(name + "_bias", {m.experts.experts, outputs}), experts})})
             : y;
}

Value mixture(const MixtureMaking &m, const Value &x, const std::string &name) {
  GraphMaker &g = m.g;
  const int64_t width = m.sizes.width, hidden = m.sizes.hidden;
  const RoutedTokens chosen = routed(m, x, name);
  const Value column = g.op("Unsqueeze", {g.op("Unsqueeze", {x, g.integer(2)}), g.integer(4)});
  const Value both =
      expertProduct(m, column, chosen.experts, name + ".experts.gate_up_proj", width, 2 * hidden);
  const Values halves = m.split(both, {hidden, hidden});
  const Value gated = g.op("Mul", {g.op("Mul", {halves[0], g.op("Sigmoid", {halves[0]})}), halves[1]});
  const Value out = expertProduct(m, g.op("Unsqueeze", {gated, g.integer(4)}), chosen.experts,
                                  name + ".experts.down_proj", hidden, width);
  const Value weighted = g.op("Mul", {out, g.op("Unsqueeze", {chosen.shares, g.integer(3)})});
  const Value mixed = g.op("ReduceSum", {weighted, g.integer(2)}, {Attribute::makeInt("keepdims", 0)});
  if (m.experts.sharedHidden == 0)
    return mixed;
  return g.op("Add", {mixed, gatedFeedForward(g, x, name + ".shared", width, m.experts.sharedHidden)});
}

} // namespace

model::Model mixtureModel(const Transformer &sizes) {
  GraphMaker g;
  const Mixture &experts = *sizes.mixture;
  tokensInput(g);
  const Value table = g.parameter("tokens.weight", {sizes.vocabulary, sizes.width});
  Value x = g.op("Gather", {table, "input_ids"});
  MixtureMaking m{g, sizes, experts, {}, lengthOf(g)};
  const int64_t half = (experts.latent.turned ? experts.latent.turned : m.headSize()) / 2;
  m.tables = {g.filled({1, 1, half}, 0.8f), g.filled({1, 1, half}, 0.6f)};
  for (int64_t i = 0; i < sizes.layers; ++i) {
    const std::string name = fmt::format("layers.{}", i);
    const GraphMaker::Module module(g, name, "MixtureBlock");
    Value y = g.rmsNorm(x, name + ".norm1", sizes.width);
    x = g.op("Add", {x, experts.latent.keys ? latentAttention(m, y, name) : groupedAttention(m, y, name)});
    y = g.rmsNorm(x, name + ".norm2", sizes.width);
    x = g.op("Add",
             {x, i < experts.denseLayers ? gatedFeedForward(g, y, name, sizes.width, experts.denseHidden)
                                         : mixture(m, y, name)});
  }
  return finish(g, head(g, g.rmsNorm(x, "norm", sizes.width), table, sizes), sizes.vocabulary);
}

} // namespace kedge::driver::shapes
