// Names and repairs of files without a record of parameters (Traced.h).
#include "lib/Lint/Repair/Repair.h"
#include "lib/Lint/Traced.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kedge::lint {
using model::Attribute;
using model::Graph;
using model::Model;
using model::Node;
using model::Tensor;

namespace {
std::string howMany(size_t n, const char *one, const char *many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

Node nodeOf(std::string opType, std::string input, std::string output) {
  Node node;
  node.opType = std::move(opType);
  node.name = "kedge/" + node.opType + "/" + output;
  node.inputs = {std::move(input)};
  node.outputs = {std::move(output)};
  return node;
}

bool holdSameValues(const Tensor &a, const Tensor &b) {
  try {
    const model::Bytes left = a.bytes(), right = b.bytes();
    return a.dtype == b.dtype && a.dims == b.dims && left.size == right.size &&
           std::memcmp(left.data, right.data, left.size) == 0;
  } catch (const Error &) {
    return false; // external data that is not there
  }
}

/// One round of edits: what a TracedGraph says holds until finish().
class Editing {
public:
  explicit Editing(Model &model) : graph(model.graph), edit(model.graph) {}

  void redirect(const std::vector<TracedUse> &operands, const std::string &value) {
    for (const TracedUse &use : operands)
      graph.nodes[use.node].inputs[use.operand] = value;
  }

  void addCopy(const Tensor &source, const std::string &name) {
    Tensor copy = source;
    copy.name = name;
    edit.addTensor(std::move(copy));
  }

  /// Renames the Identity's result away, so that a tensor can take the name.
  void retire(size_t identity) {
    std::string &output = graph.nodes[identity].outputs[0];
    output = edit.fresh(output + "/shared");
    retired.insert(output);
  }

  /// The same for all that rename a tensor, which has another name now.
  void retireAll(const std::string &tensor, const std::string &now) {
    for (size_t n = 0; n < graph.nodes.size(); ++n)
      if (graph.nodes[n].is("Identity") && graph.nodes[n].input(0) == tensor &&
          !graph.findOutput(graph.nodes[n].output(0))) {
        graph.nodes[n].inputs[0] = now;
        retire(n);
      }
  }

  /// The value that reads a matrix the other way round.
  std::string transposeOf(const std::string &tensor, const Node &reader) {
    auto [known, isNew] = transposes.emplace(tensor, "");
    if (isNew) {
      known->second = edit.fresh(tensor + "/transposed");
      Node node = nodeOf("Transpose", tensor, known->second);
      node.set(Attribute::makeInts("perm", {1, 0}));
      edit.addFront(std::move(node), reader);
    }
    return known->second;
  }

  void finish() {
    edit.finish();
    std::erase_if(graph.nodes,
                  [&](const Node &node) { return node.is("Identity") && retired.count(node.output(0)); });
  }

  Graph &graph;
  GraphEditor edit;

private:
  std::set<std::string> retired;
  std::map<std::string, std::string> transposes;
};

class TracedNaming {
public:
  explicit TracedNaming(Model &model) : editing(model), found(TracedGraph(model.graph).nameless()) {}

  std::map<std::string, std::string> run() {
    for (const Nameless &nameless : found)
      name(nameless);
    editing.finish();
    return std::move(former);
  }

private:
  void name(const Nameless &nameless) {
    Tensor source = *editing.edit.tensor(nameless.tensor);
    const std::string &wanted = nameless.names[0].name;
    const Tensor *same = former.count(wanted) ? editing.edit.tensor(wanted) : nullptr;
    // A layer that is called twice was folded twice.
    const bool again = nameless.names.size() == 1 && nameless.isMatrix && same && !isUniform(source) &&
                       holdSameValues(*same, source);
    const bool taken = former.count(wanted) && nameless.isMatrix &&
                       !again; // by another layer's: "f_1" is a module after all
    const std::string own = again ? wanted : editing.edit.fresh(taken ? nameless.literal : wanted);
    if (!again) {
      editing.addCopy(source, own);
      former[own] = nameless.tensor;
    }
    std::vector<std::string> old; // of the names that an Identity gave
    for (const NamedOperands &named : nameless.names)
      old.push_back(named.identity ? editing.graph.nodes[*named.identity].output(0) : nameless.tensor);
    editing.retireAll(nameless.tensor, own);
    for (size_t k = 0; k < nameless.names.size(); ++k) {
      const NamedOperands &named = nameless.names[k];
      const std::string value = k == 0 ? own : secondName(own, named);
      editing.redirect(named.operands, value);
      former.emplace(value, old[k]);
    }
    editing.edit.removeTensor(nameless.tensor);
  }

  /// Merged tensors stay merged, now under names that tell them apart.
  std::string secondName(const std::string &own, const NamedOperands &named) {
    const std::string name = editing.edit.fresh(named.name);
    Node identity = nodeOf("Identity", own, name);
    identity.name = "Identity";
    editing.edit.addFront(std::move(identity), editing.graph.nodes[named.operands[0].node]);
    return name;
  }

  Editing editing;
  std::vector<Nameless> found;
  std::map<std::string, std::string> former;
};

/// Own tensors for all names of a shared tensor but those that stay tied.
void splitOne(Editing &editing, const SharedTensor &shared, const LintOptions &options,
              std::vector<std::string> &done) {
  std::vector<std::string> group;
  for (const NamedOperands &named : shared.names)
    group.push_back(named.name);
  const std::set<std::string> tied = tiedNames(group, options.tie);
  std::string leader = tied.count(group[0]) ? group[0] : std::string();
  const Tensor source = *editing.edit.tensor(shared.tensor);
  for (size_t k = 1; k < group.size(); ++k) {
    const NamedOperands &named = shared.names[k];
    const bool follows = tied.count(named.name) && !leader.empty();
    if (follows && leader == group[0])
      continue;
    if (named.identity)
      editing.retire(*named.identity);
    if (!follows) {
      editing.addCopy(source, named.name);
      done.push_back(named.name);
    }
    editing.redirect(named.operands, follows ? leader : named.name);
    if (tied.count(named.name) && leader.empty())
      leader = named.name;
  }
}

/// Without being told: fresh norms and biases, whose values are all equal. Copies of one start (the layers of
/// nn.TransformerEncoder) look like ties, and an export in training mode merges ties alone.
bool isSplit(const Model &model, const SharedTensor &one, const LintOptions &options) {
  return !isTie(one, options) &&
         (options.repair == Repair::All || isUniform(*model.graph.findInitializer(one.tensor)));
}

std::string splitAll(Model &model, const LintOptions &options) {
  const std::vector<SharedTensor> shared = TracedGraph(model.graph).shared();
  Editing editing(model);
  std::vector<std::string> done;
  for (const SharedTensor &one : shared)
    if (!one.isTable && isSplit(model, one, options))
      splitOne(editing, one, options, done);
  editing.finish();
  return done.empty() ? std::string()
                      : fmt::format("gave {} their own tensors again: {}",
                                    howMany(done.size(), "merged parameter", "merged parameters"),
                                    fmt::join(done, ", "));
}

std::string tieAll(Model &model, const LintOptions &options, bool all) {
  const std::vector<TableCopy> copies = TracedGraph(model.graph).copies();
  Editing editing(model);
  std::vector<std::string> done;
  for (const TableCopy &copy : copies) {
    if (!editing.edit.tensor(copy.copy) || !editing.edit.tensor(copy.table) ||
        !(all || !tiedNames({copy.table, copy.copy}, options.tie).empty()))
      continue;
    const Node &reader = editing.graph.nodes[copy.operands[0].node];
    editing.redirect(copy.operands, copy.transposed ? editing.transposeOf(copy.table, reader) : copy.table);
    editing.edit.removeTensor(copy.copy);
    done.push_back(fmt::format("{} (to {})", copy.copy, copy.table));
  }
  editing.finish();
  return done.empty() ? std::string()
                      : fmt::format("tied {} to the table of equal values: {}",
                                    howMany(done.size(), "copy", "copies"), fmt::join(done, ", "));
}

/// Matrices that nameTraced() named get PyTorch's layout, and with it the plain name.
std::string giveLayoutsBack(Model &model, std::map<std::string, std::string> &former) {
  Editing editing(model);
  std::map<std::string, std::vector<TracedUse>> uses;
  for (size_t n = 0; n < model.graph.nodes.size(); ++n)
    for (size_t k = 0; k < model.graph.nodes[n].inputs.size(); ++k)
      uses[model.graph.nodes[n].inputs[k]].push_back({n, k});
  std::vector<std::string> done, stored;
  for (const Tensor &tensor : model.graph.initializers)
    if (tensor.dims.size() == 2 && tensor.name.ends_with(transposedSuffix) &&
        (former.count(tensor.name) || uses.count(tensor.name)))
      stored.push_back(tensor.name);
  for (const std::string &name : stored) {
    const std::string plain = name.substr(0, name.size() - transposedSuffix.size());
    auto found = uses.find(name);
    if (found == uses.end() || editing.edit.isTaken(plain))
      continue;
    editing.edit.addTensor(transposed(*editing.edit.tensor(name), plain));
    editing.redirect(found->second, editing.transposeOf(plain, model.graph.nodes[found->second[0].node]));
    editing.edit.removeTensor(name);
    auto old = former.find(name);
    done.push_back(old == former.end() ? plain : fmt::format("{} ({})", plain, old->second));
    if (old != former.end()) {
      former[plain] = old->second;
      former.erase(name);
    }
  }
  editing.finish();
  return done.empty()
             ? std::string()
             : fmt::format("gave {} back: {}", howMany(done.size(), "name and layout", "names and layouts"),
                           fmt::join(done, ", "));
}

std::vector<std::string> spoken(std::vector<std::string> sentences) {
  std::erase(sentences, std::string());
  return sentences;
}
} // namespace

std::map<std::string, std::string> nameTraced(Model &model) { return TracedNaming(model).run(); }

std::vector<std::string> repairTraced(Model &model, LintOptions &options) {
  std::vector<std::string> changes;
  changes.push_back(splitAll(model, options));
  changes.push_back(tieAll(model, options, !options.allow.count("untied-parameters")));
  if (options.repair == Repair::All)
    changes.push_back(giveLayoutsBack(model, options.former));
  return spoken(std::move(changes));
}

std::vector<std::string> tieTraced(Model &model, const LintOptions &options) {
  return options.tie.empty() ? std::vector<std::string>() : spoken({tieAll(model, options, false)});
}

} // namespace kedge::lint
