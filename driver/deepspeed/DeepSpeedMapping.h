// Keys of a DeepSpeed configuration, section by section.
#pragma once
#include "driver/deepspeed/DeepSpeedFile.h"
#include "driver/options/CompileOptions.h"

namespace kedge::driver {

class DeepSpeedMapping {
public:
  DeepSpeedMapping(DeepSpeedFile &file, const SavedArguments &given);
  void run();

  SavedArguments added;
  std::optional<int64_t> microBatch;

private:
  // DeepSpeedConfig.cpp
  void batch();
  int64_t ranks() const;
  void zero();
  void buckets(DeepSpeedSection &zero);
  void offload(DeepSpeedSection &zero, const char *key, const char *what);
  void communication();
  void checkpointing();

  // DeepSpeedTraining.cpp
  void precision();
  void lossScale(DeepSpeedSection &fp16);
  void dynamicScale(DeepSpeedSection &fp16);
  void optimizer();
  void openParams(DeepSpeedSection &params);
  void adam(DeepSpeedSection &params, const std::string &type);
  void sgd(DeepSpeedSection &params);
  void rate(DeepSpeedSection &params);
  void scheduler();
  void schedule(DeepSpeedSection &params, const std::string &type);
  void warmUp(DeepSpeedSection &params, const std::string &type);
  void warmUpFrom(DeepSpeedSection &params, const char *key, double share);
  double optimizerRate();

  std::optional<std::string> givenValue(const std::string &flag) const;
  /// `key` means the option `flag` with `value`: adds it, or compares it with what was given.
  void apply(DeepSpeedSection &section, const char *key, const std::string &flag, const std::string &value);
  /// The same for a key that is absent: an option that was given holds.
  void applyDefault(DeepSpeedSection &section, const char *key, const std::string &flag,
                    const std::string &value);
  void addOffload(DeepSpeedSection &section, const char *key, const std::string &what, bool wanted);
  /// Of parameters in use, and of gradients: fp32, bf16 or fp16.
  std::string weightType() const;
  std::string gradientType() const;

  DeepSpeedFile &file;
  const SavedArguments &given;
  DeepSpeedSection top;
  std::string working = "fp32";
  std::optional<double> scheduledRate; ///< that the scheduler puts in place of the optimizer's
};

} // namespace kedge::driver
