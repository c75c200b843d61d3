// The registry of node importers, and what every node's context can do.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "lib/Import/NodeConstants.h"
#include "lib/Import/NodeImporter.h"
#include "lib/Import/Training.h"
#include "lib/Support/Error.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

static std::string key(StringRef domain, StringRef opType) { return (domain + "::" + opType).str(); }

void NodeImporters::add(StringRef opType, NodeImporter importer, StringRef domain) {
  importers[key(domain, opType)] = importer;
}

NodeImporter NodeImporters::find(StringRef domain, StringRef opType) const {
  return importers.lookup(key(domain, opType));
}

SmallVector<std::string> NodeImporters::names() const {
  SmallVector<std::string> result;
  for (StringRef name : importers.keys())
    result.push_back(name.starts_with("::") ? name.drop_front(2).str() : name.str());
  llvm::sort(result);
  return result;
}

NodeImporters::Narrow NodeImporters::narrowOperands(StringRef opType) {
  static const StringRef read[] = {"BitCast",        "Cast",  "CastLike", "DequantizeLinear",
                                   "QuantizeLinear", "Shape", "Size"};
  static const StringRef moved[] = {"Concat",    "Expand",   "Flatten",  "Gather",  "Identity",
                                    "If",        "Loop",     "Optional", "Reshape", "Scan",
                                    "Slice",     "Split",    "Squeeze",  "Tile",    "OptionalGetElement",
                                    "Transpose", "Unsqueeze"};
  return llvm::is_contained(read, opType)    ? Narrow::Read
         : llvm::is_contained(moved, opType) ? Narrow::Moved
                                             : Narrow::Refused;
}

const NodeImporters &NodeImporters::get() {
  static const NodeImporters all = [] {
    NodeImporters registry;
    registerMathImporters(registry);
    registerReductionImporters(registry);
    registerCoreImporters(registry);
    registerSequenceImporters(registry);
    registerMovementImporters(registry);
    registerNeuralNetworkImporters(registry);
    registerCompositeImporters(registry);
    registerNarrowImporters(registry);
    registerRandomImporters(registry);
    registerSignalImporters(registry);
    registerStateImporters(registry);
    registerRegionImporters(registry);
    registerTrainingImporters(registry);
    return registry;
  }();
  return all;
}

Value NodeContext::require(size_t k) {
  if (Value value = operand(k))
    return value;
  fail("input {} is missing", k);
}

SmallVector<Value> NodeContext::operands() {
  SmallVector<Value> result;
  for (size_t k = 0; k < operandCount(); ++k)
    result.push_back(operand(k));
  return result;
}

std::optional<SmallVector<int64_t>> NodeContext::maybeConstantInts(size_t k) {
  return has(k) ? maybeConstantInts(operand(k)) : std::nullopt;
}

void NodeContext::setResults(ValueRange values) {
  for (auto [k, value] : llvm::enumerate(values))
    setResult(k, value);
}

Type NodeContext::elementType(model::ElementType type) {
  if (Type element = kedge::importer::elementType(*builder.getContext(), type))
    return element;
  unsupported(fmt::format("element type {} is not supported", model::dtypeName(type)));
}

Value NodeContext::constantTensor(const model::Tensor &tensor) {
  auto type = RankedTensorType::get(tensor.dims, elementType(tensor.dtype));
  return onnx::ConstantOp::create(builder, loc, denseAttribute(type, tensor));
}

Value NodeContext::constantInts1d(ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({(int64_t)values.size()}, builder.getI64Type());
  return onnx::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, values));
}

void NodeContext::unsupported(const std::string &why) { throw UnsupportedNode{why}; }
