#include "tools/kedge-bench/ProcessorPeak.h"
#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

namespace kedge::bench {
namespace {

constexpr int64_t kLoopSteps = 2'000'000;
constexpr int kSums = 12; ///< independent, so that none waits for itself

// A macro, as vectors of a function that is inlined into one for another instruction set are split before.
#define KEDGE_MULTIPLY_ADDS(Bytes)                                                                           \
  typedef float Vector __attribute__((vector_size(Bytes)));                                                  \
  Vector sums[kSums] = {};                                                                                   \
  const Vector factor = Vector{} + 0.5f, term = Vector{} + 1.0f;                                             \
  for (int64_t step = 0; step < kLoopSteps; ++step)                                                          \
    _Pragma("GCC unroll 12") for (int i = 0; i < kSums; ++i) sums[i] = sums[i] * factor + term;              \
  for (int i = 1; i < kSums; ++i)                                                                            \
    sums[0] += sums[i];                                                                                      \
  *result = sums[0][0]

void addsOfBase(volatile float *result) { KEDGE_MULTIPLY_ADDS(16); }
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void addsOfAvx2(volatile float *result) { KEDGE_MULTIPLY_ADDS(32); }
[[gnu::target("avx512f,fma")]] void addsOfAvx512(volatile float *result) { KEDGE_MULTIPLY_ADDS(64); }
#endif

struct Loop {
  void (*run)(volatile float *result);
  int lanes;
};

Loop loopOfThisMachine() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return {addsOfAvx512, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {addsOfAvx2, 8};
#endif
  return {addsOfBase, 4};
}

/// Seconds until the last thread is done, from when all are awake.
double secondsOf(const Loop &loop, int threads) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds(static_cast<size_t>(threads));
  std::barrier<> start(threads);
  std::vector<std::jthread> team;
  for (double &took : seconds)
    team.emplace_back([&] {
      volatile float result;
      start.arrive_and_wait();
      const Clock::time_point begin = Clock::now();
      loop.run(&result);
      took = std::chrono::duration<double>(Clock::now() - begin).count();
    });
  team.clear();
  return *std::max_element(seconds.begin(), seconds.end());
}

} // namespace

double multiplyAddRate(int threads) {
  constexpr int kRuns = 15;
  const Loop loop = loopOfThisMachine();
  double least = secondsOf(loop, threads);
  for (int run = 1; run < kRuns; ++run)
    least = std::min(least, secondsOf(loop, threads));
  return 2.0 * static_cast<double>(kLoopSteps * kSums) * loop.lanes * threads / least;
}

} // namespace kedge::bench
