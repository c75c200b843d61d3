#include "lib/Import/DomainNode.h"
#include "kedge/Interfaces/OnnxDomainInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;

namespace kedge::importer {
namespace {

Attribute attributeOf(NodeContext &context, const model::Attribute &given) {
  Builder &builder = context.builder;
  const model::Node &node = context.node;
  switch (given.kind) {
  case model::Attribute::Kind::Float:
    return builder.getF32FloatAttr(node.attrFloat(given.name, 0));
  case model::Attribute::Kind::Int:
    return builder.getI64IntegerAttr(node.attrInt(given.name));
  case model::Attribute::Kind::String:
    return builder.getStringAttr(node.attrString(given.name));
  case model::Attribute::Kind::Floats:
    return builder.getDenseF32ArrayAttr(node.attrFloats(given.name));
  case model::Attribute::Kind::Ints:
    return builder.getDenseI64ArrayAttr(node.attrInts(given.name));
  default:
    context.unsupported(fmt::format("attribute '{}' is no number, text or list of numbers", given.name));
  }
}

} // namespace

void importDomainNode(NodeContext &context) {
  const model::Node &node = context.node;
  MLIRContext *mlir = context.builder.getContext();
  const RegisteredOperationName name = *opOfDomain(*mlir, node.domain, node.opType);
  OperationState state(context.loc, name);
  for (size_t k = 0; k < context.operandCount(); ++k)
    state.operands.push_back(context.require(k));
  for (const model::Attribute &given : node.attributes)
    state.addAttribute(given.name, attributeOf(context, given));
  auto *infers = name.getInterface<InferTypeOpInterface>();
  if (!infers)
    context.fail(
        "op {} does not infer its result types (InferTypeOpInterface), so no node can be imported as it",
        name.getStringRef().str());
  if (failed(infers->inferReturnTypes(mlir, context.loc, state.operands, state.attributes.getDictionary(mlir),
                                      state.getRawProperties(), {}, state.types)))
    context.fail("op {} infers no types for these inputs and attributes", name.getStringRef().str());
  context.setResults(context.builder.create(state)->getResults());
}

} // namespace kedge::importer
