// What import makes of graphs, and what it says of those that it cannot take.
#include "lib/Import/GraphImporter.h"
#include "lib/Support/Error.h"
#include "test/support/OnnxBytes.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace kedge;
using namespace kedge::test;

namespace {
model::Model load(const Msg &graph) { return model::parseModel(asBytes(modelOf(graph)), "t.onnx"); }

std::string import(const Msg &graph, const importer::ImportOptions &options = {}) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = importer::importModel(context, load(graph), options);
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

std::string errorOf(const Msg &graph, const importer::ImportOptions &options = {}) {
  try {
    import(graph, options);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

void expectPart(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}
void expectNo(const std::string &text, const std::string &part) {
  EXPECT_EQ(text.find(part), std::string::npos) << text;
}

Msg ints(const std::string &name, const std::vector<int64_t> &dims, const std::vector<int64_t> &values) {
  return rawTensor<int64_t>(name, 7, dims, values);
}
Msg truth(const std::string &name, bool value) { return rawTensor<uint8_t>(name, 9, {}, {value}); }
} // namespace

// Up to opset 12 the axis begins the part over which a softmax sums, by default at 1; from 13 on it is the
// one axis, by default the last.
TEST(GraphImporter, SoftmaxSumsOverAllAxesFromItsOwnBefore13) {
  for (int64_t version : {11, 12, 13}) {
    const Msg graph = Msg()
                          .sub(1, node("Softmax", {"x"}, {"y"}))
                          .sub(11, value("x", {2, 3, 4}))
                          .sub(12, value("y", {2, 3, 4}));
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    auto module =
        importer::importModel(context, model::parseModel(asBytes(modelOf(graph, version)), "t.onnx"));
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    expectPart(text, version < 13 ? "-> tensor<2x12xf32>" : "axis = 2 : i64");
  }
}

TEST(GraphImporter, NamesAllUnsupportedOperatorsTogether) {
  std::string error = errorOf(Msg()
                                  .sub(1, node("Mystery", {"x"}, {"a"}, "one"))
                                  .sub(1, node("Relu", {"a"}, {"b"}, "fine"))
                                  .sub(1, node("Riddle", {"b"}, {"y"}, "two"))
                                  .sub(11, value("x", {2}))
                                  .sub(12, value("y", {2})));
  expectPart(error, "t.onnx: not supported:");
  expectPart(error, "operator Mystery (opset 18) is not supported: node 'one' (Mystery)");
  expectPart(error, "operator Riddle (opset 18) is not supported: node 'two' (Riddle)");
  expectNo(error, "fine");
}

TEST(GraphImporter, ErrorsOfShapesNameTheNode) {
  std::string error = errorOf(Msg()
                                  .sub(1, node("Add", {"x", "w"}, {"y"}, "/block/Add"))
                                  .sub(5, rawTensor<float>("w", 1, {3}, {1, 2, 3}))
                                  .sub(11, value("x", {2}))
                                  .sub(12, value("y", {2})));
  expectPart(error, "t.onnx: node '/block/Add' (Add) in module block:");
  expectPart(error, "do not broadcast");
}

TEST(GraphImporter, RolesDecideWhatBecomesState) {
  Msg graph = Msg()
                  .sub(1, node("Add", {"x", "w"}, {"a"}))
                  .sub(1, node("Add", {"a", "model"}, {"b"}))
                  .sub(1, node("Add", {"b", "c"}, {"y"}))
                  .sub(5, rawTensor<float>("w", 1, {2}, {1, 2}))
                  .sub(5, rawTensor<float>("model", 1, {2}, {1, 2}))
                  .sub(5, rawTensor<float>("c", 1, {2}, {5, 6}))
                  .sub(5, rawTensor<float>("unused", 1, {2}, {1, 2}))
                  .sub(11, value("x", {2}))
                  .sub(12, value("y", {2}));
  importer::ImportOptions options;
  options.roles = {{"model", train::Role::Frozen}, {"c", train::Role::Constant}};
  std::string text = import(graph, options);
  expectPart(text, "parameter @w tensor<2xf32> from #train.weight<\"t.onnx\"");
  expectPart(text, "frozen @model.0 tensor<2xf32>"); // @model is the function
  expectPart(text, "onnx_name = \"model\"");
  expectPart(text, "onnx.Constant dense<[5.000000e+00, 6.000000e+00]>");
  expectNo(text, "unused");
}

TEST(GraphImporter, TakesTheBranchThatIsKnown) {
  auto branch = [](const char *op) { return Msg().sub(1, node(op, {"x"}, {"r"})).sub(12, value("r", {2})); };
  auto graph = [&](const std::string &condition) {
    return Msg()
        .sub(1, node("If", {condition}, {"y"})
                    .sub(5, graphAttribute("then_branch", branch("Relu")))
                    .sub(5, graphAttribute("else_branch", branch("Tanh"))))
        .sub(5, truth("yes", true))
        .sub(5, truth("no", false))
        .sub(11, value("x", {2}))
        .sub(11, value("asked", {}, 9))
        .sub(12, value("y", {2}));
  };
  expectPart(import(graph("yes")), "onnx.Relu");
  expectPart(import(graph("no")), "onnx.Tanh");
  expectPart(errorOf(graph("asked")), "If: the condition depends on data");
}

TEST(GraphImporter, SequencesAreLists) {
  std::string text = import(Msg()
                                .sub(1, node("SplitToSequence", {"x", "two"}, {"s"}))
                                .sub(1, node("SequenceInsert", {"s", "x"}, {"t"}))
                                .sub(1, node("SequenceLength", {"t"}, {"n"}))
                                .sub(1, node("SequenceAt", {"t", "last"}, {"a"}))
                                .sub(1, node("SequenceAt", {"t", "one"}, {"b"}))
                                .sub(5, ints("two", {}, {2}))
                                .sub(5, ints("one", {}, {1}))
                                .sub(5, ints("last", {}, {-1}))
                                .sub(11, value("x", {5}))
                                .sub(12, value("a", {5}))
                                .sub(12, value("b", {2}))
                                .sub(12, value("n", {}, 7)));
  expectPart(text, "split = array<i64: 2, 2, 1>");
  expectPart(text, "onnx.Constant dense<4> : tensor<i64>");
  expectPart(text, ":3 = onnx.Split");
  expectPart(text, "return %arg0, %");
}

TEST(GraphImporter, ShapeSubgraphsFoldAndSymbolsAreShared) {
  Msg graph = Msg()
                  .sub(1, node("Shape", {"x"}, {"shape"}))
                  .sub(1, node("Expand", {"m", "shape"}, {"e"}))
                  .sub(1, node("Add", {"x", "e"}, {"y"}))
                  .sub(11, value("x", {-1, 3}))
                  .sub(11, value("m", {-1, 1}))
                  .sub(12, value("y", {-1, 3}));
  expectPart(
      errorOf(graph),
      "dimension 0 of input 'x' (float32[batch x 3]) has no size ('batch'); give it with --shape x=Nx3");
  importer::ImportOptions options;
  options.shapes["x"] = {4, 3};
  std::string text = import(graph, options);
  expectPart(text, "tensor<4x1xf32> {train.binding = #train.binding<input \"m\">}");
  expectPart(text, "onnx.Expand %arg1 {");
  expectPart(text, "shape = array<i64: 4, 3>} : (tensor<4x1xf32>) -> tensor<4x3xf32>");
  expectNo(text, "onnx.Constant");
  options.shapes["x"] = {4, 5};
  expectPart(errorOf(graph, options), "in dimension 1: expected 3, found 5");
}

TEST(GraphImporter, ASecondGraphSeesTheFirst) {
  model::Model first = load(Msg()
                                .sub(1, node("Relu", {"x"}, {"h"}))
                                .sub(5, rawTensor<float>("w", 1, {2}, {1, 2}))
                                .sub(11, value("x", {2}))
                                .sub(12, value("h", {2})));
  model::Graph second;
  second.nodes.emplace_back();
  second.nodes[0].opType = "Mul";
  second.nodes[0].opset = 18;
  second.nodes[0].inputs = {"h", "w"};
  second.nodes[0].outputs = {"loss"};
  second.outputs.emplace_back();
  second.outputs[0].name = "loss";
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  importer::ImportOptions options;
  importer::GraphImporter importer(context, first, options);
  importer.importGraph(first.graph);
  importer.importGraph(second);
  std::string text;
  auto module = importer.finish();
  llvm::raw_string_ostream(text) << *module;
  expectPart(text, "onnx.Mul");
  expectPart(text, "{train.binding = #train.binding<state @w>}");
  expectPart(text, "train.binding = #train.binding<output \"loss\">");
}
