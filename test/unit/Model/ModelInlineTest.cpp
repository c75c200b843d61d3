// Model-local functions disappear; names, attributes, opsets and metadata come out right.
#include "lib/Model/Model.h"
#include "test/support/OnnxBytes.h"
#include "test/support/TempFolder.h"
#include <gtest/gtest.h>
#include <set>

using namespace kedge::model;
using namespace kedge::test;

namespace {

Msg function(const std::string &name, const std::vector<std::string> &inputs,
             const std::vector<std::string> &outputs, const std::vector<Msg> &nodes, int64_t version = 17) {
  Msg m = Msg().text(1, name).text(10, "local").sub(9, opset("", version));
  for (const std::string &in : inputs)
    m.text(4, in);
  for (const std::string &out : outputs)
    m.text(5, out);
  for (const Msg &n : nodes)
    m.sub(7, n);
  return m;
}

Msg call(const std::string &name, const std::vector<std::string> &inputs,
         const std::vector<std::string> &outputs, const std::string &nodeName = "") {
  return node(name, inputs, outputs, nodeName).text(7, "local");
}

Msg modelWith(const std::vector<Msg> &nodes, const std::vector<Msg> &functions) {
  Msg graph = Msg().sub(11, value("x", {1})).sub(11, value("c", {}, 9));
  for (const Msg &n : nodes)
    graph.sub(1, n);
  Msg model = modelOf(graph).sub(8, opset("local", 1));
  for (const Msg &f : functions)
    model.sub(25, f);
  return model;
}

Model load(const Msg &model) { return parseModel(asBytes(model), "t.onnx"); }
std::string errorOf(const Msg &model) {
  return messageOf([&] { load(model); });
}

TEST(ModelInline, BodiesReplaceCalls) {
  Msg twice = function("Twice", {"a"}, {"b"}, {node("Neg", {"a"}, {"t"}, "n"), node("Abs", {"t"}, {"b"})});
  Model model = load(modelWith(
      {call("Twice", {"x"}, {"y"}, "f1").sub(9, entry("module", "outer")), call("Twice", {"y"}, {"z"}, "f2")},
      {twice}));
  ASSERT_EQ(model.graph.nodes.size(), 4u);
  EXPECT_TRUE(model.functions.empty());
  const Node &first = model.graph.nodes[0];
  EXPECT_EQ(first.name, "f1/n");
  EXPECT_EQ(first.inputs[0], "x");
  EXPECT_EQ(first.outputs[0], "f1/t");
  EXPECT_EQ(first.opset, 17);
  EXPECT_EQ(first.meta("module"), "outer");
  EXPECT_EQ(model.graph.nodes[1].outputs[0], "y");
  EXPECT_EQ(model.graph.nodes[2].outputs[0], "f2/t");
  EXPECT_EQ(model.graph.nodes[3].id, 3);
  EXPECT_EQ(model.graph.nodes[2].place, first.place);
}

TEST(ModelInline, InnerNamesStayUnique) {
  Msg f = function("F", {"a"}, {"b"}, {node("Neg", {"a"}, {"t"}), node("Abs", {"t"}, {"b"})});
  Model model = load(modelWith(
      {node("Neg", {"x"}, {"f/t"}), call("F", {"x"}, {"y"}, "f"), call("F", {"x"}, {"z"}, "f")}, {f}));
  std::set<std::string> names;
  for (const Node &n : model.graph.nodes)
    for (const std::string &out : n.outputs)
      EXPECT_TRUE(names.insert(out).second) << out;
  EXPECT_EQ(names.size(), 5u);
}

TEST(ModelInline, AttributesByReference) {
  Msg body = node("Softmax", {"a"}, {"b"}).sub(5, refAttribute("axis", "dim", 2));
  Msg withDefault = function("D", {"a"}, {"b"}, {body}).sub(11, intAttribute("dim", 7));
  Msg without = function("W", {"a"}, {"b"}, {body}).text(6, "dim");
  Model model =
      load(modelWith({call("D", {"x"}, {"p"}), call("D", {"x"}, {"q"}).sub(5, intAttribute("dim", 1)),
                      call("W", {"x"}, {"r"})},
                     {withDefault, without}));
  EXPECT_EQ(model.graph.nodes[0].attrInt("axis"), 7);
  EXPECT_EQ(model.graph.nodes[1].attrInt("axis"), 1);
  EXPECT_FALSE(model.graph.nodes[2].has("axis"));
  Msg wrong = call("W", {"x"}, {"r"}).sub(5, Msg().text(1, "dim").text(4, "no").varint(20, 3));
  EXPECT_NE(errorOf(modelWith({wrong}, {without})).find("expected int"), std::string::npos);
}

TEST(ModelInline, NestedCallsPassAttributesOn) {
  Msg inner =
      function("Inner", {"a"}, {"b"}, {node("Concat", {"a"}, {"b"}).sub(5, refAttribute("axis", "k", 2))});
  Msg outer = function("Outer", {"a"}, {"b"},
                       {call("Inner", {"a"}, {"b"}, "deep").sub(5, refAttribute("k", "j", 2))});
  Model model =
      load(modelWith({call("Outer", {"x"}, {"y"}, "top").sub(5, intAttribute("j", 3))}, {inner, outer}));
  ASSERT_EQ(model.graph.nodes.size(), 1u);
  EXPECT_EQ(model.graph.nodes[0].attrInt("axis"), 3);
  EXPECT_EQ(model.graph.nodes[0].outputs[0], "y");
  EXPECT_EQ(model.graph.nodes[0].name, "top/deep");
}

TEST(ModelInline, OmittedInputsAndOutputs) {
  Msg f = function("F", {"a", "b"}, {"s", "t"}, {node("Clip", {"a", "b"}, {"s"}), node("Neg", {"a"}, {"t"})});
  Model model = load(modelWith({call("F", {"x"}, {"", "y"}, "f")}, {f}));
  EXPECT_FALSE(model.graph.nodes[0].hasInput(1));
  EXPECT_EQ(model.graph.nodes[0].outputs[0], "f/s");
  EXPECT_EQ(model.graph.nodes[1].outputs[0], "y");
}

TEST(ModelInline, OutputsThatAreInputs) {
  Msg f = function("F", {"a"}, {"a", "b", "b"}, {node("Neg", {"a"}, {"b"})});
  Model model =
      load(modelWith({call("F", {"x"}, {"p", "q", "r"}), node("Sum", {"p", "q", "r"}, {"z"})}, {f}));
  EXPECT_EQ(model.graph.nodes.size(), 4u);
}

TEST(ModelInline, SubgraphsOfBodiesAndCallsInSubgraphs) {
  Msg branch = Msg().text(2, "b").sub(1, node("Not", {"a"}, {"r"})).sub(12, value("r", {1}));
  Msg f = function("F", {"a"}, {"b"},
                   {node("If", {"a"}, {"b"})
                        .sub(5, graphAttribute("then_branch", branch))
                        .sub(5, graphAttribute("else_branch", branch))});
  Msg callBranch = Msg().text(2, "c").sub(1, call("F", {"c"}, {"r2"}, "in")).sub(12, value("r2", {1}));
  Model model =
      load(modelWith({call("F", {"c"}, {"y"}, "f"), node("If", {"c"}, {"z"})
                                                        .sub(5, graphAttribute("then_branch", callBranch))
                                                        .sub(5, graphAttribute("else_branch", callBranch))},
                     {f}));
  const Graph &inner = model.graph.nodes[0].attrGraph("then_branch");
  EXPECT_EQ(inner.nodes[0].inputs[0], "c");
  EXPECT_EQ(inner.nodes[0].outputs[0], inner.outputs[0].name);
  EXPECT_NE(inner.outputs[0].name, model.graph.nodes[0].attrGraph("else_branch").outputs[0].name);
  EXPECT_TRUE(model.graph.nodes[1].attrGraph("then_branch").nodes[0].is("If"));
}

TEST(ModelInline, OverloadsAreDistinct) {
  Msg neg = function("F", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"})});
  Msg abs = function("F", {"a"}, {"b"}, {node("Abs", {"a"}, {"b"})}).text(13, "second");
  Model model =
      load(modelWith({call("F", {"x"}, {"y"}), call("F", {"x"}, {"z"}).text(8, "second")}, {neg, abs}));
  EXPECT_TRUE(model.graph.nodes[0].is("Neg"));
  EXPECT_TRUE(model.graph.nodes[1].is("Abs"));
}

TEST(ModelInline, Errors) {
  Msg f = function("F", {"a"}, {"b"}, {call("G", {"a"}, {"b"})});
  Msg g = function("G", {"a"}, {"b"}, {call("F", {"a"}, {"b"})});
  EXPECT_NE(errorOf(modelWith({call("F", {"x"}, {"y"}, "start")}, {f, g})).find("calls itself"),
            std::string::npos);
  Msg ok = function("F", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"})});
  EXPECT_NE(errorOf(modelWith({call("F", {"x", "x"}, {"y"})}, {ok})).find("has 2 inputs"), std::string::npos);
  EXPECT_NE(errorOf(modelWith({}, {ok, ok})).find("defined twice"), std::string::npos);
  Msg ghost = function("F", {"a"}, {"b"}, {node("Neg", {"ghost"}, {"b"}, "inner")});
  EXPECT_NE(errorOf(modelWith({call("F", {"x"}, {"y"})}, {ghost})).find("uses 'ghost'"), std::string::npos);
  Msg old = function("F", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"})}, 6);
  EXPECT_NE(errorOf(modelWith({call("F", {"x"}, {"y"})}, {old})).find("opset 6"), std::string::npos);
}

TEST(ModelInline, ExplosionsAreRefused) {
  std::vector<Msg> functions{function("F0", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"})})};
  for (int k = 1; k < 40; ++k) {
    std::string below = "F" + std::to_string(k - 1);
    functions.push_back(function("F" + std::to_string(k), {"a"}, {"b"},
                                 {call(below, {"a"}, {"t"}), call(below, {"t"}, {"b"})}));
  }
  EXPECT_NE(errorOf(modelWith({call("F39", {"x"}, {"y"})}, functions)).find("more than 1000000 nodes"),
            std::string::npos);
}

} // namespace
