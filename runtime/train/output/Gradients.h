// --dump-gradients and --inject-gradient.
#pragma once
#include "runtime/program/Options.h"
#include "runtime/train/Step.h"

namespace kedge::rt {

/// A parameter's gradient in fp32, in the layout of the exported file: unscaled, before clipping, of all
/// items of the step. `whole` has it as the step made it. `to` has room for all elements.
void copyGradient(Executor &executor, const Function &function, const GradientSlot &place, const char *whole,
                  double items, float *to);

/// The opposite, for a function that takes its gradients from the caller: `values` are of `items` items.
/// Where a parameter has its gradient whole.
void placeGradient(Executor &executor, const Function &function, const GradientSlot &place,
                   const float *values, double items);

class GradientTools : public GradientWatch {
public:
  GradientTools(Executor &executor, const Options &options);
  void visit(const Function &function, int launch, int64_t step, double items) override;
  bool wants(int64_t step) const override;
  /// Whether one of the two options was given.
  bool needed() const;
  /// Writes the dumped gradients of a step after it, which had so many items; warns of parameters without
  /// one. All ranks call it.
  void finishStep(int64_t step, double items);

private:
  const char *wholeOf(const State &state, const GradientSlot &place, std::vector<char> &gathered) const;
  void dump(const Function &function, const GradientSlot &place, double items);
  void keepPart(const State &state, const GradientSlot &place);
  void gatherParts(double items);
  void gatherPart(const State &state, double scale);
  bool isInjectedInto(const Function &function, size_t gradient) const;

  Executor &executor;
  const Options &options;
  /// in fp32, with the layout of the exported file
  std::map<std::string, std::vector<float>> gradients;
  /// What a rank of a pipeline has of a gradient, as it is in the arena. Stages have theirs at different
  /// times: they come together after the step.
  struct Part {
    std::vector<float> values;
    bool isFlat = false;
  };
  std::map<std::string, Part> parts;
  bool perItems = false;
};

} // namespace kedge::rt
