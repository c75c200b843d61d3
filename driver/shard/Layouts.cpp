#include "driver/shard/Layouts.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "lib/Support/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Mesh/Annotations.h"
#include <fmt/ranges.h>
#include <numeric>
#include <set>

using namespace mlir;

namespace kedge::driver {
namespace {

struct Tensor {
  Layout layout;
  RankedTensorType type;
};

/// Layouts by node and tensor.
class LayoutReader {
public:
  LayoutReader(ModuleOp module, const model::Model &model, const std::string &name)
      : module(module), model(model), annotations(module) {
    auto mesh = module->getAttrOfType<dist::MeshAttr>(dist::meshName);
    ranks = std::max<int64_t>(1, mesh ? mesh.sizeOf(dist::tensorAxis) : 1);
    stages = std::max<int64_t>(1, mesh ? mesh.sizeOf(dist::pipelineAxis) : 1);
    found.configuration = {name, ranks * stages, {}};
  }

  ChosenLayouts run() {
    using train::FunctionKind;
    func::FuncOp function = train::functionOf(module, FunctionKind::Step);
    if (!function)
      function = train::functionOf(module, FunctionKind::Micro);
    annotations.enter(function);
    readStates();
    for (Operation &op : function.getBody().front().without_terminator())
      if (mesh::isForward(&op))
        read(&op);
    const std::set<uint64_t> own = placesInFile();
    auto list = module->getAttrOfType<ArrayAttr>(dist::annotationsName);
    for (auto [node, names] : llvm::zip(model.graph.nodes, list.getAsRange<dist::AnnotationAttr>()))
      if (own.contains(node.place))
        annotate(node, names);
    return std::move(found);
  }

private:
  ModuleOp module;
  const model::Model &model;
  mesh::Annotations annotations;
  int64_t ranks, stages;
  ChosenLayouts found;
  DenseMap<StringAttr, Tensor> values, states;                          ///< as they are made
  DenseMap<std::pair<Attribute, StringAttr>, Tensor> operands, results; ///< as a node takes and leaves them
  DenseMap<Attribute, int64_t> stageOf;

  static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

  void readStates() {
    for (auto state : module.getOps<train::StateOp>())
      if (auto cut = state->getAttrOfType<dist::CutAttr>(dist::cutName); cut && state.getOnnxNameAttr())
        states[state.getOnnxNameAttr()] = {mesh::layoutOf(cut, state.getType()),
                                           cast<RankedTensorType>(state.getType())};
  }

  void read(Operation *op) {
    const SmallVector<dist::AnnotationAttr> nodes = annotations.nodesOf(op);
    if (auto stage = op->getAttrOfType<IntegerAttr>(dist::pipelineStageName); stage && kedge::placeOf(op))
      stageOf.try_emplace(kedge::placeOf(op), stage.getInt());
    if (nodes.empty())
      return;
    const ShardingRule rule = mesh::ruleOf(op, ranks);
    const CutLoop cut = mesh::cutLoopOf(op, rule);
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      const Tensor taken = {layoutOfOperand(op, rule, cut, i, ranks), typeOf(operand)};
      const ArrayRef<StringAttr> inputs = nodes.front().getInputs();
      StringAttr name = annotations.nameOf(operand);
      if (!name && inputs.size() == op->getNumOperands())
        name = inputs[i];
      for (dist::AnnotationAttr node : nodes)
        if (name && llvm::is_contained(node.getInputs(), name))
          operands[{node.getPlace(), name}] = taken;
    }
    for (auto [i, result] : llvm::enumerate(op->getResults()))
      if (StringAttr name = annotations.nameOf(result)) {
        Tensor made = {layoutOfResult(op, rule, cut, i, ranks), typeOf(result)};
        if (auto scatter = op->getAttrOfType<dist::CutAttr>(dist::scatterName))
          made.layout = mesh::layoutOf(scatter, result.getType()); // of a sum over ranks
        values[name] = results[{nodes.back().getPlace(), name}] = made;
      }
  }

  /// Nodes of the graph itself; those of functions have several lives.
  std::set<uint64_t> placesInFile() const {
    std::set<uint64_t> places;
    for (const model::Node &node :
         model::loadModel(model.path, {.requireExternalData = false, .inlineFunctions = false}).graph.nodes)
      places.insert(node.place);
    return places;
  }

  void annotate(const model::Node &node, dist::AnnotationAttr names) {
    model::NodeDevices devices{found.configuration.name, {}, std::nullopt};
    if (auto stage = stageOf.find(names.getPlace()); stage != stageOf.end())
      devices.stage = stage->second;
    for (auto [tensor, name] : llvm::zip(node.inputs, names.getInputs())) {
      const auto taken = operands.find({names.getPlace(), name});
      const auto state = states.find(name);
      if (taken != operands.end()) {
        const bool isGathered = values.lookup(name).layout.isCut() || state != states.end();
        if (taken->second.layout.isCut() || isGathered)
          add(devices, node, tensor, taken->second, model.graph.findInitializer(tensor) != nullptr);
      } else if (state != states.end() && state->first.getValue() == tensor) {
        add(devices, node, tensor, state->second, true);
      }
    }
    for (auto [tensor, name] : llvm::zip(node.outputs, names.getOutputs()))
      if (const auto made = results.find({names.getPlace(), name});
          made != results.end() && made->second.layout.isCut())
        add(devices, node, tensor, made->second, false);
    if (!devices.specs.empty() || devices.stage)
      found.nodes[node.place] = std::move(devices);
  }

  /// Blocks that are not as many elements, rounded up, are as many units.
  void addCut(model::ShardedAxis &axis, const Layout &layout, int64_t size, bool saysSize) const {
    const int64_t room = layout.isPadded() ? layout.rooms.front() : size / ranks;
    const bool isPlain = room == dist::shardElements(size, ranks);
    const int64_t unit = isPlain ? 1 : std::gcd(size, room);
    axis.factors.push_back({saysSize || !isPlain ? std::optional(size / unit) : std::nullopt, ranks});
    if (!isPlain)
      axis.factors.push_back({unit, 1});
  }

  void add(model::NodeDevices &devices, const model::Node &node, const std::string &tensor,
           const Tensor &value, bool saysSize) {
    for (const model::ShardingSpec &spec : devices.specs)
      if (spec.tensor == tensor)
        return; // the node reads it twice
    model::ShardingSpec spec;
    spec.tensor = tensor;
    for (int64_t rank = 0; rank < ranks; ++rank)
      spec.devices.push_back(rank);
    const Layout &layout = value.layout;
    if (layout.isCut()) {
      model::ShardedAxis axis{layout.dim, {}};
      if (!layout.sections.empty()) {
        if (!llvm::all_equal(layout.sections)) {
          found.unsaid.push_back(fmt::format("{} has '{}' in parts of unequal sizes ({}), each cut by itself",
                                             node.describe(), tensor, fmt::join(layout.sections, ", ")));
          return;
        }
        axis.factors.push_back({static_cast<int64_t>(layout.sections.size()), 1});
        addCut(axis, layout, layout.sections.front(), true);
      } else {
        addCut(axis, layout, value.type.getDimSize(layout.dim), saysSize);
      }
      spec.axes.push_back(std::move(axis));
      ++found.tensors;
    }
    devices.specs.push_back(std::move(spec));
  }
};
} // namespace

ChosenLayouts layoutsOf(ModuleOp level2, const model::Model &model, const std::string &configuration) {
  return LayoutReader(level2, model, configuration).run();
}

} // namespace kedge::driver
