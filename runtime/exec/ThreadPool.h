// The threads of the process: loops are cut into parts, which the caller and its helpers take as they come.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace kedge::rt {

constexpr int kMostThreads = 512;

/// Starts helpers, so that a loop on `threads` threads need not; returns when all of them run. Throws rt::Error when the
/// system gives none.
void startThreads(int threads);

/// Of the calling thread within the loop that it works for: below that loop's thread count, one thread at a time. 0
/// outside. What a body keeps for itself while it runs lies in the place of this number.
int threadSlot();

using PartFunction = void (*)(void *body, int64_t part);

/// See parallelParts.
void runParts(int threads, int64_t parts, PartFunction function, void *body);

/// body(part) for every part in [0, parts), on up to `threads` threads (at most kMostThreads). Each thread begins with the
/// parts that would be its share and then takes what others have not begun: who is late, or displaced by another process,
/// holds up nothing but the part in its hands. Which thread takes a part is chance, so results must not depend on it.
/// Allocates nothing once the threads run. A loop within a loop, and one that comes while another thread of the process
/// has the helpers, runs on its caller alone, in order. All parts run, whatever they throw; the exception of the first
/// part that throws (in order) is thrown to the caller.
template <typename Body> void parallelParts(int threads, int64_t parts, Body &&body) {
  if (parts <= 0)
    return;
  if (parts == 1)
    return body(int64_t{0});
  using Object = std::remove_reference_t<Body>;
  const PartFunction function = [](void *object, int64_t part) { (*static_cast<Object *>(object))(part); };
  runParts(threads, parts, function, const_cast<void *>(static_cast<const void *>(&body)));
}

/// Parts for each thread where results do not depend on the cut: what one has left when the others are done is small.
constexpr int64_t kPartsPerThread = 4;

/// body(begin, end) over [0, n). A part has at least `grain` iterations; how many parts there are may not matter.
template <typename Body> void parallelFor(int threads, int64_t n, int64_t grain, Body &&body) {
  if (n <= 0)
    return;
  const int64_t most = threads <= 1 ? 1 : threads * kPartsPerThread;
  const int64_t parts = std::max<int64_t>(1, std::min(most, n / std::max<int64_t>(grain, 1)));
  parallelParts(threads, parts, [&](int64_t part) { body(n * part / parts, n * (part + 1) / parts); });
}

} // namespace kedge::rt
