#include "driver/why/Named.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Sched/SchedDialect.h"
#include "lib/Lint/ExporterMetadata.h"
#include "lib/Lint/Find/Findings.h"
#include "lib/Support/Error.h"
#include "runtime/format/NearMisses.h"
#include <map>
#include <set>

using namespace mlir;

namespace kedge::driver {
namespace {

PlaceAttr placeOfValue(const PlannedValue &value) { return value.facts.getAs<PlaceAttr>("place"); }

bool isForward(PlaceAttr place) { return place && place.getPhase() == TrainingPhase::Forward; }

/// As the importer names the places of nodes.
std::string placeName(const model::Node &node) {
  if (!node.name.empty())
    return node.name;
  for (const std::string &output : node.outputs)
    if (!output.empty())
      return output;
  return node.opType;
}

class Resolver {
public:
  Resolver(const std::string &name, ModuleOp module, const model::Model &model)
      : name(name), module(module), model(model),
        values(plannedValues(sched::PricesNote(module.getContext()).getAttr(module))) {}

  Named run() {
    for (auto attempt : {&Resolver::asNumber, &Resolver::asState, &Resolver::asTied, &Resolver::asInput,
                         &Resolver::asNode, &Resolver::asModule, &Resolver::asBackward})
      if ((this->*attempt)())
        return std::move(found);
    throw UnknownName(
        fmt::format("'{}' is no tensor, node or module of the model, and no value of the plan (FUNCTION#N){}",
                    name, rt::nearMisses(name, allNames())));
  }

private:
  bool asNumber() {
    for (const PlannedValue &value : values)
      if (value.id() == name) {
        found.meaning = "value " + std::to_string(value.number()) + " of @" + value.function;
        found.values = {name};
        return true;
      }
    return false;
  }

  bool asState() {
    for (auto state : module.getOps<train::StateOp>())
      if (state.getOnnxName() == StringRef(name) || state.getSymName() == StringRef(name)) {
        found.kind = Named::Kind::State;
        // A moment or a working copy is asked for with its parameter.
        found.state = state.getOf().value_or(state.getSymName()).str();
        found.meaning = meaningOf(state);
        return true;
      }
    return false;
  }

  /// Another name of a tied parameter: the file has one tensor, and the record of torch's exporter all names.
  bool asTied() {
    const auto stored = tiedNames().find(name);
    if (stored == tiedNames().end())
      return false;
    for (auto state : module.getOps<train::StateOp>())
      if (state.getOnnxName() == StringRef(stored->second)) {
        found.kind = Named::Kind::State;
        found.state = state.getSymName().str();
        found.meaning = meaningOf(state) + ", which the file calls '" + stored->second + "'";
        return true;
      }
    return false;
  }

  /// Names that only the record knows, with the tensor that nodes of their modules read.
  const std::map<std::string, std::string> &tiedNames() {
    if (tied)
      return *tied;
    tied.emplace();
    const lint::Signature signature = lint::Signature::of(model.graph);
    for (const lint::SignatureEntry &entry : signature.all()) {
      if (entry.kind != lint::SignatureKind::Parameter || model.graph.findInitializer(entry.target))
        continue;
      for (const model::Node &node : model.graph.nodes)
        if (lint::moduleOf(node) == lint::parentModule(entry.target))
          for (const std::string &input : node.inputs)
            if (model.graph.findInitializer(input))
              tied->emplace(entry.target, input);
    }
    return *tied;
  }

  bool asInput() {
    for (const PlannedValue &value : values)
      if (auto input = value.facts.getAs<StringAttr>("input"); input && input.getValue() == StringRef(name)) {
        found.values.push_back(value.id());
        found.meaning = "an input of the step";
      }
    return !found.values.empty();
  }

  /// A node by its name, or by the name of what it makes.
  bool asNode() {
    for (const model::Node &node : model.graph.nodes)
      for (size_t k = 0; k < std::max<size_t>(1, node.outputs.size()); ++k)
        if (placeName(node) == name || (k < node.outputs.size() && node.outputs[k] == name)) {
          const bool byOutput = placeName(node) != name && node.outputs.size() > 1;
          return foundNode(node, byOutput ? std::optional(k) : std::nullopt);
        }
    return false;
  }

  bool foundNode(const model::Node &node, std::optional<size_t> output) {
    const std::string what = "node '" + placeName(node) + "' (" + node.opType + ")";
    found.meaning = (placeName(node) == name ? "" : "made by ") + what;
    const std::vector<std::string> own = madeBy(placeName(node));
    for (const PlannedValue &value : values)
      if (PlaceAttr place = placeOfValue(value);
          place && !isForward(place) && place.getNode() == placeName(node))
        found.related.push_back(value.id());
    if (!own.empty()) {
      found.values = output && own.size() == node.outputs.size() ? std::vector{own[*output]} : own;
      return true;
    }
    if (std::vector<std::string> viewed = viewedBy(placeName(node)); !viewed.empty()) {
      found.values = std::move(viewed);
      found.meaning += ", the bytes of " + found.values.front() + " under another shape";
      return true;
    }
    findBehind(node);
    return true;
  }

  std::vector<std::string> madeBy(const std::string &node) const {
    std::vector<std::string> ids;
    for (const PlannedValue &value : values)
      if (PlaceAttr place = placeOfValue(value); isForward(place) && place.getNode() == StringRef(node))
        ids.push_back(value.id());
    return ids;
  }

  std::vector<std::string> viewedBy(const std::string &node) const {
    std::vector<std::string> ids;
    for (const PlannedValue &value : values)
      if (auto views = value.facts.getAs<ArrayAttr>("views"))
        for (auto view : views.getAsRange<PlaceAttr>())
          if (isForward(view) && view.getNode() == StringRef(node)) {
            ids.push_back(value.id());
            break;
          }
    return ids;
  }

  /// What is in memory of the nodes that read a node which is not, or of those behind them.
  void findBehind(const model::Node &node) {
    std::vector<const model::Node *> open{&node};
    std::set<const model::Node *> seen{&node};
    std::vector<std::string> behind;
    while (!open.empty()) {
      const model::Node *from = open.back();
      open.pop_back();
      for (const model::Node &reader : model.graph.nodes) {
        const bool reads =
            std::any_of(from->outputs.begin(), from->outputs.end(), [&](const std::string &output) {
              return !output.empty() &&
                     std::find(reader.inputs.begin(), reader.inputs.end(), output) != reader.inputs.end();
            });
        if (!reads || !seen.insert(&reader).second)
          continue;
        std::vector<std::string> there = madeBy(placeName(reader));
        if (there.empty())
          there = viewedBy(placeName(reader));
        if (there.empty())
          open.push_back(&reader);
        behind.insert(behind.end(), there.begin(), there.end());
      }
    }
    std::sort(behind.begin(), behind.end());
    behind.erase(std::unique(behind.begin(), behind.end()), behind.end());
    found.values = behind;
    found.meaning +=
        behind.empty()
            ? ", which is not in memory: it is a constant, or nothing that trains follows from it"
            : ", which is not in memory by itself: it is computed within the launches that make what follows";
  }

  bool asModule() {
    for (const PlannedValue &value : values)
      if (PlaceAttr place = placeOfValue(value))
        if (StringRef path = place.getModule();
            path == StringRef(name) || (path.starts_with(name) && path.substr(name.size()).starts_with(".")))
          found.values.push_back(value.id());
    found.kind = Named::Kind::Module;
    found.meaning = "a module of the model";
    return !found.values.empty();
  }

  /// Buffers of gradients are called "backward of MODULE" in plans.
  bool asBackward() {
    StringRef path(name);
    if (!path.consume_front("backward of "))
      return false;
    for (const PlannedValue &value : values)
      if (PlaceAttr place = placeOfValue(value); place && !isForward(place) && place.getModule() == path)
        found.values.push_back(value.id());
    found.kind = Named::Kind::Backward;
    found.meaning = "values of the backward part and the update of a module";
    return !found.values.empty();
  }

  std::vector<std::string> allNames() {
    std::vector<std::string> names;
    std::set<std::string> modules;
    for (const auto &[other, stored] : tiedNames())
      names.push_back(other);
    for (auto state : ModuleOp(module).getOps<train::StateOp>())
      if (state.getOnnxName())
        names.push_back(state.getOnnxName()->str());
    for (const model::Node &node : model.graph.nodes) {
      names.push_back(placeName(node));
      for (const std::string &output : node.outputs)
        if (!output.empty())
          names.push_back(output);
    }
    for (const PlannedValue &value : values)
      if (PlaceAttr place = placeOfValue(value))
        modules.insert(place.getModule().str());
    names.insert(names.end(), modules.begin(), modules.end());
    return names;
  }

  const std::string &name;
  ModuleOp module;
  const model::Model &model;
  std::vector<PlannedValue> values;
  std::optional<std::map<std::string, std::string>> tied;
  Named found;
};

} // namespace

std::vector<PlannedValue> plannedValues(ArrayAttr prices) {
  std::vector<PlannedValue> values;
  for (Attribute entry : prices ? prices.getValue() : ArrayRef<Attribute>())
    for (Attribute value : cast<DictionaryAttr>(entry).getAs<ArrayAttr>("values"))
      values.push_back(
          {cast<DictionaryAttr>(entry).getAs<StringAttr>("function").str(), cast<DictionaryAttr>(value)});
  return values;
}

std::string meaningOf(Operation *op) {
  auto state = cast<train::StateOp>(op);
  return state.getOf() ? "a state of the parameter '" + state.getOf()->str() + "'"
                       : stringifyRole(state.getRole()).str() + " of the model";
}

Named resolveName(const std::string &name, ModuleOp module, const model::Model &model) {
  return Resolver(name, module, model).run();
}

} // namespace kedge::driver
