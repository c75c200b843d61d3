// Files without a record: what a tensor is by its name and by its role in the graph.
#include "test/unit/Lint/LintModels.h"
#include <array>
#include <cmath>

using namespace kedge;
using namespace kedge::test;

namespace {

std::vector<float> fresh(size_t count, float value = 0) { return std::vector<float>(count, value); }

TEST(LintRoles, ABiasIsOneWhateverItsValues) {
  ModelBuilder b;
  b.input("x").floats("w", {4, 3}, fresh(12, 0.5f)).floats("b", {3}, fresh(3)).floats("c", {3}, fresh(3));
  b.node("MatMul", {"x", "w"}, {"m"}).node("Add", {"b", "m"}, {"a"}).node("Relu", {"a"}, {"r"});
  b.node("Add", {"r", "c"}, {"s"}).node("Tanh", {"s"}, {"y"}).output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(verdictOf(report, "b"), "parameter");
  EXPECT_EQ(codesOf(report), Codes{"undecided-verdict"}) << "a sum a channel behind a Relu is nobody's bias";
}

TEST(LintRoles, OneElementIsABiasOnlyOfAnAxisOfLengthOne) {
  for (int64_t width : {1, 3}) {
    ModelBuilder b;
    b.input("x")
        .floats("w", {4, width}, fresh(static_cast<size_t>(4 * width), 0.5f))
        .floats("b", {1}, {0.5f});
    b.node("MatMul", {"x", "w"}, {"m"}).node("Add", {"m", "b"}, {"y"}).output("y");
    EXPECT_EQ(verdictOf(checked(b), "b"), width == 1 ? "parameter" : "constant");
  }
}

TEST(LintRoles, TheScaleOfAQuantisedTensorIsAConstant) {
  for (const char *op : {"QuantizeLinear", "DequantizeLinear"}) {
    ModelBuilder b;
    b.input("x").floats("w", {4, 3}, fresh(12, 0.5f)).floats("s", {3}, {0.5f, 0.25f, 0.125f});
    b.node("MatMul", {"x", "w"}, {"m"}).node(op, {"m", "s"}, {"y"}).output("y");
    EXPECT_EQ(verdictOf(checked(b), "s"), "constant") << op;
    EXPECT_TRUE(checked(b).findings.empty()) << op;
  }
}

TEST(LintRoles, AMaskOverTheVocabularyIsNoBias) {
  ModelBuilder b;
  b.input("x").floats("w", {4, 3}, fresh(12, 0.5f)).floats("mask", {3}, {0, -INFINITY, 0});
  b.node("MatMul", {"x", "w"}, {"m"}).node("Add", {"m", "mask"}, {"y"}).output("y");
  EXPECT_EQ(verdictOf(checked(b), "mask"), "constant");
}

ModelBuilder layerNorm() {
  ModelBuilder b;
  b.input("x").floats("w", {4, 4}, fresh(16, 0.5f)).floats("g", {4}, fresh(4, 1)).floats("b", {4}, fresh(4));
  b.floats("two", {}, {2}).floats("eps", {1}, {1e-3f});
  b.node("MatMul", {"x", "w"}, {"h"}).node("ReduceMean", {"h"}, {"mean"}).node("Sub", {"h", "mean"}, {"d"});
  b.node("Pow", {"d", "two"}, {"p"}).node("ReduceMean", {"p"}, {"v"}).node("Add", {"v", "eps"}, {"e"});
  b.node("Sqrt", {"e"}, {"s"}).node("Reciprocal", {"s"}, {"r"}).node("Mul", {"r", "g"}, {"k"});
  b.node("Mul", {"h", "k"}, {"t"}).node("Mul", {"mean", "k"}, {"u"}).node("Sub", {"b", "u"}, {"z"});
  b.node("Add", {"t", "z"}, {"y"}).output("y");
  return b;
}

TEST(LintRoles, ANormHasAScaleAndAShift) {
  lint::Report report = checked(layerNorm());
  EXPECT_EQ(verdictOf(report, "g"), "parameter");
  EXPECT_EQ(verdictOf(report, "b"), "parameter");
  EXPECT_EQ(verdictOf(report, "two"), "constant");
  EXPECT_EQ(verdictOf(report, "eps"), "constant");
  EXPECT_TRUE(report.findings.empty());
}

ModelBuilder attention(std::vector<float> values, const std::string &name, const std::string &producer) {
  ModelBuilder b;
  b.model.producer = producer;
  b.input("x", model::ElementType::Float, {4, 4}).floats("q.weight", {4, 4}, fresh(16, 0.5f));
  b.floats(name, {4, 4}, std::move(values));
  b.node("MatMul", {"x", "q.weight"}, {"q"})
      .node("Transpose", {"q"}, {"t"})
      .node("MatMul", {"q", "t"}, {"s"});
  b.node("Add", {"s", name}, {"a"}).node("Softmax", {"a"}, {"y"}).output("y");
  return b;
}

TEST(LintRoles, WhatIsAddedBeforeASoftmaxIsAMaskByItsValues) {
  std::vector<float> mask = fresh(16), learned = fresh(16);
  for (size_t k = 0; k < 16; ++k) {
    mask[k] = k % 3 ? 0 : -1e4f;
    learned[k] = 0.1f * static_cast<float>(k);
  }
  EXPECT_EQ(verdictOf(checked(attention(mask, "c", "")), "c"), "constant");
  EXPECT_TRUE(codesOf(checked(attention(learned, "c", ""))).count("undecided-verdict"));
  EXPECT_TRUE(codesOf(checked(attention(learned, "attn.slope", "pytorch"))).count("undecided-verdict"));
  EXPECT_EQ(verdictOf(checked(attention(learned, "attn.rel_pos_bias", "pytorch")), "attn.rel_pos_bias"),
            "parameter");
  EXPECT_EQ(verdictOf(checked(attention(learned, "attn.alibi", "pytorch")), "attn.alibi"), "buffer");
}

TEST(LintRoles, TablesOfARotaryEmbeddingAreConstants) {
  ModelBuilder b;
  b.input("x")
      .floats("w", {4, 4}, fresh(16, 0.5f))
      .floats("cos", {2, 4}, fresh(8, 0.5f))
      .floats("sin", {2, 4}, fresh(8, 0.3f));
  b.node("MatMul", {"x", "w"}, {"q"}).node("Neg", {"q"}, {"n"}).node("Mul", {"q", "cos"}, {"a"});
  b.node("Mul", {"n", "sin"}, {"c"})
      .node("Add", {"a", "c"}, {"r"})
      .node("MatMul", {"r", "w"}, {"y"})
      .output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(verdictOf(report, "cos"), "constant");
  EXPECT_EQ(verdictOf(report, "sin"), "constant");
  EXPECT_FALSE(report.hasErrors());
}

TEST(LintRoles, AnglesOfRowsAndColumnsAreConstants) {
  ModelBuilder b;
  b.input("x").floats("w", {4, 4}, fresh(16, 0.5f)).floats("angles", {3, 2}, fresh(6, 0.5f));
  b.ints("rows", {2}, {0, 1}).ints("columns", {2}, {2, 1});
  b.node("Gather", {"angles", "rows"}, {"h"}).node("Gather", {"angles", "columns"}, {"v"});
  b.node("Concat", {"h", "v"}, {"both"}, {}, {model::Attribute::makeInt("axis", 1)});
  b.node("Cos", {"both"}, {"cos"}).node("Sin", {"both"}, {"sin"});
  b.node("MatMul", {"x", "w"}, {"q"}).node("Neg", {"q"}, {"n"}).node("Mul", {"q", "cos"}, {"a"});
  b.node("Mul", {"n", "sin"}, {"c"}).node("Add", {"a", "c"}, {"y"}).output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(verdictOf(report, "angles"), "constant");
  EXPECT_EQ(verdictOf(report, "w"), "parameter");
}

TEST(LintRoles, RolesLookThroughMoves) {
  ModelBuilder b;
  b.input("x").floats("w", {3, 4}, fresh(12, 0.5f)).floats("b", {3, 1}, fresh(3)).ints("flat", {1}, {-1});
  b.node("Transpose", {"w"}, {"t"}).node("MatMul", {"x", "t"}, {"m"}).node("Reshape", {"b", "flat"}, {"c"});
  b.node("Add", {"m", "c"}, {"y"}).output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(verdictOf(report, "w"), "parameter");
  EXPECT_EQ(verdictOf(report, "b"), "parameter");
}

TEST(LintRoles, ExportersNames) {
  for (auto [producer, name, verdict] :
       std::initializer_list<std::array<const char *, 3>>{{"tf2onnx", "f/gate/ReadVariableOp:0", "parameter"},
                                                          {"tf2onnx", "f/gate/mul/x:0", "constant"},
                                                          {"pytorch", "gate", "parameter"},
                                                          {"pytorch", "val_3", "constant"},
                                                          {"pytorch", "f.gate", "parameter"},
                                                          {"CNTK", "Parameter12", "parameter"},
                                                          {"", "c", "constant"}}) {
    ModelBuilder b;
    b.model.producer = producer;
    b.input("x").floats("w", {4, 4}, fresh(16, 0.5f)).floats(name, {1}, {0.5f});
    b.node("MatMul", {"x", "w"}, {"m"}).node("Tanh", {"m"}, {"t"}).node("Mul", {name, "t"}, {"g"});
    b.node("Tanh", {"g"}, {"y"}).output("y");
    EXPECT_EQ(verdictOf(checked(b), name), verdict) << producer << " " << name;
  }
}

/// Tools that simplify graphs make initializers of the older exporter's Constant nodes, such as anchors of
/// boxes.
TEST(LintRoles, TheResultOfAConstantNodeIsNoTableOfPositions) {
  const std::string name = "/head/Constant_12_output_0";
  for (bool anchors : {true, false}) {
    ModelBuilder b;
    b.model.producer = "pytorch";
    b.input("x").floats("f.weight", {4, 4}, fresh(16, 0.5f));
    b.floats(name, {4}, anchors ? std::vector<float>{0.5f, 1.5f, 2.5f, 3.5f} : fresh(4));
    b.node("MatMul", {"x", "f.weight"}, {"m"}).node("Add", {"m", name}, {"y"}).output("y");
    lint::Report report = checked(b);
    EXPECT_EQ(verdictOf(report, name), "constant");
    EXPECT_EQ(codesOf(report), anchors ? Codes{} : Codes{"undecided-verdict"})
        << "zeros may be a merged bias";
  }
}

TEST(LintRoles, AnOptionSettlesWhatNothingDecides) {
  ModelBuilder b;
  b.input("x").floats("w", {4, 4}, fresh(16, 0.5f)).floats("c", {4}, {1, 2, 3, 4});
  b.node("MatMul", {"x", "w"}, {"m"}).node("Tanh", {"m"}, {"t"}).node("Mul", {"t", "c"}, {"s"});
  b.node("Tanh", {"s"}, {"y"}).output("y");
  EXPECT_EQ(codesOf(checked(b)), Codes{"undecided-verdict"});
  lint::LintOptions options;
  options.train = {"^c$"};
  EXPECT_EQ(verdictOf(checked(b, options), "c"), "parameter");
  EXPECT_FALSE(checked(b, options).hasErrors());
  options.train = {};
  options.freeze = {"^c$"};
  EXPECT_EQ(verdictOf(checked(b, options), "c"), "frozen");
  EXPECT_FALSE(checked(b, options).hasErrors());
  options.freeze = {};
  options.allow = {"undecided-verdict"};
  EXPECT_ANY_THROW(checked(b, options));
}

} // namespace
