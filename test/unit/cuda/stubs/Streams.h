// Streams, events and graphs of the driver's stand-in. With one stream everything is done at once. As soon as
// there are more, work is done as late as its order allows, or that of the first stream is and the others' as
// early as it allows: who forgets to order two things meets one of the two. Work that nobody waits for is
// never done, and reported. Where ranks work together a thread of its own does the work, as what one rank
// does waits for another's (Worker.h).
//   KEDGE_STUB_COPIES=late (the default) or early
#pragma once
#include "test/unit/cuda/stubs/Stub.h"
#include <algorithm>
#include <atomic>
#include <cuda.h>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace kedge::stub {

/// A piece of work and what comes before it.
struct Node {
  std::function<void()> work;
  std::vector<std::shared_ptr<Node>> before;
  bool aside = false; ///< on another stream than the first
  bool done = false;  ///< or being done
  std::atomic<bool> finished{false};
};
using NodePlace = std::shared_ptr<Node>;

inline void perform(Node &node) {
  if (node.done)
    return;
  node.done = true;
  for (const NodePlace &earlier : node.before)
    perform(*earlier);
  if (node.work)
    node.work();
  node.finished = true;
}

/// Guards streams and nodes where a thread of its own does the work.
inline std::recursive_mutex &guard() {
  static auto &mutex = *new std::recursive_mutex; // outlives what a thread does at the end
  return mutex;
}

/// Whether it does; from then on always.
inline std::atomic<bool> &hasWorker() {
  static std::atomic<bool> has{false};
  return has;
}

/// What has been done holds nothing any more, nor does what came before: an event may still know of it.
inline void forget(const NodePlace &node) {
  if (!node || !node->done)
    return;
  const std::vector<NodePlace> before = std::move(node->before);
  node->before.clear();
  node->work = nullptr;
  for (const NodePlace &earlier : before)
    forget(earlier);
}

inline bool isEarly() {
  const char *copies = std::getenv("KEDGE_STUB_COPIES");
  return copies && std::strcmp(copies, "early") == 0;
}

} // namespace kedge::stub

struct CUgraph_st {
  std::vector<kedge::stub::NodePlace> nodes; ///< in the order they were recorded
  size_t work = 0;                           ///< nodes that do something
  std::vector<std::shared_ptr<void>> held;   ///< what libraries gave away until the graph is gone
};
/// Shared with the runs that have not come to their end.
struct CUgraphExec_st {
  std::shared_ptr<const CUgraph_st> graph;
};
struct CUevent_st {
  double milliseconds = 0;
  bool recorded = false;
  kedge::stub::NodePlace at;
  CUgraph_st *graph = nullptr; ///< that was being recorded
};
struct CUstream_st {
  bool first = true;
  CUgraph_st *graph = nullptr;                       ///< that is being recorded
  std::vector<kedge::stub::NodePlace> pending, kept; ///< kept: those from before the recording
};

namespace kedge::stub {

inline std::vector<CUstream_st *> &streams() {
  static auto &list = *new std::vector<CUstream_st *>;
  return list;
}

/// One stream, and nothing is recorded: work is done at once.
inline bool isPlain(const CUstream_st &stream) {
  return !stream.graph && streams().size() == 1 && !hasWorker();
}

/// Graphs that are being recorded.
inline std::set<const CUgraph_st *> &recordings() {
  static std::set<const CUgraph_st *> list;
  return list;
}

/// Puts work behind everything that was put on the stream.
inline NodePlace put(CUstream_st &stream, std::function<void()> work) {
  const std::lock_guard lock(guard());
  if (isPlain(stream)) {
    if (work)
      work();
    return nullptr;
  }
  auto node = std::make_shared<Node>();
  node->work = std::move(work);
  node->aside = !stream.first;
  node->before = std::move(stream.pending);
  stream.pending = {node};
  if (stream.graph) {
    stream.graph->nodes.push_back(node);
    stream.graph->work += node->work ? 1 : 0;
  } else if (node->aside && isEarly() && !hasWorker()) {
    perform(*node);
    forget(node);
  }
  return node;
}

inline void finish(std::vector<NodePlace> &pending) {
  for (const NodePlace &node : pending) {
    perform(*node);
    forget(node);
  }
  pending.clear();
}

inline void recordEvent(CUevent_st &event, CUstream_st &stream) {
  event.recorded = true;
  event.graph = stream.graph;
  event.at = put(stream, nullptr);
}

inline CUresult waitEvent(CUstream_st &stream, const CUevent_st &event) {
  const std::lock_guard lock(guard());
  if (!event.recorded) {
    std::fprintf(stderr, "stub driver: a stream waits for an event that was never recorded\n");
    std::abort();
  }
  if (event.graph && !recordings().count(event.graph))
    return CUDA_ERROR_CAPTURED_EVENT;
  if (event.graph && !stream.graph) { // the stream is recorded from now on, too
    stream.graph = event.graph;
    stream.kept = std::move(stream.pending);
    stream.pending.clear();
  }
  if (event.graph != stream.graph)
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  if (event.at)
    stream.pending.push_back(event.at);
  return CUDA_SUCCESS;
}

using Nodes = std::set<const Node *>;

/// Adds all that comes before, and the nodes themselves.
inline void collect(const std::vector<NodePlace> &from, Nodes &into) {
  for (const NodePlace &node : from)
    if (into.insert(node.get()).second)
      collect(node->before, into);
}

/// The streams' own work again; all that was recorded must come before the end of `stream`.
inline CUresult endRecording(CUstream_st &stream) {
  const std::lock_guard lock(guard());
  CUgraph_st *graph = stream.graph;
  recordings().erase(graph);
  std::vector<NodePlace> end = std::move(stream.pending);
  CUresult code = CUDA_SUCCESS;
  Nodes joined;
  collect(end, joined);
  for (CUstream_st *other : streams())
    if (other->graph == graph) {
      if (other != &stream)
        for (const NodePlace &node : other->pending)
          if (!joined.count(node.get()))
            code = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
      other->graph = nullptr;
      other->pending = std::move(other->kept);
      other->kept.clear();
    }
  if (!end.empty()) {
    auto last = std::make_shared<Node>();
    last->before = std::move(end);
    graph->nodes.push_back(last);
  }
  return code;
}

/// Everything that was recorded, once.
inline void replay(const CUgraph_st &graph) {
  for (const NodePlace &node : graph.nodes)
    node->done = node->finished = false;
  if (isEarly())
    for (const NodePlace &node : graph.nodes)
      if (node->aside)
        perform(*node);
  for (const NodePlace &node : graph.nodes)
    if (!node->aside)
      perform(*node);
}

/// Whether work of the stream is left that nothing on the first stream waits for.
inline bool isForgotten(const CUstream_st &stream) {
  Nodes awaited;
  collect(streams().front()->pending, awaited);
  return std::any_of(stream.pending.begin(), stream.pending.end(),
                     [&](const NodePlace &node) { return !node->done && !awaited.count(node.get()); });
}

} // namespace kedge::stub
