// Smallest cut between a source and a sink (Dinic's algorithm).
#pragma once
#include <cstdint>
#include <vector>

namespace kedge::solver {

class MinCut {
public:
  static constexpr double unlimited = 1e30; ///< no cut takes such an arc
  explicit MinCut(int nodes) : first(nodes + 1), level(nodes), next(nodes) {}

  /// As new, with its memory kept.
  void reset(int nodes);
  /// Returns a handle for setCapacity.
  int addArc(int from, int to, double capacity);
  void setCapacity(int arc, double capacity) { capacities[arc] = capacity; }
  /// Whether each node is on the source's side of a smallest cut; empty where every cut takes an unlimited
  /// arc.
  std::vector<char> sourceSide(int source, int sink);

  /// Effort so far, in looks at an arc.
  int64_t work() const { return looks; }

private:
  /// An arc or its reverse, at the node that it leaves.
  struct Arc {
    int to;
    int reverse; ///< place of the other one
    double left;
  };
  struct Ends {
    int from, to;
  };
  void layOut();
  bool labelNodes(int source, int sink);
  double push(int node, int sink, double flow);

  std::vector<Ends> ends;         ///< of the arcs as they were added
  std::vector<double> capacities; ///< of those
  std::vector<int> placeOf;       ///< of those, in `arcs`
  std::vector<Arc> arcs;          ///< by the node that they leave
  std::vector<int> first;         ///< of a node: its first arc
  std::vector<int> level, next, queue;
  double negligible = 0;
  int64_t looks = 0;
};

} // namespace kedge::solver
