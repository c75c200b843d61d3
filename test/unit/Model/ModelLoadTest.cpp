// What a file must be to be a model, and what is said when it is not.
#include "lib/Model/Model.h"
#include "test/support/OnnxBytes.h"
#include "test/support/TempFolder.h"
#include <gtest/gtest.h>

using namespace kedge::model;
using namespace kedge::test;

namespace {

Model load(const Msg &model) { return parseModel(asBytes(model), "t.onnx"); }
std::string errorOf(const Msg &model) {
  return messageOf([&] { load(model); });
}
void expectError(const Msg &model, const std::string &part) {
  std::string error = errorOf(model);
  EXPECT_NE(error.find(part), std::string::npos) << "said: '" << error << "'";
  EXPECT_NE(error.find("t.onnx"), std::string::npos) << error;
}

/// y = Relu(x + w)
Msg smallGraph() {
  return Msg()
      .sub(1, node("Add", {"x", "w"}, {"s"}, "add"))
      .sub(1, node("Relu", {"s"}, {"y"}, "relu").sub(9, entry("module", "layer.0")))
      .text(2, "small")
      .sub(5, rawTensor<float>("w", 1, {3}, {1, 2, 3}))
      .sub(11, value("x", {-1, 3}))
      .sub(12, value("y", {-1, 3}));
}

TEST(ModelLoad, ReadsGraphNodesAndValues) {
  Model model = load(modelOf(smallGraph()).sub(14, entry("k", "v")));
  EXPECT_EQ(model.graph.name, "small");
  EXPECT_EQ(model.opsets.at(""), 18);
  EXPECT_EQ(model.metadata.at("k"), "v");
  ASSERT_EQ(model.graph.nodes.size(), 2u);
  const Node &relu = model.graph.nodes[1];
  EXPECT_TRUE(relu.is("Relu"));
  EXPECT_EQ(relu.id, 1);
  EXPECT_EQ(relu.opset, 18);
  EXPECT_EQ(relu.meta("module"), "layer.0");
  EXPECT_EQ(relu.meta("other"), "");
  EXPECT_EQ(relu.describe(), "node 'relu' (Relu)");
  EXPECT_EQ(model.graph.inputs[0].describe(), "'x' (float32[batch x 3])");
  EXPECT_NE(model.graph.findInitializer("w"), nullptr);
  EXPECT_EQ(model.graph.feeds().size(), 1u);
  EXPECT_EQ(model.graphHash.size(), 16u);
}

TEST(ModelLoad, HashSeesTheGraphButNotTheWeights) {
  auto with = [](float weight, const std::string &op) {
    return load(modelOf(Msg()
                            .sub(1, node(op, {"x", "w"}, {"y"}))
                            .sub(5, rawTensor<float>("w", 1, {1}, {weight}))
                            .sub(11, value("x", {1}))))
        .graphHash;
  };
  EXPECT_EQ(with(1, "Add"), with(2, "Add"));
  EXPECT_NE(with(1, "Add"), with(1, "Mul"));
}

TEST(ModelLoad, AttributesKnowTheirKind) {
  Msg graph = smallGraph().sub(1, node("Concat", {"x", "y"}, {"z"}, "cat").sub(5, intAttribute("axis", -1)));
  Model model = load(modelOf(graph));
  const Node &cat = model.graph.nodes[2];
  EXPECT_EQ(cat.attrInt("axis"), -1);
  EXPECT_EQ(cat.attrInt("other", 5), 5);
  EXPECT_EQ(cat.attrIntsIf("axes"), std::nullopt);
  std::string wrong = messageOf([&] { cat.attrString("axis"); });
  EXPECT_NE(wrong.find("'cat'"), std::string::npos);
  EXPECT_NE(messageOf([&] { cat.attrInt("missing"); }).find("'missing' is missing"), std::string::npos);
}

TEST(ModelLoad, EveryTruncationIsOneClearError) {
  std::string whole = modelOf(smallGraph()).bytes;
  for (size_t length = 0; length < whole.size(); ++length) {
    std::string error = messageOf(
        [&] { parseModel(std::vector<uint8_t>(whole.begin(), whole.begin() + length), "cut.onnx"); });
    EXPECT_EQ(error.rfind("cut.onnx", 0), 0u) << "at " << length << ": " << error;
  }
}

TEST(ModelLoad, CutFilesAreCalledSo) {
  std::string whole = modelOf(smallGraph()).bytes;
  std::string error =
      messageOf([&] { parseModel(std::vector<uint8_t>(whole.begin(), whole.begin() + 60), "cut.onnx"); });
  EXPECT_NE(error.find("cut short"), std::string::npos) << error;
}

TEST(ModelLoad, MessagesBeyondTwoGigabytesNeedExternalData) {
  TempFolder folder;
  std::string path = folder.write("large.onnx", modelOf(smallGraph()).bytes);
  std::filesystem::resize_file(path, uint64_t(3) << 30);
  EXPECT_NE(messageOf([&] { loadModel(path); }).find("as external data"), std::string::npos);
}

TEST(ModelLoad, RefusesWhatIsNoModel) {
  std::string text = "This is not a model, it is a text.";
  std::string error = messageOf([&] { parseModel({text.begin(), text.end()}, "t.onnx"); });
  EXPECT_NE(error.find("at byte 0"), std::string::npos) << error;
  TempFolder folder;
  EXPECT_NE(messageOf([&] { loadModel(folder.path("none.onnx")); }).find("cannot open"), std::string::npos);
  EXPECT_NE(messageOf([&] { loadModel(folder.path("")); }).find("a folder"), std::string::npos);
  EXPECT_NE(messageOf([&] { loadModel(folder.write("e.onnx", "")); }).find("empty file"), std::string::npos);
}

TEST(ModelLoad, Opsets) {
  for (int64_t version : {7, 18, 28})
    EXPECT_EQ(errorOf(modelOf(smallGraph(), version)), "");
  expectError(modelOf(smallGraph(), 6), "uses opset 6 of the default domain; expected 7 to 28");
  expectError(modelOf(smallGraph(), 29), "uses opset 29");
  expectError(Msg().varint(1, 8).sub(7, smallGraph()), "imports no opset");
  EXPECT_EQ(load(Msg().varint(1, 8).sub(7, smallGraph()).sub(8, opset("ai.onnx", 17))).graph.nodes[0].opset,
            17);
}

TEST(ModelLoad, SortsNodesAndKeepsTheFilesOrderOtherwise) {
  Msg graph = Msg()
                  .sub(1, node("Neg", {"b"}, {"c"}, "third"))
                  .sub(1, node("Neg", {"a"}, {"b"}, "second"))
                  .sub(1, node("Neg", {"x"}, {"a"}, "first"))
                  .sub(11, value("x", {1}));
  Model model = load(modelOf(graph));
  EXPECT_EQ(model.graph.nodes[0].name, "first");
  EXPECT_EQ(model.graph.nodes[2].name, "third");
  EXPECT_EQ(model.graph.nodes[2].id, 2);
}

TEST(ModelLoad, NamesThatDoNotFit) {
  Msg x = Msg().sub(11, value("x", {1}));
  auto with = [&](std::vector<Msg> nodes) {
    Msg graph = x;
    for (const Msg &n : nodes)
      graph.sub(1, n);
    return modelOf(graph);
  };
  expectError(with({node("Add", {"x", "b"}, {"a"}, "p"), node("Neg", {"a"}, {"b"})}),
              "depends on its own result");
  expectError(with({node("Neg", {"ghost"}, {"a"}, "reader")}),
              "'reader' (Neg) uses 'ghost', which nothing makes");
  expectError(with({node("Neg", {"x"}, {"a"}, "n1"), node("Abs", {"x"}, {"a"}, "n2")}),
              "node 'n2' (Abs) makes 'a', which node 'n1' (Neg) makes too");
  expectError(with({node("Neg", {"x"}, {"x"})}), "which is an input");
  expectError(modelOf(Msg(x).sub(12, value("y", {1}))), "has the output 'y', which nothing in it makes");
  Msg doubled = Msg(x).sub(5, rawTensor<float>("w", 1, {1}, {1})).sub(5, rawTensor<float>("w", 1, {1}, {1}));
  expectError(modelOf(doubled), "two initializers named 'w'");
}

TEST(ModelLoad, SubgraphsSeeOuterValuesAndOrderTheirOwner) {
  Msg branch = Msg().text(2, "b").sub(1, node("Neg", {"late"}, {"r"})).sub(12, value("r", {1}));
  Msg graph = Msg()
                  .sub(1, node("If", {"c"}, {"y"}, "if")
                              .sub(5, graphAttribute("then_branch", branch))
                              .sub(5, graphAttribute("else_branch", branch)))
                  .sub(1, node("Abs", {"x"}, {"late"}, "abs"))
                  .sub(11, value("x", {1}))
                  .sub(11, value("c", {}, 9));
  Model model = load(modelOf(graph));
  EXPECT_EQ(model.graph.nodes[0].name, "abs");
  const Node &choice = model.graph.nodes[1];
  EXPECT_EQ(choice.id, 1);
  EXPECT_EQ(choice.attrGraph("then_branch").nodes[0].id, 2);
  EXPECT_EQ(choice.attrGraph("else_branch").nodes[0].id, 3);
  EXPECT_EQ(choice.attrGraph("else_branch").nodes[0].opset, 18);
}

TEST(ModelLoad, NestingHasALimit) {
  Msg graph = Msg().sub(1, node("Neg", {"x"}, {"y"}));
  for (int k = 0; k < 500; ++k)
    graph = Msg().sub(1, node("If", {"c"}, {"y"}).sub(5, graphAttribute("then_branch", graph)));
  expectError(modelOf(graph), "nested deeper than 64");
}

TEST(ModelLoad, SparseInitializersAreRefused) {
  expectError(modelOf(Msg().sub(15, Msg())), "sparse initializer");
}

TEST(ModelLoad, KindsOfValues) {
  Msg sequence = Msg().text(1, "s").sub(2, Msg().sub(4, Msg().sub(1, Msg().sub(1, Msg().varint(1, 7)))));
  Msg optional = Msg().text(1, "o").sub(2, Msg().sub(9, Msg().sub(1, Msg().sub(1, Msg().varint(1, 1)))));
  Model model = load(modelOf(Msg().sub(11, sequence).sub(11, optional)));
  EXPECT_EQ(model.graph.inputs[0].kind, ValueInfo::Kind::Sequence);
  EXPECT_EQ(model.graph.inputs[0].dtype, ElementType::Int64);
  EXPECT_EQ(model.graph.inputs[1].kind, ValueInfo::Kind::Optional);
  EXPECT_FALSE(model.graph.inputs[1].hasShape);
}

TEST(ModelLoad, TrainingInfoReadsMainGraphValues) {
  Msg algorithm = Msg().text(2, "step").sub(1, node("Sub", {"w", "s"}, {"w_new"}));
  Msg info = Msg().sub(2, algorithm).sub(4, entry("w", "w_new"));
  Model model = load(modelOf(smallGraph()).sub(20, info));
  ASSERT_EQ(model.trainingInfo.size(), 1u);
  EXPECT_EQ(model.trainingInfo[0].updateBinding[0], (std::pair<std::string, std::string>("w", "w_new")));
  EXPECT_EQ(model.trainingInfo[0].algorithm->nodes[0].id, 2);
  Msg bad = Msg().sub(2, Msg().sub(1, node("Neg", {"nowhere"}, {"z"})));
  expectError(modelOf(smallGraph()).sub(20, bad), "uses 'nowhere'");
}

TEST(ModelLoad, SharedModels) {
  std::filesystem::path models = std::filesystem::path(KEDGE_SHARED_DIR) / "models";
  if (!std::filesystem::is_directory(models))
    GTEST_SKIP() << "no golden models";
  int count = 0;
  for (const auto &file : std::filesystem::recursive_directory_iterator(models)) {
    if (file.path().extension() != ".onnx")
      continue;
    Model model = loadModel(file.path().string());
    EXPECT_FALSE(model.graph.nodes.empty()) << file.path();
    EXPECT_TRUE(model.functions.empty());
    ++count;
  }
  EXPECT_GT(count, 10);
}

} // namespace
