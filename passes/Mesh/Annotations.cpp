#include "passes/Mesh/Annotations.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "lib/Support/Divisors.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Mesh/Demand.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace kedge::mesh {
namespace {

/// "0, 2": the dims along which the op can be computed in parts.
std::string dimsWithLoop(ArrayRef<int> dims) {
  std::string text;
  for (auto [i, loop] : llvm::enumerate(dims))
    if (loop != ShardingRule::kWhole)
      text += (text.empty() ? "" : ", ") + std::to_string(i);
  return text.empty() ? "none" : text;
}

} // namespace

bool isForward(Operation *op) {
  PlaceAttr place = placeOf(op);
  return place && place.getPhase() == TrainingPhase::Forward;
}

StringAttr fileNameOf(train::StateOp state) {
  if (state.getOnnxNameAttr())
    return state.getOnnxNameAttr();
  if (state.getRole() == train::Role::WorkingCopy && state.getOfAttr())
    if (auto parameter = SymbolTable::lookupNearestSymbolFrom<train::StateOp>(state, state.getOfAttr()))
      return fileNameOf(parameter);
  return state.getSymNameAttr();
}

Annotations::Annotations(ModuleOp module) {
  auto all = module->getAttrOfType<ArrayAttr>(dist::annotationsName);
  for (Attribute entry : all ? all.getValue() : ArrayRef<Attribute>()) {
    list.push_back(cast<dist::AnnotationAttr>(entry));
    hasSpecs = hasSpecs || !list.back().getSpecs().empty();
    byPlace.try_emplace(cast<PlaceAttr>(list.back().getPlace()), list.back());
  }
}

std::optional<Layout> Annotations::ofState(train::StateOp state) const {
  const bool isRead = llvm::is_contained({train::Role::Parameter, train::Role::Frozen, train::Role::Buffer,
                                          train::Role::Constant, train::Role::WorkingCopy},
                                         state.getRole());
  if (!isRead)
    return std::nullopt;
  const StringAttr name = fileNameOf(state);
  for (dist::AnnotationAttr node : list)
    for (dist::SpecAttr spec : node.getSpecs())
      if (spec.getTensor() == name)
        return layoutOf(spec.getCut(), state.getType());
  return std::nullopt;
}

void Annotations::nameArguments(func::FuncOp function) {
  const SymbolTable states(function->getParentOfType<ModuleOp>());
  for (BlockArgument argument : function.getArguments())
    if (auto state = train::stateOfArgument(function, argument.getArgNumber()))
      names[argument] = fileNameOf(states.lookup<train::StateOp>(state.getAttr()));
    else if (auto input =
                 train::bindingOfArgument(function, argument.getArgNumber(), train::BindingKind::Input))
      names[argument] = StringAttr::get(function.getContext(), input.getName());
}

/// A node that only adds states to what another one makes may be a part of that one's op: so is a bias, and
/// what but gives a tensor another name.
void Annotations::nameResults(const llvm::MapVector<PlaceAttr, Operation *> &last) {
  llvm::DenseMap<StringAttr, Operation *> producers;
  for (auto [place, op] : last) {
    dist::AnnotationAttr node = byPlace.lookup(place);
    nodes[op].push_back(node);
    if (!node.getOutputs().empty() && !node.getOutputs()[0].empty())
      producers[node.getOutputs()[0]] = op;
  }
  for (dist::AnnotationAttr node : list) {
    if (last.contains(cast<PlaceAttr>(node.getPlace())) || node.getOutputs().size() != 1)
      continue;
    for (StringAttr input : node.getInputs())
      if (Operation *op = producers.lookup(input);
          op && (node.getInputs().size() > 1 || input == node.getOutputs()[0]) &&
          llvm::all_of(node.getInputs(), [&](StringAttr other) {
            return other == input ||
                   llvm::any_of(op->getOperands(), [&](Value v) { return names.lookup(v) == other; });
          })) {
        nodes[op].push_back(node);
        producers[node.getOutputs()[0]] = op;
        break;
      }
  }
  for (auto &[op, own] : nodes)
    for (auto [result, name] : llvm::zip(op->getResults(), own.back().getOutputs()))
      if (!name.empty())
        names[result] = name;
}

void Annotations::findNodesWithin(const llvm::MapVector<PlaceAttr, Operation *> &last) {
  llvm::DenseMap<StringAttr, dist::AnnotationAttr> producers;
  llvm::DenseSet<Attribute> haveOps;
  for (dist::AnnotationAttr node : list)
    for (StringAttr output : node.getOutputs())
      if (!output.empty())
        producers.try_emplace(output, node);
  for (auto &[op, own] : nodes)
    haveOps.insert(own.begin(), own.end());
  for (auto [place, op] : last) {
    llvm::DenseSet<Attribute> seen;
    for (Value operand : op->getOperands())
      if (StringAttr name = names.lookup(operand))
        seen.insert(name);
    SmallVector<StringAttr> open(nodes[op].front().getInputs());
    while (!open.empty()) {
      dist::AnnotationAttr node =
          seen.insert(open.back()).second ? producers.lookup(open.back()) : dist::AnnotationAttr();
      open.pop_back();
      if (!node || haveOps.contains(node) || !seen.insert(node).second)
        continue;
      within[op].push_back(node);
      open.append(node.getInputs().begin(), node.getInputs().end());
    }
  }
}

void Annotations::enter(func::FuncOp function) {
  names.clear();
  nodes.clear();
  within.clear();
  nameArguments(function);
  llvm::MapVector<PlaceAttr, Operation *> last;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (!isForward(&op))
      continue;
    if (isa<onnx::CastOp>(op)) // of precision
      names[op.getResult(0)] = names.lookup(op.getOperand(0));
    else if (byPlace.contains(placeOf(&op)))
      last[placeOf(&op)] = &op;
  }
  nameResults(last);
  for (Operation &op : function.getBody().front().without_terminator())
    if (isForward(&op) && isa<onnx::CastOp>(op) && names.lookup(op.getOperand(0)))
      names[op.getResult(0)] = names.lookup(op.getOperand(0));
  if (hasSpecs)
    findNodesWithin(last);
}

/// What the op's own node says counts most.
std::optional<Layout> Annotations::specOf(Operation *op, StringAttr tensor, Value value) const {
  SmallVector<dist::AnnotationAttr> speaking(llvm::reverse(nodes.lookup(op)));
  speaking.append(within.lookup(op));
  for (dist::AnnotationAttr node : speaking)
    for (dist::SpecAttr spec : node.getSpecs())
      if (tensor && spec.getTensor() == tensor)
        return layoutOf(spec.getCut(), value.getType());
  return std::nullopt;
}

/// An op of one node that is what the node was: operands are in the order of inputs.
StringAttr Annotations::nameOfOperand(Operation *op, unsigned operand) const {
  if (StringAttr name = names.lookup(op->getOperand(operand)))
    return name;
  const SmallVector<dist::AnnotationAttr> own = nodes.lookup(op);
  const ArrayRef<StringAttr> inputs = own.empty() ? ArrayRef<StringAttr>() : own.front().getInputs();
  return inputs.size() == op->getNumOperands() ? inputs[operand] : StringAttr();
}

std::optional<Layout> Annotations::specOfOperand(Operation *op, unsigned operand) const {
  return specOf(op, nameOfOperand(op, operand), op->getOperand(operand));
}

std::optional<Layout> Annotations::specOfResult(Operation *op, unsigned result) const {
  for (dist::AnnotationAttr node : llvm::reverse(nodes.lookup(op)))
    if (result < node.getOutputs().size())
      if (std::optional<Layout> found = specOf(op, node.getOutputs()[result], op->getResult(result)))
        return found;
  return std::nullopt;
}

/// The loop that a cut operand runs along.
LogicalResult Annotations::cutAlong(Operation *op, const ShardingRule &rule, int64_t ranks, unsigned operand,
                                    const Layout &layout, CutLoop &cut) const {
  StringAttr tensor = names.lookup(op->getOperand(operand));
  const std::string name = tensor ? tensor.str() : "operand " + std::to_string(operand);
  const int loop = rule.loops.empty() ? ShardingRule::kWhole : rule.operands[operand][layout.dim];
  if (loop == ShardingRule::kWhole)
    return op->emitOpError("has a sharding spec that cuts '")
           << name << "' along axis " << layout.dim
           << ", but has no rule to compute it in parts along it; axes that it has: "
           << (rule.loops.empty() ? std::string("none") : dimsWithLoop(rule.operands[operand]))
           << "; leave the spec out: the tensor is gathered for this node";
  std::optional<CutLoop> under(std::in_place, loop, ShardBlocks());
  if (rule.loops[loop].sections.empty())
    under = cutUnder(rule, loop, layout, op->getOperand(operand).getType(), ranks);
  else if (layout.isPadded() || !rule.loops[loop].isDivisible(ranks))
    under = cutInSections(
        op, rule, loop, [&](Value value) { return value == op->getOperand(operand) ? layout : Layout(); },
        ranks);
  if (!under)
    return op->emitOpError("has a sharding spec that cuts '")
           << name << "' along axis " << layout.dim << " over " << ranks << " ranks, but has "
           << rule.loops[loop].units
           << " units there that stay whole (such as heads), and the parts end within them; numbers of ranks "
              "that divide them are "
           << divisorsText(rule.loops[loop].units);
  if (cut.isCut() && cut.loop != loop)
    return op->emitOpError("has sharding specs that contradict each other: '")
           << name << "' is cut along axis " << layout.dim
           << ", another one of its tensors along something else; the op is "
           << "computed in parts along one of both";
  const bool isNew = !cut.isCut();
  if (isNew || !under->sections.empty() || under->isPadded())
    cut = *under;
  return success();
}

FailureOr<Wish> Annotations::wishFor(Operation *op, const ShardingRule &rule, int64_t ranks,
                                     llvm::function_ref<Layout(Value)> layoutOf) const {
  Wish wish;
  CutLoop cut;
  bool allWhole = true, anyCut = false; // as far as the file says; as far as it does not
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    const std::optional<Layout> spec = specOfOperand(op, i);
    allWhole = allWhole && spec && !spec->isCut();
    anyCut = anyCut || (!spec && layoutOf(op->getOperand(i)).isCut());
    if (spec && spec->isCut() && failed(cutAlong(op, rule, ranks, i, *spec, cut)))
      return failure();
  }
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    wish.results.push_back(specOfResult(op, i));
  if (cut.isCut() || allWhole)
    wish.loop = cut;
  const std::optional<Layout> first = wish.results.empty() ? std::nullopt : wish.results[0];
  if (!cut.isCut() && !anyCut && first && first->isCut() && !rule.loops.empty()) {
    const int loop = rule.results[0][first->dim];
    if (loop != ShardingRule::kWhole && rule.loops[loop].sections.empty())
      wish.loop = cutUnder(rule, loop, *first, op->getResult(0).getType(), ranks);
    else if (loop != ShardingRule::kWhole && rule.loops[loop].isDivisible(ranks))
      wish.loop = CutLoop(loop, {});
  }
  return wish;
}

} // namespace kedge::mesh
