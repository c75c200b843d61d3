#include "driver/program/PlansByWorld.h"
#include "driver/BudgetCheck.h"
#include "driver/Remedies.h"
#include "driver/plan/PipelinePlan.h"
#include "driver/plan/Report.h"
#include "driver/program/ProgramBuilder.h"
#include "driver/program/StagesTogether.h"
#include "lib/Link/Link.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <optional>
#include <utility>

namespace kedge::driver {
namespace {

/// One of the programs: for a number of ranks, and in --replicas for one of the ways that launchers place
/// them.
struct World {
  int64_t ranks;
  std::optional<rt::Mesh> mesh;
  std::optional<int64_t> stage; ///< of a pipeline: its ranks have a program of their own
};

/// Of its kernels' names.
std::string prefixOf(const World &world) {
  return world.stage  ? fmt::format("s{}.", *world.stage)
         : world.mesh ? fmt::format("{}.", world.mesh->text())
                      : fmt::format("r{}.", world.ranks);
}

std::vector<World> worldsOf(const CompileOptions &options) {
  std::vector<World> worlds;
  if (options.isPipelined()) {
    for (int64_t stage = 0; stage < options.model.meshOfRanks().sizeOf(rt::Mesh::kPipeline); ++stage)
      worlds.push_back({options.model.ranks.front(), options.model.mesh, stage});
    return worlds;
  }
  if (!options.replicas) {
    for (const int64_t number : options.model.ranks)
      worlds.push_back({number, {}, {}});
    return worlds;
  }
  const int64_t ranks = options.model.ranks.front();
  for (int64_t onMachine = ranks; onMachine >= 1; --onMachine)
    if (ranks % onMachine == 0)
      worlds.push_back(
          {ranks, rt::Mesh::parse(fmt::format("replica={},data={}", ranks / onMachine, onMachine)), {}});
  return worlds;
}

void checkNumbers(const CompileOptions &options) {
  const std::vector<int64_t> &numbers = options.model.ranks;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (std::find(numbers.begin(), numbers.begin() + i, numbers[i]) != numbers.begin() + i)
      fail("--ranks {}: {} is named twice; name each number once", fmt::join(numbers, ","), numbers[i]);
  if (options.isPipelined() && options.output.emit != Emit::Exe)
    fail("--mesh {}: --emit {} is not available yet for a pipeline, whose ranks have a program each",
         options.model.mesh->text(), wordOf(options.output.emit));
  if (options.isPipelined())
    return;
  if (options.output.saveIr.empty() && options.output.report.empty() && options.output.emit == Emit::Exe)
    return;
  const std::string one = !options.output.saveIr.empty() ? "--save-ir"
                          : !options.output.report.empty()
                              ? "--report"
                              : std::string("--emit ") + wordOf(options.output.emit);
  if (options.replicas)
    fail("--replicas {}: {} takes one plan; give --mesh replica=R,data=D for R machines",
         wordOf(*options.replicas), one);
  fail("--ranks {}: {} takes one plan; give one number of ranks", fmt::join(numbers, ","), one);
}

int64_t ranksOfStage(const CompileOptions &options) {
  const rt::Mesh mesh = options.model.meshOfRanks();
  return mesh.size() / std::max<int64_t>(1, mesh.sizeOf(rt::Mesh::kPipeline));
}

/// Of all ranks; each program has its own rank's.
void writeReportOfPipeline(const CompileOptions &options, const nlohmann::json &ofCache) {
  if (!options.isPipelined() || options.output.report.empty())
    return;
  CompileOptions trial = options;
  trial.trial = Trial::Silent;
  trial.output.saveIr.clear();
  PipelinePlan plan(trial);
  writeReport(plan.report(), plan.compilation(), plan.options(), ofCache);
}

/// Several programs as one: their texts and data follow each other, and a table tells where.
class Bundle {
public:
  void add(const World &world, const std::string &prefix, ProgramParts parts) {
    nlohmann::json entry = {{"ranks", world.ranks}};
    if (world.stage) {
      entry["stage"] = *world.stage;
      entry["kernels"] = prefix;
    } else if (world.mesh) {
      shares = true;
      entry["mesh"] = world.mesh->text();
      entry["kernels"] = prefix;
      if (!parts.shared.empty())
        entry["shared"] = parts.shared;
    }
    entry["text"] = append(
        llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(parts.json.data()), parts.json.size()));
    entry["data"] = append(parts.data);
    worlds.push_back(std::move(entry));
    std::move(parts.kernels.begin(), parts.kernels.end(), std::back_inserter(whole.kernels));
    whole.names.insert(whole.names.end(), parts.names.begin(), parts.names.end());
    whole.linked.add(std::move(parts.linked));
    whole.registrations.merge(parts.registrations);
  }

  ProgramParts finish() {
    whole.json = nlohmann::json({{"worlds", worlds}}).dump();
    return std::move(whole);
  }

private:
  /// Programs of one world for several meshes have much in common: what is equal lies there once.
  nlohmann::json append(llvm::ArrayRef<uint8_t> bytes) {
    for (const nlohmann::json &place : places)
      if (shares && llvm::ArrayRef<uint8_t>(whole.data).slice(place["offset"], place["length"]) == bytes)
        return place;
    whole.data.resize((whole.data.size() + 63) / 64 * 64);
    const size_t offset = whole.data.size();
    whole.data.insert(whole.data.end(), bytes.begin(), bytes.end());
    places.push_back({{"offset", offset}, {"length", bytes.size()}});
    return places.back();
  }

  ProgramParts whole;
  bool shares = false;
  std::vector<nlohmann::json> places; ///< of what was added
  nlohmann::json worlds = nlohmann::json::array();
};

} // namespace

int compilePlansByWorld(const CompileOptions &given, lower::KernelCache &cache) {
  checkNumbers(given);
  const CompileOptions options = withChosenSchedule(given);
  Bundle bundle;
  std::map<std::string, std::string> knownKernels;
  bool first = true;
  std::vector<std::string> stages;
  for (const World &world : worldsOf(options)) {
    CompileOptions one = options;
    one.replicas.reset();
    one.worlds = options.model.ranks;
    one.model.ranks = {world.ranks};
    one.model.mesh = world.mesh;
    one.pipeline.stage = world.stage.value_or(0);
    if (world.stage && !one.output.saveIr.empty())
      one.output.saveIr = folderOfRank(one.output.saveIr, *world.stage * ranksOfStage(options));
    one.setRepeats(!std::exchange(first, false)); // notes are the same
    Compilation compilation(one);
    compilation.import();
    compilation.step();
    compilation.schedule();
    compilation.lower();
    const BudgetCheck budget(compilation.module(), one);
    if (!budget.fits())
      return budget.sayWhyNothingFits(
                 remediesText(one), fmt::format("on {} ranks{}: ", world.ranks,
                                                world.stage ? fmt::format(", stage {}", *world.stage) : "")),
             2;
    const AmongPrograms among{prefixOf(world), world.mesh && !world.stage ? &knownKernels : nullptr};
    bundle.add(world, among.prefix, ProgramBuilder(compilation, one, cache.files(), among).parts());
    if (world.stage)
      stages.push_back(compilation.textOfRanks());
  }
  checkTogether(stages, options.model);
  writeReportOfPipeline(options, cache.facts());
  linkParts(bundle.finish(), options, options.output.path);
  return 0;
}

} // namespace kedge::driver
