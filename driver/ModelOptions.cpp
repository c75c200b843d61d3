#include "driver/ModelOptions.h"
#include <algorithm>

namespace kedge::driver {

lint::Options ModelOptions::lintOptions() const {
  lint::Options options;
  options.loss = loss;
  options.logits = logits;
  options.labels = labels;
  options.lossOutput = lossOutput;
  options.train = train;
  options.freeze = freeze;
  options.trainMode = trainMode;
  options.repair = repair;
  options.allow.insert(allow.begin(), allow.end());
  options.severalRanks = std::any_of(ranks.begin(), ranks.end(), [](int64_t n) { return n > 1; });
  return options;
}

} // namespace kedge::driver
