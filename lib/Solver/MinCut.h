// Smallest cut between a source and a sink (Dinic's algorithm).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kedge::solver {

class MinCut {
public:
  static constexpr double unlimited = 1e30; ///< no cut takes such an arc
  explicit MinCut(int nodes) : arcsOf(nodes), level(nodes), next(nodes) {}

  /// Returns a handle for setCapacity.
  int addArc(int from, int to, double capacity);
  void setCapacity(int arc, double capacity) { capacities[arc] = capacity; }
  /// Whether each node is on the source's side of a smallest cut; empty where every cut takes an unlimited
  /// arc.
  std::vector<char> sourceSide(int source, int sink);

  /// Effort so far, in looks at an arc.
  int64_t work() const { return looks; }

private:
  struct Arc {
    int to;
    double left;
  };
  bool labelNodes(int source, int sink);
  double push(int node, int sink, double flow);

  std::vector<Arc> arcs;          ///< an arc and its reverse lie side by side
  std::vector<double> capacities; ///< of the even arcs
  std::vector<std::vector<int>> arcsOf;
  std::vector<int> level;
  std::vector<std::size_t> next;
  double negligible = 0;
  int64_t looks = 0;
};

} // namespace kedge::solver
