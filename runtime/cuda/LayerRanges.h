// NVTX: the model's layers as ranges on NVIDIA's timelines. Costs nothing while no tool listens.
#pragma once
#include <string>

namespace kedge::rt::cuda {

class LayerRange {
public:
  explicit LayerRange(const std::string &name);
  ~LayerRange();
  LayerRange(const LayerRange &) = delete;
  LayerRange &operator=(const LayerRange &) = delete;
};

} // namespace kedge::rt::cuda
