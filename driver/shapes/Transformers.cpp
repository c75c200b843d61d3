#include "driver/shapes/TransformerParts.h"
#include <fmt/format.h>

namespace kedge::driver::shapes {

using model::Attribute;
using model::Dim;
using Value = GraphMaker::Value;

void tokensInput(GraphMaker &g) {
  g.input("input_ids", model::ElementType::Int64, {Dim::named("batch"), Dim::named("length")});
}

model::Model finish(GraphMaker &g, const Value &logits, int64_t vocabulary) {
  return g.finish(logits, {Dim::named("batch"), Dim::named("length"), Dim::of(vocabulary)});
}

Value attention(GraphMaker &g, const GraphMaker::Values &operands, const Transformer &sizes, bool causal) {
  return g.op("Attention", operands,
              {Attribute::makeInt("q_num_heads", sizes.heads),
               Attribute::makeInt("kv_num_heads", sizes.keyHeads),
               Attribute::makeInt("is_causal", causal ? 1 : 0)});
}

Value head(GraphMaker &g, const Value &x, const Value &table, const Transformer &sizes) {
  if (!sizes.tied)
    return g.linear(x, "head", sizes.width, sizes.vocabulary, false);
  return g.op("MatMul", {x, g.op("Transpose", {table}, {Attribute::makeInts("perm", {1, 0})})});
}

Value lengthOf(GraphMaker &g) {
  return g.op("Shape", {"input_ids"}, {Attribute::makeInt("start", 1), Attribute::makeInt("end", 2)});
}

Value gatedFeedForward(GraphMaker &g, const Value &x, const std::string &name, int64_t width,
                       int64_t hidden) {
  const Value gate = g.linear(x, name + ".gate", width, hidden, false);
  const Value up = g.linear(x, name + ".up", width, hidden, false);
  const Value wide = g.op("Mul", {g.op("Mul", {gate, g.op("Sigmoid", {gate})}), up});
  return g.linear(wide, name + ".down", hidden, width, false);
}

GraphMaker::Values rotations(GraphMaker &g, const GraphMaker::Values &tables, const Value &length,
                             int64_t half) {
  GraphMaker::Values rows;
  for (const Value &table : tables)
    rows.push_back(
        g.op("Expand", {table, g.op("Concat",
                                    {g.op("Shape", {"input_ids"},
                                          {Attribute::makeInt("start", 0), Attribute::makeInt("end", 1)}),
                                     length, g.integer(half)},
                                    {Attribute::makeInt("axis", 0)})}));
  return rows;
}

namespace {

/// One block of GPT-2 (norms first, causal) or BERT (norms last).
Value block(GraphMaker &g, Value x, const std::string &name, const Transformer &sizes, bool normsFirst) {
  const GraphMaker::Module module(g, name, "Block");
  const int64_t width = sizes.width;
  Value y = normsFirst ? g.layerNorm(x, name + ".norm1", width) : x;
  const GraphMaker::Values parts =
      g.ops("Split", {g.linear(y, name + ".qkv", width, 3 * width)}, 3,
            {Attribute::makeInt("axis", -1), Attribute::makeInt("num_outputs", 3)});
  x = g.op("Add", {x, g.linear(attention(g, parts, sizes, normsFirst), name + ".out", width, width)});
  x = normsFirst ? x : g.layerNorm(x, name + ".norm1", width);
  y = normsFirst ? g.layerNorm(x, name + ".norm2", width) : x;
  y = g.op("Gelu", {g.linear(y, name + ".up", width, sizes.hidden)},
           {Attribute::makeString("approximate", normsFirst ? "tanh" : "none")});
  x = g.op("Add", {x, g.linear(y, name + ".down", sizes.hidden, width)});
  return normsFirst ? x : g.layerNorm(x, name + ".norm2", width);
}

struct Embedded {
  Value table, rows;
};

Embedded embed(GraphMaker &g, const Transformer &sizes) {
  tokensInput(g);
  const Value table = g.parameter("tokens.weight", {sizes.vocabulary, sizes.width});
  const Value length = lengthOf(g);
  const Value first = g.op("Slice", {g.parameter("positions.weight", {sizes.positions, sizes.width}),
                                     g.integer(0), length, g.integer(0)});
  return {table, g.op("Add", {g.op("Gather", {table, "input_ids"}), first})};
}

Value llamaAttention(GraphMaker &g, const Value &x, const std::string &name, const Transformer &sizes,
                     const GraphMaker::Values &tables, const Value &length) {
  const int64_t width = sizes.width, size = width / sizes.heads, keys = size * sizes.keyHeads;
  const Value y = g.rmsNorm(x, name + ".norm1", width);
  Value q = g.linear(y, name + ".q", width, width, false), k = g.linear(y, name + ".k", width, keys, false);
  const Value v = g.linear(y, name + ".v", width, keys, false);
  const GraphMaker::Values rows = rotations(g, tables, length, size / 2);
  q = g.op("RotaryEmbedding", {q, rows[0], rows[1]}, {Attribute::makeInt("num_heads", sizes.heads)});
  k = g.op("RotaryEmbedding", {k, rows[0], rows[1]}, {Attribute::makeInt("num_heads", sizes.keyHeads)});
  const Value together = attention(g, {q, k, v}, sizes, true);
  return g.op("Add", {x, g.linear(together, name + ".o", width, width, false)});
}

Value llamaFeedForward(GraphMaker &g, const Value &x, const std::string &name, const Transformer &sizes) {
  const Value y = g.rmsNorm(x, name + ".norm2", sizes.width);
  return g.op("Add", {x, gatedFeedForward(g, y, name, sizes.width, sizes.hidden)});
}

} // namespace

model::Model gptModel(const Transformer &sizes) {
  GraphMaker g;
  auto [table, x] = embed(g, sizes);
  for (int64_t i = 0; i < sizes.layers; ++i)
    x = block(g, x, fmt::format("blocks.{}", i), sizes, true);
  return finish(g, head(g, g.layerNorm(x, "norm", sizes.width), table, sizes), sizes.vocabulary);
}

model::Model bertModel(const Transformer &sizes) {
  GraphMaker g;
  Value x = g.layerNorm(embed(g, sizes).rows, "norm", sizes.width);
  for (int64_t i = 0; i < sizes.layers; ++i)
    x = block(g, x, fmt::format("layer.{}", i), sizes, false);
  return finish(g, g.linear(x, "head", sizes.width, sizes.vocabulary), sizes.vocabulary);
}

model::Model llamaModel(const Transformer &sizes) {
  GraphMaker g;
  tokensInput(g);
  const Value table = g.parameter("tokens.weight", {sizes.vocabulary, sizes.width});
  Value x = g.op("Gather", {table, "input_ids"});
  const Value length = lengthOf(g);
  const int64_t half = sizes.width / sizes.heads / 2;
  const GraphMaker::Values tables{g.filled({1, 1, half}, 0.8f), g.filled({1, 1, half}, 0.6f)};
  for (int64_t i = 0; i < sizes.layers; ++i) {
    const std::string name = fmt::format("layers.{}", i);
    const GraphMaker::Module module(g, name, "LlamaBlock");
    x = llamaFeedForward(g, llamaAttention(g, x, name, sizes, tables, length), name, sizes);
  }
  return finish(g, head(g, g.rmsNorm(x, "norm", sizes.width), table, sizes), sizes.vocabulary);
}

} // namespace kedge::driver::shapes
