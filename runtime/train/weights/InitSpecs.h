// Values by --init: constants and random numbers for the tensors whose names an expression fits.
#pragma once
#include "runtime/program/Options.h"
#include "runtime/train/weights/WeightSource.h"

namespace kedge::rt {

class InitSpecs final : public WeightSource {
public:
  /// `specs` must outlive this object.
  InitSpecs(const std::vector<InitSpec> &specs, int64_t seed, int threads)
      : specs(specs), seed(seed), threads(threads) {}
  bool fill(const State &state, char *destination) override;
  /// The last one that fits, or null.
  const InitSpec *specFor(const std::string &name) const;

private:
  std::optional<TensorSource> valuesOf(const State &whole) override;

  const std::vector<InitSpec> &specs;
  const int64_t seed;
  const int threads;
  std::vector<char> made;
};

/// Throws rt::RuntimeError if an expression of --init fits no tensor of the program.
void checkSpecsMatch(const Program &program, const std::vector<InitSpec> &specs);

} // namespace kedge::rt
