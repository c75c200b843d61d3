// Known devices. Rates of GPUs are those of the vendor's data sheets, dense (half of what is advertised "with
// sparsity"); docs/guide/devices.md has the table and what is not from a data sheet.
#include "lib/Analysis/DeviceModel.h"
#include "lib/Support/Error.h"
#include "runtime/exec/Executor.h"
#include "runtime/io/JsonSize.h"
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <vector>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kedge::analysis {
namespace {

constexpr double kGiga = 1e9, kTera = 1e12;

/// What data sheets do not tell, alike for the GPUs: shares of the peaks that good kernels reach (fused
/// elementwise kernels 85 % of the memory's peak, large products 75 %, attention 60 % of
/// long rows, large collectives 80 % of the link), the time between two kernels of a replayed graph, and what
/// a collective of a few bytes takes.
DeviceModel graphicsProcessor(const std::string &name) {
  DeviceModel device;
  device.name = name;
  device.launchSeconds = 2e-6;
  device.matmulEfficiency = 0.75;
  device.convolutionEfficiency = 0.6;
  device.attentionEfficiency = device.narrowAttentionEfficiency = 0.6;
  device.attentionHalfKeys = 300;
  device.convolutionHalfChannels = 32;
  device.memoryEfficiency = 0.85;
  device.linkSeconds = 2e-5;
  device.linkEfficiency = 0.8;
  return device;
}

/// Multiprocessors times 16 special functions a clock (CUDA C++ Programming Guide, arithmetic throughput).
double specialFunctions(int multiprocessors, double clock) { return multiprocessors * 16 * clock; }

/// Rates that follow from the others: elementwise code is half of an FMA peak, windows a quarter of that; the
/// second-level cache moves about 1.7 times what memory does; half rate is reached by a product that takes
/// 10 microseconds.
void derive(DeviceModel &device) {
  device.vectorFlops = device.fp32Flops / 2;
  device.irregularFlops = device.vectorFlops / 4;
  device.cacheBytesPerSecond = 1.7 * device.bytesPerSecond;
  device.halfRateFlops = device.bf16Flops * 1e-5;
}

/// NVIDIA A100 80GB SXM data sheet (2021); PCIe 4.0 x16; NVLink 3: 600 GB/s, half of it in each direction.
DeviceModel a100() {
  DeviceModel device = graphicsProcessor("a100");
  device.memoryBytes = 80 * int64_t(1e9);
  device.fp64Flops = 19.5 * kTera, device.fp32Flops = 19.5 * kTera, device.tf32Flops = 156 * kTera;
  device.bf16Flops = device.fp16Flops = 312 * kTera;
  device.specialFunctions = specialFunctions(108, 1.41e9);
  device.bytesPerSecond = 2039 * kGiga, device.hostBytesPerSecond = 32 * kGiga;
  device.linkBytesPerSecond = 300 * kGiga;
  device.cacheBytes = 40 * 1048576.0;
  derive(device);
  return device;
}

/// NVIDIA H100 SXM data sheet (2023); PCIe 5.0 x16; NVLink 4: 900 GB/s, half of it in each direction.
DeviceModel h100() {
  DeviceModel device = graphicsProcessor("h100");
  device.memoryBytes = 80 * int64_t(1e9);
  device.fp64Flops = 67 * kTera, device.fp32Flops = 67 * kTera, device.tf32Flops = 494.7 * kTera;
  device.bf16Flops = device.fp16Flops = 989.4 * kTera;
  // The peak is that of wgmma; kernels of mma.sync reach 35 % of it (arXiv 2407.08608, of FlashAttention-2).
  device.narrowAttentionEfficiency = 0.35;
  device.specialFunctions = specialFunctions(132, 1.83e9);
  device.bytesPerSecond = 3350 * kGiga, device.hostBytesPerSecond = 64 * kGiga;
  device.linkBytesPerSecond = 450 * kGiga;
  device.cacheBytes = 50 * 1048576.0;
  derive(device);
  return device;
}

/// NVIDIA H200 SXM data sheet (2023): an H100 with more and faster memory.
DeviceModel h200() {
  DeviceModel device = h100();
  device.name = "h200";
  device.memoryBytes = 141 * int64_t(1e9);
  device.bytesPerSecond = 4800 * kGiga;
  derive(device);
  return device;
}

/// NVIDIA Ada GPU architecture white paper (2022), GeForce RTX 4090; products accumulate in fp32; PCIe 4.0
/// x16, which is its link to other GPUs too: it has no NVLink.
DeviceModel rtx4090() {
  DeviceModel device = graphicsProcessor("rtx4090");
  device.memoryBytes = 24 * int64_t(1e9);
  device.fp64Flops = 1.29 * kTera, device.fp32Flops = 82.6 * kTera, device.tf32Flops = 82.6 * kTera;
  device.bf16Flops = device.fp16Flops = 165.2 * kTera;
  device.specialFunctions = specialFunctions(128, 2.52e9);
  device.bytesPerSecond = 1008 * kGiga, device.hostBytesPerSecond = 32 * kGiga;
  device.linkBytesPerSecond = 32 * kGiga;
  device.cacheBytes = 72 * 1048576.0;
  derive(device);
  return device;
}

/// What a processor's bf16 products do beside its fp32 ones. docs/rationale/matrix-products.md says which
/// instructions run where; `vdpbf16ps` was measured on two cores of the Zen 4 generation (2.1 times), AMX on
/// two of a Xeon (800 to 1000 GFLOP/s each).
enum class Bf16Matmuls { Widened = 1, DotProducts = 2, Tiles = 8 };

/// Attention in bf16 multiplies on AMX; on other processors it is as fast as in fp32. Of the bf16 peak.
double narrowAttention(Bf16Matmuls bf16, double ofFp32) {
  constexpr double kOnTiles = 0.45; // 395 GFLOP/s forward and 360 backward on one core, 512 keys a query
  return bf16 == Bf16Matmuls::Tiles ? kOnTiles : ofFp32 / static_cast<int>(bf16);
}

/// Cores of an AMD EPYC of the Zen 4 generation (AVX-512), measured with `kedge-bench calibrate` on two of
/// them.
DeviceModel processor(int cores, Bf16Matmuls bf16 = Bf16Matmuls::DotProducts) {
  DeviceModel device;
  device.name = "cpu";
  device.memoryBytes = 24 * int64_t(1e9);
  device.vectorFlops = cores * 80 * kGiga;
  device.irregularFlops = cores * 0.25 * kGiga;
  device.fp64Flops = cores * 58 * kGiga, device.fp32Flops = device.tf32Flops = cores * 117 * kGiga;
  device.bf16Flops = static_cast<int>(bf16) * device.fp32Flops;
  // Widened for the fp32 tile, or on AMX as four products of bf16 (measured: 2.3 times fp32's rate).
  device.fp16Flops = (bf16 == Bf16Matmuls::Tiles ? 2.3 : 1) * device.fp32Flops;
  device.specialFunctions = cores * 2.6 * kGiga;
  // A core fetches so many lines; a socket of this kind has twelve channels. What is written over lines just
  // read goes along for nothing.
  device.bytesPerSecond = std::min(cores * 31.0, 400.0) * kGiga;
  device.updateWeight = 0;
  device.hostBytesPerSecond = device.bytesPerSecond / 2;
  // Ranks of one machine, over Open MPI's shared memory (docs/rationale/history/ranks.md).
  device.linkBytesPerSecond = 2 * kGiga, device.linkSeconds = 4e-5;
  device.cacheBytes = cores * 4194304.0;
  device.cacheBytesPerSecond = cores * 90 * kGiga;
  device.launchSeconds = 5e-8;
  device.team = cores;
  device.teamSeconds = cores == 1 ? 0 : 2e-6;
  device.matmulEfficiency = 0.9;
  device.convolutionEfficiency = 0.85;
  device.convolutionHalfChannels = 15;
  device.attentionEfficiency = 0.82;
  device.narrowAttentionEfficiency = narrowAttention(bf16, device.attentionEfficiency);
  device.attentionHalfKeys = 68;
  device.memoryEfficiency = 1;
  device.copyEfficiency = 0.65;
  device.halfRateFlops = cores * 1.5e5;
  return device;
}

struct Known {
  const char *name;
  DeviceModel (*make)();
};
const Known kKnown[] = {
    {"h100", h100}, {"h200", h200}, {"a100", a100}, {"rtx4090", rtx4090}, {"cpu", [] {
                                                                             return processor(2);
                                                                           }}};

/// Physical memory, or what the control group leaves of it.
int64_t memoryOfThisMachine() {
  int64_t bytes = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE);
  std::ifstream limit("/sys/fs/cgroup/memory.max");
  if (int64_t most = 0; limit >> most && most > 0)
    bytes = std::min(bytes, most);
  return bytes;
}

/// As the runtime chooses its tile: `vdpbf16ps` is half of fp32's rate on processors that have AVX512_FP16.
Bf16Matmuls bf16ProductsOfThisMachine() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0, narrow = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
    return Bf16Matmuls::Widened;
  const bool hasAmx = d >> 22 & 1, hasFp16 = d >> 23 & 1;
  const bool hasBf16 = a >= 1 && __get_cpuid_count(7, 1, &narrow, &b, &c, &d) && (narrow >> 5 & 1);
  return hasAmx ? Bf16Matmuls::Tiles : hasBf16 && !hasFp16 ? Bf16Matmuls::DotProducts : Bf16Matmuls::Widened;
#else
  return Bf16Matmuls::Widened;
#endif
}

DeviceModel readFile(const std::string &path) {
  rt::expectJsonFile(path);
  std::ifstream file(path);
  if (!file)
    fail("--device {}: the file cannot be read", path);
  nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (json.is_discarded())
    fail("--device {}: expected a JSON object of a device (docs/guide/devices.md), found something else",
         path);
  return deviceFromJson(json, "--device " + path);
}

} // namespace

DeviceModel loadDevice(const std::string &nameOrFile) {
  if (const size_t at = nameOrFile.find(kWithLinks); at != std::string::npos) {
    DeviceModel device = loadDevice(nameOrFile.substr(0, at));
    device.links = loadLinks(nameOrFile.substr(at + std::string_view(kWithLinks).size()));
    return device;
  }
  if (nameOrFile.empty())
    return thisMachine();
  for (const Known &known : kKnown)
    if (nameOrFile == known.name)
      return known.make();
  bool isFile = nameOrFile.ends_with(".json") || nameOrFile.find('/') != std::string::npos;
  if (isFile)
    return readFile(nameOrFile);
  std::string names;
  for (const Known &known : kKnown)
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  fail("--device {}: unknown device; expected {} or a file NAME.json", nameOrFile, names);
}

DeviceModel thisMachine() {
  DeviceModel device = processor(rt::physicalCores(), bf16ProductsOfThisMachine());
  device.memoryBytes = memoryOfThisMachine();
  return device;
}

} // namespace kedge::analysis
