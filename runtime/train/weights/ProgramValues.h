// Values that states begin with as the program says: constants, bytes of the program, the compiled model's
// file.
#pragma once
#include "runtime/train/weights/ModelFiles.h"
#include "runtime/train/weights/WeightSource.h"

namespace kedge::rt {

/// Has values for every state.
class ProgramValues final : public WeightSource {
public:
  /// What a user should know of the model's file is said if `tells`. All must outlive this object.
  ProgramValues(const Executor &executor, const ProgramImage &image, const std::string &model, int64_t seed,
                bool tells);
  bool fill(const State &state, char *destination) override;
  /// Opens the file that the state's values are in, if they are in one.
  void open(const State &state);

private:
  std::optional<TensorSource> valuesOf(const State &state) override;
  void checkBytes(const State &state, const char *bytes);

  const Executor &executor;
  const ProgramImage &image;
  const std::string model;
  const int64_t seed;
  ModelFiles files;
  bool saidOther; ///< that the model's file has other values
};

} // namespace kedge::rt
