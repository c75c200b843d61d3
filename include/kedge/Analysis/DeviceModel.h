// A machine as the cost model sees it: peak rates, what of them kernels reach, memory.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kedge::analysis {

/// Rates are of the whole device, per second. docs/guide/devices.md says where each figure comes from.
struct DeviceModel {
  std::string name;
  int64_t memoryBytes = 0; ///< what `--memory-budget device` means

  // Peaks. A multiply-add counts 2.
  double vectorFlops = 0;    ///< fp32 outside products
  double irregularFlops = 0; ///< steps of kernels that go element by element (pools, resampling, scatter)
  double fp64Flops = 0, fp32Flops = 0, tf32Flops = 0, bf16Flops = 0, fp16Flops = 0; ///< dense products
  double specialFunctions = 0; ///< exp-like evaluations
  double bytesPerSecond = 0;   ///< device memory, reads and writes together
  double hostBytesPerSecond = 0; ///< between device and host memory, one direction
  double linkBytesPerSecond = 0; ///< what a rank sends to others while it receives as much
  double linkSeconds = 0;        ///< of every collective, whatever it sends
  double cacheBytes = 0, cacheBytesPerSecond = 0; ///< what a launch finds there that ran just before

  double launchSeconds = 0; ///< of every launch, whatever it does
  /// Threads that share a launch when it is worth `teamSeconds`, which it takes to start them and to wait for the
  /// last; a small launch runs on one. 1 for GPUs.
  double team = 1, teamSeconds = 0;

  // Shares of the peaks that large launches reach, in (0, 1].
  double matmulEfficiency = 1, attentionEfficiency = 1, convolutionEfficiency = 1, memoryEfficiency = 1, linkEfficiency = 1;
  double narrowAttentionEfficiency = 1; ///< of 16-bit attention, whose products run by mma.sync; GPUs alone
  double updateWeight = 1;   ///< what a byte written in place of one just read costs, beside any other byte
  double copyEfficiency = 1; ///< of library kernels that only move data, beside generated kernels
  // Where half of those shares is reached: FLOPs of a product or convolution, keys that a query of attention sees
  // on average, channels of a convolution's result.
  double halfRateFlops = 0, attentionHalfKeys = 0, convolutionHalfChannels = 0;

  /// Processors find what they update in their cache; GPUs do not.
  bool isProcessor() const { return updateWeight == 0; }
};

/// h100, h200, a100, rtx4090, cpu, or a JSON file (a name that ends in .json or holds a slash). Throws
/// kedge::Error that lists the known names, or names the file's wrong field.
DeviceModel loadDevice(const std::string &nameOrFile);

/// `cpu` with the physical cores that this process may use, the memory that it may have and the instructions for bf16
/// products that it has. All other figures are those of the source: nothing is measured, so equal machines make equal plans.
DeviceModel thisMachine();

/// The file format of loadDevice, and back. `where` names the file in errors.
nlohmann::json toJson(const DeviceModel &device);
DeviceModel deviceFromJson(const nlohmann::json &json, const std::string &where);

} // namespace kedge::analysis
