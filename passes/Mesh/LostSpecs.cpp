#include "passes/Mesh/LostSpecs.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace kedge::mesh {
namespace {

class LostSpecs {
public:
  LostSpecs(func::FuncOp function, const Annotations &annotations)
      : function(function), annotations(annotations) {
    for (BlockArgument argument : function.getArguments())
      if (auto state = train::stateOfArgument(function, argument.getArgNumber()))
        states.insert(annotations.nameOf(argument));
    for (auto &[op, nodes] : annotations.allNodes()) {
      noteAll(op, nodes);
      noteAll(op, annotations.nodesWithin(op));
      for (dist::AnnotationAttr node : annotations.nodesWithin(op))
        partOf.try_emplace(node, op);
    }
    for (dist::AnnotationAttr node : annotations.inOrderOfFile())
      for (StringAttr output : node.getOutputs())
        producers.try_emplace(output, node);
  }

  void report() {
    for (dist::AnnotationAttr node : annotations.inOrderOfFile())
      for (dist::SpecAttr spec : node.getSpecs())
        if (!isFollowed(node, spec))
          report(node, spec.getTensor());
  }

private:
  func::FuncOp function;
  const Annotations &annotations;
  llvm::DenseSet<StringAttr> states;
  llvm::DenseMap<StringAttr, dist::SpecAttr> first; ///< of states
  llvm::DenseSet<std::pair<Attribute, StringAttr>> asked;
  llvm::DenseMap<Attribute, Operation *> partOf;
  llvm::DenseMap<StringAttr, dist::AnnotationAttr> producers;

  SmallVector<StringAttr> operandsOf(Operation *op) const {
    SmallVector<StringAttr> names;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      names.push_back(annotations.nameOfOperand(op, i));
    return names;
  }

  /// An op asks its nodes for layouts of what it reads and makes.
  void noteAll(Operation *op, ArrayRef<dist::AnnotationAttr> nodes) {
    SmallVector<StringAttr> tensors = operandsOf(op);
    for (Value result : op->getResults())
      tensors.push_back(annotations.nameOf(result));
    for (dist::AnnotationAttr node : nodes)
      for (StringAttr tensor : tensors)
        if (tensor)
          asked.insert({node, tensor});
  }

  bool isFollowed(dist::AnnotationAttr node, dist::SpecAttr spec) {
    const StringAttr tensor = spec.getTensor();
    if (states.contains(tensor) && first.try_emplace(tensor, spec).first->second == spec)
      return true;
    return asked.contains({node, tensor}) || llvm::any_of(node.getSpecs(), [&](dist::SpecAttr other) {
             return other != spec && isTransposed(tensor, other.getTensor());
           });
  }

  /// Whether a tensor is but another view of a state, to which import has moved the spec.
  bool isTransposed(StringAttr tensor, StringAttr state) {
    while (states.contains(state)) {
      dist::AnnotationAttr producer = producers.lookup(tensor);
      if (!producer || producer.getInputs().size() != 1)
        return false;
      tensor = producer.getInputs().front();
      if (tensor == state)
        return true;
    }
    return false;
  }

  static std::string listOf(ArrayRef<StringAttr> names) {
    std::string text;
    for (StringAttr name : names)
      if (name && !name.empty())
        text += (text.empty() ? "'" : ", '") + name.str() + "'";
    return text;
  }

  void report(dist::AnnotationAttr node, StringAttr tensor) {
    auto place = cast<PlaceAttr>(node.getPlace());
    Location location = NameLoc::get(StringAttr::get(function.getContext(), place.getNode()));
    auto warning = emitWarning(location)
                   << "has a sharding spec of '" << tensor.getValue() << "' that nothing follows: ";
    Operation *op = partOf.lookup(node);
    if (!op && annotationsHave(node))
      warning << "the op of the step does not read it; leave it out";
    else if (!op)
      warning << "no op of a step computes the node; leave it out";
    else
      warning << "the node is a part of " << op->getName().getStringRef() << " at node '"
              << placeOf(op).getNode() << "', which is cut as a whole; give it layouts of "
              << listOf(operandsOf(op)) << " or of '" << annotations.nameOf(op->getResult(0)).getValue()
              << "'";
  }

  bool annotationsHave(dist::AnnotationAttr node) const {
    return llvm::any_of(annotations.allNodes(),
                        [&](const auto &entry) { return llvm::is_contained(entry.second, node); });
  }
};

} // namespace

void reportLostSpecs(func::FuncOp function, const Annotations &annotations) {
  LostSpecs(function, annotations).report();
}

} // namespace kedge::mesh
