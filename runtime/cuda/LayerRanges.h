// Shows the model's layers as NVTX ranges in NVIDIA's tools. Costs nothing when no tool is attached.
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
