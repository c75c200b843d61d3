// GFLOP/s of products, convolutions and attention through makeKernel, as programs call them.
// kedge-bench-kernels --benchmark_filter=Attention
#include "runtime/calls/LibraryKernel.h"
#include "runtime/exec/Executor.h"
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <ctime>

namespace kedge::rt {
namespace {

struct Free {
  void operator()(void *memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

Memory allocate(size_t bytes) { return Memory(std::aligned_alloc(64, (bytes + 127) / 64 * 64)); }

Memory randomFloats(const TensorDesc &desc) {
  Memory memory = allocate(desc.bytes());
  uint32_t state = 12345;
  for (int64_t i = 0; i < desc.elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    static_cast<float *>(memory.get())[i] = static_cast<float>(state >> 8) / (1 << 23) - 1.0f;
  }
  return memory;
}

void measure(benchmark::State &state, const LibraryCall &call, double flops) {
  auto kernel = makeKernel(call, physicalCores());
  std::vector<Memory> memory;
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  for (const TensorDesc &desc : call.inputs)
    inputs.push_back(memory.emplace_back(randomFloats(desc)).get());
  for (const TensorDesc &desc : call.outputs)
    outputs.push_back(memory.emplace_back(allocate(desc.bytes())).get());
  Memory workspace = allocate(kernel->workspaceBytes());
  kernel->run(inputs.data(), outputs.data(), workspace.get());
  std::clock_t before = std::clock(); // of all threads: says something on a machine that is not idle, too
  for (auto _ : state)
    kernel->run(inputs.data(), outputs.data(), workspace.get());
  double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  state.counters["GFLOP/core-s"] = flops * 1e-9 * static_cast<double>(state.iterations()) / seconds;
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["workspace_KiB"] = static_cast<double>(kernel->workspaceBytes()) / 1024;
}

TensorDesc f32(std::vector<int64_t> shape) { return {DType::F32, std::move(shape)}; }

/// args: m, n, k, transA, transB
void MatMul(benchmark::State &state) {
  int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  bool transA = state.range(3), transB = state.range(4);
  LibraryCall call{"onnx.MatMul",
                   {{"transA", transA}, {"transB", transB}},
                   {f32(transA ? std::vector{k, m} : std::vector{m, k}),
                    f32(transB ? std::vector{n, k} : std::vector{k, n})},
                   {f32({m, n})}};
  measure(state, call, 2.0 * m * n * k);
}

/// GPT-2 124M: forward, gradient of the input, gradient of the weight, weights [in, out]; the tied head [out,
/// in].
void gpt2Products(benchmark::internal::Benchmark *bench) {
  for (int64_t tokens : {256, 1024}) {
    for (auto [in, out] : {std::pair{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}}) {
      bench->Args({tokens, out, in, 0, 0});
      bench->Args({tokens, in, out, 0, 1});
      bench->Args({in, out, tokens, 1, 0});
    }
    bench->Args({tokens, 50257, 768, 0, 1});
    bench->Args({tokens, 768, 50257, 0, 0});
    bench->Args({50257, 768, tokens, 1, 0});
  }
}
BENCHMARK(MatMul)->Apply(gpt2Products)->UseRealTime()->Unit(benchmark::kMillisecond);

/// args: batch, heads, tokens, depth; causal. FLOP counts are those of the visible half.
void Attention(benchmark::State &state) {
  int64_t b = state.range(0), h = state.range(1), t = state.range(2), d = state.range(3);
  TensorDesc x = f32({b, h, t, d}), lse = f32({b, h, t});
  LibraryCall call{"train.Attention", {{"causal", true}}, {x, x, x}, {x, lse}};
  measure(state, call, 2.0 * b * h * t * t * d);
}
void AttentionGrad(benchmark::State &state) {
  int64_t b = state.range(0), h = state.range(1), t = state.range(2), d = state.range(3);
  TensorDesc x = f32({b, h, t, d}), lse = f32({b, h, t});
  LibraryCall call{"train.AttentionGrad", {{"causal", true}}, {x, x, x, x, x, lse}, {x, x, x}};
  measure(state, call, 5.0 * b * h * t * t * d);
}
BENCHMARK(Attention)
    ->Args({1, 12, 1024, 64})
    ->Args({4, 12, 64, 64})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(AttentionGrad)
    ->Args({1, 12, 1024, 64})
    ->Args({4, 12, 64, 64})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

} // namespace
} // namespace kedge::rt
