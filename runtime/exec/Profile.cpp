#include "runtime/exec/Profile.h"
#include "runtime/io/AtomicFile.h"
#include "runtime/io/Error.h"
#include "runtime/io/Say.h"
#include <algorithm>

namespace kedge::rt {
namespace {

constexpr int64_t kTracedSteps = 20;

const std::string &nameOf(const Launch &launch) {
  return launch.library.empty() ? launch.kernel : launch.library;
}

/// The row of the trace that says which step runs; rows below it are streams.
constexpr int kStepRow = 1000;

/// Finds steps in the order of their launches: each is one run of @step, or of @micro as often as batches are
/// accumulated, and then of @update. Evaluations are none.
class StepFinder {
public:
  explicit StepFinder(const Program &program)
      : micros(program.function("update") ? program.options.accumulate : 1),
        update(program.function("update")) {}

  static bool isForward(const Function &function) {
    return function.name == "step" || function.name == "micro";
  }
  bool isOfStep(const Function &function) const { return isForward(function) || &function == update; }
  /// To be asked for each launch, in their order.
  bool begins(const Function &function, int launch) {
    if (!isForward(function) || launch != 0 || (runs != 0 && runs < micros))
      return false;
    runs = 0;
    return true;
  }
  bool ends(const Function &function, int launch) {
    if (!isOfStep(function) || launch + 1 != static_cast<int>(function.launches.size()))
      return false;
    runs += isForward(function);
    return update ? &function == update : true;
  }

private:
  int64_t micros, runs = 0;
  const Function *update; ///< null: the step is one function
};

/// Runs beside what computes, so that its time is no part of a step's.
bool isBeside(const Launch &launch) { return launch.stream == kRankStream; }

} // namespace

Profile::Profile(const Program &program, int64_t steps, bool prints) : program(program), prints(prints) {
  size_t launches = 0;
  for (const auto &[name, function] : program.functions) {
    const bool often = name == "micro";
    launches += function.launches.size() * static_cast<size_t>(often ? program.options.accumulate : 1);
    totals[&function].resize(function.launches.size());
  }
  events.reserve(launches * static_cast<size_t>(std::clamp<int64_t>(steps, 1, kTracedSteps)));
}

void Profile::record(const Function &function, int launch, int64_t begin, int64_t end) {
  if (events.size() < events.capacity())
    events.push_back({&function, launch, begin, end});
  Total &total = totals.find(&function)->second[static_cast<size_t>(launch)];
  total.nanoseconds += end - begin;
  ++total.calls;
}

std::vector<Profile::Span> Profile::wholeSteps(size_t &kept) const {
  StepFinder finder(program);
  std::vector<Span> steps;
  std::optional<size_t> open; // where a step began that has not ended
  kept = events.size();
  for (size_t i = 0; i < events.size(); ++i) {
    const Event &event = events[i];
    if (finder.begins(*event.function, event.launch)) {
      if (steps.size() == static_cast<size_t>(kTracedSteps)) {
        kept = i;
        return steps;
      }
      open = i;
      steps.push_back({event.begin, event.end});
    }
    if (!steps.empty() && finder.isOfStep(*event.function))
      steps.back().end = std::max(steps.back().end, event.end);
    if (finder.ends(*event.function, event.launch))
      open.reset();
  }
  if (open) {
    kept = *open;
    steps.pop_back();
  }
  return steps;
}

void Profile::finish(const std::string &path) const {
  AtomicFile file(path);
  file.write("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
  const int64_t origin = events.empty() ? 0 : events.front().begin;
  size_t kept = 0;
  const std::vector<Span> steps = wholeSteps(kept);
  const auto microseconds = [](int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; };
  for (size_t i = 0; i < kept; ++i) {
    const Event &event = events[i];
    const Launch &launch = event.function->launches[static_cast<size_t>(event.launch)];
    const nlohmann::ordered_json json = {{"name", nameOf(launch)},
                                         {"cat", event.function->name},
                                         {"ph", "X"},
                                         {"ts", microseconds(event.begin - origin)},
                                         {"dur", microseconds(event.end - event.begin)},
                                         {"pid", 0},
                                         {"tid", launch.stream},
                                         {"args",
                                          {{"loc", launch.loc},
                                           {"operator", nameOf(launch)},
                                           {"launch", event.launch},
                                           {"iterations", launch.iterations}}}};
    file.write(json.dump() + (i + 1 < kept + steps.size() ? ",\n" : "\n"));
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    const nlohmann::ordered_json json = {{"name", fmt::format("step {} of this run", i + 1)},
                                         {"cat", "steps"},
                                         {"ph", "X"},
                                         {"ts", microseconds(steps[i].begin - origin)},
                                         {"dur", microseconds(steps[i].end - steps[i].begin)},
                                         {"pid", 0},
                                         {"tid", kStepRow},
                                         {"args", {{"step", i + 1}}}};
    file.write(json.dump() + (i + 1 < steps.size() ? ",\n" : "\n"));
  }
  file.write("]}\n");
  file.commit();
  if (prints)
    printTable();
}

void Profile::printTable() const {
  struct Row {
    Total total;
    std::string text;
  };
  std::vector<Row> rows;
  int64_t sum = 0;
  for (const auto &[function, list] : totals)
    for (size_t i = 0; i < list.size(); ++i) {
      const Launch &launch = function->launches[i];
      sum += isBeside(launch) ? 0 : list[i].nanoseconds;
      rows.push_back({list[i], fmt::format("@{} {} {} {}", function->name, i, nameOf(launch), launch.loc)});
    }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row &a, const Row &b) { return a.total.nanoseconds > b.total.nanoseconds; });
  say(fmt::format("{:>10} {:>7} {:>6}  launch", "ms", "calls", "%"));
  for (size_t i = 0; i < std::min<size_t>(20, rows.size()); ++i)
    say(fmt::format("{:10.3f} {:7} {:6.2f}  {}", static_cast<double>(rows[i].total.nanoseconds) / 1e6,
                    rows[i].total.calls,
                    100.0 * static_cast<double>(rows[i].total.nanoseconds) /
                        static_cast<double>(std::max<int64_t>(1, sum)),
                    rows[i].text));
}

} // namespace kedge::rt
