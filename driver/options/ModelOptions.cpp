#include "driver/options/ModelOptions.h"
#include "driver/Adapters.h"
#include "lib/Support/Error.h"
#include <algorithm>

namespace kedge::driver {

static lint::Repair repairOf(const ModelOptions &options) {
  if (options.strict && options.repair == "true")
    fail("--strict implies --repair=off; leave one of them out");
  if (options.repair == "true")
    return lint::Repair::All;
  return options.repair == "off" || options.strict || !options.compiles ? lint::Repair::Off
                                                                        : lint::Repair::Recorded;
}

static void setModes(const ModelOptions &from, lint::LintOptions &to) {
  const bool off = std::find(from.trainMode.begin(), from.trainMode.end(), "off") != from.trainMode.end();
  if (off && from.trainMode.size() > 1)
    fail("--train-mode=off trains the file as it is, and goes with no other --train-mode");
  to.mode = off                       ? lint::Mode::AsFile
            : !from.trainMode.empty() ? lint::Mode::Training
            : from.compiles           ? lint::Mode::Recorded
                                      : lint::Mode::Asked;
  for (const std::string &modules : from.trainMode)
    if (modules != "true" && modules != "off")
      to.trainModules.push_back(modules);
}

/// Several losses read several outputs: each float output counts as trained.
static LossFunction onlyLoss(const LossSpec &loss) {
  return loss.terms.size() == 1 ? loss.terms.front().function : LossFunction::None;
}

lint::LintOptions ModelOptions::lintOptions() const {
  lint::LintOptions options;
  if (loss)
    options.loss = onlyLoss(*loss);
  options.logits = loss && loss->onlyOutput() ? *loss->onlyOutput() : logits;
  options.labels = labels;
  options.lossOutputs = lossOutput.names();
  options.train = train;
  options.trainOnly = trainOnly;
  options.freeze = freeze;
  if (adapters.inserts()) { // what --train does not name stays as it is
    if (!trainOnly.empty())
      fail("--train-only would have no effect: adapters train, and what --train names; leave it out");
    options.addsAdapters = true;
    options.freeze.push_back("");
    const std::vector<std::string> beside = trainedBeside(adapters);
    options.train.insert(options.train.end(), beside.begin(), beside.end());
  }
  options.tie = tie;
  setModes(*this, options);
  options.strict = strict;
  options.repair = repairOf(*this);
  options.compiles = compiles;
  options.paddingRows = paddingRows;
  options.vocabulary = vocabulary;
  options.allow.insert(allow.begin(), allow.end());
  options.severalRanks = std::any_of(ranks.begin(), ranks.end(), [](int64_t n) { return n > 1; });
  return options;
}

importer::Settled ModelOptions::settled() const {
  if (!noCache.empty() && noCache != "true" && noCache != "off")
    fail("--no-cache={}: expected --no-cache, or --no-cache=off", noCache);
  std::vector<std::string> losses = lossOutput.names();
  const bool readsLogits = losses.empty() || (loss && *loss != LossFunction::None);
  if (readsLogits && !logits.empty())
    losses.push_back(logits);
  return {shapes, values, noCache == "off", losses, readsLogits && logits.empty()};
}

} // namespace kedge::driver
