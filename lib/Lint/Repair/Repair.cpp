// --repair, and the ties that hold without it.
#include "lib/Lint/Repair/Repair.h"
#include "lib/Lint/Find/Findings.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace kedge::lint {
using model::Attribute;
using model::Node;
using model::Tensor;

namespace {
class Repairer {
public:
  explicit Repairer(model::Model &model)
      : graph(model.graph), signature(Signature::of(graph)), uses(graph, signature),
        damage(findDamage(graph, signature, uses)), edit(graph) {}

  std::vector<std::string> repairAll(Repair how) {
    if (!damage.contradictions.empty())
      return {};
    restoreBiases();
    separateShared();
    splitMerged();
    unfoldPlaces();
    if (how == Repair::All)
      unfoldRows();
    say(unstack(graph, damage.stacks, signature, uses, edit), "made slices again of", "parameter",
        "parameters");
    unfoldParts();
    unfoldBlocks();
    unfoldMoved();
    giveNamesBack(/*onlyTies=*/false);
    edit.finish();
    return std::move(changes);
  }

  std::vector<std::string> tie() {
    if (!damage.contradictions.empty())
      return {};
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
  void unfoldPlaces();
  void unfoldBlocks();
  void unfoldMoved();
  std::string piecesOf(const Unfolding &, const Tensor &, const Node &reader);
  void replace(const Tensor &old, std::vector<Node> made);
  void say(const std::vector<std::string> &names, const char *verb, const char *one, const char *many);
  void giveNamesBack(bool onlyTies);
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

void Repairer::restoreBiases() {
  std::vector<std::string> names;
  for (const DroppedBias &dropped : damage.dropped) {
    Node &node = graph.nodes[dropped.node];
    std::optional<int64_t> length = biasLength(graph, node);
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
    changes.push_back(fmt::format("restored {}: {}", countOf(names.size(), "zero bias", "zero biases"),
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
                                  countOf(names.size(), "merged parameter", "merged parameters"),
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
                                  countOf(names.size(), "merged parameter", "merged parameters"),
                                  fmt::join(names, ", ")));
}

/// Rows that were looked up by numbers which the file no longer has: the distinct ones train under a name of
/// their own, since nothing tells their places in the table.
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
  for (const Folded &folded : damage.folded) {
    const Tensor *tensor = edit.tensor(folded.tensor);
    if (folded.kind != Folding::Rows || !tensor || damage.mergedOf(folded.tensor))
      continue;
    std::optional<DistinctRows> rows = distinctRows(*tensor);
    if (!rows)
      continue;
    auto [table, isNew] = tables.try_emplace(folded.sources[0], Table{*tensor, {}, {}});
    const model::Bytes bytes = tensor->bytes();
    const size_t size = tensor->dims.back() * model::dtypeBits(tensor->dtype) / 8;
    std::vector<int64_t> indices;
    for (int64_t row : rows->indices)
      indices.push_back(table->second.add(
          std::string(reinterpret_cast<const char *>(bytes.data) + rows->first[row] * size, size)));
    lookups.push_back({&folded, std::move(indices)});
  }
  std::map<std::string, std::string> own;
  for (auto &[name, table] : tables) {
    std::vector<uint8_t> values;
    for (const std::string &row : table.rows)
      values.insert(values.end(), row.begin(), row.end());
    own[name] = edit.fresh(name + "/rows");
    edit.addTensor(Tensor::make(own[name], table.like.dtype,
                                {static_cast<int64_t>(table.rows.size()), table.like.dims.back()},
                                std::move(values)));
    edit.tensor(own[name])->metadata[key::inputKind] = "PARAMETER";
  }
  std::vector<std::string> done;
  for (auto &[folded, indices] : lookups) {
    Tensor old = *edit.tensor(folded->tensor);
    std::vector<int64_t> dims(old.dims.begin(), old.dims.end() - 1);
    std::string rows = edit.fresh(folded->tensor + "/rows");
    edit.addTensor(Tensor::makeInts(rows, dims, indices));
    Node gather = makeNode("Gather", {own[folded->sources[0]], rows}, folded->tensor);
    gather.set(Attribute::makeInt("axis", 0));
    replace(old, {std::move(gather)});
    done.push_back(fmt::format("{} ({})", own[folded->sources[0]], folded->tensor));
  }
  say(done, "made rows of", "a table a parameter", "tables parameters");
}

void Repairer::say(const std::vector<std::string> &names, const char *verb, const char *one,
                   const char *many) {
  if (!names.empty())
    changes.push_back(
        fmt::format("{} {}: {}", verb, countOf(names.size(), one, many), fmt::join(names, ", ")));
}

/// Nodes take the place of a tensor; the last one makes its value.
void Repairer::replace(const Tensor &old, std::vector<Node> made) {
  const Node &reader = graph.nodes[uses.of(old.name).front().node];
  const std::string name = old.name;
  graph.initializers.eraseIf([&](const Tensor &t) { return t.name == name; });
  for (Node &node : made)
    edit.addFront(std::move(node), reader);
}

void Repairer::unfoldParts() {
  std::vector<std::string> done;
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
    if (repeats) {
      std::string shape = edit.fresh(folded.tensor + "/shape");
      edit.addTensor(Tensor::makeInts(shape, {static_cast<int64_t>(old.dims.size())}, old.dims));
      replace(old, {makeNode("Expand", {name, shape}, folded.tensor)});
    } else {
      redirect(uses.of(folded.tensor), name);
      edit.removeTensor(folded.tensor);
    }
    done.push_back(fmt::format("{} ({})", name, folded.tensor));
  }
  say(done, "undid slices and repetitions of", "parameter", "parameters");
}

/// Rows 0 to T - 1 of a table of positions, row 0 of a table of types: the file holds the rows, and their
/// numbers are known.
void Repairer::unfoldPlaces() {
  std::vector<std::string> done;
  for (const Folded &folded : damage.folded) {
    const bool places = folded.kind == Folding::Places;
    const Tensor *tensor = edit.tensor(folded.tensor);
    if ((!places && folded.kind != Folding::FirstRow) || !tensor || damage.mergedOf(folded.tensor))
      continue;
    const Tensor old = *tensor;
    const std::string &name = folded.sources[0];
    std::optional<Tensor> rows = leadingRows(old, places ? old.dims[old.dims.size() - 2] : 1, name);
    const Tensor *own = edit.tensor(name);
    if (!rows || (own && (own->dims.back() != old.dims.back() || holdsOther(*own, *rows))) ||
        (!own && edit.isTaken(name)))
      continue;
    if (!own)
      edit.addTensor(std::move(*rows), signature.byTarget(name)->placeholder);
    const std::string shape = edit.fresh(folded.tensor + "/shape");
    edit.addTensor(Tensor::makeInts(shape, {static_cast<int64_t>(old.dims.size())}, old.dims));
    replace(old, {makeNode("Expand", {name, shape}, folded.tensor)});
    done.push_back(fmt::format("{} ({})", name, folded.tensor));
  }
  say(done, "made rows of", "table a parameter again", "tables parameters again");
}

/// The value that a tensor of an unfolding had: the rows of its parameters, joined in its order.
std::string Repairer::piecesOf(const Unfolding &unfolding, const Tensor &old, const Node &reader) {
  std::map<std::string, std::vector<std::string>> parts;
  std::map<std::string, size_t> blocksOf;
  for (const RowBlock &block : unfolding.blocks)
    ++blocksOf[block.placeholder];
  for (const auto &[placeholder, shape] : unfolding.shapes) {
    const std::string name = signature.nameOf(placeholder);
    if (!edit.tensor(name))
      edit.addTensor(unfolded(old, unfolding, placeholder, name), placeholder);
    const size_t count = blocksOf[placeholder];
    if (count == 1) {
      parts[placeholder] = {name};
      continue;
    }
    Node split = makeNode("Split", {name, edit.fresh(name + "/sizes")}, edit.fresh(name + "/0"));
    edit.addTensor(Tensor::makeInts(split.inputs[1], {static_cast<int64_t>(count)},
                                    std::vector<int64_t>(count, shape[0] / static_cast<int64_t>(count))));
    for (size_t k = 1; k < count; ++k)
      split.outputs.push_back(edit.fresh(fmt::format("{}/{}", name, k)));
    split.set(Attribute::makeInt("axis", 0));
    parts[placeholder] = split.outputs;
    edit.addFront(std::move(split), reader);
  }
  std::vector<std::string> pieces;
  for (const RowBlock &block : unfolding.blocks)
    if (block.placeholder.empty()) {
      pieces.push_back(edit.fresh(old.name + "/constant"));
      edit.addTensor(unfolded(old, unfolding, "", pieces.back()));
      edit.tensor(pieces.back())->metadata[key::inputKind] = "CONSTANT_TENSOR";
    } else {
      pieces.push_back(parts[block.placeholder][block.first / block.rows]);
    }
  std::string value = pieces.front();
  if (pieces.size() > 1) {
    value = edit.fresh(old.name + "/joined");
    Node join = makeNode("Concat", pieces, value);
    join.set(Attribute::makeInt("axis", 0));
    edit.addFront(std::move(join), reader);
  }
  return value;
}

void Repairer::unfoldBlocks() {
  std::vector<std::string> done;
  for (const Unfolding &unfolding : damage.unfoldings) {
    const Tensor *tensor = edit.tensor(unfolding.tensor);
    if (!tensor)
      continue;
    const Tensor old = *tensor;
    const Node &reader = graph.nodes[unfolding.places.front().node];
    std::string value = piecesOf(unfolding, old, reader);
    const std::string result = edit.fresh(old.name + "/laid");
    if (unfolding.transposed) {
      Node node = makeNode("Transpose", {value}, result);
      node.set(Attribute::makeInts("perm", {1, 0}));
      edit.addFront(std::move(node), reader);
      value = result;
    } else if (old.dims != unfolding.shapes.begin()->second && old.dims.size() > 1) {
      const std::string shape = edit.fresh(old.name + "/shape");
      edit.addTensor(Tensor::makeInts(shape, {static_cast<int64_t>(old.dims.size())}, old.dims));
      edit.addFront(makeNode("Reshape", {value, shape}, result), reader);
      value = result;
    }
    redirect(unfolding.places, value);
    edit.removeTensor(old.name);
    for (const auto &[placeholder, shape] : unfolding.shapes)
      done.push_back(signature.nameOf(placeholder));
  }
  say(done, "took apart what held", "parameter", "parameters");
}

/// 1 + weight, or a bias times alpha: the number is recorded, and computed in the step.
void Repairer::unfoldMoved() {
  std::vector<std::string> done;
  for (const Folded &folded : damage.folded) {
    const Tensor *tensor = edit.tensor(folded.tensor);
    const std::string &name = folded.sources[0];
    if (folded.kind != Folding::Moved || !tensor || damage.mergedOf(folded.tensor) || edit.isTaken(name) ||
        std::ranges::any_of(folded.others, [&](const auto &other) { return edit.isTaken(other.first); }))
      continue;
    const Tensor old = *tensor;
    edit.addTensor(movedBack(old, folded.scale, folded.shift, name), signature.byTarget(name)->placeholder);
    const bool scales = folded.scale != 1;
    const std::string number = edit.fresh(old.name + "/number");
    edit.addTensor(
        Tensor::makeFloats(number, {}, {static_cast<float>(scales ? folded.scale : folded.shift)}));
    edit.tensor(number)->metadata[key::inputKind] = "CONSTANT_TENSOR";
    replace(old, {makeNode(scales ? "Mul" : "Add", {name, number}, old.name)});
    done.push_back(fmt::format("{} ({})", name, folded.tensor));
    for (const auto &[owner, places] : folded.others) {
      edit.addTensor(movedBack(old, 1, folded.shift, owner), signature.byTarget(owner)->placeholder);
      const std::string value = edit.fresh(old.name + "/" + owner);
      edit.addFront(makeNode("Add", {owner, number}, value), graph.nodes[places.front().node]);
      redirect(places, value);
      done.push_back(fmt::format("{} ({})", owner, folded.tensor));
    }
  }
  say(done, "took a recorded number out of", "parameter", "parameters");
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
    if (!tensor || places.empty() || damage.mergedOf(copy) || damage.isUnfolded(copy) ||
        (folded && folded->isLoss()) || !model::isFloat(tensor->dtype))
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
        onlyTies ? countOf(names.size(), "copy", "copies") : countOf(names.size(), "name", "names"),
        fmt::join(names, ", ")));
}
} // namespace

std::vector<std::string> repair(model::Model &model, Repair how) { return Repairer(model).repairAll(how); }
std::vector<std::string> tieCopies(model::Model &model) { return Repairer(model).tie(); }

} // namespace kedge::lint
