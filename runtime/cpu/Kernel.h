// Helpers for kernels: a closure over the facts of the call, and loops on the thread pool.
#pragma once
#include "runtime/calls/Call.h"
#include "runtime/calls/LibraryKernel.h"
#include "runtime/exec/ThreadPool.h"
#include <algorithm>

namespace kedge::rt::cpu {
using namespace calls;

using Inputs = const void *const *;
using Outputs = void *const *;

/// A kernel whose run() is `body(inputs, outputs, workspace)`.
template <typename Body> class ClosureKernel final : public LibraryKernel {
public:
  ClosureKernel(size_t workspace, Body body) : workspace_(workspace), body_(std::move(body)) {}
  size_t workspaceBytes() const override { return workspace_; }
  void run(Inputs inputs, Outputs outputs, void *workspace) override { body_(inputs, outputs, workspace); }

private:
  size_t workspace_;
  Body body_;
};

template <typename Body> std::unique_ptr<LibraryKernel> closure(size_t workspace, Body body) {
  return std::make_unique<ClosureKernel<Body>>(workspace, std::move(body));
}
template <typename Body> std::unique_ptr<LibraryKernel> closure(Body body) {
  return closure(0, std::move(body));
}

/// Fewest iterations worth a thread, if one iteration moves `bytes`.
inline int64_t grainFor(int64_t bytes) { return std::max<int64_t>(1, 32768 / std::max<int64_t>(bytes, 1)); }

inline size_t alignedBytes(size_t bytes) { return (bytes + 63) / 64 * 64; }

} // namespace kedge::rt::cpu
