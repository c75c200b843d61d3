// The GPU of one rank among several: a thread that does what is on the streams while the program goes on.
#pragma once
#include "test/unit/cuda/stubs/Streams.h"
#include <condition_variable>
#include <thread>

namespace kedge::stub {

/// Never ends: what it waits for may never come, as on a GPU; the process ends it.
class Worker {
public:
  static Worker &one() {
    static Worker *worker = new Worker;
    return *worker;
  }

  /// Work was put on a stream.
  void wake() { changed.notify_all(); }

  bool isDone(const std::vector<NodePlace> &pending) const {
    const std::lock_guard lock(guard());
    return std::all_of(pending.begin(), pending.end(),
                       [](const NodePlace &node) { return node->finished.load(); });
  }
  /// Blocks until it is.
  void await(const std::vector<NodePlace> &pending) {
    std::unique_lock lock(guard());
    const std::vector<NodePlace> wanted = pending;
    changed.notify_all();
    changed.wait(lock, [&] { return isDone(wanted); });
  }

private:
  Worker() {
    hasWorker() = true;
    std::thread([this] { run(); }).detach();
  }

  /// What is on the streams now; that of the first one is done first, or last where others are early.
  std::vector<NodePlace> take() const {
    std::vector<NodePlace> taken;
    for (const bool first : {!isEarly(), isEarly()})
      for (const CUstream_st *stream : streams())
        if (stream->first == first)
          for (const NodePlace &node : stream->graph ? stream->kept : stream->pending)
            if (!node->finished)
              taken.push_back(node);
    return taken;
  }

  void run() {
    for (std::unique_lock lock(guard());;) {
      std::vector<NodePlace> taken = take();
      if (taken.empty()) {
        changed.wait_for(lock, std::chrono::milliseconds(1));
        continue;
      }
      lock.unlock();
      for (const NodePlace &node : taken)
        perform(*node);
      lock.lock();
      for (const NodePlace &node : taken)
        forget(node);
      changed.notify_all();
    }
  }

  std::condition_variable_any changed;
};

} // namespace kedge::stub
