// Norms with a residual sum before them, and the embedding of BERT.
#include "lib/Model/Microsoft/Parts.h"

namespace kedge::model {
namespace {

Attribute epsilonOf(const Parts &parts, float otherwise) {
  return Attribute::makeFloat("epsilon", parts.node.attrFloat("epsilon", otherwise));
}

void layerNorm(Parts &parts, const std::string &x, const std::string &scale, const std::string &bias,
               float otherwise) {
  Parts::Values outputs =
      parts.makeSeveral("LayerNormalization", parts.wants(1) || parts.wants(2) ? 3 : 1, {x, scale, bias},
                        {Attribute::makeInt("axis", -1), epsilonOf(parts, otherwise)});
  for (size_t k = 0; k < outputs.size(); ++k)
    parts.give(k, outputs[k]);
}

std::string rmsNorm(Parts &parts, const std::string &x, const std::string &scale, int64_t axis,
                    float otherwise) {
  return parts.make("RMSNormalization", {x, scale},
                    {Attribute::makeInt("axis", axis), epsilonOf(parts, otherwise)});
}

/// x + skip + bias; `bias` is the input's place.
std::string residual(Parts &parts, size_t bias) {
  return parts.addMaybe(parts.make("Add", {parts.in(0), parts.in(1)}), bias);
}

void skipLayerNormalization(Parts &parts) {
  parts.takesOnly(5, 4, {"epsilon"});
  const std::string sum = residual(parts, 4);
  layerNorm(parts, sum, parts.in(2), parts.in(3), 1e-12f);
  parts.give(3, sum);
}

void skipSimplifiedLayerNormalization(Parts &parts) {
  parts.takesOnly(4, 4, {"epsilon"});
  if (parts.wants(1) || parts.wants(2))
    parts.refuse("its outputs of statistics are not supported");
  const std::string sum = residual(parts, 3);
  parts.give(0, rmsNorm(parts, sum, parts.in(2), -1, 1e-12f));
  parts.give(3, sum);
}

void simplifiedLayerNormalization(Parts &parts) {
  parts.takesOnly(2, 1, {"axis", "epsilon", "stash_type"});
  parts.give(0, rmsNorm(parts, parts.in(0), parts.in(1), parts.node.attrInt("axis", -1), 1e-5f));
}

/// Words, places and, where there are any, segments.
std::string embedded(Parts &parts) {
  const std::string words = parts.make("Gather", {parts.in(2), parts.in(0)});
  std::string places;
  if (parts.has(8)) {
    places = parts.make("Gather", {parts.in(3), parts.in(8)});
  } else {
    places =
        parts.make("Slice", {parts.in(3), parts.ints({0}), parts.sizeOf(parts.in(0), 1), parts.ints({0})});
  }
  std::string sum = parts.make("Add", {words, places});
  if (parts.has(1))
    sum = parts.make("Add", {sum, parts.make("Gather", {parts.in(4), parts.in(1)})});
  return sum;
}

void embedLayerNormalization(Parts &parts) {
  parts.takesOnly(9, 3, {"epsilon", "mask_index_type"});
  const std::string sum = embedded(parts);
  parts.give(0, parts.make("LayerNormalization", {sum, parts.in(5), parts.in(6)},
                           {Attribute::makeInt("axis", -1), epsilonOf(parts, 1e-12f)}));
  if (parts.wants(1)) {
    if (!parts.has(7))
      parts.refuse("its output mask_index without a mask is not supported");
    parts.give(1,
               parts.make("ReduceSum", {parts.in(7), parts.ints({1})}, {Attribute::makeInt("keepdims", 0)}));
  }
  parts.give(2, sum);
}

/// [N, H, W, C] with channels_last, else [N, C, H, W].
std::string grouped(Parts &parts, const std::string &x) {
  const bool last = parts.node.attrInt("channels_last", 1) != 0;
  std::string y = last ? parts.make("Transpose", {x}, {Attribute::makeInts("perm", {0, 3, 1, 2})}) : x;
  y = parts.make("GroupNormalization", {y, parts.in(1), parts.in(2)},
                 {Attribute::makeInt("num_groups", parts.node.attrInt("groups")), epsilonOf(parts, 1e-5f)});
  if (parts.node.attrInt("activation") == 1)
    y = parts.make("Swish", {y});
  return last ? parts.make("Transpose", {y}, {Attribute::makeInts("perm", {0, 2, 3, 1})}) : y;
}

void groupNorm(Parts &parts) {
  parts.takesOnly(3, 1, {"activation", "channels_last", "epsilon", "groups"});
  parts.give(0, grouped(parts, parts.in(0)));
}

void skipGroupNorm(Parts &parts) {
  parts.takesOnly(5, 2, {"activation", "channels_last", "epsilon", "groups"});
  std::string skip = parts.in(3);
  if (parts.around.rankOf(skip) == 2) // [N, C]: of each channel
    skip = parts.make("Unsqueeze", {skip, parts.ints({1, 2})});
  const std::string sum = parts.addMaybe(parts.make("Add", {parts.in(0), skip}), 4);
  parts.give(0, grouped(parts, sum));
  parts.give(1, sum);
}

} // namespace

void addNorms(LoweringTable &table) {
  table["SkipLayerNormalization"] = skipLayerNormalization;
  table["SkipSimplifiedLayerNormalization"] = skipSimplifiedLayerNormalization;
  table["SimplifiedLayerNormalization"] = simplifiedLayerNormalization;
  table["EmbedLayerNormalization"] = embedLayerNormalization;
  table["GroupNorm"] = groupNorm;
  table["SkipGroupNorm"] = skipGroupNorm;
}

} // namespace kedge::model
