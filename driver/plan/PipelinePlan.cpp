#include "driver/plan/PipelinePlan.h"
#include "driver/plan/Report.h"
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "lib/Support/Error.h"
#include "lib/Support/MemoryBudget.h"
#include "lib/Support/Reporter.h"
#include "passes/Pipeline/Schedule.h"
#include <fmt/ranges.h>

using namespace mlir;
using nlohmann::json;

namespace kedge::driver {
namespace {

constexpr const char *kAuto = "auto", *kPartNames[] = {"forward", "backward", "weights"};

dist::TimetableAttr timetableOf(ModuleOp module) {
  return module->getAttrOfType<dist::TimetableAttr>(dist::timetableName);
}

std::vector<pipeline::Slot> slotsOf(dist::TimetableAttr timetable) {
  std::vector<pipeline::Slot> slots;
  for (dist::SlotAttr slot : timetable.getSlots()) {
    slots.push_back({static_cast<pipeline::Part>(slot.getPart()), slot.getStage(), slot.getMicro(),
                     slot.getBegin().getValueAsDouble(), slot.getEnd().getValueAsDouble()});
  }
  return slots;
}

json stagesJson(dist::TimetableAttr timetable, int64_t places) {
  json stages = json::array();
  for (auto [stage, seconds] : llvm::enumerate(timetable.getSeconds().asArrayRef())) {
    json modules = json::array();
    for (auto module : cast<ArrayAttr>(timetable.getModules()[stage]).getAsRange<StringAttr>())
      modules.push_back(module.str());
    stages.push_back({{"stage", stage},
                      {"rank", static_cast<int64_t>(stage) % places},
                      {"seconds", seconds},
                      {"modules", modules}});
  }
  return stages;
}

json slotsJson(const std::vector<pipeline::Slot> &slots, int64_t places) {
  json list = json::array();
  for (const pipeline::Slot &slot : slots)
    list.push_back({{"rank", slot.stage % places},
                    {"stage", slot.stage},
                    {"part", kPartNames[static_cast<size_t>(slot.part)]},
                    {"micro", slot.micro},
                    {"begin", slot.begin},
                    {"end", slot.end}});
  return list;
}

/// What a plan may take on a rank; a budget has its own check.
int64_t roomOf(const CompileOptions &options) {
  const std::string device = options.deviceName();
  return analysis::loadDevice(device).memoryBytes;
}

struct Candidate {
  std::string name;
  double seconds = 0, bubble = 0;
  int64_t peak = 0;
  bool fits = false;

  bool isBetterThan(const Candidate &other) const {
    if (fits != other.fits)
      return fits;
    return fits ? std::pair(seconds, peak) < std::pair(other.seconds, other.peak) : peak < other.peak;
  }
};

/// None: the model has too few places to cut.
std::optional<Candidate> tried(const CompileOptions &options, const std::string &name, int64_t room) {
  CompileOptions one = options;
  one.pipeline.schedule = name;
  one.trial = Trial::Silent;
  one.plan.rank.reset();
  one.output.saveIr.clear();
  one.output.emit = Emit::Exe;
  try {
    const json report = PipelinePlan(one).report();
    const auto peak = report["peak_bytes"].get<int64_t>();
    const bool fits = report["fits"].get<bool>() && (options.memory.plan.budget.isGiven() || peak <= room);
    return Candidate{name, report["step_seconds"], report["pipeline"]["bubble"], peak, fits};
  } catch (const Error &error) {
    if (name == "1f1b")
      throw; // nothing to choose from
    note("--pipeline-schedule auto: not {}: {}", name, error.what());
    return std::nullopt;
  }
}

} // namespace

PipelinePlan::PipelinePlan(const CompileOptions &options) {
  const rt::Mesh mesh = options.model.meshOfRanks();
  for (int64_t place = 0; place < mesh.sizeOf(rt::Mesh::kPipeline); ++place)
    planRank(options, place);
  whole["ranks"] = ranks;
  whole["pipeline"] = pipeline;
  whole["step_seconds"] = seconds;
}

void PipelinePlan::planRank(const CompileOptions &options, int64_t place) {
  auto own = std::make_unique<CompileOptions>(options);
  own->pipeline.stage = place;
  if (place > 0)
    own->setRepeats(true); // notes are the same
  auto compilation = std::make_unique<Compilation>(*own);
  compilation->import();
  compilation->step();
  compilation->schedule(pricedForPage(*own));
  compilation->plan();
  json report = compilation->report();
  const rt::Mesh mesh = own->model.meshOfRanks();
  const int64_t places = mesh.sizeOf(rt::Mesh::kPipeline);
  if (pipeline.is_null())
    addSchedule(compilation->module(), mesh);
  const std::vector<pipeline::Slot> slots = slotsOf(timetableOf(compilation->module()));
  const double bubble = pipeline::bubbleOf(slots, places, place);
  seconds = std::max(seconds, report["step_seconds"].get<double>() + bubble * pipeline::endOf(slots));
  ranks.push_back({{"rank", place * (mesh.size() / places)},
                   {"stage", place},
                   {"peak_bytes", report["peak_bytes"]},
                   {"arena_bytes", report["arena_bytes"]},
                   {"host_bytes", report["host_bytes"]},
                   {"disk_bytes", report.value("disk_bytes", int64_t{0})},
                   {"added_time", report["recompute"]["overhead"]},
                   {"bubble", bubble},
                   {"in_flight", pipeline::inFlightOf(slots, places, place)}});
  const auto key = [](const json &of) {
    return std::pair(!of["fits"].get<bool>(), of["peak_bytes"].get<int64_t>());
  };
  // The rank that is asked about, else the one that has the least room.
  const bool isShown = options.plan.rank ? place == *options.plan.rank / (mesh.size() / places)
                                         : !shown || key(report) > key(whole);
  if (isShown) {
    whole = std::move(report);
    shown = std::move(compilation);
    shownOptions = std::move(own);
  }
}

void PipelinePlan::addSchedule(ModuleOp module, const rt::Mesh &mesh) {
  const dist::TimetableAttr timetable = timetableOf(module);
  const int64_t places = mesh.sizeOf(rt::Mesh::kPipeline);
  const std::vector<pipeline::Slot> slots = slotsOf(timetable);
  pipeline = {{"schedule", timetable.getSchedule().str()},
              {"bubble", pipeline::bubbleOf(slots, places)},
              {"seconds", pipeline::endOf(slots)},
              {"stages", stagesJson(timetable, places)},
              {"slots", slotsJson(slots, places)}};
}

std::vector<pipeline::Slot> slotsOf(ModuleOp module) { return slotsOf(timetableOf(module)); }

std::string folderOfRank(const std::string &folder, int64_t rank) {
  return fmt::format("{}/rank-{}", folder, rank);
}

json reportOf(const CompileOptions &options) {
  if (options.isPipelined())
    return PipelinePlan(options).report();
  Compilation compilation(options);
  compilation.import();
  compilation.step();
  compilation.schedule();
  compilation.plan();
  return compilation.report();
}

double addedTimeOf(const json &report) {
  double most = report["recompute"]["overhead"];
  if (report.contains("pipeline"))
    for (const json &rank : report["ranks"])
      most = std::max(most, rank["added_time"].get<double>());
  return most;
}

CompileOptions withChosenSchedule(const CompileOptions &options) {
  if (!options.isPipelined() || options.pipeline.schedule != kAuto)
    return options;
  std::optional<Candidate> best;
  std::vector<std::string> told;
  const int64_t room = roomOf(options);
  for (const char *name : {"1f1b", "zero-bubble", "interleaved=2", "gpipe"})
    if (std::optional<Candidate> one = tried(options, name, room)) {
      told.push_back(fmt::format("{} {:.3g} s, bubble {:.1f}%, {}{}", name, one->seconds, 100 * one->bubble,
                                 formatBytes(one->peak), one->fits ? "" : " (does not fit)"));
      if (!best || one->isBetterThan(*best))
        best = one;
    }
  note("--pipeline-schedule auto: {} ({})", best->name, fmt::format("{}", fmt::join(told, "; ")));
  CompileOptions chosen = options;
  chosen.pipeline.schedule = best->name;
  return chosen;
}

} // namespace kedge::driver
