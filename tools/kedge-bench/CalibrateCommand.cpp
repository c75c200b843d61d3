// kedge-bench calibrate: a device file of this machine, from the runtime's and the compiler's own kernels.
#include "lib/Analysis/DeviceModel.h"
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "runtime/exec/DiskCopies.h"
#include "runtime/exec/Executor.h"
#include "tools/kedge-bench/Commands.h"
#include "tools/kedge-bench/LinkTiming.h"
#include "tools/kedge-bench/TimedKernel.h"
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace {
using namespace kedge;
using bench::ClusterTiming;
using bench::LibraryTiming;
using nlohmann::json;
using rt::DType;
using rt::calls::LibraryCall;

struct Calibration {
  analysis::DeviceModel device;
  int threads;

  double report(const std::string &what, double value, const char *unit) const {
    fmt::print("{:<44}{:>10.4g} {}\n", what, value, unit);
    return value;
  }
  /// Of a call: FLOPs a second, and what they depend on beside the FLOPs.
  struct Rate {
    double flops, extent;
  };
  Rate rateOf(const std::string &what, const LibraryCall &call) const {
    LibraryTiming timing(call, threads);
    double rate = timing.work().flops / timing.bestSeconds();
    report(what, rate / 1e9, "GFLOP/s");
    return {rate, timing.work().extent};
  }
  double product(int64_t m, int64_t n, int64_t k, DType type = DType::F32) const {
    LibraryCall call{"onnx.MatMul", json::object(), {{type, {m, k}}, {type, {k, n}}}, {{type, {m, n}}}};
    return rateOf(fmt::format("product {} {}x{}x{}", rt::dtypeName(type), m, n, k), call).flops;
  }

  void products();
  void attention();
  void convolution();
  void irregular();
  void memory();
  void scalars();
  void disk(const std::string &directory);
};

/// The rate and the extent of rate * e / (e + half) that two measurements lie on.
struct Saturation {
  double rate, half;
};
template <typename Rate> Saturation fit(const Rate &small, const Rate &large) {
  double half = (large.flops - small.flops) / (small.flops / small.extent - large.flops / large.extent);
  half = std::isfinite(half) ? std::max(0.0, half) : 0;
  return {large.flops * (large.extent + half) / large.extent, half};
}

void Calibration::products() {
  const int64_t shapes[][3] = {
      {512, 512, 512}, {256, 768, 768}, {768, 768, 256}, {256, 1024, 512}, {384, 384, 1536}};
  double best = 0, logs = 0, logsOfBf16 = 0;
  for (auto [m, n, k] : shapes) {
    double rate = product(m, n, k);
    best = std::max(best, rate);
    logs += std::log(rate) / std::size(shapes);
    logsOfBf16 += std::log(product(m, n, k, DType::BF16)) / std::size(shapes);
  }
  double small = product(64, 64, 64);
  device.fp32Flops = device.tf32Flops = best;
  device.matmulEfficiency = std::exp(logs) / best;
  device.halfRateFlops = 2.0 * 64 * 64 * 64 * std::max(0.0, std::exp(logs) / small - 1);
  device.fp64Flops = product(512, 512, 512, DType::F64) / device.matmulEfficiency;
  device.bf16Flops = std::exp(logsOfBf16) / device.matmulEfficiency;
  device.fp16Flops = product(512, 512, 512, DType::F16) / device.matmulEfficiency;
}

void Calibration::attention() {
  auto rate = [&](int64_t batch, int64_t length, DType type) {
    rt::TensorDesc heads{type, {batch, 4, length, 64}}, sums{DType::F32, {batch, 4, length}};
    const nlohmann::json causal = {{"visible", {{"right", 0}}}};
    LibraryCall forward{"train.attention", causal, {heads, heads, heads}, {heads, sums}};
    LibraryCall backward{
        "train.attention_grad", causal, {heads, heads, heads, heads, heads, sums}, {heads, heads, heads}};
    const std::string what = fmt::format("attention {}, {} tokens", rt::dtypeName(type), length);
    Rate there = rateOf(what, forward);
    Rate back = rateOf("gradient of " + what, backward);
    return Rate{std::sqrt(there.flops * back.flops), there.extent};
  };
  Rate few = rate(8, 64, DType::F32), many = rate(1, 1024, DType::F32);
  Saturation found = fit(few, many);
  device.attentionEfficiency = std::min(1.0, found.rate / device.fp32Flops);
  device.attentionHalfKeys = found.half;
  // The same keys for half the rate, as the model has one number for both.
  const Rate narrow = rate(1, 1024, DType::BF16);
  const double whole = narrow.flops * (narrow.extent + found.half) / narrow.extent;
  device.narrowAttentionEfficiency = std::min(1.0, whole / device.bf16Flops);
}

void Calibration::convolution() {
  auto rate = [&](int64_t channels, int64_t size) {
    rt::TensorDesc image{DType::F32, {4, channels, size, size}},
        weight{DType::F32, {channels, channels, 3, 3}};
    json attributes = {{"pads", {1, 1, 1, 1}}};
    const char *what[] = {"onnx.Conv", "train.conv_grad_input", "train.conv_grad_weight"};
    double logs = 0, extent = 0;
    for (int i = 0; i < 3; ++i) {
      LibraryCall call{what[i], attributes, {image, i < 2 ? weight : image}, {i < 2 ? image : weight}};
      Rate one = rateOf(fmt::format("{}, {} channels of {}x{}", what[i], channels, size, size), call);
      logs += std::log(one.flops) / 3;
      extent = one.extent;
    }
    return Rate{std::exp(logs), extent};
  };
  Rate few = rate(16, 32), many = rate(128, 16);
  Saturation found = fit(few, many);
  device.convolutionEfficiency = std::min(1.0, found.rate / device.fp32Flops);
  device.convolutionHalfChannels = found.half;
}

void Calibration::irregular() {
  LibraryCall pool{"onnx.MaxPool",
                   {{"kernel_shape", {3, 3}}, {"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}},
                   {{DType::F32, {8, 16, 56, 56}}},
                   {{DType::F32, {8, 16, 28, 28}}}};
  device.irregularFlops = rateOf("max pool 3x3", pool).flops;
}

std::string pointwise(int64_t count, const std::string &body) {
  std::string type = fmt::format("tensor<{}xf32>", count);
  return fmt::format("#id = affine_map<(d) -> (d)>\nfunc.func @f(%x: {0}, %y: {0}) -> {0} {{\n"
                     "%r = sched.cluster domain [{1}] reduced [] (%x, %y) maps [#id, #id] -> [#id] {{\n"
                     "^bb0(%a: f32, %b: f32):\n{2}}} : ({0}, {0}) -> {0}\nreturn %r : {0} }}",
                     type, count, body);
}

void Calibration::memory() {
  const std::string sum = "%s = arith.addf %a, %b : f32\nsched.yield %s : f32\n";
  auto bandwidth = [&](const char *what, int64_t count) {
    return 1e9 *
           report(what, 12e-9 * count / ClusterTiming(pointwise(count, sum), threads).bestSeconds(), "GB/s");
  };
  device.bytesPerSecond = bandwidth("sum of large vectors", int64_t(1) << 25);
  device.cacheBytesPerSecond =
      std::max(device.bytesPerSecond,
               bandwidth("sum of vectors in the cache", static_cast<int64_t>(device.cacheBytes / 24)));
  device.hostBytesPerSecond = device.bytesPerSecond / 2;
  rt::TensorDesc half{DType::F32, {1 << 14, 512}}, whole{DType::F32, {1 << 14, 1024}};
  LibraryTiming concat({"onnx.Concat", {{"axis", 1}}, {half, half}, {whole}}, threads);
  double copied =
      1e9 * report("concatenation", 2e-9 * static_cast<double>(whole.bytes()) / concat.bestSeconds(), "GB/s");
  device.copyEfficiency = std::min(1.0, copied / device.bytesPerSecond);
  device.memoryEfficiency = 1;
}

void Calibration::scalars() {
  constexpr int64_t count = 1 << 17;
  constexpr double kTanh = 1.5; // of a special function, as the cost of clusters counts it
  auto seconds = [&](const std::string &body) {
    return ClusterTiming(pointwise(count, body), threads).bestSeconds();
  };
  std::string chain = "%p0 = arith.addf %a, %b : f32\n";
  constexpr int steps = 64;
  for (int i = 0; i < steps; ++i)
    chain += fmt::format("%p{} = arith.{} %p{}, %a : f32\n", i + 1, i % 2 ? "addf" : "mulf", i);
  double vector = seconds(chain + fmt::format("sched.yield %p{} : f32\n", steps));
  double tangents = seconds("%e = math.tanh %a : f32\n%f = math.tanh %e : f32\nsched.yield %f : f32\n");
  device.vectorFlops =
      1e9 * report("additions and multiplications", 1e-9 * count * (steps + 1) / vector, "GFLOP/s");
  device.specialFunctions = 1e9 * report("special functions", 1e-9 * 2 * kTanh * count / tangents, "G/s");
  double launch = ClusterTiming(pointwise(16, "sched.yield %a : f32\n"), 1).bestSeconds();
  device.launchSeconds = 1e-6 * report("launch", 1e6 * launch, "microseconds");
  constexpr int64_t shared = 1 << 15;
  double together = ClusterTiming(pointwise(shared, "sched.yield %a : f32\n"), threads).bestSeconds();
  device.team = threads;
  if (threads > 1)
    device.teamSeconds =
        1e-6 * report("start of threads",
                      1e6 * std::max(0.0, together - 8.0 * shared / device.cacheBytesPerSecond),
                      "microseconds");
}

/// A file as --offload optimizer=DIR makes it, written and read through memory as a program does it. The
/// slower direction counts: a step moves as much in one as in the other.
void Calibration::disk(const std::string &directory) {
  constexpr uint64_t size = uint64_t(1) << 30, piece = uint64_t(64) << 20;
  const rt::StateFile file(directory, "calibrate", size);
  const rt::BlockMemory staging = rt::allocateBlocks(rt::kDiskStage), values = rt::allocateBlocks(piece);
  std::memset(values.get(), 1, piece);
  const auto rate = [&](const char *what, bool writes) {
    double best = 0;
    for (int pass = 0; pass < 2; ++pass) {
      const int64_t begin = rt::steadyNanoseconds();
      for (uint64_t at = 0; at < size; at += piece)
        rt::DiskCopy{&file, at, values.get(), piece, writes}.run(staging.get(), rt::kDiskStage);
      best = std::max(best, static_cast<double>(size) / static_cast<double>(rt::steadyNanoseconds() - begin));
    }
    return 1e9 * report(what, best, "GB/s");
  };
  const double written = rate("file, written", true);
  device.diskBytesPerSecond = std::min(written, rate("file, read", false));
}

void calibrate(const std::string &output, int threads, const std::string &directory) {
  Calibration calibration{analysis::thisMachine(), threads > 0 ? threads : rt::physicalCores()};
  calibration.device.name = "calibrated";
  calibration.products();
  calibration.attention();
  calibration.convolution();
  calibration.irregular();
  calibration.memory();
  calibration.scalars();
  if (!directory.empty())
    calibration.disk(directory);
  json device = analysis::toJson(calibration.device);
  analysis::deviceFromJson(device, output); // what is written can be read
  std::ofstream file(output);
  if (!(file << device.dump(2) << '\n').flush())
    fail("{}: cannot be written", output);
}
/// What is written can be read.
void calibrateLinks(const std::string &output) {
  const json levels = analysis::toJson(bench::measuredLinks());
  analysis::linksFromJson(levels, output);
  if (bench::isFirstRank())
    writeText(output, levels.dump(2) + "\n");
}
} // namespace

void kedge::bench::addCalibrateCommand(CLI::App &app) {
  CLI::App *command = app.add_subcommand("calibrate", "measure this machine, for --device FILE.json");
  auto output = std::make_shared<std::string>();
  auto links = std::make_shared<std::string>();
  auto directory = std::make_shared<std::string>();
  auto threads = std::make_shared<int>(0);
  CLI::Option *device = command->add_option("--output", *output, "FILE.json: the device, for --device");
  command
      ->add_option("--links", *links,
                   "FILE.json: instead, the links between the ranks that mpirun started, for --link")
      ->excludes(device);
  command->add_option("--disk", *directory, "DIR: files there, too, for --offload optimizer=DIR")
      ->needs(device);
  command->add_option("--threads", *threads, "default: physical cores")->check(CLI::PositiveNumber);
  command->callback([=] {
    if (output->empty() && links->empty())
      fail("calibrate: expected --output FILE.json for this machine, or --links FILE.json for its ranks");
    links->empty() ? calibrate(*output, *threads, *directory) : calibrateLinks(*links);
  });
}
