#include "driver/Remedies.h"
#include "driver/BudgetCheck.h"
#include "driver/Compilation.h"
#include "lib/Support/Error.h"
#include "lib/Support/MemoryBudget.h"
#include "lib/Support/Progress.h"
#include "lib/Support/Reporter.h"
#include "lib/Support/SideBySide.h"
#include "passes/Autodiff/Optimizers.h"
#include "passes/Mesh/WideRegion.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>

namespace kedge::driver {
namespace {

constexpr size_t kTold = 3;
constexpr int64_t kFeedForwardChunk = 64 << 20, kLogitsChunk = 128 << 20;

struct Remedy {
  std::string flags;
  std::function<void(CompileOptions &)> apply;
};

struct Price {
  std::string flags;
  int64_t peak = 0;
  double seconds = 0, added = 0;
};

bool isEven(const CompileOptions &options) {
  const auto &shapes = options.model.shapes;
  return !shapes.empty() && std::all_of(shapes.begin(), shapes.end(), [&](const auto &entry) {
    return !entry.second.empty() && entry.second.front() % 2 == 0 &&
           entry.second.front() == shapes.begin()->second.front();
  });
}

void halve(CompileOptions &options) {
  for (auto &[name, shape] : options.model.shapes)
    shape.front() /= 2;
  options.accumulate *= 2;
}

/// The rows of a step stay, in twice as many micro-batches.
Remedy halfTheRows(const CompileOptions &options) {
  CompileOptions halved = options;
  halve(halved);
  std::string flags = "--shape";
  for (const auto &[name, shape] : halved.model.shapes)
    flags += fmt::format(" {}={}", name, fmt::join(shape, "x"));
  return {fmt::format("{} --accumulate {}", flags, halved.accumulate), halve};
}

bool isWide(CompileOptions options) {
  options.trial = Trial::Silent;
  Compilation compilation(options);
  compilation.import();
  compilation.step();
  return mesh::hasWideFeedForward(compilation.module(), kFeedForwardChunk);
}

std::vector<Remedy> remediesOf(const CompileOptions &options) {
  std::vector<Remedy> remedies;
  if (isEven(options))
    remedies.push_back(halfTheRows(options));
  if (options.precision == pipelines::Precision::Fp32)
    remedies.push_back(
        {"--precision bf16", [](CompileOptions &o) { o.precision = pipelines::Precision::Bf16; }});
  if (const auto narrow = autodiff::factsOf(options.update.optimizer).in8bits)
    remedies.push_back({fmt::format("--optimizer {}", wordOf(*narrow)),
                        [narrow](CompileOptions &o) { o.update.optimizer = *narrow; }});
  for (const OffloadKind kind : {OffloadKind::Activations, OffloadKind::Optimizer})
    if (!options.memory.offloads(kind))
      remedies.push_back({fmt::format("--offload {}", wordOf(kind)),
                          [kind](CompileOptions &o) { o.memory.offload.push_back({kind, ""}); }});
  if (options.feedForwardChunk == 0 && isWide(options))
    remedies.push_back(
        {"--feed-forward-chunk 64MiB", [](CompileOptions &o) { o.feedForwardChunk = kFeedForwardChunk; }});
  if (options.onGpu() && (options.logitsChunk == 0 || options.logitsChunk > kLogitsChunk))
    remedies.push_back({"--logits-chunk 128MiB", [](CompileOptions &o) { o.logitsChunk = kLogitsChunk; }});
  if (options.memory.policy().kind != remat::Policy::Kind::Auto)
    remedies.push_back({"--recompute auto", [](CompileOptions &o) {
                          o.memory.recompute = remat::Policy{remat::Policy::Kind::Auto};
                        }});
  if (options.model.ranks.front() > 1 && options.partition.stage < 3 &&
      options.masterWeights != pipelines::MasterWeights::Off)
    remedies.push_back({"--zero 3", [](CompileOptions &o) { o.partition.stage = 3; }});
  return remedies;
}

std::optional<Price> priceOf(const Remedy &remedy, const CompileOptions &options) try {
  CompileOptions changed = options;
  remedy.apply(changed);
  changed.trial = Trial::Silent;
  changed.memory.frontier = changed.plan.compare = false;
  changed.memory.plan.search = remat::PlanSearch::Quick;
  Compilation compilation(changed);
  compilation.import();
  compilation.step();
  compilation.schedule();
  const BudgetCheck check(compilation.module(), changed);
  if (!check.fitsDevice())
    return std::nullopt;
  compilation.plan();
  const nlohmann::json report = compilation.report();
  if (!check.fits())
    return std::nullopt;
  return Price{remedy.flags, report["peak_bytes"], report.value("step_seconds", 0.0),
               report["recompute"]["overhead"]};
} catch (const Error &) {
  return std::nullopt; // an option that this model or the others do not go with is no remedy
}

} // namespace

std::string remediesText(const CompileOptions &options) {
  if (!options.memory.plan.budget.isGiven())
    return "";
  const std::vector<Remedy> remedies = remediesOf(options);
  std::vector<std::optional<Price>> priced(remedies.size());
  {
    const ProgressStage stage("looking for what would fit", 0);
    sideBySide(remedies.size(), [&](size_t i) { priced[i] = priceOf(remedies[i], options); });
    endIfCancelled();
  }
  std::vector<Price> prices;
  std::string tried;
  for (const auto &[remedy, price] : llvm::zip_equal(remedies, priced)) {
    if (price)
      prices.push_back(*price);
    tried += (tried.empty() ? "" : "; ") + remedy.flags;
  }
  if (prices.empty())
    return tried.empty() ? "" : fmt::format("alone, none of these fits this budget either: {}\n", tried);
  std::stable_sort(prices.begin(), prices.end(),
                   [](const Price &a, const Price &b) { return a.seconds < b.seconds; });
  prices.resize(std::min(kTold, prices.size()));
  std::string text = "what fits this budget with one change, the quickest step first:\n";
  for (const Price &price : prices)
    text +=
        fmt::format("  {:<44}{:>12}  a step {:.3g} s, of it {:.1f}% computed or copied again\n", price.flags,
                    formatBytes(price.peak), price.seconds, 100 * price.added / (1 + price.added));
  return text;
}

} // namespace kedge::driver
