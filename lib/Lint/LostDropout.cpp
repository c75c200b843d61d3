#include "lib/Lint/LostDropout.h"
#include "lib/Lint/ExporterMetadata.h"
#include <algorithm>
#include <charconv>

namespace kedge::lint {
using model::Graph;
using model::Node;

namespace {
/// Probability of the call; 0: none, or a value that only a run knows.
float ratioOf(const FxCall &call) {
  constexpr size_t place = 4; // of scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, ...)
  std::string text = call.arguments.size() > place ? call.arguments[place].text : "";
  if (auto found = call.keywords.find("dropout_p"); found != call.keywords.end())
    text = found->second.text;
  float ratio = 0;
  std::from_chars(text.data(), text.data() + text.size(), ratio);
  return ratio;
}

/// The nodes of each call, by its text.
std::map<std::string, std::vector<size_t>> attentionCalls(const Graph &graph) {
  std::map<std::string, std::vector<size_t>> calls;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (const std::string &text = graph.nodes[n].meta(key::fxNode);
        text.find("scaled_dot_product_attention") != std::string::npos)
      calls[text].push_back(n);
  return calls;
}

/// A file of the TorchScript exporter names each node by the path of its module. It writes a Dropout without
/// a mode for this call alone: others have one, or are left out.
bool isOfTorchScript(const Node &node, const std::set<std::string> &probabilities) {
  constexpr int64_t withMode = 12; // first opset whose Dropout has a mode
  return node.is("Dropout") && node.opset >= withMode && !node.hasInput(2) && node.name.starts_with("/") &&
         node.meta(key::fxNode).empty() && probabilities.count(node.input(0));
}
} // namespace

LostDropout::LostDropout(const Graph &graph) {
  std::set<std::string> probabilities;
  for (const Node &node : graph.nodes)
    if (node.is("Softmax") ||
        (node.is("Where") && probabilities.count(node.input(2)))) // rows that see nothing are 0
      probabilities.insert(node.output(0));
    else if (isOfTorchScript(node, probabilities))
      outputs.insert(node.output(0));

  for (const auto &[text, nodes] : attentionCalls(graph)) {
    const std::optional<FxCall> call = FxCall::parse(text);
    const float ratio = call && call->target == "scaled_dot_product_attention" ? ratioOf(*call) : 0;
    if (ratio <= 0)
      continue;
    const auto last = [&](const char *type) {
      return std::find_if(nodes.rbegin(), nodes.rend(), [&](size_t n) { return graph.nodes[n].is(type); });
    };
    const auto dropout = last("Dropout"), softmax = last("Softmax"), product = last("MatMul");
    if (dropout != nodes.rend())
      outputs.insert(graph.nodes[*dropout].output(0));
    else if (softmax != nodes.rend() && product != nodes.rend() && *softmax < *product)
      lost.push_back({*softmax, *product, ratio});
  }
  std::ranges::sort(lost, {}, &MissingDropout::product);
}

bool LostDropout::isOn(const Node &node) const { return node.is("Dropout") && outputs.count(node.output(0)); }

} // namespace kedge::lint
