// Stretches of launches as CUDA graphs: recorded once, started as one.
#pragma once
#include "runtime/cuda/Gpu.h"
#include <map>

namespace kedge::rt::cuda {

/// Puts launches on the GPU's stream.
class LaunchSequence {
public:
  virtual ~LaunchSequence() = default;
  virtual void enqueue(const Function &function, int first, int end) = 0;
};

class GraphCache {
public:
  explicit GraphCache(Gpu &gpu) : gpu(gpu) {}
  ~GraphCache();
  GraphCache(const GraphCache &) = delete;
  GraphCache &operator=(const GraphCache &) = delete;

  /// Runs launches [first, end) of a function: as they are for the first time (the driver loads code then, which no
  /// recording may do), recorded by the second, as a graph from then on. Allocates nothing from the third time on.
  void run(const Function &function, int first, int end, LaunchSequence &launches);

private:
  struct Key {
    const Function *function;
    int first, end;
    auto operator<=>(const Key &) const = default;
  };
  CUgraphExec record(const Key &key, LaunchSequence &launches);

  Gpu &gpu;
  /// Null: it ran once.
  std::map<Key, CUgraphExec> graphs;
};

} // namespace kedge::rt::cuda
