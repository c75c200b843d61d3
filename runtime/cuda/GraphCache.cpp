#include "runtime/cuda/GraphCache.h"

namespace kedge::rt::cuda {

void GraphCache::clear() {
  for (const auto &[key, graph] : graphs)
    if (graph)
      gpu.driver().graphExecDestroy(graph);
  graphs.clear();
}

CUgraphExec GraphCache::record(const Key &key, LaunchSequence &launches) {
  const Driver &driver = gpu.driver();
  driver.check(driver.streamBeginCapture(gpu.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "no CUDA graph");
  CUgraph graph = nullptr;
  try {
    launches.enqueue(*key.function, key.first, key.end);
  } catch (...) {
    // A stream that goes on recording takes nothing else.
    if (driver.streamEndCapture(gpu.stream(), &graph) == CUDA_SUCCESS && graph)
      driver.graphDestroy(graph);
    throw;
  }
  driver.check(driver.streamEndCapture(gpu.stream(), &graph), "a CUDA graph cannot be recorded");
  CUgraphExec made = nullptr;
  const CUresult result = driver.graphInstantiate(&made, graph, 0);
  driver.graphDestroy(graph);
  driver.check(result, "a CUDA graph cannot be made");
  return made;
}

void GraphCache::run(const Function &function, int first, int end, int variant, LaunchSequence &launches) {
  const auto [entry, isFirst] = graphs.try_emplace(Key{&function, first, end, variant}, nullptr);
  if (isFirst)
    return launches.enqueue(function, first, end);
  if (!entry->second)
    entry->second = record(entry->first, launches);
  gpu.driver().check(gpu.driver().graphLaunch(entry->second, gpu.stream()), "@{} does not start",
                     function.name);
}

} // namespace kedge::rt::cuda
