#include "tools/kedge-bench/RematGraph.h"
#include "tools/kedge-bench/JsonFile.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <queue>
#include <set>

namespace kedge::bench {
namespace {
using nlohmann::json;

constexpr double bytesLimit = 0x1p62;

class GraphReader : JsonFile {
public:
  explicit GraphReader(const std::string &path) : JsonFile(path, "a graph as node-link JSON") {}

  solver::RematProblem read() {
    data = parse();
    readNodes();
    readLinks();
    readOrder();
    return std::move(problem);
  }

private:
  const json &list(const std::string &key) const {
    const json &result = field(data, key, "the graph");
    if (!result.is_array())
      fail("{}: expected a list under '{}', found {}", path, key, result.type_name());
    return result;
  }

  double number(const json &node, const std::string &key, const std::string &where) const {
    const json &value = field(node, key, where);
    double number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= 0) || number >= bytesLimit)
      fail("{}: {}: expected a number from 0 to 2^62 for '{}', found {}", path, where, key, value.dump());
    return number;
  }

  void readNodes() {
    const json &nodes = list("nodes");
    if (nodes.empty())
      fail("{}: expected at least one node, found none", path);
    bool layered = nodes[0].is_object() && nodes[0].contains("duration");
    double total = 0;
    for (const json &node : nodes) {
      std::string where = fmt::format("node {}", problem.nodes.size());
      std::string id = field(node, layered ? "name" : "id", where).dump();
      int index = static_cast<int>(problem.nodes.size());
      if (!indices.emplace(id, index).second)
        fail("{}: {}: the name {} is there twice", path, where, id);
      const char *bytesKey = layered ? "out_cost" : "cost_ram";
      double bytes = number(node, bytesKey, where);
      if (bytes != std::floor(bytes))
        fail("{}: {}: expected a whole number for '{}', found {}", path, where, bytesKey,
             node[bytesKey].dump());
      if ((total += bytes) >= bytesLimit)
        fail("{}: expected values of less than 2^62 bytes in all", path);
      solver::RematNode made;
      made.cost = number(node, layered ? "duration" : "cost_cpu", where);
      made.outputs = {index};
      problem.nodes.push_back(made);
      problem.values.push_back({static_cast<int64_t>(bytes)});
    }
  }

  int indexOf(const json &id, const std::string &where) const {
    auto at = indices.find(id.dump());
    if (at == indices.end())
      fail("{}: {}: expected the name of a node, found {}", path, where, id.dump());
    return at->second;
  }

  void readLinks() {
    std::vector<std::set<int>> inputs(problem.nodes.size());
    size_t count = 0;
    for (const json &link : list("links")) {
      std::string where = fmt::format("link {}", count++);
      bool numbered = link.is_object() && link.contains("0");
      int from = indexOf(field(link, numbered ? "0" : "source", where), where);
      inputs[indexOf(field(link, numbered ? "1" : "target", where), where)].insert(from);
    }
    for (size_t node = 0; node < inputs.size(); ++node)
      problem.nodes[node].inputs.assign(inputs[node].begin(), inputs[node].end());
  }

  bool isExecution(const std::vector<int> &order) const {
    std::vector<char> ran(problem.nodes.size());
    for (int node : order) {
      for (int input : problem.nodes[node].inputs)
        if (!ran[input])
          return false;
      ran[node] = true;
    }
    return true;
  }

  std::vector<int> topologicalOrder() const {
    std::vector<int> missing(problem.nodes.size()), result;
    std::vector<std::vector<int>> readers(problem.nodes.size());
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (size_t node = 0; node < missing.size(); ++node) {
      missing[node] = static_cast<int>(problem.nodes[node].inputs.size());
      for (int input : problem.nodes[node].inputs)
        readers[input].push_back(static_cast<int>(node));
      if (missing[node] == 0)
        ready.push(static_cast<int>(node));
    }
    while (!ready.empty()) {
      int node = ready.top();
      ready.pop();
      result.push_back(node);
      for (int reader : readers[node])
        if (--missing[reader] == 0)
          ready.push(reader);
    }
    if (result.size() < missing.size()) {
      auto stuck = std::find_if(missing.begin(), missing.end(), [](int count) { return count > 0; });
      fail("{}: expected a graph without cycles, but {} nodes are on or after one, such as node {}", path,
           missing.size() - result.size(), stuck - missing.begin());
    }
    return result;
  }

  void readOrder() {
    std::vector<int> topological = topologicalOrder();
    const json *order = nullptr;
    if (data.contains("graph") && data["graph"].is_object() && data["graph"].contains("order"))
      order = &data["graph"]["order"];
    if (order && order->is_array() && !order->empty()) {
      for (const json &id : *order)
        problem.order.push_back(indexOf(id, "graph.order"));
      std::set<int> unique(problem.order.begin(), problem.order.end());
      if (unique.size() != problem.nodes.size() || problem.order.size() != problem.nodes.size())
        fail("{}: graph.order: expected each of the {} nodes once, found {} entries, {} of them different",
             path, problem.nodes.size(), problem.order.size(), unique.size());
      if (!isExecution(problem.order))
        fail("{}: graph.order: a node is there before one of its inputs", path);
      return;
    }
    for (size_t node = 0; node < problem.nodes.size(); ++node)
      problem.order.push_back(static_cast<int>(node));
    if (!isExecution(problem.order))
      problem.order = topological;
  }

  json data;
  std::map<std::string, int> indices;
  solver::RematProblem problem;
};

} // namespace

solver::RematProblem readRematGraph(const std::string &path) { return GraphReader(path).read(); }

int64_t parseBudget(const std::string &text, int64_t peak) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(number > 0) || number >= 0x1p63)
    fail("--budget: expected a fraction of the no-remat peak (above 0, up to 1) or bytes (below 2^63), found "
         "'{}'",
         text);
  if (number <= 1)
    return static_cast<int64_t>(std::floor(number * static_cast<double>(peak)));
  int64_t bytes = 0;
  auto [bytesEnd, bytesError] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  bool digits = bytesError == std::errc() && bytesEnd == text.data() + text.size();
  return digits ? bytes : static_cast<int64_t>(number);
}

} // namespace kedge::bench
