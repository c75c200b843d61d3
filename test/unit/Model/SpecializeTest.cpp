// Branches that are taken, values that are known, loops that carry constants, outputs that are left out.
#include "lib/Model/Specialize.h"
#include "test/support/OnnxBytes.h"
#include "test/support/TempFolder.h"
#include <gtest/gtest.h>

using namespace kedge::model;
using namespace kedge::test;

namespace {

Msg branch(const std::string &name, const std::string &op) {
  return Msg()
      .text(2, name)
      .sub(1, node("Identity", {"x"}, {"t"}))
      .sub(1, node(op, {"t"}, {name}))
      .sub(12, value(name, {1}));
}

Msg choice(const std::string &condition, const std::string &output) {
  return node("If", {condition}, {output})
      .sub(5, graphAttribute("then_branch", branch(output + "_then", "Neg")))
      .sub(5, graphAttribute("else_branch", branch(output + "_else", "Abs")));
}

Model load(const Msg &graph) { return parseModel(asBytes(modelOf(graph)), "t.onnx"); }

Branches allOf(const Model &model, bool takesThen) {
  Branches branches;
  for (const Node &node : model.graph.nodes)
    if (node.is("If"))
      branches[node.id] = takesThen;
  return branches;
}

Msg twoChoices() {
  return Msg()
      .sub(11, value("x", {1}))
      .sub(11, value("c", {}, 9))
      .sub(1, choice("c", "a"))
      .sub(1, choice("c", "b"))
      .sub(1, node("Add", {"a", "b"}, {"y"}))
      .sub(12, value("y", {1}));
}

TEST(Specialize, BranchesTakeThePlaceOfTheirIfs) {
  Model model = load(twoChoices());
  takeBranches(model, allOf(model, true));
  std::vector<std::string> ops, outputs;
  for (const Node &node : model.graph.nodes) {
    ops.push_back(node.opType);
    outputs.push_back(node.output(0));
  }
  EXPECT_EQ(ops,
            (std::vector<std::string>{"Identity", "Neg", "Identity", "Identity", "Neg", "Identity", "Add"}));
  // Both branches call a value "t".
  EXPECT_EQ(outputs, (std::vector<std::string>{"t", "a_then", "a", "t_1", "b_then", "b", "y"}));
  EXPECT_EQ(model.graph.nodes[4].input(0), "t_1");
}

TEST(Specialize, AnIfWithoutAnswerStays) {
  Model model = load(twoChoices());
  Branches branches = allOf(model, false);
  branches.erase(branches.begin());
  takeBranches(model, branches);
  EXPECT_TRUE(model.graph.nodes[0].is("If"));
  EXPECT_TRUE(model.graph.nodes[2].is("Abs"));
}

TEST(Specialize, InputsWithValuesAreConstants) {
  Model model = load(twoChoices());
  fixInput(model, "c", "true");
  EXPECT_FALSE(model.graph.findInput("c"));
  EXPECT_EQ(constantValue(model.graph.nodes[0]).ints(), (std::vector<int64_t>{1}));
  EXPECT_NE(messageOf([&] { fixInput(model, "d", "1"); }).find("'d', which is no input"), std::string::npos);
  EXPECT_NE(messageOf([&] { fixInput(model, "x", "much"); }).find("expected a number"), std::string::npos);
}

TEST(Specialize, BodiesReadWhatTheyCarryUnchangedFromOutside) {
  Msg body = Msg()
                 .sub(11, value("i", {}, 7))
                 .sub(11, value("go", {}, 9))
                 .sub(11, value("h", {1}))
                 .sub(11, value("v", {1}))
                 .sub(1, node("Add", {"h", "v"}, {"h2"}))
                 .sub(1, node("Identity", {"go"}, {"more"}))
                 .sub(1, node("Identity", {"v"}, {"v2"}))
                 .sub(12, value("more", {}, 9))
                 .sub(12, value("h2", {1}))
                 .sub(12, value("v2", {1}));
  Model model =
      load(Msg()
               .sub(11, value("x", {1}))
               .sub(11, value("w", {1}))
               .sub(1, node("Loop", {"", "", "x", "w"}, {"y", "z"}).sub(5, graphAttribute("body", body)))
               .sub(12, value("y", {1})));
  readLoopConstants(model);
  const Graph &inner = model.graph.nodes[0].attrGraph("body");
  EXPECT_EQ(inner.nodes[0].inputs, (std::vector<std::string>{"h", "w"}));
}

TEST(Specialize, OutputsThatCannotBeMadeAreLeftOut) {
  Model model = load(Msg()
                         .sub(11, value("x", {1}))
                         .sub(1, node("Neg", {"x"}, {"y"}))
                         .sub(1, node("Strange", {"y"}, {"label"}))
                         .sub(12, value("y", {1}))
                         .sub(12, value("label", {1}, 7)));
  auto known = [](const std::string &, const std::string &op) { return op != "Strange"; };
  const std::vector<std::string> notes = pruneOutputs(model, {"y"}, known);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("'label' is not computed"), std::string::npos);
  EXPECT_EQ(model.graph.nodes.size(), 1u);
  EXPECT_EQ(model.graph.outputs.size(), 1u);
}

} // namespace
