#include "lib/Lint/Roles/RecurrentBias.h"
#include "lib/Lint/Repair/Repair.h"
#include "lib/Support/Error.h"
#include <algorithm>

namespace kedge::lint {
using model::Node;
using model::Tensor;

namespace {
constexpr size_t biasOperand = 3;

bool hasOneBias(const Node &node) {
  return node.is("LSTM") || node.is("RNN") ||
         (node.is("GRU") && !node.attrBool("linear_before_reset", false));
}

/// [directions, 2 x gates x hidden]: of each direction the second half.
bool isSecondHalfZero(const Tensor &bias) {
  if (bias.dims.size() != 2 || bias.dims[1] % 2 != 0 || !model::isFloat(bias.dtype))
    return false;
  try {
    const std::vector<double> all = bias.floats();
    const auto half = static_cast<size_t>(bias.dims[1] / 2);
    for (size_t k = 0; k < all.size(); ++k)
      if (k % (2 * half) >= half && all[k] != 0)
        return false;
    return true;
  } catch (const Error &) {
    return false; // external data that is not there
  }
}

Node maskNode(const Tensor &bias, const std::string &name) {
  std::vector<float> ones(static_cast<size_t>(bias.numElements()));
  const auto length = static_cast<size_t>(bias.dims[1]);
  for (size_t k = 0; k < ones.size(); ++k)
    ones[k] = k % length < length / 2 ? 1.0F : 0.0F;
  Node node;
  node.opType = "Constant";
  node.name = "kedge/Constant/" + name;
  node.outputs = {name};
  node.set(model::Attribute::makeTensor("value", Tensor::makeFloats("", bias.dims, ones)));
  return node;
}
} // namespace

std::set<std::string> heldHalves(const model::Model &model) {
  std::set<std::string> held, others;
  if (!model.producer.starts_with("tf2onnx"))
    return held;
  for (const Node &node : model.graph.nodes)
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const Tensor *tensor =
          k == biasOperand && hasOneBias(node) ? model.graph.findInitializer(node.inputs[k]) : nullptr;
      if (tensor && tensor->dtype == model::ElementType::Float && isSecondHalfZero(*tensor))
        held.insert(tensor->name);
      else
        others.insert(node.inputs[k]);
    }
  std::erase_if(held, [&](const std::string &name) { return others.count(name) != 0; });
  return held;
}

void holdHalves(model::Graph &graph, const std::set<std::string> &tensors) {
  GraphEditor edit(graph);
  for (const std::string &name : tensors) {
    const Tensor *bias = graph.findInitializer(name);
    if (!bias)
      continue;
    const std::string mask = edit.fresh(name + "/half"), product = edit.fresh(name + "/held");
    const Node *reader = nullptr;
    for (Node &node : graph.nodes)
      if (node.hasInput(biasOperand) && node.inputs[biasOperand] == name) {
        node.inputs[biasOperand] = product;
        reader = &node;
      }
    if (!reader)
      continue;
    edit.addFront(maskNode(*bias, mask), *reader);
    Node node;
    node.opType = "Mul";
    node.name = "kedge/Mul/" + product;
    node.inputs = {name, mask};
    node.outputs = {product};
    edit.addFront(std::move(node), *reader);
  }
  edit.finish();
}

} // namespace kedge::lint
