// What products of GPT-2 124M's shapes reach of this processor's own peak, which loops on registers measure
// beside them. kedge-bench-products [rounds [part of a product's name [part of an arithmetic's]]], e.g. 9
// "1024 qkv" amx. Everything is measured in turns and the least time of all rounds counts, as other programs
// may run on the machine.
#include "runtime/calls/LibraryKernel.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/cpu/isa/Isa.h"
#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kedge::rt {
namespace {

using namespace calls;
using cpu::Isa;

constexpr int kSteps = 40'000, kSums = 12;

#if defined(__x86_64__)
// Twelve sums in registers that are named, as a compiler would see that all are one.
#define KEDGE_TWELVE(op) op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(10) op(11)
#define KEDGE_CLEAR(i) "vpxord %%zmm" #i ", %%zmm" #i ", %%zmm" #i "\n"
#define KEDGE_MULTIPLY_ADD(i) "vfmadd231ps %%zmm30, %%zmm31, %%zmm" #i "\n"
#define KEDGE_DOT(i) "vdpbf16ps %%zmm30, %%zmm31, %%zmm" #i "\n"
#define KEDGE_REGISTER_LOOP(op)                                                                              \
  int64_t steps = kSteps;                                                                                    \
  asm volatile(KEDGE_TWELVE(KEDGE_CLEAR) KEDGE_CLEAR(30)                                                     \
                   KEDGE_CLEAR(31) "1:\n" KEDGE_TWELVE(op) "dec %0\njnz 1b"                                  \
               : "+r"(steps)                                                                                 \
               :                                                                                             \
               : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",    \
                 "xmm11", "xmm30", "xmm31", "cc")

[[gnu::target("avx512f")]] void multiplyAdds() { KEDGE_REGISTER_LOOP(KEDGE_MULTIPLY_ADD); }
[[gnu::target("avx512f")]] void dots() { KEDGE_REGISTER_LOOP(KEDGE_DOT); }

[[gnu::target("amx-tile,amx-bf16")]] void tiles() {
  struct alignas(64) {
    uint8_t palette = 1, startRow = 0, reserved[14] = {};
    uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } config;
  alignas(64) static float tile[256];
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (int step = 0; step < kSteps / 8; ++step) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, tile, 64);
  _tile_release();
}
#endif

struct Variant {
  const char *name;
  Isa isa;
  DType type;
  void (*peak)(); ///< the same arithmetic on registers alone
  double peakFlops;
};

std::vector<Variant> variantsOfThisMachine(const std::string &wanted) {
  std::vector<Variant> variants;
#if defined(__x86_64__)
  constexpr double kVectors = 2.0 * kSteps * kSums * 16;
  for (const Variant &v : {Variant{"f32 multiply-add", Isa::Avx512, DType::F32, multiplyAdds, kVectors},
                           Variant{"bf16 widened", Isa::Avx512, DType::BF16, multiplyAdds, kVectors},
                           Variant{"bf16 vdpbf16ps", Isa::Avx512Bf16, DType::BF16, dots, 2 * kVectors},
                           Variant{"bf16 amx", Isa::Amx, DType::BF16, tiles, 1.0 * kSteps * 16 * 16 * 32}})
    if (cpu::machineHas(v.isa) && std::string(v.name).find(wanted) != std::string::npos)
      variants.push_back(v);
#endif
  return variants;
}

struct Free {
  void operator()(void *memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

Memory numbers(size_t bytes) {
  Memory memory(std::aligned_alloc(64, (bytes + 127) / 64 * 64));
  uint32_t state = 12345;
  for (size_t i = 0; i < bytes / 2; ++i) { // 1 to 2 as bf16, as the high half of a float too
    state = state * 1664525u + 1013904223u;
    static_cast<uint16_t *>(memory.get())[i] = static_cast<uint16_t>(0x3f80 | state >> 25);
  }
  return memory;
}

/// One thread is timed by what it computes, which other programs disturb less; several, which wait for each
/// other, by the clock on the wall.
double seconds(int threads) {
  timespec now;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Of `peak` in every thread at once: parts so short would else be one thread's before the others are awake.
double peakSeconds(int threads, void (*peak)()) {
  std::barrier<> start(threads);
  std::vector<double> took(threads);
  parallelParts(threads, threads, [&](int64_t part) {
    start.arrive_and_wait();
    const double begin = seconds(threads);
    peak();
    took[part] = seconds(threads) - begin;
  });
  return *std::max_element(took.begin(), took.end());
}

template <typename F> void keepLeast(double &least, int threads, F &&f) {
  double start = seconds(threads);
  f();
  least = std::min(least, seconds(threads) - start);
}

struct ProductShape {
  std::string name;
  int64_t m, n, k;
  bool transA, transB;
};

/// Forward, gradient of the input, gradient of the weight; weights [in, out], the head's [out, in].
std::vector<ProductShape> gpt2Shapes(int64_t tokens) {
  std::vector<ProductShape> shapes;
  auto add = [&](const char *name, int64_t in, int64_t out, bool head) {
    shapes.push_back({fmt::format("{} {} forward", tokens, name), tokens, out, in, false, head});
    shapes.push_back({fmt::format("{} {} dX", tokens, name), tokens, in, out, false, !head});
    shapes.push_back(head
                         ? ProductShape{fmt::format("{} {} dW", tokens, name), out, in, tokens, true, false}
                         : ProductShape{fmt::format("{} {} dW", tokens, name), in, out, tokens, true, false});
  };
  add("qkv", 768, 2304, false);
  add("proj", 768, 768, false);
  add("fc", 768, 3072, false);
  add("fc2", 3072, 768, false);
  add("head", 768, 50257, true);
  return shapes;
}

/// One variant of a product with a number of threads: the least times of it and of its peak.
struct Entry {
  const Variant *variant;
  int threads;
  std::unique_ptr<LibraryKernel> kernel;
  double time = 1e9, peakTime = 1e9;

  double rate(double flops) const { return flops / time * 1e-9; }
  double peakRate() const { return variant->peakFlops * threads / peakTime * 1e-9; }
};

void measure(const ProductShape &s, const std::vector<Variant> &variants, int rounds) {
  std::vector<Entry> entries;
  size_t workspace = 0;
  for (const Variant &variant : variants)
    for (int threads : {1, 2}) {
      cpu::forceIsa(variant.isa);
      using Dims = std::vector<int64_t>;
      LibraryCall call{"onnx.MatMul",
                       {{"transA", s.transA}, {"transB", s.transB}},
                       {{variant.type, s.transA ? Dims{s.k, s.m} : Dims{s.m, s.k}},
                        {variant.type, s.transB ? Dims{s.n, s.k} : Dims{s.k, s.n}}},
                       {{variant.type, {s.m, s.n}}}};
      entries.push_back({&variant, threads, makeKernel(call, threads)});
      workspace = std::max(workspace, entries.back().kernel->workspaceBytes());
    }
  Memory a = numbers(4 * s.m * s.k), b = numbers(4 * s.n * s.k), c = numbers(4 * s.m * s.n),
         scratch = numbers(workspace);
  const void *inputs[] = {a.get(), b.get()};
  void *outputs[] = {c.get()};
  for (int round = 0; round < rounds; ++round)
    for (Entry &entry : entries) {
      cpu::forceIsa(entry.variant->isa);
      entry.peakTime = std::min(entry.peakTime, peakSeconds(entry.threads, entry.variant->peak));
      keepLeast(entry.time, entry.threads, [&] { entry.kernel->run(inputs, outputs, scratch.get()); });
    }
  fmt::print("{:18}", s.name);
  double flops = 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  for (const Entry &entry : entries)
    fmt::print(" {:6.0f}/{:5.0f} {:3.0f}%", entry.rate(flops), entry.peakRate(),
               100 * entry.rate(flops) / entry.peakRate());
  fmt::print("\n");
  std::fflush(stdout);
}

} // namespace
} // namespace kedge::rt

int main(int argc, char **argv) {
  using namespace kedge::rt;
  std::vector<Variant> variants = variantsOfThisMachine(argc > 3 ? argv[3] : "");
  int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  std::string wanted = argc > 2 ? argv[2] : "";
  fmt::print("GFLOP/s of the product / of its arithmetic on registers, and the share; least of {} rounds in "
             "turns\n{:18}",
             rounds, "tokens, product");
  for (const Variant &variant : variants)
    for (int threads : {1, 2})
      fmt::print(" {:>17}", fmt::format("{} {}t", std::string(variant.name).substr(0, 14), threads));
  fmt::print("\n");
  for (int64_t tokens : {256, 1024})
    for (const ProductShape &shape : gpt2Shapes(tokens))
      if (shape.name.find(wanted) != std::string::npos)
        measure(shape, variants, rounds);
  return 0;
}
