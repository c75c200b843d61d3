// A problem of many layers that are alike as one of few, and its plans as plans of the whole.
#pragma once
#include "lib/Solver/Remat/RematLayers.h"
#include <functional>
#include <optional>

namespace kedge::solver {

class RematFold {
public:
  /// Leaves out layers from the middle of every region so that `layersLeft` remain; none where the problem
  /// has no such layers, or where what is left does not fit together.
  static std::optional<RematFold> make(const RematModel &model, const RematLayers &layers, int layersLeft);

  const RematProblem &problem() const { return folded; }
  /// Layers of the fold stand for neighbours each, or for one after the other, again and again.
  enum class LayerMapping { neighbours, inTurn };
  /// A sequence for the whole problem: each layer of the whole does what the layer of the fold does that
  /// stands for it. May break a rule of the problem. Not `patient`: what would lie unread for much longer
  /// than in the fold, because neighbours do not fit together, is made again.
  std::vector<int> unfold(const std::vector<int> &sequence, LayerMapping mapping, bool patient);

private:
  RematFold(const RematModel &model, const RematLayers &layers, int leftOut);
  struct Segment {
    int region = -1, block = -1;
    std::vector<int> nodes; ///< of the whole
  };
  void unfoldRegion(const std::vector<Segment> &segments, int region,
                    const std::function<void(int)> &run) const;
  std::vector<Segment> cutAtBlocks(const std::vector<int> &sequence) const;
  std::vector<int> patienceOf(const std::vector<int> &sequence) const;
  int sameInFold(int node) const;
  bool build();
  bool leavesOut(const RematPosition &at) const;
  int standIn(int node) const;
  int valueFor(int value);
  bool addNode(int node);
  int foldedLayer(int layer) const;
  int counterpart(int node, int foldedLayer, int layer) const;

  const RematModel &model;
  const RematLayers &layers;
  LayerMapping mapping = LayerMapping::neighbours;
  int leftOut, firstOut; ///< layers of the first region: how many, and the first
  RematProblem folded;
  std::vector<int> original, indexOf; ///< node of the whole of a folded node, and back (-1)
  std::vector<int> valueIndex;        ///< folded value of a value of the whole, or -1
};

} // namespace kedge::solver
