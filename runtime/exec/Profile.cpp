#include "runtime/exec/Profile.h"
#include "runtime/comm/Communicator.h"
#include "runtime/io/AtomicFile.h"
#include "runtime/io/Error.h"
#include "runtime/io/Say.h"
#include "runtime/program/Buckets.h"
#include <algorithm>
#include <span>

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
    const std::string_view kind = withoutLength(function.name);
    return kind == "step" || kind == "micro";
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
bool isBeside(const Launch &launch) { return isOfRanks(launch.stream); }

/// Between two stages of a pipeline: a rank waits in it.
bool isTransfer(const Launch &launch) {
  return launch.library == "dist.send" || launch.library == "dist.receive";
}

/// ", data 1, pipeline 0" of a rank; nothing on a mesh of one axis.
std::string placeOf(const Program &program, int64_t rank) {
  const std::string place = program.mesh.placeOf(rank);
  return place.empty() ? "" : ", " + place;
}

/// Clocks of one machine are one; those of two differ by more.
constexpr int64_t kOneClock = 1'000'000'000;

template <typename T> std::vector<T> ofAllRanks(Communicator &ranks, T mine) {
  std::vector<T> all(static_cast<size_t>(ranks.world().size));
  ranks.exchange(&mine, sizeof mine, all.data());
  return all;
}

/// Where the earliest rank's trace begins, by this rank's clock.
int64_t originOf(Communicator &ranks, int64_t begin) {
  ranks.barrier();
  const int64_t now = steadyNanoseconds(), behind = now - ofAllRanks(ranks, now).front();
  const int64_t skew = std::abs(behind) < kOneClock ? 0 : behind;
  const std::vector<int64_t> begins = ofAllRanks(ranks, begin - skew);
  return *std::min_element(begins.begin(), begins.end()) + skew;
}

/// On rank 0 the texts of all, joined; elsewhere none.
std::string gathered(Communicator &ranks, std::string mine) {
  const std::vector<int64_t> sizes = ofAllRanks(ranks, static_cast<int64_t>(mine.size()));
  const bool isFirst = ranks.world().isFirst();
  std::string all = isFirst ? mine : "";
  for (int64_t from = 1; from < ranks.world().size; ++from) {
    std::string text(isFirst ? static_cast<size_t>(sizes[static_cast<size_t>(from)]) : 0, ' ');
    ranks.sendToFirst(from, mine.data(), text.data(), static_cast<size_t>(sizes[static_cast<size_t>(from)]));
    if (isFirst)
      all += ",\n" + text;
  }
  return all;
}

std::string waitingText(const std::vector<double> &shares) {
  std::string text;
  double sum = 0;
  for (size_t rank = 0; rank < shares.size(); ++rank) {
    text += fmt::format("{} rank {} {:.1f}%", rank == 0 ? "" : ",", rank, 100 * shares[rank]);
    sum += shares[rank];
  }
  return fmt::format("waiting for other stages: {:.1f}% of a step ({})",
                     100 * sum / static_cast<double>(shares.size()), text.substr(1));
}

} // namespace

Profile::Profile(const Program &program, int64_t steps, bool prints) : program(program), prints(prints) {
  size_t launches = 0;
  for (const auto &[name, function] : program.functions) {
    const bool often = withoutLength(name) == "micro";
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

std::string Profile::traceText(int64_t rank, int64_t origin, bool isOneOfSeveral) const {
  std::string text;
  const auto add = [&](const nlohmann::ordered_json &json) {
    text += (text.empty() ? "" : ",\n") + json.dump();
  };
  const auto microseconds = [](int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; };
  if (isOneOfSeveral)
    add({{"name", "process_name"},
         {"ph", "M"},
         {"pid", rank},
         {"args", {{"name", fmt::format("rank {}{}", rank, placeOf(program, rank))}}}});
  size_t kept = 0;
  const std::vector<Span> steps = wholeSteps(kept);
  for (size_t i = 0; i < kept; ++i) {
    const Event &event = events[i];
    const Launch &launch = event.function->launches[static_cast<size_t>(event.launch)];
    nlohmann::ordered_json json = {{"name", nameOf(launch)},
                                   {"cat", event.function->name},
                                   {"ph", "X"},
                                   {"ts", microseconds(event.begin - origin)},
                                   {"dur", microseconds(event.end - event.begin)},
                                   {"pid", rank},
                                   {"tid", launch.stream},
                                   {"args",
                                    {{"loc", launch.loc},
                                     {"operator", nameOf(launch)},
                                     {"launch", event.launch},
                                     {"iterations", launch.iterations}}}};
    if (isTransfer(launch))
      json["cname"] = "grey";
    add(json);
  }
  for (size_t i = 0; i < steps.size(); ++i)
    add({{"name", fmt::format("step {} of this run", i + 1)},
         {"cat", "steps"},
         {"ph", "X"},
         {"ts", microseconds(steps[i].begin - origin)},
         {"dur", microseconds(steps[i].end - steps[i].begin)},
         {"pid", rank},
         {"tid", kStepRow},
         {"args", {{"step", i + 1}}}});
  return text;
}

double Profile::waitingShare() const {
  size_t kept = 0;
  int64_t waits = 0, all = 0;
  for (const Span &step : wholeSteps(kept))
    all += step.end - step.begin;
  for (const Event &event : std::span(events).first(kept))
    if (isTransfer(event.function->launches[static_cast<size_t>(event.launch)]))
      waits += event.end - event.begin;
  return all > 0 ? static_cast<double>(waits) / static_cast<double>(all) : 0;
}

void Profile::finish(const std::string &path, Communicator *ranks) const {
  const int64_t begin = events.empty() ? 0 : events.front().begin;
  std::string text;
  if (!ranks) {
    text = traceText(0, begin, false);
  } else {
    text = traceText(ranks->world().rank, originOf(*ranks, begin), true);
    text = gathered(*ranks, std::move(text));
  }
  const std::vector<double> waiting = ranks ? ofAllRanks(*ranks, waitingShare()) : std::vector<double>();
  if (!prints)
    return;
  AtomicFile file(path);
  file.write("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n" + text + "\n]}\n");
  file.commit();
  printTable();
  if (program.mesh.sizeOf(Mesh::kPipeline) > 1)
    say(waitingText(waiting));
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
