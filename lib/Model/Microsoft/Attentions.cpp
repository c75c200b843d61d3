// Attention in onnxruntime's forms as ONNX's Attention, of operands [batch, sequence, heads x size].
#include "lib/Model/Microsoft/Parts.h"
#include <limits>

namespace kedge::model {
namespace {

/// What goes into ONNX's Attention.
struct Attending {
  std::string q, k, v, mask, pastKey, pastValue;
  int64_t heads = 0, kvHeads = 0;
  bool isCausal = false;
  double scale = 0, softcap = 0; ///< 0: the default, none
  int64_t window = -1;           ///< keys that a query sees, itself among them; -1: all
};

Parts::Values attend(Parts &parts, const Attending &from) {
  Parts::Attributes attributes = {Attribute::makeInt("q_num_heads", from.heads),
                                  Attribute::makeInt("kv_num_heads", from.kvHeads),
                                  Attribute::makeInt("is_causal", from.isCausal)};
  if (from.scale != 0)
    attributes.push_back(Attribute::makeFloat("scale", static_cast<float>(from.scale)));
  if (from.softcap != 0)
    attributes.push_back(Attribute::makeFloat("softcap", static_cast<float>(from.softcap)));
  if (from.window >= 0)
    attributes.push_back(Attribute::makeInt("left_window_size", from.window - 1));
  const size_t outputs = parts.wants(1) || parts.wants(2) || !from.pastKey.empty() ? 3 : 1;
  return parts.makeSeveral("Attention", outputs,
                           {from.q, from.k, from.v, from.mask, from.pastKey, from.pastValue},
                           std::move(attributes));
}

/// A mask of ones and zeros as what is added to scores, as onnxruntime does.
std::string added(Parts &parts, const std::string &mask, const std::string &like) {
  const std::string shown = parts.make("CastLike", {mask, like});
  const std::string hidden = parts.make("Sub", {parts.numberLike(1, like), shown});
  return parts.make("Mul",
                    {hidden, parts.numberLike(parts.node.attrFloat("mask_filter_value", -10000.0f), like)});
}

/// Input k, by its number of dimensions: keys of a row, of each query, or the number of a row's keys.
std::string maskOf(Parts &parts, size_t k, const std::string &q, const std::string &keys) {
  std::string mask = parts.in(k);
  switch (parts.rankOf(k)) {
  case 1: {
    const std::string count = parts.make("Squeeze", {parts.sizeOf(keys, 1)});
    const std::string place = parts.make("Range", {parts.number(0), count, parts.number(1)});
    const std::string lengths =
        parts.make("Cast", {mask}, {Attribute::makeInt("to", static_cast<int64_t>(ElementType::Int64))});
    mask = parts.make("Less", {place, parts.make("Unsqueeze", {lengths, parts.ints({1, 2, 3})})});
    break;
  }
  case 2:
    mask = parts.make("Unsqueeze", {mask, parts.ints({1, 2})});
    break;
  case 3:
    mask = parts.make("Unsqueeze", {mask, parts.ints({1})});
    break;
  default:
    parts.refuse(fmt::format("its mask '{}' has {} dimensions, expected 1 to 3", mask, parts.rankOf(k)));
  }
  return added(parts, mask, q);
}

std::string both(Parts &parts, const std::string &mask, size_t bias) {
  return mask.empty() ? parts.in(bias) : parts.addMaybe(mask, bias);
}

/// A tensor [batch, heads, sequence, size] as [batch, sequence, heads x size].
std::string flat(Parts &parts, const std::string &x) {
  const std::string moved = parts.make("Transpose", {x}, {Attribute::makeInts("perm", {0, 2, 1, 3})});
  return parts.make("Reshape", {moved, parts.ints({0, 0, -1})});
}

/// Input k [batch, sequence, heads, count, size] in its parts, each [batch, sequence, heads x size].
Parts::Values unpacked(Parts &parts, size_t k, size_t count) {
  Parts::Values values = parts.makeSeveral(
      "Split", count, {parts.in(k)},
      {Attribute::makeInt("axis", 3), Attribute::makeInt("num_outputs", static_cast<int64_t>(count))});
  for (std::string &value : values)
    value = parts.make("Reshape", {value, parts.ints({0, 0, -1})});
  return values;
}

//===--- Attention, MultiHeadAttention ------------------------------------------------------------------===//

/// Key and value of a cache that is one tensor [2, ...].
std::string half(Parts &parts, const std::string &past, int64_t at) {
  return parts.make("Gather", {past, parts.number(at)});
}

void attention(Parts &parts) {
  parts.takesOnly(6, 2, {"mask_filter_value", "num_heads", "qkv_hidden_sizes", "scale", "unidirectional"});
  const std::string all = parts.addMaybe(parts.make("MatMul", {parts.in(0), parts.in(1)}), 2);
  const std::vector<int64_t> sizes = parts.node.attrInts("qkv_hidden_sizes", {});
  const Parts::Values qkv =
      sizes.empty()
          ? parts.makeSeveral("Split", 3, {all},
                              {Attribute::makeInt("axis", -1), Attribute::makeInt("num_outputs", 3)})
          : parts.split(all, -1, sizes);
  Attending from;
  from.q = qkv[0], from.k = qkv[1], from.v = qkv[2];
  from.heads = from.kvHeads = parts.node.attrInt("num_heads");
  from.isCausal = parts.node.attrBool("unidirectional", false);
  from.scale = parts.node.attrFloat("scale", 0);
  from.mask = both(parts, parts.has(3) ? maskOf(parts, 3, from.q, from.k) : "", 5);
  if (parts.has(4))
    from.pastKey = half(parts, parts.in(4), 0), from.pastValue = half(parts, parts.in(4), 1);
  const Parts::Values outputs = attend(parts, from);
  parts.give(0, outputs[0]);
  if (parts.wants(1))
    parts.give(1, parts.make("Concat",
                             {parts.make("Unsqueeze", {outputs[1], parts.ints({0})}),
                              parts.make("Unsqueeze", {outputs[2], parts.ints({0})})},
                             {Attribute::makeInt("axis", 0)}));
}

/// Query, key and value however they are packed.
void takeOperands(Parts &parts, Attending &from) {
  if (!parts.has(1)) {
    const Parts::Values qkv = unpacked(parts, 0, 3);
    from.q = qkv[0], from.k = qkv[1], from.v = qkv[2];
    return;
  }
  from.q = parts.in(0);
  if (!parts.has(2)) {
    const Parts::Values kv = unpacked(parts, 1, 2);
    from.k = kv[0], from.v = kv[1];
    return;
  }
  const bool apart = parts.around.rankOf(parts.in(1)) == 4;
  from.k = apart ? flat(parts, parts.in(1)) : parts.in(1);
  from.v = apart ? flat(parts, parts.in(2)) : parts.in(2);
}

void multiHeadAttention(Parts &parts) {
  parts.takesOnly(8, 3, {"mask_filter_value", "num_heads", "scale", "unidirectional"});
  Attending from;
  takeOperands(parts, from);
  if (parts.has(3)) {
    const Parts::Values bias = parts.makeSeveral(
        "Split", 3, {parts.in(3)}, {Attribute::makeInt("axis", 0), Attribute::makeInt("num_outputs", 3)});
    from.q = parts.make("Add", {from.q, bias[0]});
    from.k = parts.make("Add", {from.k, bias[1]});
    from.v = parts.make("Add", {from.v, bias[2]});
  }
  from.heads = from.kvHeads = parts.node.attrInt("num_heads");
  from.isCausal = parts.node.attrBool("unidirectional", false);
  from.scale = parts.node.attrFloat("scale", 0);
  from.mask = both(parts, parts.has(4) ? maskOf(parts, 4, from.q, from.k) : "", 5);
  from.pastKey = parts.in(6), from.pastValue = parts.in(7);
  const Parts::Values outputs = attend(parts, from);
  for (size_t k = 0; k < outputs.size(); ++k)
    parts.give(k, outputs[k]);
}

//===--- RotaryEmbedding --------------------------------------------------------------------------------===//

/// Rows [first, first + count) of a table, [1, count, half].
std::string rowsOf(Parts &parts, const std::string &table, const std::string &first,
                   const std::string &count) {
  const std::string rows =
      parts.make("Slice", {table, first, parts.make("Add", {first, count}), parts.ints({0})});
  return parts.make("Unsqueeze", {rows, parts.ints({0})});
}

/// `x` [batch, sequence, heads x size] turned by the tables' rows, [1, sequence, half].
std::string turned(Parts &parts, const std::string &x, int64_t heads, const Parts::Values &angles) {
  return parts.make("RotaryEmbedding", {x, angles[0], angles[1]},
                    {Attribute::makeInt("num_heads", heads),
                     Attribute::makeInt("interleaved", parts.node.attrInt("rotary_interleaved", 0))});
}

/// The heads of [batch, sequence, heads x size], whose size is twice the tables' width where nothing says it.
std::string inHeads(Parts &parts) {
  const Tensor *table = parts.around.initializer(parts.in(2));
  if (!table || table->dims.size() != 2)
    parts.refuse("num_heads is not given, and the width of cos_cache is not known");
  const std::string apart = parts.make("Reshape", {parts.in(0), parts.ints({0, 0, -1, 2 * table->dims[1]})});
  return parts.make("Transpose", {apart}, {Attribute::makeInts("perm", {0, 2, 1, 3})});
}

void rotaryEmbedding(Parts &parts) {
  parts.takesOnly(4, 1, {"interleaved", "is_packed_batching", "num_heads", "rotary_embedding_dim", "scale"});
  if (parts.node.attrInt("is_packed_batching", 0) != 0 || parts.node.attrFloat("scale", 1) != 1)
    parts.refuse("is_packed_batching and scale are not supported");
  const bool isFlat = parts.rankOf(0) == 3;
  const int64_t heads = parts.node.attrInt("num_heads", 0);
  const bool splits = isFlat && heads == 0;
  std::string x = splits ? inHeads(parts) : parts.in(0);
  Parts::Values inputs = {x, parts.in(2), parts.in(3)};
  if (parts.around.rankOf(parts.in(1)) == 1) { // one number: where the sequence begins
    const std::string count = parts.sizeOf(parts.in(0), isFlat ? 1 : 2);
    inputs[1] = rowsOf(parts, parts.in(2), parts.in(1), count);
    inputs[2] = rowsOf(parts, parts.in(3), parts.in(1), count);
  } else {
    inputs.push_back(parts.in(1));
  }
  const std::string y =
      parts.make("RotaryEmbedding", inputs,
                 {Attribute::makeInt("num_heads", splits ? 0 : heads),
                  Attribute::makeInt("interleaved", parts.node.attrInt("interleaved", 0)),
                  Attribute::makeInt("rotary_embedding_dim", parts.node.attrInt("rotary_embedding_dim", 0))});
  parts.give(0, splits ? flat(parts, y) : y);
}

//===--- GroupQueryAttention ----------------------------------------------------------------------------===//

/// Query, key and value, each [batch, sequence, heads x size].
void takeGrouped(Parts &parts, Attending &from) {
  if (parts.has(1)) {
    from.q = parts.in(0), from.k = parts.in(1), from.v = parts.in(2);
    return;
  }
  const int64_t all = from.heads + 2 * from.kvHeads;
  const std::string apart = parts.make("Reshape", {parts.in(0), parts.ints({0, 0, all, -1})});
  Parts::Values qkv = parts.split(apart, 2, {from.heads, from.kvHeads, from.kvHeads});
  for (std::string &value : qkv)
    value = parts.make("Reshape", {value, parts.ints({0, 0, -1})});
  from.q = qkv[0], from.k = qkv[1], from.v = qkv[2];
}

/// Angles of the sequence, which begins after the cache's; position_ids say it otherwise.
Parts::Values anglesOf(Parts &parts, const Attending &from) {
  if (parts.has(9))
    return {parts.make("Gather", {parts.in(7), parts.in(9)}),
            parts.make("Gather", {parts.in(8), parts.in(9)})};
  const std::string first = from.pastKey.empty() ? parts.ints({0}) : parts.sizeOf(from.pastKey, 2);
  const std::string count = parts.sizeOf(from.q, 1);
  return {rowsOf(parts, parts.in(7), first, count), rowsOf(parts, parts.in(8), first, count)};
}

/// [sequence, sequence]: 0 where a query sees a key, else minus infinity.
std::string causalMask(Parts &parts, const Attending &from) {
  const std::string count = parts.make("Squeeze", {parts.sizeOf(from.q, 1)});
  const std::string key = parts.make("Range", {parts.number(0), count, parts.number(1)});
  const std::string query = parts.make("Unsqueeze", {key, parts.ints({1})});
  std::string seen = parts.make("LessOrEqual", {key, query});
  if (from.window >= 0) {
    const std::string first = parts.make("Sub", {query, parts.number(from.window)});
    seen = parts.make("And", {seen, parts.make("Greater", {key, first})});
  }
  return parts.make("Where", {seen, parts.numberLike(0, from.q),
                              parts.numberLike(-std::numeric_limits<double>::infinity(), from.q)});
}

/// A key more, of zeros, whose score is the head's sink: it takes a share of each query's weights.
void addSink(Parts &parts, Attending &from) {
  if (!from.pastKey.empty())
    parts.refuse("a cache together with sinks is not supported");
  const std::string none = parts.numberLike(0, from.q);
  auto longer = [&](const std::string &x) {
    const std::string first = parts.make("Slice", {x, parts.ints({0}), parts.ints({1}), parts.ints({1})});
    return parts.make("Concat", {x, parts.make("Mul", {first, none})}, {Attribute::makeInt("axis", 1)});
  };
  const std::string sequence = parts.sizeOf(from.q, 1);
  auto ofHeads = [&](const std::string &x, const std::string &keys) {
    const std::string shape =
        parts.make("Concat", {parts.ints({1, from.heads}), sequence, keys}, {Attribute::makeInt("axis", 0)});
    return parts.make("Expand", {x, shape});
  };
  std::string sink = parts.has(11) ? parts.make("CastLike", {parts.in(11), from.q}) : none;
  sink = ofHeads(parts.has(11) ? parts.make("Reshape", {sink, parts.ints({1, -1, 1, 1})}) : sink,
                 parts.ints({1}));
  const std::string seen = both(parts, causalMask(parts, from), 10);
  from.mask = parts.make("Concat", {ofHeads(seen, sequence), sink}, {Attribute::makeInt("axis", 3)});
  from.k = longer(from.k), from.v = longer(from.v);
  from.isCausal = false;
  from.window = -1;
}

void groupQueryAttention(Parts &parts) {
  parts.takesOnly(12, 3,
                  {"do_rotary", "kv_num_heads", "local_window_size", "num_heads", "rotary_interleaved",
                   "scale", "smooth_softmax", "softcap", "qk_output"});
  Attending from;
  from.heads = parts.node.attrInt("num_heads");
  from.kvHeads = parts.node.attrInt("kv_num_heads");
  from.isCausal = true;
  from.scale = parts.node.attrFloat("scale", 0);
  from.softcap = parts.node.attrFloat("softcap", 0);
  from.window = parts.node.attrInt("local_window_size", -1);
  from.pastKey = parts.in(3), from.pastValue = parts.in(4);
  takeGrouped(parts, from);
  if (parts.node.attrBool("do_rotary", false)) {
    const Parts::Values angles = anglesOf(parts, from);
    from.q = turned(parts, from.q, from.heads, angles);
    from.k = turned(parts, from.k, from.kvHeads, angles);
  }
  from.mask = parts.in(10);
  const bool sinks = parts.has(11) || parts.node.attrInt("smooth_softmax", 0) > 0;
  if (sinks && (parts.wants(1) || parts.wants(2)))
    parts.refuse("keys and values to go on with are not supported together with sinks");
  if (sinks)
    addSink(parts, from);
  const Parts::Values outputs = attend(parts, from);
  for (size_t k = 0; k < outputs.size(); ++k)
    parts.give(k, outputs[k]);
}

} // namespace

void addAttentions(LoweringTable &table) {
  table["Attention"] = attention;
  table["MultiHeadAttention"] = multiHeadAttention;
  table["RotaryEmbedding"] = rotaryEmbedding;
  table["GroupQueryAttention"] = groupQueryAttention;
}

} // namespace kedge::model
