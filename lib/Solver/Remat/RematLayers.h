// Repeated structure: stretches of the order that consist of blocks which are alike.
#pragma once
#include "lib/Solver/Remat/RematModel.h"

namespace kedge::solver {

/// A stretch of blocks that are alike, such as the layers of a network forward, or their gradients. Blocks of
/// all regions are numbered by one count of layers, that of the first region.
struct RematRegion {
  int begin = 0;              ///< first step of the order
  int period = 0, blocks = 0; ///< steps of a block, and how many
  bool backwards = false;     ///< layers fall from block to block
  int origin = 0;             ///< block = layer - origin, or origin - layer where backwards
  std::vector<std::vector<int>>
      nodes; ///< of each block: the steps, then optional nodes that make the same values
  int layerOf(int block) const { return backwards ? origin - block : block + origin; }
  int blockOf(int layer) const { return backwards ? origin - layer : layer - origin; }
};

struct RematPosition {
  int region = -1, block = -1, position = -1;
};

struct RematLayers {
  std::vector<RematRegion> regions;      ///< the longest first; empty where nothing repeats
  std::vector<RematPosition> positionOf; ///< of a node; region -1 outside of all
};

/// Regions of at least `fewest` blocks. Blocks are taken as alike by what their nodes cost and by the bytes
/// they read and make; that the edges are alike too is for the caller to see.
RematLayers findLayers(const RematModel &model, int fewest);

} // namespace kedge::solver
