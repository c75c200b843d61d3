#include "lib/Import/GraphAnnotations.h"
#include "kedge/Dialect/Dist/Cut.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "lib/Import/GraphImporter.h"
#include "lib/Import/GraphPlaces.h"
#include "lib/Import/ImportScope.h"
#include "lib/Support/Error.h"
#include <fmt/ranges.h>

using namespace mlir;

namespace kedge::importer {

SpecReader::SpecReader(MLIRContext &context, const model::Model &model, const std::string &configuration)
    : context(context), model(model), own(model::findConfiguration(model, configuration)),
      stages(model::checkShardings(model, own)), ranks(own.devices / stages.count) {}

template <typename... Args>
void SpecReader::failOf(const model::Node &node, const model::ShardingSpec &spec,
                        fmt::format_string<Args...> format, Args &&...args) const {
  fail("{}: configuration '{}': {} has a sharding spec of '{}' {}", model.path, own.name, describePlace(node),
       spec.tensor, fmt::format(format, std::forward<Args>(args)...));
}

int64_t SpecReader::stageOf(const model::NodeDevices &devices) const {
  return devices.stage ? *devices.stage - stages.first : -1;
}

/// Part k is on the k-th device of the node's stage; a whole tensor is on all of them.
void SpecReader::checkPlaces(const model::Node &node, const model::NodeDevices &devices,
                             const model::ShardingSpec &spec) const {
  const int64_t parts = spec.shards();
  if (parts != 1 && parts != ranks)
    failOf(node, spec,
           "in {} parts, which {} devices share: other numbers of parts than 1 and {} are not available yet",
           parts, ranks, ranks);
  const int64_t first = std::max<int64_t>(0, stageOf(devices)) * ranks;
  SmallVector<int64_t> expected, found;
  for (int64_t device = first; device < first + ranks; ++device)
    expected.push_back(device);
  for (const std::vector<int64_t> &holders : spec.holders())
    found.append(holders.begin(), holders.end());
  if (parts == 1)
    llvm::sort(found);
  if (!spec.devices.empty() && found != expected)
    failOf(node, spec, "on the devices {}: other devices than {}, in this order, are not available yet",
           fmt::join(found, ", "), fmt::join(expected, ", "));
}

const model::ShardedAxis *SpecReader::onlyCutAxis(const model::Node &node,
                                                  const model::ShardingSpec &spec) const {
  const model::ShardedAxis *cut = nullptr;
  for (const model::ShardedAxis &axis : spec.axes)
    if (axis.shards() > 1) {
      if (cut)
        failOf(node, spec, "cut along axes {} and {}: several axes are not available yet; cut one of them",
               cut->axis, axis.axis);
      cut = &axis;
    }
  return cut;
}

/// The factors of an axis make up its size.
void SpecReader::checkSize(const model::Node &node, const model::ShardingSpec &spec,
                           const model::ShardedAxis &axis, int64_t size) const {
  int64_t product = 1;
  for (const model::ShardFactor &factor : axis.factors) {
    if (!factor.size && axis.factors.size() > 1)
      failOf(node, spec,
             "whose axis {} has several factors, one of them without dim_value; expected one for each",
             axis.axis);
    product *= factor.size.value_or(size);
  }
  if (product != size)
    failOf(node, spec, "whose axis {} has {} elements by its dim_value, but the tensor has {} there",
           axis.axis, product, size);
}

/// The factors outside of the one that is cut count tensors in a row, each of which is cut by itself; those
/// within make units that stay whole. Parts have as many units, rounded up.
dist::CutAttr SpecReader::cutOf(const model::Node &node, const model::ShardingSpec &spec,
                                const model::ShardedAxis &axis, int64_t dim, int64_t size) const {
  int64_t outer = 1;
  const model::ShardFactor *cut = nullptr;
  for (const model::ShardFactor &factor : axis.factors) {
    if (factor.shards > 1 && cut)
      failOf(node, spec, "that cuts two factors of axis {}: not available yet; cut one of them", axis.axis);
    if (factor.shards > 1)
      cut = &factor;
    else if (!cut)
      outer *= factor.size.value_or(size);
  }
  const int64_t units = cut->size.value_or(size);
  if (units == 1)
    failOf(node, spec, "that cuts axis {}, but there is 1 element to cut; expected 2 or more", axis.axis);
  SmallVector<int64_t> sections;
  if (outer > 1)
    sections.assign(outer, size / outer);
  return dist::CutAttr::get(&context, dim, StringAttr::get(&context, dist::tensorAxis), ranks, sections,
                            size / outer / units);
}

dist::CutAttr SpecReader::read(const model::Node &node, const model::NodeDevices &devices,
                               const model::ShardingSpec &spec, ArrayRef<int64_t> shape) const {
  checkPlaces(node, devices, spec);
  const int64_t rank = static_cast<int64_t>(shape.size());
  for (const model::ShardedAxis &axis : spec.axes) {
    if (axis.axis < -rank || axis.axis >= rank)
      failOf(node, spec, "that cuts axis {}, but the tensor has {} axes: {}", axis.axis, rank,
             fmt::join(shape, "x"));
    checkSize(node, spec, axis, shape[axis.axis < 0 ? axis.axis + rank : axis.axis]);
  }
  const model::ShardedAxis *axis = onlyCutAxis(node, spec);
  if (!axis)
    return {};
  const int64_t dim = axis->axis < 0 ? axis->axis + rank : axis->axis;
  return cutOf(node, spec, *axis, dim, shape[dim]);
}

namespace {

/// A weight that the file stores transposed is cut along the other dimension.
Value beforeTranspose(Value value, dist::CutAttr &cut) {
  while (auto transpose = value.getDefiningOp<onnx::TransposeOp>()) {
    value = transpose.getData();
    if (cut)
      cut = dist::CutAttr::get(cut.getContext(), transpose.getPerm()[cut.getDim()], cut.getAxis(),
                               cut.getRanks(), cut.getSections(), cut.getUnit());
  }
  return value;
}

/// Reads node after node. A value is called as it is called first in the file; a state by its own name.
class AnnotationBuilder {
public:
  AnnotationBuilder(MLIRContext &context, const model::Model &model, const ImportOptions &options,
                    const ImportScope &scope, const DenseMap<Value, StringAttr> &states)
      : context(context), model(model), notesAllNodes(options.notesAllNodes), scope(scope), states(states),
        names(states) {
    if (!options.configuration.empty())
      reader.emplace(context, model, options.configuration);
  }

  ArrayAttr build() {
    for (const model::ValueInfo &input : model.graph.inputs)
      (void)nameOf(input.name); // in the order of the file
    for (const model::Node &node : model.graph.nodes)
      (void)namesOf(node.outputs);
    std::vector<SmallVector<dist::SpecAttr>> specs;
    for (const model::Node &node : model.graph.nodes)
      specs.push_back(specsOf(node));
    const bool isCut = llvm::any_of(specs, [](const auto &own) { return !own.empty(); });
    SmallVector<Attribute> annotations;
    for (auto [node, own] : llvm::zip(model.graph.nodes, specs)) {
      const model::NodeDevices *devices = devicesOf(node);
      const int64_t stage = devices ? reader->stageOf(*devices) : -1;
      const bool isShape =
          llvm::all_of(node.outputs, [&](const std::string &name) { return isConstant(name); });
      const SmallVector<StringAttr> inputs = isShape ? SmallVector<StringAttr>() : namesOf(node.inputs),
                                    outputs = isShape ? SmallVector<StringAttr>() : namesOf(node.outputs);
      if (notesAllNodes || isCut || stage >= 0)
        annotations.push_back(
            dist::AnnotationAttr::get(&context, nodePlace(context, node), inputs, outputs, own, stage));
    }
    return ArrayAttr::get(&context, annotations);
  }

private:
  MLIRContext &context;
  const model::Model &model;
  const bool notesAllNodes;
  std::optional<SpecReader> reader; ///< of the configuration
  const ImportScope &scope;
  const DenseMap<Value, StringAttr> &states;
  DenseMap<Value, StringAttr> names;

  const model::NodeDevices *devicesOf(const model::Node &node) const {
    return reader ? node.devicesFor(reader->configuration().name) : nullptr;
  }

  /// Known once the shapes are: no op makes it.
  bool isConstant(const std::string &tensor) const {
    const ImportedValue *value = tensor.empty() ? nullptr : scope.find(tensor);
    return tensor.empty() || (value && value->tensor && value->tensor.getDefiningOp<onnx::ConstantOp>());
  }

  /// Empty for what is no tensor.
  StringAttr nameOf(const std::string &tensor) {
    const ImportedValue *value = tensor.empty() ? nullptr : scope.find(tensor);
    const auto own = StringAttr::get(&context, value && value->sequence ? "" : tensor);
    return value && value->tensor ? names.try_emplace(value->tensor, own).first->second : own;
  }
  SmallVector<StringAttr> namesOf(const std::vector<std::string> &tensors) {
    return llvm::map_to_vector(tensors, [&](const std::string &name) { return nameOf(name); });
  }

  SmallVector<dist::SpecAttr> specsOf(const model::Node &node) {
    SmallVector<dist::SpecAttr> specs;
    const model::NodeDevices *devices = devicesOf(node);
    if (!devices)
      return specs;
    for (const model::ShardingSpec &spec : devices->specs) {
      const ImportedValue *value = scope.find(node.tensorOf(spec));
      auto type =
          value && value->tensor ? dyn_cast<RankedTensorType>(value->tensor.getType()) : RankedTensorType();
      if (!type)
        fail("{}: {} has a sharding spec of '{}', which is no tensor; leave it out", model.path,
             describePlace(node), spec.tensor);
      dist::CutAttr cut = reader->read(node, *devices, spec, type.getShape());
      const StringAttr name = nameOf(node.tensorOf(spec));
      specs.push_back(dist::SpecAttr::get(&context, name, cut));
      if (auto state = states.find(beforeTranspose(value->tensor, cut));
          state != states.end() && state->second != name)
        specs.push_back(dist::SpecAttr::get(&context, state->second, cut));
    }
    return specs;
  }
};

} // namespace

void GraphImporter::importAnnotations() {
  DenseMap<Value, StringAttr> states;
  for (const Argument &argument : arguments)
    if (FlatSymbolRefAttr symbol = argument.binding.getSymbol()) {
      auto state = cast<train::StateOp>(this->states.lookup(symbol.getValue()));
      states[argument.value] = state.getOnnxNameAttr() ? state.getOnnxNameAttr() : symbol.getAttr();
    }
  (*module)->setAttr(dist::annotationsName,
                     AnnotationBuilder(context, source, options, *scope, states).build());
}

} // namespace kedge::importer
