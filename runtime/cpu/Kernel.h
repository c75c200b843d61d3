// What every kernel is made of: a closure over the facts of the call, and loops on the thread pool.
#pragma once
#include "runtime/cpu/Call.h"
#include <algorithm>
#include <atomic>
#include <limits>
#include <omp.h>

namespace kedge::rt::cpu {

using Inputs = const void *const *;
using Outputs = void *const *;

/// A kernel whose run() is `body(inputs, outputs, workspace)`.
template <typename Body> class ClosureKernel final : public LibraryKernel {
public:
  ClosureKernel(size_t workspace, KernelWork work, Body body)
      : workspace_(workspace), work_(work), body_(std::move(body)) {}
  size_t workspaceBytes() const override { return workspace_; }
  KernelWork work() const override { return work_; }
  void run(Inputs inputs, Outputs outputs, void *workspace) override { body_(inputs, outputs, workspace); }

private:
  size_t workspace_;
  KernelWork work_;
  Body body_;
};

template <typename Body>
std::unique_ptr<LibraryKernel> closure(size_t workspace, KernelWork work, Body body) {
  return std::make_unique<ClosureKernel<Body>>(workspace, work, std::move(body));
}
template <typename Body> std::unique_ptr<LibraryKernel> closure(KernelWork work, Body body) {
  return closure(0, work, std::move(body));
}
template <typename Body> std::unique_ptr<LibraryKernel> closure(Body body) {
  return closure(0, {}, std::move(body));
}

/// Work of a kernel that reads `bytes` of its inputs and not all of them.
inline KernelWork partialRead(double bytes) { return {KernelWork::Kind::Vector, 0, 0, bytes, {}, 0}; }
/// Work of a kernel that takes `operations` steps from one element to the next.
inline KernelWork irregularWork(double operations, double specialFunctions = 0) {
  return {KernelWork::Kind::Irregular, operations, specialFunctions, {}, {}, 0};
}

/// body(begin, end) over [0, n) in equal parts. A part has at least `grain` iterations. The team always has
/// all `threads`: libgomp ends the threads that a smaller team leaves over, and makes them anew.
template <typename Body> void parallelFor(int threads, int64_t n, int64_t grain, Body &&body) {
  int64_t parts = std::min<int64_t>(threads, n / std::max<int64_t>(grain, 1));
  if (parts <= 1) {
    if (n > 0)
      body(int64_t{0}, n);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int64_t part = 0; part < parts; ++part)
    body(n * part / parts, n * (part + 1) / parts);
}

/// The first place (in order of position, whatever the threads do) where something was wrong.
class FirstBad {
public:
  void note(int64_t position) {
    int64_t seen = position_.load(std::memory_order_relaxed);
    while (position < seen && !position_.compare_exchange_weak(seen, position, std::memory_order_relaxed))
      ;
  }
  bool any() const { return position_.load() != kNone; }
  int64_t position() const { return position_.load(); }

private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> position_{kNone};
};

/// Iterations that make a part worth a thread when one iteration moves `bytes`.
inline int64_t grainFor(int64_t bytes) { return std::max<int64_t>(1, 32768 / std::max<int64_t>(bytes, 1)); }

inline size_t alignedBytes(size_t bytes) { return (bytes + 63) / 64 * 64; }

} // namespace kedge::rt::cpu
