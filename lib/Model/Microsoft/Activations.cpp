// Activations and what is added before them.
#include "lib/Model/Microsoft/Parts.h"

namespace kedge::model {
namespace {

std::string gelu(Parts &parts, const std::string &x, const char *approximate) {
  return parts.make("Gelu", {x}, {Attribute::makeString("approximate", approximate)});
}

void plainGelu(Parts &parts) {
  parts.takesOnly(1, 1, {});
  parts.give(0, gelu(parts, parts.in(0), "none"));
}

void biasGelu(Parts &parts) {
  parts.takesOnly(2, 1, {});
  parts.give(0, gelu(parts, parts.addMaybe(parts.in(0), 1), "none"));
}

void fastGelu(Parts &parts) {
  parts.takesOnly(2, 1, {});
  parts.give(0, gelu(parts, parts.addMaybe(parts.in(0), 1), "tanh"));
}

void quickGelu(Parts &parts) {
  parts.takesOnly(1, 1, {"alpha"});
  parts.give(0, parts.make("Swish", {parts.in(0)},
                           {Attribute::makeFloat("alpha", parts.node.attrFloat("alpha", 1.702f))}));
}

/// The left half times the GELU of the right one.
void biasSplitGelu(Parts &parts) {
  parts.takesOnly(2, 1, {});
  const Parts::Values halves =
      parts.makeSeveral("Split", 2, {parts.make("Add", {parts.in(0), parts.in(1)})},
                        {Attribute::makeInt("axis", -1), Attribute::makeInt("num_outputs", 2)});
  parts.give(0, parts.make("Mul", {halves[0], gelu(parts, halves[1], "none")}));
}

void biasAdd(Parts &parts) {
  parts.takesOnly(3, 1, {});
  parts.give(0, parts.addMaybe(parts.addMaybe(parts.in(0), 1), 2));
}

void biasSoftmax(Parts &parts) {
  parts.takesOnly(2, 1, {"axis", "is_inner_broadcast"});
  if (parts.rankOf(0) != parts.rankOf(1))
    parts.refuse("its bias has another number of dimensions than its data");
  // Of opset 11: all axes from `axis` on are one.
  const int64_t rank = static_cast<int64_t>(parts.rankOf(0));
  int64_t axis = parts.node.attrInt("axis", 1);
  axis += axis < 0 ? rank : 0;
  if (axis != rank - 1)
    parts.refuse(fmt::format("its axis is {}; the last is supported", axis));
  parts.give(0, parts.make("Softmax", {parts.make("Add", {parts.in(0), parts.in(1)})},
                           {Attribute::makeInt("axis", -1)}));
}

std::string dropped(Parts &parts, const std::string &x, size_t ratio, size_t mode) {
  Parts::Values inputs = {x, parts.in(ratio), parts.in(mode)};
  return parts.makeSeveral("Dropout", 1, inputs)[0];
}

void biasDropout(Parts &parts) {
  parts.takesOnly(5, 1, {"seed"});
  const std::string x = parts.make("Add", {parts.in(0), parts.in(1)});
  parts.give(0, parts.addMaybe(dropped(parts, x, 3, 4), 2));
}

void bitmaskDropout(Parts &parts) {
  parts.takesOnly(3, 1, {"seed"});
  parts.give(0, dropped(parts, parts.in(0), 1, 2));
}

} // namespace

void addActivations(LoweringTable &table) {
  table["Gelu"] = plainGelu;
  table["BiasGelu"] = biasGelu;
  table["FastGelu"] = fastGelu;
  table["QuickGelu"] = quickGelu;
  table["BiasSplitGelu"] = biasSplitGelu;
  table["BiasAdd"] = biasAdd;
  table["BiasSoftmax"] = biasSoftmax;
  table["BiasDropout"] = biasDropout;
  table["BitmaskBiasDropout"] = biasDropout;
  table["BitmaskDropout"] = bitmaskDropout;
}

} // namespace kedge::model
