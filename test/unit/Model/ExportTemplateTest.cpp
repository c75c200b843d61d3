// Files written from skeletons: what was edited is new, everything else is as it was.
#include "lib/Export/Template/ExportTemplate.h"
#include "lib/Export/Template/ModelDiff.h"
#include "lib/Model/ModelFile.h"
#include "lib/Model/Specialize.h"
#include "runtime/format/OnnxWriter.h"
#include "runtime/format/TensorFile.h"
#include "test/support/OnnxBytes.h"
#include "test/support/TempFolder.h"
#include <gtest/gtest.h>

using namespace kedge;
using namespace kedge::test;
using exporter::Edits;
using exporter::NodeEdit;
using exporter::StateElements;

namespace {

class ExportTemplate : public testing::Test {
protected:
  model::Model load(const Msg &bytes) {
    return model::loadModel(folder.write("in/model.onnx", bytes.bytes), {.requireExternalData = true});
  }

  /// Writes out/new.onnx and reads it back.
  model::Model exported(const model::Model &source, const Edits &edits,
                        const exporter::ExportTemplateOptions &options = {}) {
    std::vector<uint8_t> blob;
    nlohmann::json skeleton = exporter::buildExportTemplate(source, edits, options).toJson(source, blob);
    // As the program reads it: text in, text out.
    skeleton = nlohmann::json::parse(skeleton.dump());
    std::filesystem::create_directories(folder.path("out"));
    rt::writeOnnx(skeleton, blob.data(), blob.size(), source.path, folder.path("out/new.onnx"),
                  [&](const std::string &name) { return states.at(name); });
    return model::loadModel(folder.path("out/new.onnx"), {.inlineFunctions = false});
  }

  void addState(const std::string &name, std::vector<int64_t> shape, const std::vector<float> &values,
                std::vector<int> perm = {}) {
    storage.push_back(std::make_unique<std::vector<float>>(values));
    states[name] = {storage.back()->data(), {rt::DType::F32, std::move(shape)}, std::move(perm)};
  }

  TempFolder folder;
  std::map<std::string, rt::ExportedState> states;
  std::vector<std::unique_ptr<std::vector<float>>> storage;
};

Msg denseGraph(const Msg &weight, int type = 1) {
  return Msg()
      .sub(1, node("MatMul", {"x", "w"}, {"y"}, "mm").sub(9, entry("module", "fc")))
      .text(2, "dense")
      .sub(5, weight)
      .sub(11, value("x", {-1, 2}, type))
      .sub(12, value("y", {-1, 3}, type))
      .sub(16, entry("note", "kept"))
      .text(99, "an unknown field");
}

Msg tensorAttribute(const std::string &name, const Msg &tensor) {
  return Msg().text(1, name).sub(5, tensor).varint(20, 4);
}

/// As protobuf writes it without packing.
Msg floatsAttribute(const std::string &name, const std::vector<float> &values) {
  Msg attribute = Msg().text(1, name).varint(20, 6);
  for (float value : values)
    attribute.real(7, value);
  return attribute;
}

const Msg floatWeight = rawTensor<float>("w", 1, {2, 3}, {0, 0, 0, 0, 0, 0});

TEST_F(ExportTemplate, WithoutEditsTheFileIsTheSame) {
  Msg bytes = modelOf(denseGraph(floatWeight)).sub(14, entry("a", "b")).text(77, "unknown");
  model::Model source = load(bytes);
  exported(source, {});
  EXPECT_EQ(folder.read("out/new.onnx"), bytes.bytes);
}

TEST_F(ExportTemplate, StatesReplaceElements) {
  model::Model source = load(modelOf(denseGraph(floatWeight)));
  addState("fc.w", {2, 3}, {1, 2, 3, 4, 5, 6});
  Edits edits;
  edits.fromState(source.graph.initializers[0], "fc.w");
  model::Model result = exported(source, edits);
  EXPECT_EQ(result.graph.initializers[0].floats(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(result.graph.nodes[0].meta("module"), "fc");
  EXPECT_EQ(result.graph.metadata.at("note"), "kept");
  EXPECT_NE(folder.read("out/new.onnx").find("an unknown field"), std::string::npos);
  EXPECT_EQ(folder.list().size(), 2u);
}

TEST_F(ExportTemplate, ConstantsGetTheValuesOfTheirStates) {
  Msg constant = node("Constant", {}, {"w"}, "").sub(5, tensorAttribute("value", floatWeight));
  Msg graph = Msg().sub(1, constant).sub(1, node("MatMul", {"x", "w"}, {"y"})).sub(11, value("x", {-1, 2}));
  model::Model source = load(modelOf(graph.sub(12, value("y", {-1, 3}))));
  model::hoistWeights(source);
  ASSERT_EQ(source.graph.initializers.size(), 1u);
  ASSERT_EQ(source.graph.nodes.size(), 1u);
  addState("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  Edits edits = exporter::editsBetween(source, source);
  edits.fromState(source.graph.initializers[0], "w");
  model::Model result = exported(source, edits);
  ASSERT_EQ(result.graph.nodes.size(), 2u);
  EXPECT_EQ(model::constantValue(result.graph.nodes[0]).floats(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST_F(ExportTemplate, AttributesGetTheValuesOfTheirStates) {
  Msg linear = node("LinearRegressor", {"x"}, {"y"}, "lr").text(7, "ai.onnx.ml");
  linear.sub(5, floatsAttribute("coefficients", {1, 2, 3, 4})).sub(5, intAttribute("targets", 2));
  linear.sub(5, floatsAttribute("intercepts", {5, 6}));
  Msg graph = Msg().sub(1, linear).sub(11, value("x", {-1, 2})).sub(12, value("y", {-1, 2}));
  model::Model source = load(modelOf(graph).sub(8, opset("ai.onnx.ml", 3)));
  model::lowerLinearModels(source);
  ASSERT_EQ(source.graph.initializers.size(), 2u);
  EXPECT_EQ(source.graph.initializers[0].name, "lr.coefficients");
  EXPECT_EQ(source.graph.initializers[0].dims, (std::vector<int64_t>{2, 2}));
  addState("a", {2, 2}, {10, 20, 30, 40});
  addState("b", {2}, {50, 60});
  Edits edits = exporter::editsBetween(source, source);
  edits.fromState(source.graph.initializers[0], "a");
  edits.fromState(source.graph.initializers[1], "b");
  model::Model result = exported(source, edits);
  ASSERT_EQ(result.graph.nodes.size(), 1u);
  EXPECT_TRUE(result.graph.initializers.empty());
  EXPECT_EQ(result.graph.nodes[0].attrFloats("coefficients"), (std::vector<float>{10, 20, 30, 40}));
  EXPECT_EQ(result.graph.nodes[0].attrFloats("intercepts"), (std::vector<float>{50, 60}));
  EXPECT_EQ(result.graph.nodes[0].attrInt("targets"), 2);
  rt::TensorFile weights = rt::TensorFile::open(folder.path("out/new.onnx")); // by --weights
  const rt::TensorView *found = weights.find("lr.coefficients");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->desc.shape, (std::vector<int64_t>{2, 2}));
}

TEST_F(ExportTemplate, StatesAreTransposedAndConverted) {
  // float16 in int32_data becomes float16 in raw_data.
  Msg half = tensorHead("w", 10, {2, 3}).text(5, std::string(6, '\0'));
  model::Model source = load(modelOf(denseGraph(half, 10)));
  addState("fc.w", {3, 2}, {1, 4, 2, 5, 3, 6.5}, {1, 0});
  Edits edits;
  edits.fromState(source.graph.initializers[0], "fc.w");
  model::Model result = exported(source, edits);
  const model::Tensor &w = result.graph.initializers[0];
  EXPECT_EQ(w.dtype, model::ElementType::Float16);
  EXPECT_EQ(w.storage, model::Tensor::Storage::Inline);
  EXPECT_EQ(w.floats(), (std::vector<double>{1, 2, 3, 4, 5, 6.5}));
}

TEST_F(ExportTemplate, InitializersAreAddedRenamedAndRemoved) {
  model::Model source = load(modelOf(denseGraph(floatWeight).sub(5, rawTensor<float>("old", 1, {1}, {9}))));
  addState("fc.w", {3, 2}, {1, 2, 3, 4, 5, 6});
  Edits edits;
  auto &tensor = edits.tensors[source.graph.findInitializer("w")->place];
  tensor.name = "fc.weight";
  tensor.elements = StateElements{"fc.w", model::ElementType::Float, {3, 2}};
  tensor.metadata.set["origin"] = "repaired";
  edits.tensors[source.graph.findInitializer("old")->place].remove = true;
  auto &graph = edits.graphs[source.graph.place];
  graph.initializers.push_back({"bias", model::Tensor::makeFloats("", {3}, {7, 8, 9}), {}});
  model::Node transpose;
  transpose.opType = "Transpose";
  transpose.inputs = {"fc.weight"};
  transpose.outputs = {"w"};
  transpose.set(model::Attribute::makeInts("perm", {1, 0}));
  graph.nodes.push_back({source.graph.nodes[0].place, transpose});
  graph.metadata.erase.push_back("note");

  model::Model result = exported(source, edits);
  EXPECT_EQ(result.graph.initializers.size(), 2u);
  EXPECT_EQ(result.graph.findInitializer("fc.weight")->dims, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(result.graph.findInitializer("fc.weight")->metadata.at("origin"), "repaired");
  EXPECT_EQ(result.graph.findInitializer("bias")->floats()[2], 9);
  EXPECT_EQ(result.graph.nodes[0].attrInts("perm"), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(result.graph.nodes[1].opType, "MatMul");
  EXPECT_TRUE(result.graph.metadata.empty());
}

TEST_F(ExportTemplate, NodesAreChanged) {
  Msg graph = denseGraph(floatWeight)
                  .sub(1, node("Concat", {"y", "y"}, {"z"}, "cat").sub(5, intAttribute("axis", 1)))
                  .sub(1, node("Neg", {"z"}, {"unused"}, "gone"));
  model::Model source = load(modelOf(graph));
  Edits edits;
  NodeEdit &cat = edits.nodes[source.graph.nodes[1].place];
  cat.inputs = std::vector<std::string>{"y", "x"};
  cat.set.push_back(model::Attribute::makeInt("axis", 0));
  cat.metadata.set["why"] = "test";
  edits.nodes[source.graph.nodes[2].place].remove = true;
  edits.nodes[source.graph.nodes[0].place].metadata.erase.push_back("module");
  model::Model result = exported(source, edits);
  ASSERT_EQ(result.graph.nodes.size(), 2u);
  EXPECT_TRUE(result.graph.nodes[0].metadata.empty());
  EXPECT_EQ(result.graph.nodes[1].inputs, (std::vector<std::string>{"y", "x"}));
  EXPECT_EQ(result.graph.nodes[1].attrInt("axis"), 0);
  EXPECT_EQ(result.graph.nodes[1].meta("why"), "test");
}

TEST_F(ExportTemplate, ConstantsAndSubgraphsAreReachedByPlace) {
  Msg constant =
      node("Constant", {}, {"k"})
          .sub(5, Msg().text(1, "value").sub(5, rawTensor<float>("", 1, {2}, {0, 0})).varint(20, 4));
  Msg branch = Msg().text(2, "b").sub(1, constant).sub(12, value("k", {2}));
  Msg graph = Msg()
                  .sub(11, value("c", {}, 9))
                  .sub(1, node("If", {"c"}, {"y"})
                              .sub(5, graphAttribute("then_branch", branch))
                              .sub(5, graphAttribute("else_branch", branch)));
  model::Model source = load(modelOf(graph));
  addState("k", {2}, {3, 4});
  Edits edits;
  edits.fromState(source.graph.nodes[0].attrGraph("then_branch").nodes[0].attrTensor("value"), "k");
  model::Model result = exported(source, edits);
  const model::Graph &inner = result.graph.nodes[0].attrGraph("then_branch");
  EXPECT_EQ(inner.nodes[0].attrTensor("value").floats(), (std::vector<double>{3, 4}));
}

TEST_F(ExportTemplate, ExternalDataStaysExternalBesideTheNewFile) {
  folder.write("in/w.bin", pack<float>({0, 0, 0, 0, 0, 0, 7, 8}));
  Msg graph = denseGraph(externalTensor("w", {2, 3}, "w.bin", "0", "24"))
                  .sub(5, externalTensor("frozen", {2}, "w.bin", "24", "8"))
                  .sub(5, externalTensor("alias", {2}, "w.bin", "24", "8"));
  model::Model source = load(modelOf(graph));
  addState("fc.w", {2, 3}, {1, 2, 3, 4, 5, 6});
  Edits edits;
  edits.fromState(source.graph.initializers[0], "fc.w");
  for (bool embed : {false, true}) {
    model::Model result = exported(source, edits, {.embed = embed});
    const model::Tensor &w = result.graph.initializers[0];
    EXPECT_EQ(w.storage, model::Tensor::Storage::External);
    EXPECT_EQ(w.externalLocation, "new.onnx.data");
    EXPECT_EQ(w.floats(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(result.graph.initializers[1].floats(), (std::vector<double>{7, 8}));
    EXPECT_EQ(result.graph.initializers[1].offset % 64, 0u);
    EXPECT_EQ(result.graph.initializers[2].floats(), (std::vector<double>{7, 8}));
  }
}

TEST_F(ExportTemplate, LargeModelsMoveTheirWeightsOut) {
  std::vector<float> values(1000, 3);
  Msg graph = Msg()
                  .sub(1, node("Add", {"a", "b"}, {"y"}))
                  .sub(5, rawTensor<float>("a", 1, {1000}, values))
                  .sub(5, rawTensor<float>("b", 1, {1}, {5}));
  model::Model source = load(modelOf(graph));
  model::Model result = exported(source, {}, {.maxModelBytes = 2000});
  EXPECT_EQ(result.graph.initializers[0].storage, model::Tensor::Storage::External);
  EXPECT_EQ(result.graph.initializers[0].floats(), std::vector<double>(1000, 3));
  EXPECT_EQ(result.graph.initializers[1].storage, model::Tensor::Storage::Inline);
}

TEST_F(ExportTemplate, LargeUntouchedWeightsAreCopiedFromTheModelFile) {
  std::vector<float> values(5000, 2);
  model::Model source = load(modelOf(Msg().sub(5, rawTensor<float>("a", 1, {5000}, values))));
  std::vector<uint8_t> small, large;
  exporter::buildExportTemplate(source, {}).toJson(source, small);
  exporter::buildExportTemplate(source, {}, {.embed = true}).toJson(source, large);
  EXPECT_LT(small.size(), 200u);
  EXPECT_GT(large.size(), 20000u);
  EXPECT_EQ(exported(source, {}).graph.initializers[0].floats()[4999], 2);
}

TEST_F(ExportTemplate, TrainingInfoIsKeptAndUpdated) {
  Msg algorithm =
      Msg().text(2, "step").sub(5, rawTensor<float>("t", 1, {1}, {0})).sub(1, node("Add", {"t", "w"}, {"n"}));
  Msg bytes = modelOf(denseGraph(floatWeight)).sub(20, Msg().sub(2, algorithm).sub(4, entry("t", "n")));
  model::Model source = load(bytes);
  addState("t", {1}, {41});
  Edits edits;
  edits.fromState(source.trainingInfo[0].algorithm->initializers[0], "t");
  model::Model result = exported(source, edits);
  EXPECT_EQ(result.trainingInfo[0].algorithm->initializers[0].floats()[0], 41);
  EXPECT_EQ(result.trainingInfo[0].updateBinding.size(), 1u);
}

TEST_F(ExportTemplate, InferenceModeReachesFunctions) {
  Msg norm = node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "m2", "v2"}, "bn")
                 .sub(5, intAttribute("training_mode", 1));
  Msg drop = node("Dropout", {"a", "", "t"}, {"b"}, "drop");
  Msg function = Msg()
                     .text(1, "F")
                     .text(10, "local")
                     .text(4, "a")
                     .text(4, "t")
                     .text(5, "b")
                     .sub(9, opset("", 18))
                     .sub(7, drop);
  Msg graph =
      Msg().sub(1, norm).sub(1, node("F", {"y", "t"}, {"z"}).text(7, "local")).sub(13, value("m2", {4}));
  for (std::string name : {"x", "s", "b", "m", "v"})
    graph.sub(11, value(name, {4}));
  graph.sub(11, value("t", {}, 9));
  model::Model source = load(modelOf(graph).sub(8, opset("local", 1)).sub(25, function));
  Edits edits;
  EXPECT_TRUE(exporter::setInferenceMode(source, edits).empty());
  model::Model result = exported(source, edits);
  EXPECT_EQ(result.graph.nodes[0].outputs.size(), 1u);
  EXPECT_FALSE(result.graph.nodes[0].has("training_mode"));
  EXPECT_EQ(result.functions[0].nodes[0].inputs.size(), 1u);
  EXPECT_TRUE(result.graph.valueInfos.empty());
}

TEST_F(ExportTemplate, TrainingOutputsThatAreReadKeepTheirNode) {
  Msg norm = node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "m2", "v2"}, "bn")
                 .sub(5, intAttribute("training_mode", 1));
  Msg graph = Msg().sub(1, norm).sub(12, value("m2", {4}));
  for (std::string name : {"x", "s", "b", "m", "v"})
    graph.sub(11, value(name, {4}));
  model::Model source = load(modelOf(graph));
  Edits edits;
  EXPECT_EQ(exporter::setInferenceMode(source, edits),
            std::vector<std::string>{"node 'bn' (BatchNormalization)"});
  EXPECT_TRUE(edits.nodes.empty());
}

TEST_F(ExportTemplate, ErrorsLeaveNothingBehind) {
  model::Model source = load(modelOf(denseGraph(floatWeight)));
  Edits nowhere;
  nowhere.nodes[3].remove = true;
  EXPECT_NE(messageOf([&] { exported(source, nowhere); }).find("no node at byte 3"), std::string::npos);
  addState("fc.w", {2}, {1, 2});
  Edits edits;
  edits.fromState(source.graph.initializers[0], "fc.w");
  EXPECT_NE(messageOf([&] { exported(source, edits); }).find("has 2 elements"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("out")));
  std::filesystem::remove_all(folder.path("out"));
  folder.write("out", "a file, not a folder");
  EXPECT_NE(messageOf([&] { exported(source, {}); }), "");
}

} // namespace
