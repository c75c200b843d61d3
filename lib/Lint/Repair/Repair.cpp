// --repair, and the ties that hold without it.
#include "lib/Lint/Repair/Repair.h"
#include "lib/Lint/Find/Findings.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <cstring>
#include <fmt/ranges.h>

namespace kedge::lint {
using model::Attribute;
using model::Node;
using model::Tensor;

namespace {
Node makeNode(std::string opType, std::vector<std::string> inputs, std::string output) {
  Node node;
  node.opType = std::move(opType);
  node.inputs = std::move(inputs);
  node.name = "kedge/" + node.opType + "/" + output;
  node.outputs = {std::move(output)};
  return node;
}

std::string count(size_t n, const char *one, const char *many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

class Repairer {
public:
  explicit Repairer(model::Model &model)
      : graph(model.graph), signature(Signature::of(graph)), uses(graph, signature),
        damage(findDamage(graph, signature, uses)), edit(graph) {}

  std::vector<std::string> repairAll() {
    restoreBiases();
    separateShared();
    splitMerged();
    unfoldRows();
    unfoldParts();
    giveNamesBack(/*onlyTies=*/false);
    edit.finish();
    return std::move(changes);
  }

  std::vector<std::string> tie() {
    giveNamesBack(/*onlyTies=*/true);
    edit.finish();
    return std::move(changes);
  }

private:
  void restoreBiases();
  void separateShared();
  void splitMerged();
  void unfoldRows();
  void unfoldParts();
  void giveNamesBack(bool onlyTies);
  std::optional<int64_t> biasLength(const Node &) const;
  std::string operandFor(const std::string &placeholder, const Tensor &source, Folding layout,
                         const Node &reader);
  void redirect(const std::vector<Use> &, const std::string &value);
  Folding layoutOf(const std::string &tensor) const {
    const Folded *folded = damage.foldedOf(tensor);
    return folded ? folded->kind : Folding::Renamed;
  }

  model::Graph &graph;
  Signature signature;
  Uses uses; // of the graph before any edit; node numbers hold until finish()
  Damage damage;
  GraphEditor edit;
  std::map<std::pair<std::string, Folding>, std::string> operands;
  std::vector<std::string> changes;
};

/// Elements of the bias that a product or norm adds; nullopt when its weight's shape is not told.
std::optional<int64_t> Repairer::biasLength(const Node &node) const {
  const Tensor *weight = graph.findInitializer(node.input(1));
  if (!weight || weight->dims.empty())
    return std::nullopt;
  if (node.is("Gemm"))
    return weight->dims[node.attrInt("transB", 0) ? 0 : 1];
  if (node.is("ConvTranspose"))
    return weight->dims.size() < 2 ? std::nullopt : std::optional(weight->dims[1] * node.attrInt("group", 1));
  return node.is("MatMul") ? weight->dims.back() : weight->dims[0];
}

void Repairer::restoreBiases() {
  std::vector<std::string> names;
  for (const DroppedBias &dropped : damage.dropped) {
    Node &node = graph.nodes[dropped.node];
    std::optional<int64_t> length = biasLength(node);
    if (!length)
      continue;
    std::string name = signature.nameOf(dropped.placeholder);
    if (!edit.tensor(name)) {
      const Tensor *weight = graph.findInitializer(node.input(1));
      std::vector<uint8_t> zeros(*length * model::dtypeBits(weight->dtype) / 8);
      edit.addTensor(Tensor::make(name, weight->dtype, {*length}, std::move(zeros)), dropped.placeholder);
    }
    if (node.is("MatMul")) {
      std::string result = node.outputs[0];
      node.outputs[0] = edit.fresh(result + "/product");
      Node add = makeNode("Add", {node.outputs[0], name}, result);
      add.opset = node.opset;
      add.metadata = node.metadata;
      edit.insertAfter(dropped.node, std::move(add));
    } else {
      node.inputs.resize(std::max<size_t>(node.inputs.size(), 3));
      node.inputs[2] = name;
    }
    if (auto rule = node.metadata.find(key::ruleName);
        rule != node.metadata.end() && rule->second.find("RemoveOptionalBias") != std::string::npos)
      node.metadata.erase(rule);
    names.push_back(name);
  }
  if (!names.empty())
    changes.push_back(fmt::format("restored {}: {}", count(names.size(), "zero bias", "zero biases"),
                                  fmt::join(names, ", ")));
}

void Repairer::redirect(const std::vector<Use> &places, const std::string &value) {
  for (const Use &use : places)
    graph.nodes[use.node].inputs[use.operand] = value;
}

/// The value that stands for a parameter where `source`, a copy of it in this layout, was read. Makes the
/// parameter under its own name and layout, and the node that leads from there to the copy's layout.
std::string Repairer::operandFor(const std::string &placeholder, const Tensor &source, Folding layout,
                                 const Node &reader) {
  std::string name = signature.nameOf(placeholder);
  auto [known, isNew] = operands.emplace(std::pair(name, layout), name);
  if (!isNew)
    return known->second;
  if (layout != Folding::Transposed && layout != Folding::Vector) {
    if (!edit.tensor(name)) {
      Tensor copy = source;
      copy.name = name;
      edit.addTensor(std::move(copy), placeholder);
    }
    return name;
  }
  bool exchange = layout == Folding::Transposed;
  known->second = edit.fresh(name + (exchange ? "/transposed" : "/reshaped"));
  if (exchange) {
    if (!edit.tensor(name))
      edit.addTensor(transposed(source, name), placeholder);
    Node node = makeNode("Transpose", {name}, known->second);
    node.set(Attribute::makeInts("perm", {1, 0}));
    edit.addFront(std::move(node), reader);
    return known->second;
  }
  std::string shape = edit.fresh(known->second + "/shape");
  std::vector<int64_t> dims = source.dims;
  if (!edit.tensor(name)) {
    Tensor copy = source;
    copy.name = name;
    copy.dims = {source.numElements()};
    edit.addTensor(std::move(copy), placeholder);
  }
  edit.addTensor(Tensor::makeInts(shape, {static_cast<int64_t>(dims.size())}, dims));
  edit.addFront(makeNode("Reshape", {name, shape}, known->second), reader);
  return known->second;
}

/// Gives the lost node of a merged pair back: a copy with its own parameters, read by those who read it
/// before.
void Repairer::separateShared() {
  std::vector<std::string> names;
  for (const SharedNode &shared : damage.shared) {
    Node twin = graph.nodes[shared.node];
    std::string &fx = twin.metadata[key::fxNode];
    auto rename = [&fx](const std::string &from, const std::string &to) {
      for (size_t at = fx.find("%" + from); at != std::string::npos; at = fx.find("%" + from, at + 1))
        if (size_t end = at + 1 + from.size();
            end == fx.size() || !(isalnum(static_cast<unsigned char>(fx[end])) || fx[end] == '_'))
          fx.replace(at + 1, from.size(), to);
    };
    for (const auto &[use, placeholder] : shared.parameters) {
      Tensor source = *edit.tensor(twin.inputs[use.operand]);
      twin.inputs[use.operand] = operandFor(placeholder, source, layoutOf(source.name), twin);
      rename(*use.placeholder, placeholder);
      names.push_back(signature.nameOf(placeholder));
    }
    rename(uses.call(shared.node)->name, shared.result);
    twin.metadata[key::nameScopes] =
        fmt::format("['', '{}', '{}']", parentModule(names.back()), shared.result);
    for (size_t k = 0; k < twin.outputs.size(); ++k)
      if (!twin.outputs[k].empty())
        twin.outputs[k] = edit.fresh(k == 0 ? shared.result : fmt::format("{}/{}", shared.result, k));
    twin.name = "kedge/" + twin.opType + "/" + twin.outputs[0];
    redirect(shared.readers, twin.outputs[0]);
    edit.insertAfter(shared.node, std::move(twin));
  }
  if (!names.empty())
    changes.push_back(fmt::format("gave {} their own nodes again: {}",
                                  count(names.size(), "merged parameter", "merged parameters"),
                                  fmt::join(names, ", ")));
}

void Repairer::splitMerged() {
  std::vector<std::string> names;
  for (const Merged &merged : damage.merged) {
    Tensor source = *edit.tensor(merged.tensor);
    Folding layout = layoutOf(merged.tensor);
    for (const auto &[placeholder, places] : merged.names) {
      std::string value;
      if (placeholder.empty()) {
        Tensor copy = source;
        copy.name = value = edit.fresh(merged.tensor + "/constant");
        edit.addTensor(std::move(copy));
        edit.tensor(value)->metadata[key::inputKind] = "CONSTANT_TENSOR";
      } else {
        value = operandFor(placeholder, source, layout, graph.nodes[places.front().node]);
      }
      redirect(places, value);
      if (signature.nameOf(placeholder) != merged.tensor)
        names.push_back(placeholder.empty() ? value : signature.nameOf(placeholder));
    }
    edit.removeTensor(merged.tensor);
  }
  if (!names.empty())
    changes.push_back(fmt::format("gave {} their own tensors again: {}",
                                  count(names.size(), "merged parameter", "merged parameters"),
                                  fmt::join(names, ", ")));
}

void Repairer::unfoldRows() {
  struct Table {
    Tensor like;
    std::vector<std::string> rows;
    std::map<std::string, int64_t> places;
    int64_t add(std::string row) {
      auto [found, isNew] = places.emplace(row, static_cast<int64_t>(rows.size()));
      if (isNew)
        rows.push_back(std::move(row));
      return found->second;
    }
  };
  std::map<std::string, Table> tables;
  std::vector<std::pair<const Folded *, std::vector<int64_t>>> lookups;
  auto rowOf = [](const Tensor &tensor, const model::Bytes &bytes, int64_t row) {
    size_t size = tensor.dims.back() * model::dtypeBits(tensor.dtype) / 8;
    return std::string(reinterpret_cast<const char *>(bytes.data) + row * size, size);
  };
  for (const Folded &folded : damage.folded) {
    const Tensor *tensor = edit.tensor(folded.tensor);
    if (folded.kind != Folding::Rows || !tensor || damage.mergedOf(folded.tensor))
      continue;
    std::optional<DistinctRows> rows = distinctRows(*tensor);
    const Tensor *existing = edit.tensor(folded.sources[0]);
    if (!rows || (existing && (existing->dims.size() != 2 || existing->dims[1] != rows->length)))
      continue;
    auto [table, isNew] = tables.try_emplace(folded.sources[0], Table{*tensor, {}, {}});
    if (isNew && existing)
      for (int64_t row = 0; row < existing->dims[0]; ++row)
        table->second.add(rowOf(*existing, existing->bytes(), row));
    model::Bytes bytes = tensor->bytes();
    std::vector<int64_t> indices;
    for (int64_t row : rows->indices)
      indices.push_back(table->second.add(rowOf(*tensor, bytes, rows->first[row])));
    lookups.push_back({&folded, std::move(indices)});
  }
  for (auto &[name, table] : tables) {
    if (Tensor *existing = edit.tensor(name)) {
      if (existing->dims[0] < static_cast<int64_t>(table.rows.size()))
        fail("parameter '{}': {} rows were folded that its tensor (float[{}]) does not hold; {}", name,
             table.rows.size() - existing->dims[0], fmt::join(existing->dims, "x"),
             "export again with optimize=False");
      continue;
    }
    std::vector<uint8_t> values;
    for (const std::string &row : table.rows)
      values.insert(values.end(), row.begin(), row.end());
    const SignatureEntry *entry = signature.byTarget(name);
    edit.addTensor(Tensor::make(name, table.like.dtype,
                                {static_cast<int64_t>(table.rows.size()), table.like.dims.back()},
                                std::move(values)),
                   entry->placeholder);
  }
  for (auto &[folded, indices] : lookups) {
    Tensor old = *edit.tensor(folded->tensor);
    std::vector<int64_t> dims(old.dims.begin(), old.dims.end() - 1);
    std::string rows = edit.fresh(folded->tensor + "/rows");
    edit.addTensor(Tensor::makeInts(rows, dims, indices));
    Node gather = makeNode("Gather", {folded->sources[0], rows}, folded->tensor);
    gather.set(Attribute::makeInt("axis", 0));
    std::erase_if(graph.initializers, [&](const Tensor &t) { return t.name == folded->tensor; });
    edit.addFront(std::move(gather), graph.nodes[uses.of(folded->tensor).front().node]);
    changes.push_back(fmt::format("made the {} rows of '{}' that '{}' holds a parameter again",
                                  edit.tensor(folded->sources[0])->dims[0], folded->sources[0],
                                  folded->tensor));
  }
}

void Repairer::unfoldParts() {
  for (const Folded &folded : damage.folded) {
    Tensor *tensor = edit.tensor(folded.tensor);
    const std::string &name = folded.kind == Folding::Part ? folded.sources[0] : folded.tensor;
    if (folded.kind != Folding::Part || !tensor || damage.mergedOf(folded.tensor) || edit.isTaken(name))
      continue;
    Tensor old = *tensor;
    int64_t collapsed = repeatedAxes(old);
    Tensor part = old;
    part.name = name;
    for (int64_t d = 0; d < collapsed; ++d)
      part.dims[d] = 1;
    if (part.numElements() != old.numElements()) {
      model::Bytes bytes = old.bytes();
      size_t size = part.numElements() * model::dtypeBits(old.dtype) / 8;
      part = Tensor::make(name, old.dtype, part.dims, std::vector<uint8_t>(bytes.data, bytes.data + size));
    }
    bool repeats = part.numElements() != old.numElements();
    edit.addTensor(std::move(part), signature.byTarget(name)->placeholder);
    std::erase_if(graph.initializers, [&](const Tensor &t) { return t.name == folded.tensor; });
    const std::vector<Use> &places = uses.of(folded.tensor);
    if (repeats) {
      std::string shape = edit.fresh(folded.tensor + "/shape");
      edit.addTensor(Tensor::makeInts(shape, {static_cast<int64_t>(old.dims.size())}, old.dims));
      edit.addFront(makeNode("Expand", {name, shape}, folded.tensor), graph.nodes[places.front().node]);
    } else {
      redirect(places, name);
    }
    changes.push_back(fmt::format("made what '{}' holds of '{}' a parameter again", folded.tensor, name));
  }
}

/// A tensor under another name that is one known parameter. Only ties: where another tensor of the file is
/// that parameter too, so that both would train apart.
void Repairer::giveNamesBack(bool onlyTies) {
  std::vector<std::string> names, copies;
  for (const Tensor &tensor : graph.initializers)
    copies.push_back(tensor.name);
  std::map<std::pair<std::string, Folding>, std::string> seen;
  for (const std::string &copy : copies) {
    const Folded *folded = damage.foldedOf(copy);
    const std::vector<Use> &places = uses.of(copy);
    const Tensor *tensor = edit.tensor(copy);
    if (!tensor || places.empty() || damage.mergedOf(copy) || (folded && folded->isLoss()) ||
        !model::isFloat(tensor->dtype))
      continue;
    std::string placeholder;
    if (folded && signature.byTarget(folded->sources[0]))
      placeholder = signature.byTarget(folded->sources[0])->placeholder;
    else if (ownPlaceholder(*tensor, graph, signature).empty())
      placeholder = agreedPlaceholder(places);
    std::string name = placeholder.empty() ? copy : signature.nameOf(placeholder);
    bool layoutKnown = !folded || folded->kind != Folding::Renamed;
    if (name == copy || !layoutKnown)
      continue;
    Folding layout = folded ? folded->kind : Folding::Renamed;
    auto [first, isFirst] = seen.emplace(std::pair(name, layout), copy);
    bool tied = edit.tensor(name) != nullptr;
    if (onlyTies && !tied && isFirst)
      continue;
    Tensor source = *tensor;
    redirect(places, onlyTies && !tied
                         ? first->second
                         : operandFor(placeholder, source, layout, graph.nodes[places.front().node]));
    edit.removeTensor(copy);
    names.push_back(fmt::format("{} ({})", name, copy));
  }
  if (!names.empty())
    changes.push_back(fmt::format(
        fmt::runtime(onlyTies ? "tied {} to the tensor of the same parameter: {}" : "gave {} back: {}"),
        onlyTies ? count(names.size(), "copy", "copies") : count(names.size(), "name", "names"),
        fmt::join(names, ", ")));
}
} // namespace

std::vector<std::string> repair(model::Model &model) { return Repairer(model).repairAll(); }
std::vector<std::string> tieCopies(model::Model &model) { return Repairer(model).tie(); }

} // namespace kedge::lint
