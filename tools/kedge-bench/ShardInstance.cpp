#include "tools/kedge-bench/ShardInstance.h"
#include "tools/kedge-bench/JsonFile.h"
#include <algorithm>

namespace kedge::bench {
namespace {
using nlohmann::json;

constexpr int64_t kMost = int64_t{1} << 62;

class InstanceReader : JsonFile {
public:
  explicit InstanceReader(const std::string &path) : JsonFile(path, "an instance as JSON") {}

  solver::ShardProblem read() {
    const json data = parse();
    const json &instance = field(data, "problem", "the file");
    if (instance.is_object() && instance.contains("name") && instance["name"].is_string())
      problem.name = instance["name"].get<std::string>();
    problem.limit = instance.is_object() && instance.contains("usage_limit")
                        ? number(instance["usage_limit"], "problem.usage_limit")
                        : kMost - 1;
    readNodes(field(instance, "nodes", "problem"));
    readEdges(field(instance, "edges", "problem"));
    return std::move(problem);
  }

private:
  const json &list(const json &object, const std::string &key, const std::string &where) const {
    const json &value = field(object, key, where);
    if (!value.is_array())
      fail("{}: {}.{}: expected a list, found {}", path, where, key, value.type_name());
    return value;
  }

  /// Floating-point numbers are cut off; from kForbiddenCost on all are it, for costs and usages alike.
  int64_t number(const json &value, const std::string &where) const {
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= 0))
      fail("{}: {}: expected a number from 0, found {}", path, where, value.dump());
    if (number >= static_cast<double>(solver::kForbiddenCost))
      return solver::kForbiddenCost;
    return value.is_number_float() ? static_cast<int64_t>(number) : value.get<int64_t>();
  }

  std::vector<int64_t> numbers(const json &values, size_t count, const std::string &where) const {
    if (!values.is_array() || values.size() != count)
      fail("{}: {}: expected a list of {} numbers, found {}", path, where, count,
           values.is_array() ? fmt::format("{}", values.size()) : values.type_name());
    std::vector<int64_t> result;
    for (const json &value : values)
      result.push_back(number(value, fmt::format("{}[{}]", where, result.size())));
    return result;
  }

  void addUp(int64_t &total, const std::vector<int64_t> &numbers, const char *what) const {
    int64_t most = 0;
    for (int64_t each : numbers)
      most = each < solver::kForbiddenCost ? std::max(most, each) : most;
    if (most >= kMost - total)
      fail("{}: expected {} that sum up to less than 2^62, those that are forbidden aside", path, what);
    total += most;
  }

  const json &listOf(const json &object, const std::string &key, const std::string &where,
                     size_t count) const {
    const json &values = list(object, key, where);
    if (values.size() != count)
      fail("{}: {}.{}: expected {} entries, one for each, found {}", path, where, key, count, values.size());
    return values;
  }

  void readNodes(const json &nodes) {
    const json &intervals = list(nodes, "intervals", "problem.nodes");
    const json &costs = listOf(nodes, "costs", "problem.nodes", intervals.size());
    const json &usages = listOf(nodes, "usages", "problem.nodes", intervals.size());
    if (intervals.empty())
      fail("{}: problem.nodes: expected at least one node, found none", path);
    int64_t used = 0;
    for (size_t node = 0; node < intervals.size(); ++node) {
      const auto where = [&](const char *key) { return fmt::format("problem.nodes.{}[{}]", key, node); };
      solver::ShardNode made;
      const std::vector<int64_t> interval = numbers(intervals[node], 2, where("intervals"));
      made.begin = interval[0];
      made.end = interval[1];
      if (!costs[node].is_array() || costs[node].empty())
        fail("{}: {}: expected a cost for each strategy, found none", path, where("costs"));
      made.costs = numbers(costs[node], costs[node].size(), where("costs"));
      made.usages = numbers(usages[node], made.costs.size(), where("usages"));
      addUp(total, made.costs, "costs");
      addUp(used, made.usages, "usages");
      problem.nodes.push_back(std::move(made));
    }
  }

  int nodeOf(int64_t number, const std::string &where) const {
    if (number >= static_cast<int64_t>(problem.nodes.size()))
      fail("{}: {}: expected a node below {}, found {}", path, where, problem.nodes.size(), number);
    return static_cast<int>(number);
  }

  void readEdges(const json &edges) {
    const json &ends = list(edges, "nodes", "problem.edges");
    const json &costs = listOf(edges, "costs", "problem.edges", ends.size());
    for (size_t edge = 0; edge < ends.size(); ++edge) {
      const std::string where = fmt::format("problem.edges.nodes[{}]", edge);
      const std::vector<int64_t> pair = numbers(ends[edge], 2, where);
      solver::ShardEdge made{nodeOf(pair[0], where), nodeOf(pair[1], where), {}};
      const size_t count = problem.nodes[static_cast<size_t>(made.from)].costs.size() *
                           problem.nodes[static_cast<size_t>(made.to)].costs.size();
      made.costs = numbers(costs[edge], count, fmt::format("problem.edges.costs[{}]", edge));
      addUp(total, made.costs, "costs");
      problem.edges.push_back(std::move(made));
    }
  }

  solver::ShardProblem problem;
  int64_t total = 0; ///< of the largest costs
};

} // namespace

solver::ShardProblem readShardInstance(const std::string &path) { return InstanceReader(path).read(); }

} // namespace kedge::bench
