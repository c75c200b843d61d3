// Nodes that the exporter merged because their parameters had been merged: two norms of one value, side by
// side. The call of the lost node is gone, but its readers' calls still name its result, and the signature
// its parameters.
#include "lib/Lint/Damage.h"
#include <algorithm>
#include <set>

namespace kedge::lint {
using model::Graph;
using model::Node;

namespace {
std::string parentOf(const std::string &dotted) {
  size_t dot = dotted.rfind('.');
  return dot == std::string::npos ? std::string() : dotted.substr(0, dot);
}

/// "layer_norm_12" -> 12; 0 when there is no number.
int64_t numberOf(const std::string &name) {
  size_t digits = name.find_last_not_of("0123456789") + 1;
  return digits == name.size() || name.size() - digits > 9 ? 0 : std::stoll(name.substr(digits));
}

class SharedFinder {
public:
  SharedFinder(const Graph &graph, const Signature &signature, const Uses &uses)
      : graph(graph), signature(signature), uses(uses) {
    std::set<std::string> named;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      results.insert(graph.nodes[n].outputs.begin(), graph.nodes[n].outputs.end());
      for (const std::string &input : graph.nodes[n].inputs)
        readers[input].push_back(n);
      if (const FxCall *call = uses.call(n)) {
        results.insert(call->name);
        for (const std::string &ref : call->refs())
          named.insert(ref);
      }
    }
    for (const model::Tensor &tensor : graph.initializers)
      for (const std::string &source : parseStringList(metadataOf(tensor, graph, key::foldedFrom)))
        named.insert(source);
    for (const SignatureEntry &entry : signature.all())
      if (entry.kind == SignatureKind::Parameter && !named.count(entry.placeholder) &&
          !named.count(entry.target) && !graph.findInitializer(entry.target))
        lost.push_back(&entry);
  }

  std::vector<SharedNode> find() const {
    std::vector<SharedNode> found;
    if (lost.empty())
      return found;
    std::map<size_t, std::vector<Use>> parameters; // by node
    for (const auto &[tensor, places] : uses.all())
      for (const Use &use : places)
        if (use.placeholder && Signature::isParameter(*use.placeholder))
          parameters[use.node].push_back(use);
    for (const auto &[node, places] : parameters)
      if (uses.siblings(node).size() == 1)
        findTwins(node, places, found);
    return found;
  }

private:
  /// Placeholders that a module beside this node's own would have in their place; empty when it lacks one.
  std::vector<std::string> counterparts(const std::string &module, const std::vector<Use> &places) const {
    std::vector<std::string> names;
    for (const Use &use : places) {
      std::string target = signature.nameOf(*use.placeholder);
      std::string wanted = module + target.substr(parentOf(target).size());
      auto entry = std::find_if(lost.begin(), lost.end(),
                                [&](const SignatureEntry *e) { return e->target == wanted; });
      if (entry == lost.end())
        return {};
      names.push_back((*entry)->placeholder);
    }
    return names;
  }

  void findTwins(size_t n, const std::vector<Use> &places, std::vector<SharedNode> &found) const {
    std::string own = parentOf(signature.nameOf(*places.front().placeholder));
    std::vector<std::vector<std::string>> candidates;
    std::set<std::string> tried = {own};
    for (const SignatureEntry *entry : lost) {
      std::string module = parentOf(entry->target);
      if (parentOf(module) == parentOf(own) && tried.insert(module).second)
        if (std::vector<std::string> names = counterparts(module, places); !names.empty())
          candidates.push_back(std::move(names));
    }
    if (candidates.empty())
      return;
    std::map<int64_t, SharedNode> twins = lostResults(n);
    if (twins.size() != candidates.size())
      return;
    size_t next = 0;
    for (auto &[number, twin] : twins) {
      for (size_t k = 0; k < places.size(); ++k)
        twin.parameters.push_back({places[k], candidates[next][k]});
      ++next;
      found.push_back(std::move(twin));
    }
  }

  /// Results that readers of this node name in its stead and that no node of the file has, by their number.
  std::map<int64_t, SharedNode> lostResults(size_t n) const {
    std::map<int64_t, SharedNode> twins;
    const std::string &result = graph.nodes[n].output(0);
    auto found = readers.find(result);
    const FxCall *own = uses.call(n);
    if (found == readers.end() || !own)
      return twins;
    for (size_t reader : std::set<size_t>(found->second.begin(), found->second.end())) {
      const FxCall *call = uses.call(reader);
      if (!call)
        continue;
      std::vector<std::string> refs = call->refs();
      if (std::count(refs.begin(), refs.end(), own->name))
        continue; // it reads this very result
      for (const std::string &ref : refs)
        if (!results.count(ref) && isNumbered(ref, own->name)) {
          SharedNode &twin = twins.try_emplace(numberOf(ref), SharedNode{n, ref, {}, {}}).first->second;
          for (size_t k = 0; k < graph.nodes[reader].inputs.size(); ++k)
            if (graph.nodes[reader].inputs[k] == result)
              twin.readers.push_back({reader, k, Role::None, std::nullopt});
          break;
        }
    }
    return twins;
  }

  /// Whether both names differ in their number only: "layer_norm_1" and "layer_norm".
  static bool isNumbered(const std::string &a, const std::string &b) {
    auto stem = [](const std::string &name) {
      size_t end = name.find_last_not_of("0123456789");
      return end != std::string::npos && end + 1 < name.size() && name[end] == '_' ? name.substr(0, end)
                                                                                   : name;
    };
    return a != b && stem(a) == stem(b);
  }

  const Graph &graph;
  const Signature &signature;
  const Uses &uses;
  std::set<std::string> results;
  std::map<std::string, std::vector<size_t>> readers;
  std::vector<const SignatureEntry *> lost;
};
} // namespace

std::vector<SharedNode> findSharedNodes(const Graph &graph, const Signature &signature, const Uses &uses) {
  return signature.present() ? SharedFinder(graph, signature, uses).find() : std::vector<SharedNode>();
}

} // namespace kedge::lint
