// What the exporter's metadata proves, and what --repair makes of it.
#include "test/unit/Lint/LintModels.h"

using namespace kedge;
using namespace kedge::test;

namespace {

ModelBuilder twoNorms() {
  ModelBuilder b;
  b.input("x").signature({{"p_a_weight", "A.weight"},
                          {"p_a_bias", "A.bias"},
                          {"p_b_weight", "B.weight"},
                          {"p_b_bias", "B.bias"}});
  b.floats("A.weight", {4}, {1, 1, 1, 1}).floats("A.bias", {4}, {0, 0, 0, 0});
  b.node("LayerNormalization", {"x", "A.weight", "A.bias"}, {"n"},
         call("n", "layer_norm.default", "%x, [4], %p_a_weight, %p_a_bias, 1e-05, False", "A"));
  b.node("LayerNormalization", {"n", "A.weight", "A.bias"}, {"y"},
         call("y", "layer_norm.default", "%n, [4], %p_b_weight, %p_b_bias, 1e-05, False", "B"));
  b.output("y");
  return b;
}

const model::Tensor *tensorOf(const model::Model &model, const std::string &name) {
  return model.graph.findInitializer(name);
}

TEST(LintDamage, MergedNormsAreFoundAndSplit) {
  ModelBuilder b = twoNorms();
  lint::Report report = checked(b);
  EXPECT_EQ(codesOf(report), (Codes{"merged-parameters", "merged-parameters"}));
  EXPECT_EQ(report.findings[0].tensor, "A.weight");
  EXPECT_EQ(report.findings[0].module, "B");
  EXPECT_EQ(report.findings[0].node, "node_y");
  EXPECT_TRUE(report.findings[0].repairable);

  EXPECT_FALSE(lint::repair(b.model).empty());
  EXPECT_TRUE(checked(b).findings.empty());
  EXPECT_EQ(b.model.graph.nodes[1].inputs, (std::vector<std::string>{"n", "B.weight", "B.bias"}));
  EXPECT_EQ(tensorOf(b.model, "B.weight")->floats(), (std::vector<double>{1, 1, 1, 1}));
  EXPECT_TRUE(lint::repair(b.model).empty()) << "nothing is left to repair";
}

TEST(LintDamage, TiedOnPurposeIsNotMerged) {
  ModelBuilder b;
  b.input("x", model::ElementType::Int64).signature({{"p_wte", "wte.weight"}, {"p_head", "head.weight"}});
  b.floats("head.weight", {8, 4}, std::vector<float>(32, 0.1f),
           {{"pkg.torch.onnx.original_node_name", "p_head"}});
  b.node("Gather", {"head.weight", "x"}, {"e"}, call("e", "embedding.default", "%p_head, %x"));
  b.node("Gemm", {"e", "head.weight"}, {"y"}, call("y", "linear.default", "%e, %p_head"),
         {model::Attribute::makeInt("transB", 1)});
  b.output("y");
  EXPECT_TRUE(checked(b).findings.empty());
}

TEST(LintDamage, AParameterMergedWithItsStatisticsIsSplit) {
  ModelBuilder b;
  b.input("x").signature(
      {{"p_w", "bn.weight"}, {"p_b", "bn.bias"}, {"b_m", "bn.running_mean"}, {"b_v", "bn.running_var"}});
  b.floats("bn.weight", {4}, {1, 1, 1, 1}).floats("bn.bias", {4}, {0, 0, 0, 0});
  b.node("BatchNormalization", {"x", "bn.weight", "bn.bias", "bn.bias", "bn.weight"}, {"y"},
         call("y", "batch_norm.default", "%x, %p_w, %p_b, %b_m, %b_v, True, 0.1, 1e-05, True", "bn"),
         {model::Attribute::makeInt("training_mode", 1)});
  b.output("y");
  EXPECT_EQ(codesOf(checked(b)), (Codes{"merged-parameters", "merged-parameters"}));
  lint::repair(b.model);
  lint::Report report = checked(b);
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(verdictOf(report, "bn.running_mean"), "buffer");
  EXPECT_EQ(verdictOf(report, "bn.bias"), "parameter");
}

TEST(LintDamage, NormsSideBySideAreTwoAgain) {
  ModelBuilder b;
  b.input("x").signature({{"p_l_in_weight", "l.in.weight"},
                          {"p_l_post_weight", "l.post.weight"},
                          {"p_w1", "q.weight"},
                          {"p_w2", "m.weight"}});
  b.floats("l.in.weight", {4}, {1, 1, 1, 1})
      .floats("q.weight", {4, 4}, std::vector<float>(16, 1))
      .floats("m.weight", {4, 4}, std::vector<float>(16, 2));
  b.node("RMSNormalization", {"x", "l.in.weight"}, {"rms_norm"},
         call("rms_norm", "rms_norm.default", "%x, [4], %p_l_in_weight, 1e-05", "l.in"));
  b.node("MatMul", {"rms_norm", "q.weight"}, {"q"}, call("q", "matmul.default", "%rms_norm, %p_w1"));
  b.node("MatMul", {"rms_norm", "m.weight"}, {"m"}, call("m", "matmul.default", "%rms_norm_1, %p_w2"));
  b.node("Add", {"q", "m"}, {"y"}, call("y", "add.Tensor", "%q, %m")).output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(codesOf(report), Codes{"merged-parameters"});
  EXPECT_EQ(report.findings[0].module, "l.post");
  lint::repair(b.model);
  EXPECT_TRUE(checked(b).findings.empty());
  ASSERT_EQ(b.model.graph.nodes.size(), 5u);
  EXPECT_EQ(b.model.graph.nodes[1].inputs, (std::vector<std::string>{"x", "l.post.weight"}));
  EXPECT_EQ(b.model.graph.nodes[2].inputs[0], "rms_norm");
  EXPECT_EQ(b.model.graph.nodes[3].inputs[0], "rms_norm_1");
}

TEST(LintDamage, ASplitWithoutMetadataReadsItsModulesBias) {
  ModelBuilder b;
  b.input("x")
      .signature({{"p_a_b", "a.in_bias"}, {"p_c_b", "c.in_bias"}})
      .floats("a.in_bias", {4}, {0, 0, 0, 0});
  b.ints("sizes", {2}, {2, 2});
  b.node("Add", {"x", "a.in_bias"}, {"h"}, call("h", "add.Tensor", "%x, %p_a_b", "a"));
  b.node("Split", {"a.in_bias", "sizes"}, {"p", "q"}, {}, {model::Attribute::makeInt("axis", 0)});
  b.node("Concat", {"p", "q"}, {"r"}, call("r", "cat.default", "[%getitem, %getitem_1]", "c"),
         {model::Attribute::makeInt("axis", 0)});
  b.node("Add", {"h", "r"}, {"y"}, call("y", "add.Tensor", "%h, %r")).output("y");
  EXPECT_EQ(codesOf(checked(b)), Codes{"merged-parameters"});
  lint::repair(b.model);
  EXPECT_TRUE(checked(b).findings.empty());
  EXPECT_EQ(b.model.graph.nodes[1].inputs[0], "c.in_bias");
}

TEST(LintDamage, AnUnusedModuleIsNoDamage) {
  ModelBuilder b;
  b.input("x").signature({{"p_l_in_weight", "l.in.weight"}, {"p_l_never_weight", "l.never.weight"}});
  b.floats("l.in.weight", {4}, {1, 1, 1, 1});
  b.node("RMSNormalization", {"x", "l.in.weight"}, {"rms_norm"},
         call("rms_norm", "rms_norm.default", "%x, [4], %p_l_in_weight, 1e-05", "l.in"));
  b.node("Tanh", {"rms_norm"}, {"y"}, call("tanh", "tanh.default", "%rms_norm")).output("y");
  EXPECT_TRUE(checked(b).findings.empty());
}

TEST(LintDamage, AZeroBiasComesBack) {
  ModelBuilder b;
  b.input("x")
      .signature({{"p_w", "fc.weight"}, {"p_b", "fc.bias"}})
      .floats("fc.weight", {3, 4}, std::vector<float>(12, 0.5f));
  model::Metadata metadata = call("y", "linear.default", "%x, %p_w, %p_b", "fc");
  metadata["pkg.onnxscript.rewriter.rule_name"] = "RemoveOptionalBiasFromGemm";
  b.node("Gemm", {"x", "fc.weight"}, {"y"}, metadata, {model::Attribute::makeInt("transB", 1)}).output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(codesOf(report), Codes{"dropped-bias"});
  EXPECT_EQ(report.findings[0].tensor, "fc.bias");
  lint::repair(b.model);
  EXPECT_TRUE(checked(b).findings.empty());
  EXPECT_EQ(tensorOf(b.model, "fc.bias")->dims, (std::vector<int64_t>{3}));
  EXPECT_EQ(tensorOf(b.model, "fc.bias")->floats(), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(b.model.graph.nodes[0].meta("pkg.onnxscript.rewriter.rule_name"), "");
}

TEST(LintDamage, AProductWithoutAddLostItsBias) {
  ModelBuilder b;
  b.input("x")
      .signature({{"p_w", "fc.weight"}, {"p_b", "fc.bias"}})
      .floats("val_1", {4, 3}, std::vector<float>(12, 0.5f), foldedFrom("['fc.weight']"));
  b.node("MatMul", {"x", "val_1"}, {"y"}, call("y", "linear.default", "%x, %p_w, %p_b", "fc")).output("y");
  EXPECT_EQ(codesOf(checked(b)), Codes{"dropped-bias"});
  lint::repair(b.model);
  EXPECT_TRUE(checked(b).findings.empty());
  EXPECT_EQ(tensorOf(b.model, "fc.weight")->dims, (std::vector<int64_t>{3, 4}));
  ASSERT_EQ(b.model.graph.nodes.size(), 3u); // Transpose, MatMul, Add
  EXPECT_EQ(b.model.graph.nodes[0].opType, "Transpose");
  EXPECT_EQ(b.model.graph.nodes[2].opType, "Add");
  EXPECT_EQ(b.model.graph.nodes[2].outputs[0], "y");
}

TEST(LintDamage, AConvolutionWithoutBiasIsWhole) {
  ModelBuilder b;
  b.input("x", model::ElementType::Float, {1, 2, 4, 4})
      .signature({{"p_w", "c.weight"}})
      .floats("c.weight", {2, 2, 1, 1}, {1, 2, 3, 4});
  b.floats("zero", {2}, {0, 0});
  b.node("Conv", {"x", "c.weight", "zero"}, {"y"}, call("y", "conv2d.default", "%x, %p_w, None", "c"))
      .output("y");
  EXPECT_TRUE(checked(b).findings.empty());
}

TEST(LintDamage, RowsOfPositionsAreTheParameterAgain) {
  ModelBuilder b;
  b.input("x", model::ElementType::Float, {2, 2, 2}).signature({{"p_wpe", "wpe.weight"}});
  b.floats("embedding_1", {2, 2, 2}, {1, 2, 3, 4, 1, 2, 3, 4},
           foldedFrom("['add', 'arange', 'wpe.weight', 'val_3']"));
  b.node("Add", {"x", "embedding_1"}, {"y"}, call("y", "add.Tensor", "%x, %embedding_1")).output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(codesOf(report), Codes{"folded-parameter"});
  EXPECT_EQ(verdictOf(report, "embedding_1"), "constant");
  EXPECT_TRUE(report.findings[0].repairable);
  lint::repair(b.model);
  report = checked(b);
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(verdictOf(report, "wpe.weight"), "parameter");
  EXPECT_EQ(tensorOf(b.model, "wpe.weight")->dims, (std::vector<int64_t>{2, 2}));
  const model::Node &repeated = b.model.graph.nodes[0];
  EXPECT_EQ(repeated.opType, "Expand");
  EXPECT_EQ(repeated.outputs[0], "embedding_1");
  EXPECT_EQ(tensorOf(b.model, repeated.inputs[1])->ints(), (std::vector<int64_t>{2, 2, 2}));
}

TEST(LintDamage, RowsOfUnknownNumbersGetANameOfTheirOwnOnRequest) {
  ModelBuilder b;
  b.input("x", model::ElementType::Float, {2, 2, 2}).signature({{"p_t", "t.weight"}});
  b.floats("embedding_1", {2, 2, 2}, {1, 2, 3, 4, 1, 2, 3, 4},
           foldedFrom("['abs', 'log', 't.weight', 'val_3']"));
  b.node("Add", {"x", "embedding_1"}, {"y"}, call("y", "add.Tensor", "%x, %embedding_1")).output("y");
  EXPECT_TRUE(lint::repair(b.model, lint::Repair::Recorded).empty());
  EXPECT_EQ(codesOf(checked(b)), Codes{"folded-parameter"});
  EXPECT_FALSE(lint::repair(b.model).empty());
  EXPECT_EQ(verdictOf(checked(b), "t.weight/rows"), "parameter");
  EXPECT_EQ(tensorOf(b.model, "t.weight"), nullptr);
  const model::Node &gather = b.model.graph.nodes[0];
  EXPECT_EQ(gather.opType, "Gather");
  EXPECT_EQ(tensorOf(b.model, gather.inputs[1])->ints(), (std::vector<int64_t>{0, 1, 0, 1}));
}

TEST(LintDamage, RowsThatNeverTrainedCannotBeTold) {
  ModelBuilder b;
  b.input("x", model::ElementType::Float, {1, 2, 2}).signature({{"p_wpe", "wpe.weight"}});
  b.floats("embedding", {1, 2, 2}, {0, 0, 0, 0}, foldedFrom("['wpe.weight', 'bucket']"));
  b.node("Add", {"x", "embedding"}, {"y"}).output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(codesOf(report), Codes{"folded-parameter"});
  EXPECT_FALSE(report.findings[0].repairable);
  EXPECT_TRUE(lint::repair(b.model).empty());
}

TEST(LintDamage, ARepeatedTokenIsOneParameter) {
  ModelBuilder b;
  b.input("x", model::ElementType::Float, {2, 1, 2}).signature({{"p_cls", "cls"}});
  b.floats("expand", {2, 1, 2}, {1, 2, 1, 2}, foldedFrom("['cls', 'val_1']"));
  b.node("Concat", {"expand", "x"}, {"y"}, call("cat", "cat.default", "[%expand, %x], 1"),
         {model::Attribute::makeInt("axis", 1)})
      .output("y");
  lint::repair(b.model);
  EXPECT_TRUE(checked(b).findings.empty());
  EXPECT_EQ(tensorOf(b.model, "cls")->dims, (std::vector<int64_t>{1, 1, 2}));
  EXPECT_EQ(b.model.graph.nodes[0].opType, "Expand");
}

TEST(LintDamage, ArithmeticOnParametersCannotBeUndone) {
  ModelBuilder b;
  b.input("x").signature({{"p_a", "A"}, {"p_b", "B"}, {"p_w", "w"}});
  b.floats("add", {4, 4}, std::vector<float>(16, 0.5f), foldedFrom("['A', 'B', 'matmul', 'mul', 'w']"));
  b.node("Gemm", {"x", "add"}, {"y"}, call("y", "linear.default", "%x, %add")).output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(codesOf(report), Codes{"folded-parameter"});
  EXPECT_FALSE(report.findings[0].repairable);
  EXPECT_NE(report.findings[0].reason.find("'A', 'B', 'w'"), std::string::npos);
}

TEST(LintDamage, ATransposedWeightIsNotedAndTrains) {
  ModelBuilder b;
  b.input("x")
      .signature({{"p_w", "fc.weight"}})
      .floats("val_1", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, foldedFrom("['fc.weight']"));
  b.node("MatMul", {"x", "val_1"}, {"y"}, call("y", "linear.default", "%x, %p_w", "fc")).output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(codesOf(report, kedge::Severity::Note), Codes{"renamed-parameter"});
  EXPECT_EQ(verdictOf(report, "val_1"), "parameter");
  EXPECT_EQ(report.initializers[0].original, "fc.weight");
  EXPECT_TRUE(lint::tieCopies(b.model).empty()) << "it is the only copy";
  lint::repair(b.model);
  EXPECT_EQ(tensorOf(b.model, "fc.weight")->floats(), (std::vector<double>{1, 3, 5, 7, 2, 4, 6, 8}));
  EXPECT_EQ(tensorOf(b.model, "val_1"), nullptr);
}

TEST(LintDamage, ATransposedCopyOfATiedWeightIsOneTensor) {
  ModelBuilder b;
  b.input("x", model::ElementType::Int64).signature({{"p_w", "head.weight"}});
  b.floats("head.weight", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
      .floats("val_1", {2, 4}, {1, 3, 5, 7, 2, 4, 6, 8}, foldedFrom("['head.weight']"));
  b.node("Gather", {"head.weight", "x"}, {"e"}, call("e", "embedding.default", "%p_w, %x"));
  b.node("MatMul", {"e", "val_1"}, {"y"}, call("y", "linear.default", "%e, %p_w")).output("y");
  EXPECT_FALSE(checked(b).hasErrors());
  EXPECT_EQ(lint::tieCopies(b.model).size(), 1u);
  EXPECT_EQ(tensorOf(b.model, "val_1"), nullptr);
  EXPECT_EQ(b.model.graph.nodes[0].opType, "Transpose");
  EXPECT_EQ(b.model.graph.nodes[0].inputs[0], "head.weight");
}

TEST(LintDamage, AFusedNormIsReported) {
  ModelBuilder b;
  b.input("x", model::ElementType::Float, {1, 2, 4, 4});
  b.signature({{"p_c", "conv.weight"},
               {"p_w", "bn.weight"},
               {"p_b", "bn.bias"},
               {"b_m", "bn.running_mean"},
               {"b_v", "bn.running_var"}});
  b.floats("conv.weight", {2, 2, 1, 1}, {1, 2, 3, 4}).floats("conv.weight_bias", {2}, {1, 2});
  b.node("Conv", {"x", "conv.weight", "conv.weight_bias"}, {"y"},
         call("bn", "_native_batch_norm_legit_no_training.default",
              "%conv2d, %p_w, %p_b, %b_m, %b_v, 0.1, 1e-05", "bn"));
  b.output("y");
  lint::Report report = checked(b);
  EXPECT_EQ(codesOf(report), Codes{"fused-batchnorm"});
  EXPECT_EQ(report.findings[0].module, "bn");
  EXPECT_FALSE(report.findings[0].repairable);
}

} // namespace
