#include "driver/joint/JointFit.h"
#include "driver/Compilation.h"
#include "driver/joint/JointCosts.h"
#include <algorithm>

namespace kedge::driver {

bool fitsInSomeWay(const CompileOptions &options) {
  const model::Model model = model::loadModel(options.model.model, {.requireExternalData = false});
  const JointSpace space(options, model, /*rowsFixed=*/!options.plan.maxBatchInput.empty());
  JointCosts costs(space, options);
  const auto last = [&](JointAxisNumber axis) {
    return static_cast<int>(space.axes()[axis].values.size()) - 1;
  };
  std::vector<solver::JointChoice> choices = space.choices();
  std::erase_if(choices, [&](const solver::JointChoice &choice) {
    const rt::Mesh &mesh = space.meshOf(choice);
    const bool isLastStage = choice[kZeroAxis] == last(kZeroAxis) || mesh.sizeOf(rt::Mesh::kParts) == 1;
    return mesh.sizeOf(rt::Mesh::kReplica) > 1 || !isLastStage || choice[kRowsAxis] != last(kRowsAxis) ||
           choice[kBucketAxis] != 0 || choice[kLayoutAxis] != 0 || choice[kScheduleAxis] != 0;
  });
  // Those that offload the most first, and of those the ones whose ranks have the whole model.
  std::stable_sort(choices.begin(), choices.end(), [&](const auto &a, const auto &b) {
    return std::pair(space.isSplit(a), -a[kOffloadAxis]) < std::pair(space.isSplit(b), -b[kOffloadAxis]);
  });
  return std::any_of(choices.begin(), choices.end(), [&](const solver::JointChoice &choice) {
    return costs.bound(choice, costs.bounds() - 1) < solver::kNever && costs.plan(choice).fits;
  });
}

} // namespace kedge::driver
