// GFLOP/s of products, convolutions, pools and attention through makeKernel, as programs call them.
// kedge-bench-kernels --benchmark_filter=Attention
#include "runtime/calls/LibraryKernel.h"
#include "runtime/exec/Executor.h"
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <ctime>

namespace kedge::rt {
using namespace calls;
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

/// args: batch, heads, tokens, depth, keys that a query sees before its own; causal. FLOP counts are those of
/// the visible pairs.
void attention(benchmark::State &state, bool backward) {
  int64_t b = state.range(0), h = state.range(1), t = state.range(2), d = state.range(3),
          left = state.range(4);
  TensorDesc x = f32({b, h, t, d}), lse = f32({b, h, t});
  nlohmann::json attrs = {{"visible", {{"left", left}, {"right", 0}}}};
  LibraryCall call = backward ? LibraryCall{"train.attention_grad", attrs, {x, x, x, x, x, lse}, {x, x, x}}
                              : LibraryCall{"train.attention", attrs, {x, x, x}, {x, lse}};
  measure(state, call, workOf(call).flops);
}
void Attention(benchmark::State &state) { attention(state, false); }
void AttentionGrad(benchmark::State &state) { attention(state, true); }
void attentionSizes(benchmark::internal::Benchmark *bench) {
  bench->Args({1, 12, 1024, 64, 1024})->Args({4, 12, 64, 64, 64});
  bench->Args({1, 4, 4096, 64, 4096})->Args({1, 4, 4096, 64, 511});
}
BENCHMARK(Attention)->Apply(attentionSizes)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(AttentionGrad)->Apply(attentionSizes)->UseRealTime()->Unit(benchmark::kMillisecond);

/// args: 0 forward, 1 gradient of the image, 2 of the filter; batch, channels, filters, group, size, kernel,
/// stride.
void Convolution(benchmark::State &state) {
  const int64_t kind = state.range(0), n = state.range(1), channels = state.range(2),
                filters = state.range(3);
  const int64_t group = state.range(4), size = state.range(5), kernel = state.range(6),
                stride = state.range(7);
  const int64_t pad = kernel / 2, out = (size + 2 * pad - kernel) / stride + 1;
  const TensorDesc x = f32({n, channels, size, size}), w = f32({filters, channels / group, kernel, kernel}),
                   y = f32({n, filters, out, out});
  const nlohmann::json attrs = {
      {"group", group}, {"strides", {stride, stride}}, {"pads", {pad, pad, pad, pad}}};
  const LibraryCall calls[] = {{"onnx.Conv", attrs, {x, w}, {y}},
                               {"train.conv_grad_input", attrs, {y, w}, {x}},
                               {"train.conv_grad_weight", attrs, {x, y}, {w}}};
  measure(state, calls[kind], 2.0 * n * filters * out * out * (channels / group) * kernel * kernel);
  state.counters["GB/s"] = benchmark::Counter(1e-9 * static_cast<double>(x.bytes() + w.bytes() + y.bytes()),
                                              benchmark::Counter::kIsIterationInvariantRate);
}

/// Of MobileNetV2, ResNet-50 and the U-Net at four images: depthwise, pointwise, and ones with strides.
void convolutions(benchmark::internal::Benchmark *bench) {
  for (int64_t kind : {0, 1, 2}) {
    for (auto [channels, size, stride] :
         {std::tuple{96, 112, 2}, {144, 56, 1}, {192, 28, 1}, {576, 14, 1}, {960, 7, 1}})
      bench->Args({kind, 4, channels, channels, channels, size, 3, stride});
    bench->Args({kind, 4, 192, 192, 192, 28, 5, 1});
    bench->Args({kind, 4, 96, 96, 96, 56, 7, 1});
    bench->Args({kind, 4, 16, 96, 1, 112, 1, 1});
    bench->Args({kind, 4, 144, 24, 1, 56, 1, 1});
    bench->Args({kind, 4, 192, 32, 1, 28, 1, 1});
    bench->Args({kind, 4, 384, 64, 1, 14, 1, 1});
    bench->Args({kind, 4, 96, 576, 1, 14, 1, 1});
    bench->Args({kind, 4, 3, 32, 1, 224, 3, 2});
    bench->Args({kind, 4, 3, 64, 1, 224, 3, 1});
    bench->Args({kind, 4, 3, 96, 1, 224, 4, 4});
    bench->Args({kind, 4, 32, 16, 1, 112, 1, 1});
    bench->Args({kind, 4, 3, 64, 1, 224, 7, 2});
    bench->Args({kind, 4, 64, 256, 1, 56, 1, 1});
    bench->Args({kind, 4, 960, 160, 1, 7, 1, 1});
    for (auto [channels, filters, size] : {std::tuple{64, 64, 56},
                                           {128, 128, 28},
                                           {256, 256, 14},
                                           {512, 512, 7},
                                           {64, 32, 224},
                                           {32, 32, 224},
                                           {128, 64, 112},
                                           {256, 128, 56},
                                           {512, 256, 28}})
      bench->Args({kind, 4, channels, filters, 1, size, 3, 1});
    bench->Args({kind, 4, 128, 128, 1, 56, 3, 2});
    bench->Args({kind, 4, 256, 512, 1, 56, 1, 2});
  }
}
BENCHMARK(Convolution)->Apply(convolutions)->UseRealTime()->Unit(benchmark::kMillisecond);

/// args: 0 forward, 1 forward with indices, 2 gradient; batch, channels, size, kernel, stride, pad.
void MaxPool(benchmark::State &state) {
  const int64_t kind = state.range(0), n = state.range(1), channels = state.range(2), size = state.range(3);
  const int64_t kernel = state.range(4), stride = state.range(5), pad = state.range(6);
  const int64_t out = (size + 2 * pad - kernel) / stride + 1;
  const TensorDesc x = f32({n, channels, size, size}), y = f32({n, channels, out, out});
  const TensorDesc places{DType::I64, y.shape};
  const nlohmann::json attrs = {
      {"kernel_shape", {kernel, kernel}}, {"strides", {stride, stride}}, {"pads", {pad, pad, pad, pad}}};
  const LibraryCall calls[] = {{"onnx.MaxPool", attrs, {x}, {y}},
                               {"onnx.MaxPool", attrs, {x}, {y, places}},
                               {"train.max_pool_grad", attrs, {y, x}, {x}}};
  measure(state, calls[kind], static_cast<double>(y.elements() * kernel * kernel));
  size_t bytes = 0;
  for (const auto *operands : {&calls[kind].inputs, &calls[kind].outputs})
    for (const TensorDesc &desc : *operands)
      bytes += desc.bytes();
  state.counters["GB/s"] =
      benchmark::Counter(1e-9 * static_cast<double>(bytes), benchmark::Counter::kIsIterationInvariantRate);
}

/// VGG's and U-Net's, ResNet's, the spatial pyramid of detectors, and one of few results.
void pools(benchmark::internal::Benchmark *bench) {
  for (int64_t kind : {0, 1, 2}) {
    bench->Args({kind, 4, 64, 224, 2, 2, 0});
    bench->Args({kind, 4, 64, 112, 3, 2, 1});
    bench->Args({kind, 4, 256, 20, 5, 1, 2});
    bench->Args({kind, 4, 512, 14, 2, 2, 0});
  }
}
BENCHMARK(MaxPool)->Apply(pools)->UseRealTime()->Unit(benchmark::kMillisecond);

} // namespace
} // namespace kedge::rt
