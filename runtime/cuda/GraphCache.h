// Sequences of launches as CUDA graphs: recorded once, then started as a whole.
#pragma once
#include "runtime/cuda/driver/Gpu.h"
#include <map>

namespace kedge::rt::cuda {

/// Enqueues launches on the GPU's stream.
class LaunchSequence {
public:
  virtual ~LaunchSequence() = default;
  virtual void enqueue(const Function &function, int first, int end) = 0;
};

class GraphCache {
public:
  explicit GraphCache(Gpu &gpu) : gpu(gpu) {}
  ~GraphCache() { clear(); }
  GraphCache(const GraphCache &) = delete;
  GraphCache &operator=(const GraphCache &) = delete;

  /// Runs launches [first, end) of a function, which enqueue something else for each `variant`: the first
  /// time one by one (the driver loads code then, which is not allowed while recording), the second time
  /// recording, then as a graph. Allocates nothing from the third time on.
  void run(const Function &function, int first, int end, int variant, LaunchSequence &launches);
  /// Destroys the graphs, and waits for nothing: the driver frees one that still runs when it has come to its
  /// end.
  void clear();

private:
  struct Key {
    const Function *function;
    int first, end, variant;
    auto operator<=>(const Key &) const = default;
  };
  CUgraphExec record(const Key &key, LaunchSequence &launches);

  Gpu &gpu;
  /// Null: it has run once.
  std::map<Key, CUgraphExec> graphs;
};

} // namespace kedge::rt::cuda
