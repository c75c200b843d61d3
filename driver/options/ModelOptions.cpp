#include "driver/options/ModelOptions.h"
#include "driver/Adapters.h"
#include <algorithm>

namespace kedge::driver {

lint::LintOptions ModelOptions::lintOptions() const {
  lint::LintOptions options;
  options.loss = loss;
  options.logits = logits;
  options.labels = labels;
  options.lossOutput = lossOutput;
  options.train = train;
  options.freeze = freeze;
  if (adapters.inserts()) { // what --train does not name stays as it is
    options.addsAdapters = true;
    options.freeze.push_back("");
    const std::vector<std::string> beside = trainedBeside(adapters);
    options.train.insert(options.train.end(), beside.begin(), beside.end());
  }
  options.tie = tie;
  options.trainMode = !trainMode.empty();
  for (const std::string &modules : trainMode)
    if (modules != "true")
      options.trainModules.push_back(modules);
  options.strict = strict;
  options.repair = repair;
  options.allow.insert(allow.begin(), allow.end());
  options.severalRanks = std::any_of(ranks.begin(), ranks.end(), [](int64_t n) { return n > 1; });
  return options;
}

importer::Settled ModelOptions::settled() const {
  return {shapes, values, lossOutput.empty() ? logits : lossOutput};
}

} // namespace kedge::driver
