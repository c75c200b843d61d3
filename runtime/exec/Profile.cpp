#include "runtime/exec/Profile.h"
#include "runtime/io/AtomicFile.h"
#include "runtime/io/Error.h"
#include <algorithm>

namespace kedge::rt {
namespace {

constexpr int64_t kTracedSteps = 20;

const std::string &nameOf(const Launch &launch) {
  return launch.library.empty() ? launch.kernel : launch.library;
}

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

void Profile::finish(const std::string &path) const {
  AtomicFile file(path);
  file.write("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
  const int64_t origin = events.empty() ? 0 : events.front().begin;
  for (size_t i = 0; i < events.size(); ++i) {
    const Event &event = events[i];
    const Launch &launch = event.function->launches[static_cast<size_t>(event.launch)];
    const nlohmann::ordered_json json = {
        {"name", nameOf(launch)},
        {"cat", event.function->name},
        {"ph", "X"},
        {"ts", static_cast<double>(event.begin - origin) / 1e3},
        {"dur", static_cast<double>(event.end - event.begin) / 1e3},
        {"pid", 0},
        {"tid", launch.stream},
        {"args", {{"loc", launch.loc}, {"launch", event.launch}, {"iterations", launch.iterations}}}};
    file.write(json.dump() + (i + 1 < events.size() ? ",\n" : "\n"));
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
  fmt::print(stderr, "{:>10} {:>7} {:>6}  launch\n", "ms", "calls", "%");
  for (size_t i = 0; i < std::min<size_t>(20, rows.size()); ++i)
    fmt::print(stderr, "{:10.3f} {:7} {:6.2f}  {}\n", static_cast<double>(rows[i].total.nanoseconds) / 1e6,
               rows[i].total.calls,
               100.0 * static_cast<double>(rows[i].total.nanoseconds) /
                   static_cast<double>(std::max<int64_t>(1, sum)),
               rows[i].text);
}

} // namespace kedge::rt
