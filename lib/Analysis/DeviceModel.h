// A machine as the cost model describes it: peak rates, the share of them that kernels reach, and memory.
#pragma once
#include "lib/Analysis/DeviceLinks.h"
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kedge::analysis {

/// Rates are of the whole device, per second. docs/guide/devices.md says where each figure comes from.
struct DeviceModel {
  std::string name;
  int64_t memoryBytes = 0; ///< what `--memory-budget device` stands for

  // Peaks. A multiply-add counts 2.
  double vectorFlops = 0;    ///< fp32 outside products
  double irregularFlops = 0; ///< kernels that go element by element (pools, resampling, scatter)
  double fp64Flops = 0, fp32Flops = 0, tf32Flops = 0, bf16Flops = 0, fp16Flops = 0; ///< dense products
  double specialFunctions = 0;                                                      ///< exp-like evaluations
  double bytesPerSecond = 0;       ///< device memory, reads and writes together
  double hostBytesPerSecond = 0;   ///< between device and host memory, one direction
  double diskBytesPerSecond = 3e9; ///< between memory and a file, one direction: a drive's lasting writes
  double linkBytesPerSecond = 0;   ///< what a rank sends to others while it receives the same amount
  double linkSeconds = 0;          ///< time of a collective beyond that of its bytes
  LinkLevels links;                ///< links by level, instead of the three figures of one link
  double cacheBytes = 0, cacheBytesPerSecond = 0; ///< for data that the launch just before left in the cache

  double launchSeconds = 0; ///< time of a launch beyond that of its work
  /// A launch is shared by `team` threads if that pays for `teamSeconds`, the time to
  /// start them and to wait for the last. Smaller launches run on one thread. 1 for GPUs.
  double team = 1, teamSeconds = 0;

  // The share of the peak that large launches reach, in (0, 1].
  double matmulEfficiency = 1, attentionEfficiency = 1, convolutionEfficiency = 1, memoryEfficiency = 1,
         linkEfficiency = 1;
  double narrowAttentionEfficiency = 1; ///< of 16-bit attention; on processors of bf16 alone
  double updateWeight = 1; ///< cost of a byte that is written over one just read, relative to any other byte
  double copyEfficiency = 1; ///< of library kernels that only move data, relative to generated kernels
  // The sizes at which half of those shares is reached: FLOPs of a product or convolution,
  // keys that a query of attention sees on average, channels of a convolution's result.
  double halfRateFlops = 0, attentionHalfKeys = 0, convolutionHalfChannels = 0;

  /// On a processor, data that a launch updates are in its cache already, so writing them back is free; on a
  /// GPU it is not.
  bool isProcessor() const { return updateWeight == 0; }
};

/// Between the name of a device and that of its links, as in "h100+link=dgx-h100"; without a device, of this
/// machine.
inline constexpr const char *kWithLinks = "+link=";

/// Takes h100, h200, a100, rtx4090, cpu, or a JSON file (a name that ends in .json or contains a
/// slash), with or without links (kWithLinks); nothing: this machine. Throws kedge::Error, which lists the
/// known names or names the wrong field of the file.
DeviceModel loadDevice(const std::string &nameOrFile);

/// The device `cpu`, with the number of physical cores and the memory that this process may use, and with the
/// bf16 instructions that it has. All other figures are constants: nothing is measured, so equal machines
/// make equal plans.
DeviceModel thisMachine();

/// Writes the file format that loadDevice reads, and reads it back. `where` names the file in errors.
nlohmann::json toJson(const DeviceModel &device);
DeviceModel deviceFromJson(const nlohmann::json &json, const std::string &where);

} // namespace kedge::analysis
