// Nodes in order: to their importers, or to the list of what is not supported.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Interfaces/OnnxDomainInterface.h"
#include "lib/Import/DomainNode.h"
#include "lib/Import/GraphNode.h"
#include "lib/Import/GraphPlaces.h"
#include "lib/Import/NodeConstants.h"
#include "lib/Model/Schema.h"
#include "lib/Model/Specialize.h"
#include "lib/Support/Error.h"
#include "lib/Support/TensorLimits.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

namespace {
/// Ops are built with inferred types; MLIR reports an error at the op and then ends the process. Turns that
/// into an exception with the reported text.
class InferenceErrors {
public:
  explicit InferenceErrors(MLIRContext &context)
      : diagnostics(&context, [this](Diagnostic &diagnostic) { keep(diagnostic); }),
        fatal(
            [](void *self, const char *reason, bool) { static_cast<InferenceErrors *>(self)->raise(reason); },
            this) {}
  struct Raised {
    std::string text;
  };

private:
  /// MLIR adds a remark, "location of op", and the node is named anyway.
  void keep(Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      text += (text.empty() ? "" : "; ") + diagnostic.str();
  }
  void raise(const char *reason) { throw Raised{text.empty() ? reason : text}; }
  std::string text;
  ScopedDiagnosticHandler diagnostics;
  llvm::ScopedFatalErrorHandler fatal;
};

void checkSizes(const model::Node &node, const ImportScope &target, GraphNode &context) {
  for (const std::string &name : node.outputs)
    if (const ImportedValue *value = name.empty() ? nullptr : target.find(name); value && value->tensor)
      if (auto type = dyn_cast<RankedTensorType>(value->tensor.getType()))
        if (std::string why = tooLarge(type.getShape()); !why.empty())
          context.fail("output '{}' cannot be computed: {}", name, why);
}

/// A tensor without elements depends on nothing: it is a constant, whatever made it.
void settleEmpty(const model::Node &node, ImportScope &target, OpBuilder &builder, Location loc) {
  for (const std::string &name : node.outputs) {
    auto found = name.empty() ? target.values.end() : target.values.find(name);
    if (found == target.values.end() || !found->second.tensor)
      continue;
    auto type = dyn_cast<RankedTensorType>(found->second.tensor.getType());
    if (type && type.getNumElements() == 0)
      found->second.tensor = emptyConstant(builder, loc, type);
  }
}

/// ONNX's type of a tensor's elements; Undefined for what no file has.
model::ElementType modelTypeOf(const ImportedValue &value) {
  using model::ElementType;
  auto shaped = value.tensor ? dyn_cast<RankedTensorType>(value.tensor.getType()) : RankedTensorType();
  if (value.narrow != ElementType::Undefined || !shaped)
    return value.narrow;
  const Type type = shaped.getElementType();
  if (isa<FloatType>(type))
    return type.isF32()    ? ElementType::Float
           : type.isF64()  ? ElementType::Double
           : type.isF16()  ? ElementType::Float16
           : type.isBF16() ? ElementType::BFloat16
                           : ElementType::Undefined;
  const bool isUnsigned = type.isUnsignedInteger();
  switch (isa<IntegerType>(type) ? type.getIntOrFloatBitWidth() : 0) {
  case 1:
    return ElementType::Bool;
  case 8:
    return isUnsigned ? ElementType::UInt8 : ElementType::Int8;
  case 16:
    return isUnsigned ? ElementType::UInt16 : ElementType::Int16;
  case 32:
    return isUnsigned ? ElementType::UInt32 : ElementType::Int32;
  case 64:
    return isUnsigned ? ElementType::UInt64 : ElementType::Int64;
  default:
    return ElementType::Undefined;
  }
}

/// Narrow operands are codes: only operators that read or move them take them.
void checkNarrow(GraphNode &context) {
  if (NodeImporters::narrowOperands(context.node.opType) != NodeImporters::Narrow::Refused)
    return;
  for (size_t k = 0; k < context.operandCount(); ++k)
    if (model::ElementType type = context.narrowType(k); type != model::ElementType::Undefined)
      context.unsupported(fmt::format("element type {} is not supported", model::dtypeName(type)));
}

/// What moves codes leaves them of their type.
void keepNarrow(GraphNode &context, ImportScope &target) {
  model::ElementType type = context.operandCount() ? context.narrowType(0) : model::ElementType::Undefined;
  if (type == model::ElementType::Undefined ||
      NodeImporters::narrowOperands(context.node.opType) != NodeImporters::Narrow::Moved)
    return;
  for (const std::string &name : context.node.outputs)
    if (auto value = target.values.find(name); value != target.values.end() && value->second.tensor)
      value->second.narrow = type;
}

bool isUnknown(const ImportedValue &value) {
  auto unknown = [](Value v) { return v && isa<NoneType>(v.getType()); };
  return value.sequence ? llvm::any_of(*value.sequence, unknown) : unknown(value.tensor);
}
} // namespace

Value GraphImporter::unsupportedValue(Location loc, StringRef what) {
  auto op =
      onnx::UnsupportedOp::create(builder, loc, TypeRange{builder.getNoneType()}, ValueRange{}, what, "", 0);
  return op.getResult(0);
}

void GraphImporter::report(std::string place, const std::string &why) { add(reports, std::move(place), why); }

void GraphImporter::remark(std::string place, const std::string &what) {
  add(remarks, std::move(place), what);
}

void GraphImporter::add(std::vector<Report> &to, std::string place, const std::string &why) {
  auto known = llvm::find_if(to, [&](const Report &report) { return report.why == why; });
  if (known == to.end())
    known = to.insert(to.end(), Report{why, {}});
  known->places.push_back(std::move(place));
}

std::vector<std::string> GraphImporter::unsupported() const { return messagesOf(reports); }

std::vector<std::string> GraphImporter::messagesOf(const std::vector<Report> &reports) {
  std::vector<std::string> messages;
  constexpr size_t shown = 3;
  for (const Report &report : reports) {
    size_t more = report.places.size() > shown ? report.places.size() - shown : 0;
    messages.push_back(fmt::format("{}: {}{}", report.why,
                                   fmt::join(report.places.begin(), report.places.end() - more, ", "),
                                   more ? fmt::format(" and {} more", more) : ""));
  }
  return messages;
}

void GraphImporter::markUnsupported(const model::Node &node, ImportScope &target, Location loc) {
  SmallVector<Value> operands;
  for (const std::string &input : node.inputs)
    if (const ImportedValue *value = input.empty() ? nullptr : target.find(input); value && value->tensor)
      operands.push_back(value->tensor);
  SmallVector<Type> types(node.outputs.size(), builder.getNoneType());
  auto op = onnx::UnsupportedOp::create(builder, loc, types, operands, node.opType, node.domain, node.opset);
  for (auto [name, value] : llvm::zip(node.outputs, op.getResults()))
    if (!name.empty())
      target.values[name] = {value};
}

void GraphImporter::importNodes(const model::Graph &graph, ImportScope &target) {
  for (const model::Node &node : graph.nodes)
    importNode(node, target);
}

void GraphImporter::importNode(const model::Node &node, ImportScope &target) {
  Location loc = nodeLocation(context, node);
  PlaceScope scope(places, nodePlace(context, node));
  NodeImporter importer = NodeImporters::get().find(node.domain, node.opType);
  if (!importer && opOfDomain(context, node.domain, node.opType))
    importer = importDomainNode;
  bool unknownOperand = llvm::any_of(node.inputs, [&](const std::string &name) {
    const ImportedValue *value = name.empty() ? nullptr : target.find(name);
    return value && isUnknown(*value);
  });
  if (!importer) {
    const std::string &why = node.meta(model::whyKey);
    report(describePlace(node), fmt::format("operator {} (opset {}) is not supported{}{}", node.opType,
                                            node.opset, why.empty() ? "" : ": ", why));
  }
  if (!importer || unknownOperand)
    return markUnsupported(node, target, loc);
  importKnownNode(node, importer, target, loc);
}

void GraphImporter::importKnownNode(const model::Node &node, NodeImporter importer, ImportScope &target,
                                    Location loc) {
  GraphNode context(*this, target, node, loc);
  if (node.place != 0) // a node of the file: those of the compiler may move codes that ONNX's cannot
    model::checkTypes(source, node, [&](size_t k) { return modelTypeOf(context.imported(k)); });
  try {
    InferenceErrors errors(this->context);
    checkNarrow(context);
    importer(context);
    keepNarrow(context, target);
    checkSizes(node, target, context);
    settleEmpty(node, target, builder, loc);
  } catch (const UnsupportedNode &unsupported) {
    report(describePlace(node), node.opType + ": " + unsupported.why);
    markUnsupported(node, target, loc);
  } catch (const InferenceErrors::Raised &raised) {
    context.fail("{}", raised.text);
  }
}
