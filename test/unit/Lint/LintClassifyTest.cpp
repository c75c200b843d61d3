// Parameter, buffer or constant: each rule, in its order.
#include "lib/Support/Error.h"
#include "test/unit/Lint/LintModels.h"

using namespace kedge;
using namespace kedge::test;

namespace {

ModelBuilder dense() {
  ModelBuilder b;
  b.input("x").floats("fc.weight", {4, 4}, std::vector<float>(16, 0.5f)).floats("fc.bias", {4}, {0, 0, 0, 0});
  b.node("Gemm", {"x", "fc.weight", "fc.bias"}, {"y"}).output("y");
  return b;
}

TEST(LintClassify, WithoutMetadataAGradientDecides) {
  lint::Report report = checked(dense());
  EXPECT_EQ(verdictOf(report, "fc.weight"), "parameter");
  EXPECT_EQ(verdictOf(report, "fc.bias"), "parameter");
  EXPECT_TRUE(report.findings.empty());
}

TEST(LintClassify, ScalarsAndMasksAreConstants) {
  ModelBuilder b;
  b.input("x")
      .floats("val_1", {}, {0.3f})
      .floats("val_2", {4}, {1, 0, 1, 1})
      .floats("blocks.scale", {}, {1.5f});
  b.floats("mask", {2}, {0, -INFINITY})
      .floats("blocks.gate", {4}, {1, 1, 1, 1})
      .floats("huge", {2}, {-3.4e38f, 0});
  b.node("Mul", {"x", "val_1"}, {"a"})
      .node("Mul", {"a", "val_2"}, {"b"})
      .node("Mul", {"b", "blocks.scale"}, {"c"});
  b.node("Add", {"c", "mask"}, {"d"})
      .node("Mul", {"d", "blocks.gate"}, {"e"})
      .node("Add", {"e", "huge"}, {"y"})
      .output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(verdictOf(report, "val_1"), "constant");
  EXPECT_EQ(verdictOf(report, "val_2"), "constant");
  EXPECT_EQ(verdictOf(report, "mask"), "constant");
  EXPECT_EQ(verdictOf(report, "huge"), "constant");
  EXPECT_EQ(verdictOf(report, "blocks.scale"), "parameter") << "a module path in its name";
  EXPECT_EQ(verdictOf(report, "blocks.gate"), "parameter");
}

TEST(LintClassify, WeightOperandsAreNoMasks) {
  ModelBuilder b;
  b.input("x")
      .floats("one", {4}, {1, 1, 1, 1})
      .floats("zero", {4}, {0, 0, 0, 0})
      .floats("w", {4, 4}, std::vector<float>(16, 0));
  b.node("LayerNormalization", {"x", "one", "zero"}, {"n"}).node("MatMul", {"n", "w"}, {"y"}).output("y");
  lint::Report report = checked(b);
  for (const char *name : {"one", "zero", "w"})
    EXPECT_EQ(verdictOf(report, name), "parameter") << name;
}

TEST(LintClassify, RunningStatisticsAndRatiosAreNotTrained) {
  ModelBuilder b;
  b.input("x").floats("s", {4}, {1, 2, 3, 4}).floats("b", {4}, {1, 2, 3, 4});
  b.floats("m", {4}, {1, 2, 3, 4}).floats("v", {4}, {1, 2, 3, 4}).floats("low", {4}, {5, 6, 7, 8});
  b.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"n"}, {},
         {model::Attribute::makeInt("training_mode", 1)});
  b.node("Clip", {"n", "low"}, {"y"}).output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(verdictOf(report, "s"), "parameter");
  EXPECT_EQ(verdictOf(report, "m"), "buffer");
  EXPECT_EQ(verdictOf(report, "v"), "buffer");
  EXPECT_EQ(verdictOf(report, "low"), "constant") << "bounds carry no gradient";
}

TEST(LintClassify, TheFileOverrulesTheGradient) {
  ModelBuilder b;
  b.input("x").floats("table", {4}, {1, 2, 3, 4},
                      {{"pkg.torch.export.graph_signature.InputSpec.kind", "BUFFER"}});
  b.floats("a", {}, {0.5f}).floats("other", {4}, {1, 2, 3, 4});
  b.signature({{"p_a", "a"}, {"b_table", "table"}});
  b.node("Mul", {"x", "table"}, {"t"})
      .node("Mul", {"t", "a"}, {"u"})
      .node("Mul", {"u", "other"}, {"y"})
      .output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(verdictOf(report, "table"), "buffer");
  EXPECT_EQ(verdictOf(report, "a"), "parameter") << "a one-element parameter that the signature lists";
  EXPECT_EQ(verdictOf(report, "other"), "constant") << "a signature that leaves it out makes it a constant";
}

TEST(LintClassify, SignatureAsJsonAndAsRepr) {
  for (const char *text :
       {R"({"input_specs": [{"kind": "PARAMETER", "arg": {"name": "p_w"}, "target": "w"}]})",
        R"({"input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}}]})",
        "ExportGraphSignature(input_specs=[InputSpec(kind=<InputKind.PARAMETER: 2>, "
        "arg=TensorArgument(name='p_w'), "
        "target='w', persistent=None), InputSpec(kind=<InputKind.USER_INPUT: 1>, "
        "arg=TensorArgument(name='x'), target=None)])"}) {
    ModelBuilder b;
    b.input("x").floats("w", {4}, {1, 2, 3, 4}).floats("c", {4}, {1, 2, 3, 4});
    b.model.graph.metadata["pkg.torch.export.ExportedProgram.graph_signature"] = text;
    b.node("Mul", {"x", "w"}, {"t"}).node("Mul", {"t", "c"}, {"y"}).output("y");
    lint::Report report = checked(b);
    EXPECT_EQ(verdictOf(report, "w"), "parameter") << text;
    EXPECT_EQ(verdictOf(report, "c"), "constant") << text;
  }
}

TEST(LintClassify, TrainAndFreezeOverrule) {
  lint::LintOptions options;
  options.freeze = {"bias$"};
  EXPECT_EQ(verdictOf(checked(dense(), options), "fc.bias"), "frozen");
  options.freeze = {"."};
  options.train = {"^fc\\.w"};
  lint::Report report = checked(dense(), options);
  EXPECT_EQ(verdictOf(report, "fc.weight"), "parameter") << "--train wins over --freeze";
  EXPECT_EQ(verdictOf(report, "fc.bias"), "frozen");
  options.train = {"("};
  EXPECT_THROW(checked(dense(), options), Error);
}

TEST(LintClassify, TheFileSaysWhatRequiresAGradient) {
  ModelBuilder b = dense();
  b.model.graph.initializers.begin()->metadata["kedge.requires_grad"] = "false";
  const std::string name = b.model.graph.initializers[0].name;
  lint::Report report = checked(b);
  EXPECT_EQ(verdictOf(report, name), "frozen");
  EXPECT_TRUE(report.showsFrozen);
  lint::LintOptions options;
  options.train = {name};
  EXPECT_EQ(verdictOf(checked(b, options), name), "parameter") << "--train overrules the file";
  options.train = {};
  options.freeze = {name};
  EXPECT_THROW(checked(b, options), Error) << "frozen already";
  b.model.graph.initializers.begin()->metadata["kedge.requires_grad"] = "no";
  EXPECT_THROW(checked(b), Error);
  EXPECT_FALSE(checked(dense()).showsFrozen);
}

TEST(LintClassify, TrainOnlyFreezesAllOthers) {
  lint::LintOptions options;
  options.trainOnly = {"^fc\\.w"};
  lint::Report report = checked(dense(), options);
  EXPECT_EQ(verdictOf(report, "fc.weight"), "parameter");
  EXPECT_EQ(verdictOf(report, "fc.bias"), "frozen");
  options.train = {"bias"};
  EXPECT_EQ(verdictOf(checked(dense(), options), "fc.bias"), "parameter") << "--train adds to them";
  options.train = {"weight"};
  EXPECT_THROW(checked(dense(), options), Error) << "it trains without --train";
  options = {};
  options.trainOnly = {"decoder"};
  EXPECT_THROW(checked(dense(), options), Error) << "nothing would train";
  options.trainOnly = {"."};
  EXPECT_THROW(checked(dense(), options), Error) << "all of it trains without the option";
}

TEST(LintClassify, TrainingInfoBindings) {
  ModelBuilder b;
  b.input("x").floats("w", {4}, {1, 2, 3, 4}).floats("fixed", {4}, {1, 2, 3, 4});
  b.node("Mul", {"x", "w"}, {"t"}).node("Mul", {"t", "fixed"}, {"y"}).output("y");
  ModelBuilder algorithm;
  algorithm.floats("v_w", {4}, {0, 0, 0, 0});
  algorithm.node("ReduceSum", {"y"}, {"loss"});
  algorithm.node("Gradient", {"w", "x"}, {"dw"});
  model::Attribute xs;
  xs.name = "xs";
  xs.kind = model::Attribute::Kind::Strings;
  xs.strings = {"w"};
  algorithm.model.graph.nodes.back().domain = "ai.onnx.preview.training";
  algorithm.model.graph.nodes.back().attributes = {xs, model::Attribute::makeString("y", "loss")};
  model::TrainingInfo info;
  info.algorithm = algorithm.model.graph;
  info.updateBinding = {{"w", "w_new"}, {"v_w", "v_new"}};
  b.model.trainingInfo.push_back(std::move(info));
  lint::Report report = checked(b);
  EXPECT_EQ(verdictOf(report, "w"), "parameter");
  EXPECT_EQ(verdictOf(report, "v_w"), "state");
  EXPECT_EQ(verdictOf(report, "fixed"), "constant");
}

TEST(LintClassify, UnusedParametersAreWarnedOf) {
  ModelBuilder b;
  b.input("x")
      .floats("w", {4}, {1, 2, 3, 4})
      .floats("lost", {4}, {1, 2, 3, 4})
      .signature({{"p_w", "w"}, {"p_lost", "lost"}});
  b.node("Mul", {"x", "w"}, {"y"}).node("Mul", {"x", "lost"}, {"unread"}).output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(codesOf(report, kedge::Severity::Warning), Codes{"unused-parameter"});
  EXPECT_EQ(report.findings[0].tensor, "lost");
  EXPECT_FALSE(report.hasErrors());
}

TEST(LintClassify, PaddingIndexOfEmbeddings) {
  ModelBuilder b;
  b.node("Gather", {"w", "x"}, {"y"}, call("embedding", "embedding.default", "%p_w, %x, 3"));
  b.node("Gather", {"w", "x"}, {"z"}, call("embedding", "embedding.default", "%p_w, %x"));
  b.node("Gather", {"w", "x"}, {"u"}, call("embedding", "embedding.default", "%p_w, %x, -1, True"));
  EXPECT_EQ(lint::paddingIndex(b.model.graph.nodes[0]), 3);
  EXPECT_EQ(lint::paddingIndex(b.model.graph.nodes[1]), std::nullopt);
  EXPECT_EQ(lint::paddingIndex(b.model.graph.nodes[2]), std::nullopt);
}

} // namespace
