// The threads of the process. Loops are cut into parts; the caller and its helpers take the next part when
// they are free.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace kedge::rt {

constexpr int kMostThreads = 512;

/// Starts helpers in advance of the first loop on `threads` threads;
/// returns when all run. Throws rt::RuntimeError if the system does not allow it.
void startThreads(int threads);

/// The number of the calling thread within its loop: less than the loop's thread count, and used
/// by one thread at a time. 0 outside of loops. Bodies use it to find their own scratch memory.
int threadSlot();

using PartFunction = void (*)(void *body, int64_t part);

/// See parallelParts.
void runParts(int threads, int64_t parts, PartFunction function, void *body);

/// Calls body(part) for every part in [0, parts) on up to `threads` threads (at most kMostThreads). Each
/// thread starts with its own share of parts, then takes parts of others that have not begun. So a thread
/// that starts late, or that the system suspends, delays only the part it is working on. Which thread
/// runs a part is random; results must not depend on it. Allocates nothing once the threads run. A nested
/// loop, or one that starts while another thread uses the helpers, runs on its caller alone, in order.
/// All parts run even if some throw; then the exception of the lowest such part is thrown to the caller.
template <typename Body> void parallelParts(int threads, int64_t parts, Body &&body) {
  if (parts <= 0)
    return;
  if (parts == 1)
    return body(int64_t{0});
  using Object = std::remove_reference_t<Body>;
  const PartFunction function = [](void *object, int64_t part) { (*static_cast<Object *>(object))(part); };
  runParts(threads, parts, function, const_cast<void *>(static_cast<const void *>(&body)));
}

/// Parts for each thread where results do not depend on the cut. More parts leave less to wait for at the
/// end.
constexpr int64_t kPartsPerThread = 4;

/// Calls body(begin, end) for parts of [0, n) with at least `grain` iterations. Results must not depend on
/// the cut.
template <typename Body> void parallelFor(int threads, int64_t n, int64_t grain, Body &&body) {
  if (n <= 0)
    return;
  const int64_t most = threads <= 1 ? 1 : threads * kPartsPerThread;
  const int64_t parts = std::max<int64_t>(1, std::min(most, n / std::max<int64_t>(grain, 1)));
  parallelParts(threads, parts, [&](int64_t part) { body(n * part / parts, n * (part + 1) / parts); });
}

} // namespace kedge::rt
