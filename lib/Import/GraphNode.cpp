#include "lib/Import/GraphNode.h"
#include "lib/Import/GraphPlaces.h"
#include "lib/Import/NodeConstants.h"
#include "lib/Support/Error.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

void GraphNode::failWith(const std::string &message) {
  throw Error(fmt::format("{}: {}: {}", importer.source.path, describePlace(node), message));
}

const ImportedValue &GraphNode::named(const std::string &name) {
  if (const ImportedValue *value = scope.find(name))
    return *value;
  fail("input '{}' is made by no node, initializer or graph input", name);
}

Value GraphNode::operand(size_t k) {
  if (!has(k))
    return {};
  const ImportedValue &value = named(node.input(k));
  if (value.sequence)
    fail("input {} ('{}') is a sequence, expected a tensor", k, node.input(k));
  return value.tensor;
}

SmallVector<Value> GraphNode::sequence(size_t k) {
  if (!has(k))
    fail("input {} is missing, expected a sequence", k);
  const ImportedValue &value = named(node.input(k));
  if (!value.sequence)
    fail("input {} ('{}') is a tensor, expected a sequence", k, node.input(k));
  return *value.sequence;
}

const interpret::HostTensor &GraphNode::evaluate(size_t k, StringRef what) {
  Value value = operand(k);
  if (const interpret::HostTensor *tensor = importer.evaluator->evaluate(value))
    return *tensor;
  // A float initializer in such a place (scales, a ratio) is no parameter, whatever its role.
  const model::Tensor *tensor =
      isa<BlockArgument>(value) ? importer.source.graph.findInitializer(node.input(k)) : nullptr;
  if (tensor && tensor->numElements() <= 1024) {
    auto attribute = denseAttribute(cast<RankedTensorType>(value.getType()), *tensor);
    importer.evaluator->bind(value, interpret::HostTensor::fromAttribute(attribute));
    return *importer.evaluator->evaluate(value);
  }
  if (importer.bindMasks(value))
    if (const interpret::HostTensor *known = importer.evaluator->evaluate(value))
      return *known;
  unsupported(
      fmt::format("{} ('{}') must be known at compile time, but depends on data", what.str(), node.input(k)));
}

static SmallVector<int64_t> integersOf(const interpret::HostTensor &tensor) {
  SmallVector<int64_t> result;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    result.push_back(tensor.intAt(i));
  return result;
}

std::optional<SmallVector<int64_t>> GraphNode::constantInts(size_t k, StringRef what) {
  if (!has(k))
    return std::nullopt;
  const interpret::HostTensor &tensor = evaluate(k, what);
  if (!tensor.type.getElementType().isInteger())
    fail("{} ('{}') should be integers, found {}", what.str(), node.input(k),
         tensor.type.getElementType().isF32() ? "float32" : "floats");
  return integersOf(tensor);
}

std::optional<SmallVector<double>> GraphNode::constantFloats(size_t k, StringRef what) {
  if (!has(k))
    return std::nullopt;
  const interpret::HostTensor &tensor = evaluate(k, what);
  SmallVector<double> result;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    result.push_back(tensor.floatAt(i));
  return result;
}

std::optional<SmallVector<int64_t>> GraphNode::maybeConstantInts(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.getElementType().isInteger())
    return std::nullopt;
  const interpret::HostTensor *tensor = importer.evaluator->evaluate(value);
  return tensor ? std::optional(integersOf(*tensor)) : std::nullopt;
}

bool GraphNode::isZero(size_t k) {
  if (!has(k))
    return false;
  const Value value = operand(k);
  if (const interpret::HostTensor *tensor = importer.evaluator->evaluate(value))
    return llvm::all_of(llvm::seq<int64_t>(tensor->elements()),
                        [&](int64_t at) { return tensor->floatAt(at) == 0; });
  const model::Tensor *tensor = importer.source.graph.findInitializer(node.input(k));
  const auto role = importer.options.roles.find(node.input(k));
  if (!tensor || (role != importer.options.roles.end() && role->second != train::Role::Constant))
    return false;
  return llvm::all_of(tensor->floats(), [](double value) { return value == 0; });
}

llvm::StringRef GraphNode::producer() const { return importer.source.producer; }

void GraphNode::remark(const std::string &what) { importer.remark(describePlace(node), what); }

Value GraphNode::constantTensor(const model::Tensor &tensor) {
  if (!model::isNarrow(tensor.dtype))
    elementType(tensor.dtype); // not supported: says so with the node's place
  return importer.importConstant(tensor, loc);
}

void GraphNode::setResult(size_t k, ImportedValue value) {
  if (node.hasOutput(k))
    scope.values[node.output(k)] = std::move(value);
}

SmallVector<ImportedValue> GraphNode::importSubgraph(const model::Graph &graph,
                                                     ArrayRef<ImportedValue> inputs) {
  if (graph.inputs.size() != inputs.size())
    fail("subgraph '{}' takes {} inputs, expected {}", graph.name, graph.inputs.size(), inputs.size());
  ImportScope inner;
  inner.outer = &scope;
  for (auto [declared, value] : llvm::zip(graph.inputs, inputs))
    inner.values[declared.name] = value;
  importer.importInitializers(graph, inner);
  importer.importNodes(graph, inner);
  SmallVector<ImportedValue> outputs;
  for (const model::ValueInfo &output : graph.outputs) {
    const ImportedValue *value = inner.find(output.name);
    if (!value)
      fail("output '{}' of subgraph '{}' is made by no node", output.name, graph.name);
    outputs.push_back(*value);
  }
  return outputs;
}
