// LinearRegressor and LinearClassifier of ai.onnx.ml as Gemm.
#include "lib/Model/ModelCheck.h"
#include "lib/Model/Specialize.h"
#include "lib/Model/ValueNames.h"
#include <algorithm>
#include <cstring>

namespace kedge::model {
namespace {

constexpr std::string_view mlDomain = "ai.onnx.ml";

Node nodeOf(const Node &origin, std::string op, std::vector<std::string> inputs, std::string output,
            std::vector<Attribute> attributes = {}) {
  Node node;
  node.opType = std::move(op);
  node.name = origin.name;
  node.inputs = std::move(inputs);
  node.outputs = {std::move(output)};
  node.attributes = std::move(attributes);
  node.opset = 13;
  node.id = origin.id;
  node.metadata = origin.metadata;
  return node;
}

class Lowering {
public:
  explicit Lowering(Model &model) : model(model), used(definedBelow(model.graph)) {}

  void run() {
    std::vector<Node> result;
    for (Node &node : model.graph.nodes) {
      std::vector<Node> lowered;
      const bool done = node.is("LinearRegressor", mlDomain)    ? regressor(node, lowered)
                        : node.is("LinearClassifier", mlDomain) ? classifier(node, lowered)
                                                                : false;
      if (!done)
        result.push_back(std::move(node));
      else
        result.insert(result.end(), std::make_move_iterator(lowered.begin()),
                      std::make_move_iterator(lowered.end()));
    }
    model.graph.nodes = std::move(result);
  }

private:
  /// The attribute as an initializer; "" without it.
  std::string parameter(const Node &node, const char *attribute, int64_t rows) {
    const std::vector<float> values = node.attrFloats(attribute);
    if (values.empty())
      return "";
    const std::string owner = node.name.empty() ? node.output(0) : node.name;
    const auto size = static_cast<int64_t>(values.size());
    const bool matrix = std::string_view(attribute) == "coefficients";
    Tensor tensor = Tensor::makeFloats(freshName(owner + "." + attribute, used),
                                       matrix ? std::vector{rows, size / rows} : std::vector{size}, values);
    tensor.place = node.place;
    tensor.metadata[attributeKey] = attribute;
    std::string name = tensor.name;
    model.graph.initializers.push_back(std::move(tensor));
    return name;
  }

  /// x W^T + b. False: of a form that is left as it is.
  bool product(const Node &node, int64_t rows, const std::string &output, std::vector<Node> &result) {
    const size_t coefficients = node.attrFloats("coefficients").size();
    const size_t intercepts = node.attrFloats("intercepts").size();
    if (rows < 1 || coefficients == 0 || coefficients % rows != 0 ||
        (intercepts != 0 && intercepts != static_cast<size_t>(rows)))
      return false;
    std::string x = node.input(0);
    const ValueInfo *info = model.graph.findValueInfo(x);
    if (info && info->dtype != ElementType::Float && info->dtype != ElementType::Undefined) {
      const std::string cast = freshName(x + "/float", used);
      result.push_back(nodeOf(node, "Cast", {x}, cast,
                              {Attribute::makeInt("to", static_cast<int64_t>(ElementType::Float))}));
      x = cast;
    }
    std::vector<std::string> inputs = {x, parameter(node, "coefficients", rows)};
    if (std::string bias = parameter(node, "intercepts", rows); !bias.empty())
      inputs.push_back(bias);
    result.push_back(nodeOf(node, "Gemm", inputs, output, {Attribute::makeInt("transB", 1)}));
    return true;
  }

  bool regressor(const Node &node, std::vector<Node> &result) {
    return node.attrString("post_transform", "NONE") == "NONE" && node.hasOutput(0) &&
           product(node, node.attrInt("targets", 1), node.output(0), result);
  }

  bool classifier(const Node &node, std::vector<Node> &result) {
    const std::string after = node.attrString("post_transform", "NONE");
    const std::vector<int64_t> labels = node.attrInts("classlabels_ints", {});
    const size_t classes = std::max(labels.size(), node.attrStrings("classlabels_strings").size());
    const std::string op = after == "SOFTMAX" ? "Softmax" : after == "LOGISTIC" ? "Sigmoid" : "";
    if (classes < 2 || (op.empty() && after != "NONE"))
      return false;
    const std::string scores =
        node.hasOutput(1) ? node.output(1) : freshName(node.output(0) + "/scores", used);
    const std::string logits = op.empty() ? scores : freshName(scores + "/logits", used);
    if (!product(node, static_cast<int64_t>(classes), logits, result))
      return false;
    if (!op.empty())
      result.push_back(
          nodeOf(node, op, {logits}, scores,
                 op == "Softmax" ? std::vector{Attribute::makeInt("axis", 1)} : std::vector<Attribute>()));
    if (!node.hasOutput(0))
      return true;
    if (labels.empty()) { // strings: an operator of its own, for what only the loss can do without
      Node choice = nodeOf(node, "LinearClassifier", {logits}, node.output(0));
      choice.domain = mlDomain;
      choice.opset = 1;
      result.push_back(std::move(choice));
      return true;
    }
    const std::string best = freshName(node.output(0) + "/index", used),
                      table = freshName(node.output(0) + "/labels", used);
    result.push_back(nodeOf(node, "ArgMax", {logits}, best,
                            {Attribute::makeInt("axis", 1), Attribute::makeInt("keepdims", 0)}));
    result.push_back(
        nodeOf(node, "Constant", {}, table,
               {Attribute::makeTensor(
                   "value", Tensor::makeInts(table, {static_cast<int64_t>(labels.size())}, labels))}));
    result.push_back(nodeOf(node, "Gather", {table, best}, node.output(0)));
    return true;
  }

  Model &model;
  std::set<std::string> used;
};

} // namespace

void lowerLinearModels(Model &model) { Lowering(model).run(); }

} // namespace kedge::model
