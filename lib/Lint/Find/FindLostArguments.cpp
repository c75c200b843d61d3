// Arguments of PyTorch's calls that the exporter's translation drops: the operators compute something else.
#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/Find/LostArguments.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <sstream>

namespace kedge::lint {
using model::Node;

namespace {

std::optional<double> numberOf(const std::string &text) {
  if (text.empty())
    return std::nullopt;
  char *end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return *end == 0 ? std::optional(value) : std::nullopt;
}

bool equal(const std::string &found, const std::string &wanted) {
  const std::optional<double> a = numberOf(found), b = numberOf(wanted);
  return a && b ? *a == *b : found == wanted;
}

/// "avg_pool2d" fits all of its overloads, "max.dim" that one.
bool isCall(const FxCall &call, std::string_view name) {
  const size_t dot = name.find('.');
  return call.target == name.substr(0, dot) &&
         (dot == std::string_view::npos || call.overload == name.substr(dot + 1));
}

std::string argumentAt(const FxCall &call, size_t place, const std::string &keyword) {
  if (auto named = call.keywords.find(keyword); named != call.keywords.end())
    return named->second.text;
  return place < call.arguments.size() ? call.arguments[place].text : std::string();
}

/// Numbers of "[3, 4]", or of "3".
std::vector<double> numbersOf(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '[' || c == ']' || c == ','; }, ' ');
  std::istringstream stream(text);
  std::vector<double> numbers;
  for (std::string word; stream >> word;)
    numbers.push_back(numberOf(word).value_or(-1));
  return numbers;
}

/// Whether a factor gives just the size of the result, so that steps by it and by the sizes are alike; what
/// the file does not say of sizes is taken for a difference.
bool givesSizes(const FxCall &call, const Node &node, const model::Graph &graph, size_t dimension,
                double factor) {
  const std::vector<double> sizes = numbersOf(argumentAt(call, 1, "output_size"));
  const model::ValueInfo *input = node.is("Resize") ? graph.findValueInfo(node.input(0)) : nullptr;
  if (!input || !input->hasShape || dimension >= sizes.size() || input->dims.size() != sizes.size() + 2)
    return false;
  const model::Dim &size = input->dims[dimension + 2];
  return size.isValue() && std::abs(static_cast<double>(size.value) * factor - sizes[dimension]) < 1e-4;
}

class LostArguments {
public:
  explicit LostArguments(FindingContext &context) : context(context) {}

  void find() {
    const std::vector<Node> &nodes = context.graph().nodes;
    for (size_t n = 0; n < nodes.size(); ++n)
      if (const FxCall *call = context.evidence.uses.call(n))
        for (const LostArgument &row : lostArguments())
          if (isCall(*call, row.call) && stands(nodes[n], n, row) && !isHarmless(*call, nodes[n], row))
            report(nodes[n], *call, row);
    findProjections();
  }

private:
  /// The node of the call that the row is about; once for each call.
  bool stands(const Node &node, size_t n, const LostArgument &row) const {
    if (!node.is(row.op))
      return false;
    for (size_t sibling : context.evidence.uses.siblings(n))
      if (context.graph().nodes[sibling].is(row.op))
        return sibling == n;
    return true;
  }

  bool isHarmless(const FxCall &call, const Node &node, const LostArgument &row) const {
    const std::string given = argumentAt(call, row.place, row.name),
                      found = given.empty() ? row.otherwise : given;
    std::istringstream harmless(row.harmless);
    for (std::string text; harmless >> text;)
      if (equal(found, text))
        return true;
    if (row.isHarmless && row.isHarmless(node))
      return true;
    if (row.kind == LostArgument::Kind::Factor) {
      if (argumentAt(call, 2, "align_corners") == "True")
        return true;
      const std::optional<double> factor = numberOf(found);
      return factor && givesSizes(call, node, context.graph(), row.dimension, *factor);
    }
    return false;
  }

  /// The exporter takes the weights of a layer four at a time, where one with a projection has five.
  void findProjections() {
    std::set<std::string> seen; // its other nodes have the same call
    for (size_t n = 0; n < context.graph().nodes.size(); ++n) {
      const FxCall *call = context.evidence.uses.call(n);
      if (!call || call->target != "lstm" ||
          argumentAt(*call, 2, "params").find("weight_hr") == std::string::npos ||
          !seen.insert(call->name).second)
        continue;
      const Node &node = context.graph().nodes[n];
      context.findings.push_back(
          {Severity::Error, "lost-argument", nodeName(node), node.output(0), moduleOf(node),
           "the exporter has no place for proj_size of lstm: the file's LSTM has the weights of other "
           "layers, "
           "and no projection",
           "leave proj_size out, or write the layer as a loop over time steps", false, ""});
    }
  }

  void report(const Node &node, const FxCall &call, const LostArgument &row) {
    const std::string given = argumentAt(call, row.place, row.name);
    context.findings.push_back({Severity::Error, "lost-argument", nodeName(node), node.output(0),
                                moduleOf(node),
                                fmt::format("the exporter has no place for {} = {} of {}: {}", row.name,
                                            given.empty() ? row.otherwise : given, call.target, row.file),
                                row.remedy, false, ""});
  }

  FindingContext &context;
};

} // namespace

void findLostArguments(FindingContext &context) { LostArguments(context).find(); }

std::string unknownArguments(const model::Model &model) {
  std::string found;
  for (const Node &node : model.graph.nodes) {
    if (!node.meta(key::fxNode).empty())
      return "";
    // The exporter of TorchScript, which names nodes by paths, refuses all others.
    const bool mayLose = node.name.starts_with("node_") || node.is("ScatterElements");
    for (const LostArgument &row : lostArguments())
      if (found.empty() && mayLose && node.is(row.op) && !(row.isHarmless && row.isHarmless(node)))
        found = fmt::format(
            "whether torch's exporter dropped an argument, such as {} of {} at '{}': the file has no "
            "record of the calls",
            row.name, std::string_view(row.call).substr(0, std::string_view(row.call).find('.')),
            nodeName(node));
  }
  return model.producer == "pytorch" ? found : "";
}

} // namespace kedge::lint
