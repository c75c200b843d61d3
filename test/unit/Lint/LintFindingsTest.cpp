// Training mode, gradients, labels, ranks; the two forms of the report.
#include "lib/Lint/BatchAxis.h"
#include "lib/Support/Error.h"
#include "test/unit/Lint/LintModels.h"
#include <nlohmann/json.hpp>

using namespace kedge;
using namespace kedge::test;

namespace {

model::Attribute trainingMode() { return model::Attribute::makeInt("training_mode", 1); }

ModelBuilder norm(int64_t opset, std::vector<std::string> outputs,
                  std::vector<model::Attribute> attributes = {}) {
  ModelBuilder b(opset);
  b.input("x");
  for (const char *name : {"bn.weight", "bn.bias", "bn.mean", "bn.var"})
    b.floats(name, {4}, {1, 2, 3, 4});
  b.node("BatchNormalization", {"x", "bn.weight", "bn.bias", "bn.mean", "bn.var"}, std::move(outputs), {},
         std::move(attributes));
  b.output("y");
  return b;
}

TEST(LintFindings, BatchNormThroughTheOpsets) {
  EXPECT_EQ(codesOf(checked(norm(15, {"y"}))), Codes{"frozen-batchnorm"});
  EXPECT_TRUE(checked(norm(15, {"y"}, {trainingMode()})).findings.empty());
  EXPECT_EQ(codesOf(checked(norm(9, {"y"}))), Codes{"frozen-batchnorm"});
  EXPECT_TRUE(checked(norm(9, {"y", "m", "v", "sm", "sv"})).findings.empty());
  lint::LintOptions frozen;
  frozen.freeze = {"^bn\\."};
  EXPECT_TRUE(checked(norm(15, {"y"}), frozen).findings.empty()) << "neither scale nor bias trains";
}

TEST(LintFindings, TrainModeTurnsNormsOn) {
  for (int64_t opset : {9, 15}) {
    ModelBuilder b = norm(opset, {"y"});
    EXPECT_EQ(lint::setTrainMode(b.model).size(), 1u);
    EXPECT_TRUE(checked(b).findings.empty());
    EXPECT_TRUE(b.model.graph.nodes[0].attrBool("training_mode", false));
    EXPECT_TRUE(lint::setTrainMode(b.model).empty());
  }
}

ModelBuilder dropout(int64_t opset, std::vector<std::string> inputs,
                     std::vector<model::Attribute> attributes = {}) {
  ModelBuilder b(opset);
  b.input("x")
      .floats("fc.w", {4, 4}, std::vector<float>(16, 0.5f))
      .floats("ratio", {}, {0.25f})
      .floats("none", {}, {0});
  b.model.graph.initializers.push_back(model::Tensor::make("on", model::ElementType::Bool, {}, {1}));
  b.node("MatMul", {"x", "fc.w"}, {"h"})
      .node("Dropout", std::move(inputs), {"y"}, {}, std::move(attributes))
      .output("y");
  return b;
}

TEST(LintFindings, DropoutThroughTheOpsets) {
  EXPECT_TRUE(checked(dropout(13, {"h", "ratio", "on"})).findings.empty());
  EXPECT_EQ(codesOf(checked(dropout(13, {"h", "ratio"}))), Codes{"dropout-off"});
  EXPECT_EQ(codesOf(checked(dropout(13, {"h"}))), Codes{"dropout-off"}) << "the ratio is 0.5 by default";
  EXPECT_TRUE(checked(dropout(13, {"h", "none"})).findings.empty());
  EXPECT_EQ(codesOf(checked(dropout(9, {"h"}, {model::Attribute::makeFloat("ratio", 0.3f)}))),
            Codes{"dropout-off"});
  for (ModelBuilder b :
       {dropout(13, {"h", "ratio"}), dropout(9, {"h"}, {model::Attribute::makeFloat("ratio", 0.25f)})}) {
    lint::setTrainMode(b.model);
    EXPECT_TRUE(checked(b).findings.empty());
    const model::Node &node = b.model.graph.nodes[1];
    EXPECT_FLOAT_EQ(b.model.graph.findInitializer(node.inputs[1])->floats()[0], 0.25);
  }
}

TEST(LintFindings, UpdatedBuffersInAllFormsOfTheSignature) {
  for (std::string text :
       {"\n# inputs\nb_mean: BUFFER target='mean' persistent=True\n\n# outputs\nNEXT: BUFFER_MUTATION "
        "target='mean'\ny: USER_OUTPUT\n",
        "ExportGraphSignature(input_specs=[InputSpec(kind=<InputKind.BUFFER: 3>, "
        "arg=TensorArgument(name='b_mean'), target='mean')], "
        "output_specs=[OutputSpec(kind=<OutputKind.BUFFER_MUTATION: 3>, arg=TensorArgument(name='NEXT'), "
        "target='mean'), "
        "OutputSpec(kind=<OutputKind.USER_OUTPUT: 1>, arg=TensorArgument(name='y'), target=None)])",
        R"({"input_specs": [{"buffer": {"arg": {"name": "b_mean"}, "buffer_name": "mean"}}],
                               "output_specs": [{"buffer_mutation": {"arg": {"name": "NEXT"}, "buffer_name": "mean"}}]})",
        R"({"input_specs": [{"kind": "BUFFER", "arg": {"name": "b_mean"}, "target": "mean"}],
                               "output_specs": [{"kind": "BUFFER_MUTATION", "arg": {"name": "NEXT"}, "target": "mean"}]})"})
    for (const auto &[next, code] :
         {std::pair<std::string, std::string>("add", "updated-buffer"), {"gone", "lost-update"}}) {
      std::string signature = text;
      signature.replace(signature.find("NEXT"), 4, next);
      ModelBuilder b;
      b.input("x").floats("mean", {4, 4}, std::vector<float>(16, 0.5f));
      b.node("Add", {"x", "mean"}, {"add"}).node("Mul", {"x", "add"}, {"y"}).output("y");
      b.model.graph.metadata["pkg.torch.export.ExportedProgram.graph_signature"] = signature;
      const std::vector<lint::Finding> findings = checked(b).findings;
      ASSERT_EQ(findings.size(), 1u) << signature;
      EXPECT_EQ(findings[0].code, code) << signature;
    }
}

TEST(LintFindings, AllMissingOperatorsAtOnce) {
  ModelBuilder b;
  b.input("x").floats("fc.w", {4, 4}, std::vector<float>(16, 0.5f));
  b.node("Hardmax", {"x"}, {"before"}).node("MatMul", {"before", "fc.w"}, {"h"}).node("Det", {"h"}, {"d"});
  b.node("Mystery", {"d"}, {"m"}).node("Gizmo", {"m"}, {"y"}).output("y");
  lint::Report report = checked(b, {}, operatorsWithout({"Mystery", "Gizmo"}, {"Det", "Hardmax"}));
  EXPECT_EQ(codesOf(report), (Codes{"no-gradient", "unsupported-op", "unsupported-op"}))
      << "no parameter lies before Hardmax";
}

TEST(LintFindings, GradientsEndAtIntegersAndStartAtTheLoss) {
  ModelBuilder b;
  b.input("x")
      .floats("a.w", {4, 4}, std::vector<float>(16, 0.5f))
      .floats("b.w", {4, 4}, std::vector<float>(16, 0.5f));
  b.node("MatMul", {"x", "a.w"}, {"h"})
      .node("ArgMax", {"h"}, {"classes"})
      .node("MatMul", {"x", "b.w"}, {"y"});
  b.output("y").output("h").output("classes", model::ElementType::Int64);
  lint::LintOptions options;
  options.logits = "y";
  lint::Report report = checked(b, options, operatorsWithout({}, {"ArgMax"}));
  EXPECT_EQ(verdictOf(report, "a.w"), "constant");
  EXPECT_EQ(verdictOf(report, "b.w"), "parameter");
  EXPECT_FALSE(report.hasErrors());
  EXPECT_EQ(verdictOf(checked(b), "a.w"), "parameter") << "nothing named: every float output trains";
  options.logits = "nowhere";
  EXPECT_THROW(checked(b, options), Error);
}

TEST(LintFindings, LabelsOfTheWrongType) {
  ModelBuilder b;
  b.input("x")
      .input("labels")
      .floats("fc.w", {4, 4}, std::vector<float>(16, 0.5f))
      .node("MatMul", {"x", "fc.w"}, {"y"})
      .output("y");
  lint::LintOptions options;
  EXPECT_TRUE(checked(b, options).findings.empty());
  options.loss = LossFunction::CrossEntropy;
  EXPECT_EQ(codesOf(checked(b, options)), Codes{"label-type"});
  options.loss = LossFunction::Mse;
  EXPECT_TRUE(checked(b, options).findings.empty());
}

TEST(LintFindings, AllowTurnsErrorsIntoWarnings) {
  lint::LintOptions options;
  options.allow = {"frozen-batchnorm"};
  lint::Report report = checked(norm(15, {"y"}), options);
  EXPECT_FALSE(report.hasErrors());
  EXPECT_EQ(codesOf(report, kedge::Severity::Warning), Codes{"frozen-batchnorm"});
  options.allow = {"no-such-code"};
  EXPECT_THROW(checked(norm(15, {"y"}), options), Error);
}

TEST(LintFindings, BatchAxisIsFollowed) {
  ModelBuilder b;
  b.input("x", model::ElementType::Float, {8, 3, 4})
      .ints("flat", {2}, {-1, 4})
      .ints("swap", {2}, {3, 32})
      .floats("w", {4, 4}, std::vector<float>(16));
  b.node("Transpose", {"x"}, {"t"}, {}, {model::Attribute::makeInts("perm", {1, 0, 2})});
  b.node("MatMul", {"t", "w"}, {"p"})
      .node("Reshape", {"x", "flat"}, {"r"})
      .node("Reshape", {"t", "swap"}, {"lost"});
  b.node("ReduceMean", {"t"}, {"mean"}, {},
         {model::Attribute::makeInts("axes", {0}), model::Attribute::makeInt("keepdims", 0)});
  b.output("p");
  std::map<std::string, int64_t> axes = lint::batchAxes(b.model.graph);
  EXPECT_EQ(axes.at("t"), 1);
  EXPECT_EQ(axes.at("p"), 1);
  EXPECT_EQ(axes.at("r"), 0);
  EXPECT_EQ(axes.at("mean"), 0);
  EXPECT_FALSE(axes.count("lost"));
  EXPECT_FALSE(axes.count("w"));
}

TEST(LintFindings, DropoutOnAWeightIsKeyedByRank) {
  ModelBuilder b(13);
  b.input("x").floats("fc.w", {4, 4}, std::vector<float>(16, 0.5f)).floats("ratio", {}, {0.25f});
  b.model.graph.initializers.push_back(model::Tensor::make("on", model::ElementType::Bool, {}, {1}));
  b.node("Dropout", {"fc.w", "ratio", "on"}, {"w"}).node("MatMul", {"x", "w"}, {"y"}).output("y");
  EXPECT_EQ(codesOf(checked(b), kedge::Severity::Warning), Codes{"keyed-by-rank"});
  lint::LintOptions options;
  options.severalRanks = true;
  EXPECT_EQ(codesOf(checked(b, options)), Codes{"keyed-by-rank"});
}

TEST(LintFindings, DrawLikeAnExpandedShapeOfTheBatchIsKeyedByRow) {
  const auto warningsOf = [](std::vector<int64_t> sizes) {
    ModelBuilder b;
    b.input("x").floats("fc.w", {4, 4}, std::vector<float>(16, 0.5f)).floats("one", {}, {1});
    b.node("MatMul", {"x", "fc.w"}, {"h"})
        .node("Constant", {}, {"rows"}, {}, {model::Attribute::makeInts("value_ints", {sizes[0]})});
    b.node("Constant", {}, {"columns"}, {}, {model::Attribute::makeInts("value_ints", {sizes[1]})});
    b.node("Concat", {"rows", "columns"}, {"sizes"}, {}, {model::Attribute::makeInt("axis", 0)});
    b.node("Expand", {"one", "sizes"}, {"empty"})
        .node("Cast", {"empty"}, {"float"}, {}, {model::Attribute::makeInt("to", 1)});
    b.node("RandomUniformLike", {"float"}, {"draw"});
    b.node("Shape", {"h"}, {"shape"})
        .node("Expand", {"one", "shape"}, {"whole"})
        .node("RandomUniformLike", {"whole"}, {"other"});
    b.node("Mul", {"h", "draw"}, {"m"}).node("Mul", {"m", "other"}, {"y"}).output("y");
    return codesOf(checked(b), kedge::Severity::Warning);
  };
  const auto byRank = [](const Codes &codes) {
    return std::count(codes.begin(), codes.end(), "keyed-by-rank");
  };
  EXPECT_EQ(byRank(warningsOf({2, 1})), 0) << "the batch has two rows";
  EXPECT_EQ(byRank(warningsOf({3, 1})), 1) << "three rows are no batch's";
}

TEST(LintReport, JsonHasAllKeys) {
  nlohmann::json json = nlohmann::json::parse(lint::toJson(checked(norm(15, {"y"}))));
  EXPECT_EQ(json.size(), 2u);
  const nlohmann::json &finding = json["findings"][0];
  EXPECT_EQ(finding.size(), 9u);
  EXPECT_EQ(finding["mended"], false);
  EXPECT_EQ(finding["severity"], "error");
  EXPECT_EQ(finding["code"], "frozen-batchnorm");
  EXPECT_EQ(finding["node"], "node_y");
  EXPECT_EQ(finding["tensor"], "bn.weight");
  EXPECT_EQ(finding["repairable"], true);
  for (const char *key : {"module", "reason", "remedy"})
    EXPECT_TRUE(finding[key].is_string()) << key;
  EXPECT_EQ(json["initializers"].size(), 4u);
  EXPECT_EQ(json["initializers"][2]["verdict"], "buffer");
  EXPECT_EQ(json["initializers"][2].size(), 4u);
}

TEST(LintReport, TextHasNoColourUnlessAsked) {
  ModelBuilder b = norm(15, {"y"});
  lint::Report report = checked(b);
  std::string plain = lint::toText(report, b.model);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(plain.find("error[frozen-batchnorm]"), std::string::npos);
  EXPECT_NE(plain.find("bn.weight"), std::string::npos);
  EXPECT_NE(plain.find("--train-mode mends all errors"), std::string::npos);
  EXPECT_NE(lint::toText(report, b.model, {.colour = true}).find('\x1b'), std::string::npos);
}

} // namespace
