// Operators that ONNX has by now under the same names.
#include "lib/Model/Microsoft/Parts.h"

namespace kedge::model {
namespace {

/// The same operator of the default domain, with these inputs and attributes.
void same(Parts &parts, size_t inputs, std::initializer_list<const char *> attributes) {
  parts.takesOnly(inputs, 1, attributes);
  parts.give(0, parts.make(parts.node.opType, parts.node.inputs, parts.node.attributes));
}

void trilu(Parts &parts) { same(parts, 2, {"upper"}); }
void pad(Parts &parts) { same(parts, 3, {"mode"}); }
void gatherND(Parts &parts) { same(parts, 2, {}); }

void range(Parts &parts) {
  parts.takesOnly(3, 1, {});
  Parts::Values inputs = parts.node.inputs;
  if (!parts.has(2)) {
    inputs.resize(3);
    inputs[2] = parts.make("CastLike", {parts.number(1), inputs[0]});
  }
  for (std::string &input : inputs)
    input =
        parts.make("Reshape", {input, parts.make("Constant", {}, {Attribute::makeInts("value_ints", {})})});
  parts.give(0, parts.make("Range", inputs));
}

void expandDims(Parts &parts) {
  parts.takesOnly(2, 1, {});
  const std::string axis =
      parts.make("Cast", {parts.in(1)}, {Attribute::makeInt("to", static_cast<int64_t>(ElementType::Int64))});
  parts.give(0, parts.make("Unsqueeze", {parts.in(0), parts.make("Reshape", {axis, parts.ints({1})})}));
}

/// Spectra as onnxruntime has them: numbers of the last axis are pairs.
void rfft(Parts &parts) {
  parts.takesOnly(1, 1, {"normalized", "onesided", "signal_ndim"});
  if (parts.node.attrInt("signal_ndim") != 1 || parts.node.attrInt("normalized", 0) != 0 ||
      parts.node.attrInt("onesided", 1) != 1)
    parts.refuse("signals of one dimension, without normalisation and one-sided, are supported");
  const std::string x = parts.make("Unsqueeze", {parts.in(0), parts.ints({-1})});
  parts.give(0, parts.make("DFT", {x, "", parts.number(-2)}, {Attribute::makeInt("onesided", 1)}));
}

/// The signal of even length whose one-sided spectrum this is: the other half is its mirror, conjugated.
void irfft(Parts &parts) {
  parts.takesOnly(1, 1, {"normalized", "onesided", "signal_ndim"});
  if (parts.node.attrInt("signal_ndim") != 1 || parts.node.attrInt("normalized", 0) != 0 ||
      parts.node.attrInt("onesided", 1) != 1)
    parts.refuse("signals of one dimension, without normalisation and one-sided, are supported");
  // From the last but one back to the second.
  const std::string middle = parts.make(
      "Slice", {parts.in(0), parts.ints({-2}), parts.ints({0}), parts.ints({-2}), parts.ints({-1})});
  const Parts::Values halves = parts.makeSeveral(
      "Split", 2, {middle}, {Attribute::makeInt("axis", -1), Attribute::makeInt("num_outputs", 2)});
  const std::string mirror =
      parts.make("Concat", {halves[0], parts.make("Neg", {halves[1]})}, {Attribute::makeInt("axis", -1)});
  const std::string whole = parts.make("Concat", {parts.in(0), mirror}, {Attribute::makeInt("axis", -2)});
  const std::string y = parts.make("DFT", {whole, "", parts.number(-2)}, {Attribute::makeInt("inverse", 1)});
  parts.give(0, parts.make("Gather", {y, parts.number(0)}, {Attribute::makeInt("axis", -1)}));
}

/// (a + bi) (c + di), and with the second one's conjugate.
void complexProduct(Parts &parts, bool conjugates) {
  parts.takesOnly(2, 1, {});
  auto halves = [&](size_t k) {
    return parts.makeSeveral("Split", 2, {parts.in(k)},
                             {Attribute::makeInt("axis", -1), Attribute::makeInt("num_outputs", 2)});
  };
  const Parts::Values a = halves(0), b = halves(1);
  auto product = [&](const std::string &x, const std::string &y) { return parts.make("Mul", {x, y}); };
  const std::string real = parts.make(conjugates ? "Add" : "Sub", {product(a[0], b[0]), product(a[1], b[1])});
  const std::string imaginary = conjugates ? parts.make("Sub", {product(a[1], b[0]), product(a[0], b[1])})
                                           : parts.make("Add", {product(a[0], b[1]), product(a[1], b[0])});
  parts.give(0, parts.make("Concat", {real, imaginary}, {Attribute::makeInt("axis", -1)}));
}

void complexMul(Parts &parts) { complexProduct(parts, false); }
void complexMulConj(Parts &parts) { complexProduct(parts, true); }

} // namespace

void addMovements(LoweringTable &table) {
  table["Trilu"] = trilu;
  table["Pad"] = pad;
  table["GatherND"] = gatherND;
  table["Range"] = range;
  table["ExpandDims"] = expandDims;
  table["Rfft"] = rfft;
  table["Irfft"] = irfft;
  table["ComplexMul"] = complexMul;
  table["ComplexMulConj"] = complexMulConj;
}

} // namespace kedge::model
