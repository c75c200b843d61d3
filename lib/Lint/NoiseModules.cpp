// Modules whose names say that they do nothing outside of training.
#include "lib/Lint/ExporterMetadata.h"
#include "lib/Lint/Noise.h"
#include "lib/Lint/OperatorFacts.h"
#include <algorithm>
#include <cctype>
#include <set>

namespace kedge::lint {
using model::Node;

namespace {
bool isSwitchedOff(std::string_view name) {
  std::string letters;
  for (char c : name)
    if (c != '_')
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char *word : {"dropout", "droppath", "dropblock", "dropconnect", "stochasticdepth"})
    if (letters.find(word) != std::string::npos)
      return true;
  return false;
}

/// Scopes of the module from the model down; the call itself is left out.
std::vector<std::string> modulePath(const Node &node) {
  std::vector<std::string> scopes = parseStringList(node.meta(key::nameScopes));
  if (!scopes.empty())
    scopes.pop_back();
  return scopes;
}

/// "/blocks.0/drop_path/": names of torch's older exporter are paths of modules.
std::string pathOfName(const Node &node) {
  if (node.name.empty() || node.name[0] != '/')
    return "";
  for (size_t end = node.name.rfind('/'); end != 0 && end != std::string::npos;
       end = node.name.rfind('/', end - 1)) {
    const size_t begin = node.name.rfind('/', end - 1);
    if (begin == std::string::npos)
      return "";
    if (isSwitchedOff(std::string_view(node.name).substr(begin, end - begin)))
      return node.name.substr(0, end + 1);
  }
  return "";
}

/// The innermost module around the draw with such a class or name, as what decides whether a node belongs to
/// it.
std::function<bool(const Node &)> moduleAround(const Node &draw) {
  const std::vector<std::string> path = modulePath(draw),
                                 classes = parseStringList(draw.meta(key::classHierarchy));
  for (size_t depth = path.size(); depth-- > 1;) {
    const std::string kind =
        depth < classes.size() ? classes[depth].substr(classes[depth].rfind('.') + 1) : "";
    const std::string name = path[depth].substr(path[depth].rfind('.') + 1);
    if (isSwitchedOff(kind) || isSwitchedOff(name))
      return [scope = path[depth], depth](const Node &node) {
        const std::vector<std::string> own = modulePath(node);
        return depth < own.size() && own[depth] == scope;
      };
  }
  if (const std::string prefix = pathOfName(draw); !prefix.empty())
    return [prefix](const Node &node) { return node.name.starts_with(prefix); };
  return nullptr;
}
} // namespace

std::optional<NoiseSwitch> switchOfModule(const Flow &flow, size_t draw) {
  const std::function<bool(const Node &)> belongs = moduleAround(flow.graph.nodes[draw]);
  if (!belongs)
    return std::nullopt;
  std::set<size_t> inside;
  for (size_t n = 0; n < flow.graph.nodes.size(); ++n)
    if (belongs(flow.graph.nodes[n]))
      inside.insert(n);
  std::set<std::string> results, data;
  NoiseSwitch found{{draw}, 0, "", ""};
  for (size_t n : inside) {
    const Node &node = flow.graph.nodes[n];
    for (const std::string &output : node.outputs) {
      const auto readers = flow.readers(output);
      if (flow.isOutput(output) || std::any_of(readers.begin(), readers.end(), [&](const auto &reader) {
            return !inside.count(reader.first);
          })) {
        results.insert(output);
        found.node = n;
      }
    }
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const bool onlyForm =
          node.is("Shape") || (k == 1 && node.is("CastLike")) || drawsAlways(node) || decidesShape(node, k);
      std::optional<size_t> made = flow.producer(node.inputs[k]);
      if (node.hasInput(k) && !onlyForm && !(made && inside.count(*made)) && !flow.isFixed(node.inputs[k]))
        data.insert(node.inputs[k]);
    }
  }
  if (results.size() != 1 || data.size() != 1)
    return std::nullopt;
  found.result = *results.begin();
  found.data = *data.begin();
  return found;
}

} // namespace kedge::lint
