// Values from the file or folder of --weights.
#pragma once
#include "runtime/format/TensorFile.h"
#include "runtime/train/weights/InitSpecs.h"
#include "runtime/train/weights/WeightNames.h"

namespace kedge::rt {

class GivenWeights final : public WeightSource {
public:
  /// `path`: --weights. `partial`: tensors missing there keep other values. What a user should know of the
  /// file is said if `tells`. `init` decides about the tensors that it names.
  GivenWeights(const Program &program, const std::string &path, bool partial, bool tells,
               const InitSpecs &init);
  void match(const std::vector<const State *> &states) override;
  bool fill(const State &state, char *destination) override;
  bool fillCodes(const State &codes, const State &whole, char *destination) override;
  bool has(const State &state) const { return matched.tensors.count(state.onnxName) > 0; }

private:
  std::optional<TensorSource> valuesOf(const State &whole) override;
  TensorSource source(const State &state, const TensorView &view) const;

  const Program &program;
  const std::string path;
  const bool partial, tells;
  const InitSpecs &init;
  TensorFile file;
  MatchedWeights matched;
};

} // namespace kedge::rt
