#include "lib/Lint/Traced.h"
#include "lib/Lint/Classify.h"
#include "lib/Lint/OperatorFacts.h"
#include "lib/Support/Error.h"
#include "runtime/io/NamePattern.h"
#include <algorithm>
#include <cstring>

namespace kedge::lint {
using model::Graph;
using model::Node;
using model::Tensor;

namespace {
std::string leafOfPath(const std::string &path) { return path.substr(path.rfind('.') + 1); }

std::string moduleOfPath(const std::string &path) {
  size_t dot = path.rfind('.');
  return dot == std::string::npos ? std::string() : path.substr(0, dot);
}

std::string pathOf(const std::string &module, const std::string &leaf) {
  return module.empty() ? leaf : module + "." + leaf;
}

/// Whether one of two modules lies in the other.
bool isWithin(const std::string &a, const std::string &b) {
  auto inside = [](const std::string &outer, const std::string &inner) {
    return outer.empty() || inner == outer || inner.starts_with(outer + ".");
  };
  return inside(a, b) || inside(b, a);
}

/// "/self_attn/MatMul_1" -> "self_attn.MatMul_1", by way of the module.
std::string nodePath(const Node &node) {
  return pathOf(tracedModule(node).value_or(""), node.name.substr(node.name.rfind('/') + 1));
}

/// Gives each parameter's name once, in the order of the graph.
NamedOperands &namedEntry(std::vector<NamedOperands> &names, const std::string &name) {
  auto found =
      std::find_if(names.begin(), names.end(), [&](const NamedOperands &n) { return n.name == name; });
  return found == names.end() ? names.emplace_back(NamedOperands{name, {}, std::nullopt}) : *found;
}

bool isVector(const Tensor &tensor) {
  return tensor.numElements() > 1 &&
         std::count_if(tensor.dims.begin(), tensor.dims.end(), [](int64_t d) { return d != 1; }) == 1;
}

/// Compares element by element, until two differ.
bool holdsTransposed(const Tensor &a, const Tensor &b) {
  const model::Bytes left = a.bytes(), right = b.bytes();
  const size_t element = model::dtypeBits(a.dtype) / 8;
  const int64_t rows = a.dims[0], columns = a.dims[1];
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      if (std::memcmp(left.data + (r * columns + c) * element, right.data + (c * rows + r) * element,
                      element) != 0)
        return false;
  return true;
}

bool holdsTheSame(const Tensor &a, const Tensor &b) {
  const model::Bytes left = a.bytes(), right = b.bytes();
  return left.size == right.size && std::memcmp(left.data, right.data, left.size) == 0;
}
} // namespace

std::optional<std::string> tracedModule(const Node &node) {
  const std::string &name = node.name;
  if (name.empty() || name[0] != '/')
    return std::nullopt;
  const size_t last = name.rfind('/');
  const std::string op = name.substr(last + 1);
  if (!op.starts_with(node.opType) || (op.size() > node.opType.size() && op[node.opType.size()] != '_'))
    return std::nullopt;
  std::string module;
  std::string segment, before;
  for (size_t from = 1; from < last; from += segment.size() + 1, before = segment) {
    segment = name.substr(from, std::min(name.find('/', from), last) - from);
    // A Sequential repeats itself before its member: "/layer1/layer1.0".
    if (!before.empty() && segment.starts_with(before + "."))
      module.resize(module.size() - before.size());
    else if (!module.empty())
      module += '.';
    module += segment;
  }
  return module;
}

bool isNameless(const std::string &name) {
  const size_t number = name.find_last_not_of("0123456789") + 1;
  return name.starts_with("onnx::") && number < name.size() && name[number - 1] == '_';
}

bool isUniform(const Tensor &tensor) {
  try {
    const model::Bytes bytes = tensor.bytes();
    const size_t element = model::dtypeBits(tensor.dtype) / 8;
    return element != 0 && bytes.size > 0 &&
           std::memcmp(bytes.data, bytes.data + element, bytes.size - element) == 0;
  } catch (const Error &) {
    return false; // external data that is not there
  }
}

bool isTie(const SharedTensor &one, const LintOptions &options) {
  return options.trainedAtExport && std::all_of(one.names.begin() + 1, one.names.end(),
                                                [](const NamedOperands &named) { return named.identity; });
}

TracedGraph::TracedGraph(const Graph &graph)
    : graph(graph), values(graph), norms(values), record(Signature::of(graph).present()) {
  std::set<std::string> outputs;
  for (const model::ValueInfo &output : graph.outputs)
    outputs.insert(output.name);
  for (const Tensor &tensor : graph.initializers)
    names.insert(tensor.name);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node &node = graph.nodes[n];
    for (size_t k = 0; k < node.inputs.size(); ++k)
      readers[node.inputs[k]].push_back({n, k});
    const std::vector<std::string> reads = readsOf(node);
    inner.insert(reads.begin() + static_cast<std::ptrdiff_t>(node.inputs.size()), reads.end());
    // An Identity of the traced program itself, nn.Identity, has a path for a name, and its output one made
    // from that.
    if (node.is("Identity") && node.name.find('/') == std::string::npos &&
        (names.count(node.input(0)) || renaming.count(node.input(0))) && !outputs.count(node.output(0)) &&
        node.output(0).find('/') == std::string::npos) {
      renaming.emplace(node.output(0), n);
      names.insert(node.output(0));
    }
  }
  learnModules();
  countMatrices();
}

void TracedGraph::learnModules() {
  for (const std::string &name : names)
    if (!isNameless(name))
      for (std::string module = moduleOfPath(name); !module.empty(); module = moduleOfPath(module))
        owners.insert(module);
  for (const Node &node : graph.nodes)
    if (std::optional<std::string> module = tracedModule(node))
      scopes.insert(*module);
}

/// The module whose call a node belongs to: the exporter numbers further calls, "f_1" is the second of "f",
/// if nothing says that there is a module "f_1".
std::optional<std::string> TracedGraph::moduleAt(const Node &node) const {
  std::optional<std::string> module = tracedModule(node);
  if (!module || owners.count(*module))
    return module;
  const size_t number = module->find_last_not_of("0123456789") + 1;
  if (number < 2 || number == module->size() || (*module)[number - 1] != '_')
    return module;
  const std::string first = module->substr(0, number - 1);
  return owners.count(first) || scopes.count(first) ? first : module;
}

void TracedGraph::countMatrices() {
  for (const Tensor &tensor : graph.initializers) {
    if (!isNameless(tensor.name) || tensor.dims.size() != 2)
      continue;
    NamedOperands all;
    addReaders(tensor.name, all);
    std::set<std::string> modules;
    for (const TracedUse &use : all.operands)
      if (graph.nodes[use.node].is("MatMul") && use.operand == 1)
        for (const std::optional<std::string> &module :
             {moduleAt(graph.nodes[use.node]), tracedModule(graph.nodes[use.node])})
          if (module)
            modules.insert(*module);
    for (const std::string &module : modules)
      ++matricesIn[module];
  }
}

/// Operands that a value has in the end, behind Identity nodes that only rename it.
void TracedGraph::addReaders(const std::string &value, NamedOperands &to) const {
  auto found = readers.find(value);
  if (found == readers.end())
    return;
  for (const TracedUse &use : found->second)
    if (auto second = renaming.find(graph.nodes[use.node].output(0));
        second != renaming.end() && second->second == use.node)
      addReaders(second->first, to);
    else
      to.operands.push_back(use);
}

/// The bias that is added to a product, if it is called as its module's biases are.
std::string TracedGraph::biasOf(size_t product) const {
  const std::string module = moduleAt(graph.nodes[product]).value_or("");
  auto found = readers.find(graph.nodes[product].output(0));
  if (found == readers.end() || found->second.size() != 1 || !graph.nodes[found->second[0].node].is("Add"))
    return "";
  const std::string &name = graph.nodes[found->second[0].node].input(1 - found->second[0].operand);
  return names.count(name) && moduleOfPath(name) == module && leafOfPath(name).ends_with("bias")
             ? name
             : std::string();
}

/// A Linear's weight is called as its bias is; without one, as its module's only matrix.
std::string TracedGraph::weightName(size_t product, bool literally) const {
  if (const std::string bias = biasOf(product); !bias.empty())
    return bias.substr(0, bias.size() - 4) + "weight";
  const Node &node = graph.nodes[product];
  const std::string module = (literally ? tracedModule(node) : moduleAt(node)).value_or("");
  auto found = matricesIn.find(module);
  return module.empty() || found == matricesIn.end() || found->second != 1 ? nodePath(node)
                                                                           : pathOf(module, "weight");
}

/// A group norm's scale and shift, which lie around its InstanceNormalization in the same module; "" for
/// others.
std::string TracedGraph::groupNormName(const TracedUse &use) const {
  const Node &node = graph.nodes[use.node];
  const NormPart part = norms.part(node, use.operand);
  const Node *norm = norms.groupNorm(node.output(0));
  if (!norm || (part != NormPart::Scale && part != NormPart::Shift) ||
      tracedModule(*norm) != tracedModule(node))
    return "";
  const std::string name = pathOf(moduleAt(node).value_or(""), part == NormPart::Scale ? "weight" : "bias");
  return names.count(name) ? std::string() : name;
}

std::optional<Nameless> TracedGraph::namelessOf(const Tensor &tensor) const {
  if (record || !isNameless(tensor.name) || !model::isFloat(tensor.dtype) || inner.count(tensor.name))
    return std::nullopt;
  NamedOperands all;
  addReaders(tensor.name, all);
  if (all.operands.empty())
    return std::nullopt;
  std::stable_sort(all.operands.begin(), all.operands.end(),
                   [](const TracedUse &a, const TracedUse &b) { return a.node < b.node; });
  Nameless nameless{tensor.name, {}, {}, tensor.dims.size() == 2};
  const bool literally =
      isUniform(tensor); // equal values of different layers, or of one that is called twice
  bool isNorm = true;
  for (const TracedUse &use : all.operands) {
    const Node &node = graph.nodes[use.node];
    const bool product = nameless.isMatrix && node.is("MatMul") && use.operand == 1;
    const bool sum = isVector(tensor) && (node.is("Mul") || node.is("Add"));
    if (!tracedModule(node) || !(product || sum) || inner.count(node.input(use.operand)))
      return std::nullopt;
    nameless.isMatrix = product;
    const std::string own = sum ? groupNormName(use) : std::string();
    isNorm = isNorm && !own.empty();
    NamedOperands &named =
        namedEntry(nameless.names, product       ? weightName(use.node, literally) + transposedSuffix
                                   : own.empty() ? nodePath(node)
                                                 : own);
    named.operands.push_back(use);
    if (auto second = renaming.find(node.input(use.operand)); second != renaming.end())
      named.identity = second->second;
  }
  if (nameless.isMatrix)
    nameless.literal = weightName(nameless.names[0].operands[0].node, true) + transposedSuffix;
  // A mask of zeros and ones stays what it is; a scale of nothing but ones is 1 + weight, and not trained
  // yet.
  if (!nameless.isMatrix && !isNorm && hasMaskValues(tensor) &&
      !(isUniform(tensor) && graph.nodes[all.operands[0].node].is("Mul")))
    return std::nullopt;
  return nameless;
}

std::vector<Nameless> TracedGraph::nameless() const {
  std::vector<Nameless> all;
  for (const Tensor &tensor : graph.initializers)
    if (std::optional<Nameless> one = namelessOf(tensor))
      all.push_back(std::move(*one));
  return all;
}

bool isScopedName(const std::string &name) {
  return (name.find('/') != std::string::npos && name.ends_with(":0")) ||
         name.starts_with("const_fold_opt__");
}

/// foreignName() in files of tf2onnx: "f/norm_1/Reshape:0" where node "f/norm_1/mul" reads
/// "f/norm/Reshape:0".
std::string TracedGraph::foreignScope(const Tensor &tensor, const TracedUse &use) const {
  auto scopeOf = [](const std::string &name) {
    const size_t slash = name.rfind('/');
    return slash == std::string::npos ? std::string() : name.substr(0, slash);
  };
  const std::string reader = scopeOf(graph.nodes[use.node].name);
  std::string home = scopeOf(tensor.name);
  if (home.empty() && readers.count(tensor.name))
    home = scopeOf(graph.nodes[readers.at(tensor.name)[0].node].name);
  const auto inside = [](const std::string &a, const std::string &b) {
    return a == b || b.starts_with(a + "/");
  };
  if (reader.empty() || home.empty() || inside(reader, home) || inside(home, reader))
    return "";
  const std::string name = reader + "/" + tensor.name.substr(tensor.name.rfind('/') + 1);
  return names.count(name) ? std::string() : name;
}

/// The parameter that stood at an operand of another module's node: an optimizer of graphs left Identity
/// nodes out. "" when the operand is no other parameter's.
std::string TracedGraph::foreignName(const Tensor &tensor, const TracedUse &use, bool uniform) const {
  const Node &node = graph.nodes[use.node];
  if (isScopedName(tensor.name))
    return uniform && tensor.numElements() > 1 ? foreignScope(tensor, use) : std::string();
  const std::optional<std::string> module = moduleAt(node);
  const std::string owner = moduleOfPath(tensor.name);
  if (!module || *module == owner || isNameless(tensor.name))
    return "";
  const Role role = roleOf(node, use.operand);
  const bool own = (role == Role::Weight || role == Role::Bias) && !node.is("MatMul") && !node.is("Gather");
  if (isWithin(*module, owner) && !(uniform && own))
    return ""; // a parameter that a module takes from its parent or child
  const std::string leaf = own ? (role == Role::Weight ? "weight" : "bias") : leafOfPath(tensor.name);
  const std::string name = pathOf(*module, leaf);
  return names.count(name) ? std::string() : name;
}

std::vector<NamedOperands> TracedGraph::namesOf(const Tensor &tensor) const {
  std::vector<NamedOperands> names = {{tensor.name, {}, std::nullopt}};
  const bool uniform = isUniform(tensor);
  std::vector<std::pair<std::string, std::vector<TracedUse>>> foreign;
  const std::string owner = moduleOfPath(tensor.name);
  bool readAtHome = false;
  auto collect = [&](auto &self, const std::string &value, const std::string &name) -> void {
    auto found = readers.find(value);
    if (found == readers.end())
      return;
    for (const TracedUse &use : found->second) {
      const std::string &output = graph.nodes[use.node].output(0);
      if (auto second = renaming.find(output); second != renaming.end() && second->second == use.node) {
        if (isNameless(output) && !isNameless(tensor.name) && !uniform) { // a copy of the tensor itself
          self(self, output, name);
          continue;
        }
        self(self, output, output);
        if (!namedEntry(names, output).operands.empty())
          namedEntry(names, output).identity = use.node;
        continue;
      }
      const std::string other = name == tensor.name ? foreignName(tensor, use, uniform) : std::string();
      readAtHome |= name == tensor.name && (moduleAt(graph.nodes[use.node]) == owner ||
                                            (isScopedName(tensor.name) && other.empty()));
      if (other.empty())
        namedEntry(names, name).operands.push_back(use);
      else
        foreign.push_back({other, {use}});
    }
  };
  collect(collect, tensor.name, tensor.name);
  for (const auto &[other, uses] : foreign) {
    NamedOperands &named = namedEntry(names, readAtHome ? other : tensor.name);
    named.operands.insert(named.operands.end(), uses.begin(), uses.end());
  }
  std::erase_if(names, [&](const NamedOperands &n) { return n.operands.empty() && n.name != tensor.name; });
  auto first = [](const NamedOperands &n) { return n.operands.front().node; };
  std::stable_sort(names.begin() + 1, names.end(),
                   [&](const NamedOperands &a, const NamedOperands &b) { return first(a) < first(b); });
  return names;
}

bool TracedGraph::isLookedUp(const TracedUse &use) const {
  return graph.nodes[use.node].is("Gather") && use.operand == 0;
}

bool TracedGraph::isMultiplied(const TracedUse &use) const {
  const Node &node = graph.nodes[use.node];
  if (node.is("MatMul") || (node.is("Gemm") && use.operand < 2))
    return true;
  auto found = readers.find(node.output(0));
  return node.is("Transpose") && found != readers.end() &&
         std::all_of(found->second.begin(), found->second.end(), [&](const TracedUse &next) {
           const Node &reader = graph.nodes[next.node];
           return reader.is("MatMul") || (reader.is("Gemm") && next.operand < 2);
         });
}

std::optional<SharedTensor> TracedGraph::sharedOf(const Tensor &tensor) const {
  if (record || !model::isFloat(tensor.dtype) || inner.count(tensor.name))
    return std::nullopt;
  SharedTensor shared{tensor.name, namesOf(tensor), tensor.dims.size() == 2 && !isUniform(tensor)};
  if (shared.names.size() < 2)
    return std::nullopt;
  bool lookedUp = false;
  for (const NamedOperands &named : shared.names)
    for (const TracedUse &use : named.operands) {
      lookedUp |= isLookedUp(use);
      shared.isTable = shared.isTable && (isLookedUp(use) || isMultiplied(use));
    }
  shared.isTable = shared.isTable && lookedUp;
  return shared;
}

std::vector<SharedTensor> TracedGraph::shared() const {
  std::vector<SharedTensor> all;
  for (const Tensor &tensor : graph.initializers)
    if (std::optional<SharedTensor> one = sharedOf(tensor))
      all.push_back(std::move(*one));
  return all;
}

std::optional<TableCopy> TracedGraph::copyOf(const Tensor &table, const Tensor &matrix) const {
  if (matrix.dims.size() != 2 || matrix.dtype != table.dtype || &matrix == &table || inner.count(matrix.name))
    return std::nullopt;
  TableCopy copy{table.name, matrix.name, false, {}};
  NamedOperands uses;
  addReaders(matrix.name, uses);
  if (uses.operands.empty() || !std::all_of(uses.operands.begin(), uses.operands.end(),
                                            [&](const TracedUse &u) { return isMultiplied(u); }))
    return std::nullopt;
  copy.operands = std::move(uses.operands);
  const bool swapped = matrix.dims[0] == table.dims[1] && matrix.dims[1] == table.dims[0];
  if ((matrix.dims == table.dims && holdsTheSame(table, matrix)) ||
      (swapped && (copy.transposed = holdsTransposed(table, matrix))))
    return copy;
  return std::nullopt;
}

std::vector<TableCopy> TracedGraph::copies() const {
  std::vector<TableCopy> all;
  for (const Tensor &table : graph.initializers) {
    NamedOperands uses;
    addReaders(table.name, uses);
    if (record || !model::isFloat(table.dtype) || table.dims.size() != 2 || table.dims[0] < 2 ||
        table.dims[1] < 2 || inner.count(table.name) ||
        !std::any_of(
            uses.operands.begin(), uses.operands.end(), [&](const TracedUse &u) { return isLookedUp(u); }) ||
        isUniform(table))
      continue;
    for (const Tensor &matrix : graph.initializers)
      try {
        if (std::optional<TableCopy> copy = copyOf(table, matrix))
          all.push_back(std::move(*copy));
      } catch (const Error &) {
        continue; // external data that is not there: nothing to compare
      }
  }
  return all;
}

std::set<std::string> tiedNames(const std::vector<std::string> &group, const std::vector<std::string> &tie) {
  std::set<std::string> tied;
  for (const std::string &text : tie) {
    const rt::NamePattern pattern(text);
    for (const std::string &name : group)
      if (pattern.isIn(name))
        tied.insert(name);
  }
  return tied.size() < 2 ? std::set<std::string>() : tied;
}

} // namespace kedge::lint
