// kedge plan for a person at a terminal.
#include "lib/Export/Plan/PlanPipeline.h"
#include "lib/Export/Plan/PlanReport.h"
#include "lib/Export/Plan/PlanView.h"
#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <map>

using namespace mlir;
using namespace kedge;
using namespace kedge::exporter;
using nlohmann::json;

namespace {
constexpr size_t timelineColumns = 72, timelineRows = 10, mostRows = 12, widestName = 100;

/// UTF-8 text of a bar that fills `eighths` of a line's height.
const char *bar(int64_t eighths) {
  static const char *bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return bars[std::clamp<int64_t>(eighths, 0, 8)];
}

std::string recomputation(const json &report) {
  const json &recompute = report["recompute"];
  int64_t ops = recompute["ops"];
  bool copies = report.contains("offload");
  if (ops == 0 && !copies)
    return "recomputation   none\n";
  std::string text =
      fmt::format("recomputation   {}{}, {:.2f}% more time", ops == 0 ? "no ops" : fmt::format("{} ops", ops),
                  copies ? " and copies" : "", 100 * recompute["overhead"].get<double>());
  if (report["budget_bytes"].is_number())
    text += fmt::format(" (any plan within this budget adds at least {:.2f}%)",
                        100 * recompute["lower_bound"].get<double>());
  return text + "\n";
}

std::string hostMemory(const json &report) {
  if (!report.contains("offload"))
    return "";
  const json &offload = report["offload"];
  const bool inMemory = report["host_bytes"].get<int64_t>() != 0;
  std::string text;
  if (inMemory)
    text = fmt::format("host memory     {:>12}  (states {}, values {})\n", formatAmount(report["host_bytes"]),
                       formatAmount(offload["state_bytes"]), formatAmount(offload["value_bytes"]));
  if (report.contains("host_budget_bytes"))
    text += fmt::format("host budget     {:>12}\n", formatAmount(report["host_budget_bytes"]));
  if (inMemory && offload.contains("to_host_bytes"))
    text += fmt::format("copied a step   {:>12}  to host memory, {} back\n",
                        formatAmount(offload["to_host_bytes"]), formatAmount(offload["to_device_bytes"]));
  for (const json &file : offload.value("files", json::array()))
    text += fmt::format("disk            {:>12}  (a file in {})\n", formatAmount(file["bytes"]),
                        file["directory"].get<std::string>());
  if (offload.contains("to_disk_bytes"))
    text += fmt::format("copied a step   {:>12}  to files, {} back\n", formatAmount(offload["to_disk_bytes"]),
                        formatAmount(offload["from_disk_bytes"]));
  return text;
}

std::string summary(const json &report, const PlanView &view) {
  std::string text = fmt::format("peak            {:>12}  ({} bytes)\n", formatAmount(report["peak_bytes"]),
                                 report["peak_bytes"].get<int64_t>());
  if (report["budget_bytes"].is_number())
    text += fmt::format("budget          {:>12}  ({})\n", formatAmount(report["budget_bytes"]),
                        report["fits"].get<bool>() ? "fits" : "DOES NOT FIT");
  if (report.contains("max_batch"))
    text += fmt::format("largest batch   {:>12}  (first size of {})\n",
                        report["max_batch"]["batch"].get<int64_t>(),
                        report["max_batch"]["input"].get<std::string>());
  if (report.contains("max_seq"))
    text += fmt::format("longest         {:>12}  (second size of {})\n",
                        report["max_seq"]["length"].get<int64_t>(),
                        report["max_seq"]["input"].get<std::string>());
  int64_t free = report["unconstrained_peak_bytes"];
  if (free != report["peak_bytes"].get<int64_t>())
    text += fmt::format("unconstrained   {:>12}\n", formatAmount(free));
  text += hostMemory(report) + recomputation(report);
  const PlanFunction &function = view.functions[view.fullest()];
  int64_t load = function.load[function.fullest()], height = view.arenaBytes - view.persistentBytes;
  if (load > 0)
    text += fmt::format("packing         {:.2f}% lost in gaps between buffers\n",
                        100 * static_cast<double>(height - load) / static_cast<double>(load));
  if (report.contains("step_seconds"))
    text += fmt::format("a step          {:>10.3g} s  predicted, {:.4g} GFLOP\n",
                        report["step_seconds"].get<double>(), report["flops"].get<double>() / 1e9);
  if (report.contains("side_stream_seconds"))
    text += fmt::format(
        "side stream     {:>10.3g} s  {:.3g} s of them overlapped with products, by estimate\n",
        report["side_stream_seconds"].get<double>(), report["side_stream_hidden_seconds"].get<double>());
  return text;
}

std::string breakdown(const json &report) {
  std::string text = "\nat the peak\n";
  for (const auto &[name, bytes] : report["peak_breakdown"].items())
    if (bytes.get<int64_t>() != 0)
      text += fmt::format("  {:<16}{:>12}\n", name, formatAmount(bytes));
  for (const json &reservation : report["reservations"])
    text += fmt::format("  {:<16}{:>12}  ({})\n", reservation["name"].get<std::string>(),
                        formatAmount(reservation["bytes"]), reservation["source"].get<std::string>());
  return text;
}

/// Tensors with the same ones in a line.
std::string rates(const json &report) {
  if (!report.contains("rates"))
    return "";
  std::map<std::pair<double, double>, std::vector<std::string>> tensors;
  for (const json &row : report["rates"])
    tensors[{row["lr_scale"], row["decay_scale"]}].push_back(row["parameter"]);
  std::string text = fmt::format("\nrates of their own\n  {:>10}  {:>16}\n", "--lr x", "--weight-decay x");
  for (const auto &[scales, names] : tensors)
    text += fmt::format("  {:>10.6g}  {:>16.6g}  {}{}\n", scales.first, scales.second,
                        fmt::join(names.begin(), names.begin() + std::min<size_t>(names.size(), 4), ", "),
                        names.size() > 4 ? fmt::format(" and {} more", names.size() - 4) : "");
  return text;
}

/// What each budget would cost.
std::string frontier(const json &report) {
  if (!report.contains("frontier"))
    return "";
  std::string text = fmt::format("\nadded time against bytes\n  {:>12}{:>14}{:>20}\n", "peak", "added time",
                                 "proven at least");
  for (const json &point : report["frontier"])
    text += fmt::format("  {:>12}{:>13.3f}%{:>19.3f}%\n", formatAmount(point["peak_bytes"]),
                        100 * point["overhead"].get<double>(), 100 * point["lower_bound"].get<double>());
  return text;
}

/// "4 ranks", or for a mesh "4 ranks (replica=2,data=2)".
std::string ranksOf(const json &report) {
  if (!report.contains("mesh"))
    return fmt::format("{} ranks", report["ranks"].get<int64_t>());
  int64_t ranks = 1;
  std::vector<std::string> axes;
  for (const json &axis : report["mesh"]["axes"]) {
    ranks *= axis["size"].get<int64_t>();
    axes.push_back(fmt::format("{}={}", axis["name"].get<std::string>(), axis["size"].get<int64_t>()));
  }
  return fmt::format("{} ranks ({})", ranks, fmt::join(axes, ","));
}

/// What the state takes on each rank, and what it sends.
std::string ranks(const json &report) {
  if (!report.contains("ranks"))
    return "";
  const bool meshed = report.contains("mesh");
  std::string text =
      fmt::format("\nstate of {} of {}, --zero {}\n", report.contains("pipeline") ? "the fullest" : "each",
                  ranksOf(report), report["zero"].get<int64_t>());
  for (const auto &[name, bytes] : report["state_bytes"].items())
    if (bytes.get<int64_t>() != 0)
      text += fmt::format("  {:<16}{:>12}\n", name, formatAmount(bytes));
  std::map<std::string, int64_t> sent; ///< by axis
  text += fmt::format("\nsent a step, by {} rank\n  {:<18}{:<6}{:>8}{:>16}{:>12}{}\n",
                      report.contains("pipeline") ? "this" : "each", "", "type", "calls", "elements", "bytes",
                      meshed ? "  along" : "");
  for (const json &row : report["communication"]) {
    text += fmt::format("  {:<18}{:<6}{:>8}{:>16}{:>12}{}\n", row["collective"].get<std::string>(),
                        row["type"].get<std::string>(), row["calls"].get<int64_t>(),
                        row["elements"].get<int64_t>(), formatAmount(row["bytes"]),
                        meshed ? "  " + row["axis"].get<std::string>() : "");
    sent[row.value("axis", "")] += row["bytes"].get<int64_t>();
  }
  int64_t all = 0;
  for (const auto &[axis, bytes] : sent) {
    all += bytes;
    if (sent.size() > 1)
      text += fmt::format("  {:<48}{:>12}  {}\n", "along", formatAmount(bytes), axis);
  }
  const double seconds = report["communication_seconds"], hidden = report["communication_hidden_seconds"];
  return text +
         fmt::format("  {:<48}{:>12}\n  {:.3g} s predicted, {:.3g} s of them overlapped with computing\n",
                     "in all", formatAmount(all), seconds, hidden);
}

/// The largest load of each column of the timeline.
std::vector<int64_t> columnsOf(const PlanFunction &function) {
  size_t columns = std::min(timelineColumns, function.load.size());
  std::vector<int64_t> most(columns);
  for (size_t i = 0; i < function.load.size(); ++i) {
    int64_t &column = most[i * columns / function.load.size()];
    column = std::max(column, function.load[i]);
  }
  return most;
}

/// A letter below each column for the phase of its first launch; ^ at the peak.
std::string axis(const PlanFunction &function, size_t columns) {
  static const char letters[] = {'f', 'b', 'u', 'r', 'c'};
  std::string line;
  size_t times = function.load.size();
  for (size_t column = 0; column < columns; ++column) {
    size_t time = (column * times + columns - 1) / columns;
    bool isLaunch = time >= 1 && time <= function.launches.size();
    line += isLaunch ? letters[static_cast<int>(function.launches[time - 1].phase)] : ' ';
  }
  line[function.fullest() * columns / times] = '^';
  return line;
}

std::string timeline(const PlanView &view) {
  const PlanFunction &function = view.functions[view.fullest()];
  std::vector<int64_t> columns = columnsOf(function);
  int64_t top = view.persistentBytes + function.load[function.fullest()];
  if (top == 0)
    return "";
  auto eighths = [&](int64_t bytes) {
    return std::llround(8.0 * timelineRows * static_cast<double>(bytes) / static_cast<double>(top));
  };
  int64_t state = eighths(view.persistentBytes);
  std::string text = fmt::format("\nmemory over the {} launches of {} (░ state, █ values of the step)\n",
                                 function.launches.size(), function.name);
  for (int64_t row = timelineRows - 1; row >= 0; --row) {
    int64_t label = top / static_cast<int64_t>(timelineRows) * (row + 1);
    text += row % 3 == 0 ? fmt::format("{:>12} |", formatAmount(label)) : fmt::format("{:>12} |", "");
    for (int64_t bytes : columns) {
      bool isState = state >= 8 * (row + 1);
      text += isState ? "░" : bar(eighths(view.persistentBytes + bytes) - 8 * row);
    }
    text += '\n';
  }
  return text + fmt::format("{:>12} +{}\n", "", axis(function, columns.size())) +
         fmt::format("{:>13} f forward, b backward, u update, r recomputation, c copy to host memory or "
                     "back, ^ peak\n",
                     "");
}

struct LayerBytes {
  std::map<std::string, int64_t> shares;
  int64_t total = 0;

  void add(const PlanRange &range) {
    shares[range.share] += range.bytes;
    total += range.bytes;
  }
};

std::vector<PlanRange> rangesAtPeak(const PlanFunction &function) {
  int64_t time = static_cast<int64_t>(function.fullest()) - 1;
  std::vector<PlanRange> ranges;
  for (const PlanRange &range : function.ranges)
    if (range.first <= time && time <= range.last)
      ranges.push_back(range);
  std::stable_sort(ranges.begin(), ranges.end(), [](auto &a, auto &b) { return a.bytes > b.bytes; });
  return ranges;
}

std::string layerRow(const std::string &name, size_t width, const LayerBytes &layer) {
  auto amount = [&](std::initializer_list<const char *> shares) {
    int64_t bytes = 0;
    for (const char *share : shares)
      if (auto found = layer.shares.find(share); found != layer.shares.end())
        bytes += found->second;
    return bytes == 0 ? std::string("-") : formatAmount(bytes);
  };
  return fmt::format("  {:<{}}{:>12}{:>12}{:>12}{:>12}{:>12}\n", name, width, formatAmount(layer.total),
                     amount({"parameters", "working_copies", "buffers", "optimizer"}),
                     amount({"activations"}), amount({"gradients", "communication"}), amount({"workspace"}));
}

std::string layers(const PlanView &view) {
  std::vector<std::pair<std::string, LayerBytes>>
      sorted; // in the order of the model where they are of one size
  std::map<std::string, size_t> places;
  auto count = [&](const PlanRange &range) {
    std::string name = range.layer.empty() ? "(no module)" : layerGroup(range.layer);
    auto [place, isNew] = places.try_emplace(name, sorted.size());
    if (isNew)
      sorted.push_back({name, {}});
    sorted[place->second].second.add(range);
  };
  for (const PlanRange &range : view.state)
    count(range);
  for (const PlanRange &range : rangesAtPeak(view.functions[view.fullest()]))
    count(range);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](auto &a, auto &b) { return a.second.total > b.second.total; });
  size_t width = 12;
  for (size_t i = 0; i < std::min(mostRows, sorted.size()); ++i)
    width = std::clamp(sorted[i].first.size(), width, widestName);
  std::string text = fmt::format("\nat the peak, by layer\n  {:<{}}{:>12}{:>12}{:>12}{:>12}{:>12}\n", "",
                                 width, "total", "state", "activations", "gradients", "workspace");
  LayerBytes others;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i < mostRows) {
      text += layerRow(sorted[i].first, width, sorted[i].second);
      continue;
    }
    others.total += sorted[i].second.total;
    for (const auto &[share, bytes] : sorted[i].second.shares)
      others.shares[share] += bytes;
  }
  return sorted.size() <= mostRows
             ? text
             : text + layerRow(fmt::format("{} others", sorted.size() - mostRows), width, others);
}

std::string largest(const PlanView &view) {
  const PlanFunction &function = view.functions[view.fullest()];
  std::vector<PlanRange> ranges = rangesAtPeak(function);
  if (ranges.empty())
    return "";
  std::string text = "\nlargest values at the peak, and the launches they live through\n";
  ranges.resize(std::min<size_t>(8, ranges.size()));
  size_t width = 0;
  for (const PlanRange &range : ranges)
    width = std::clamp(range.name.size(), width, widestName);
  for (const PlanRange &range : ranges)
    text += fmt::format("  {:>12}  {:<{}}  {:<18} {} to {}\n", formatAmount(range.bytes), range.name, width,
                        range.type, range.first, range.last);
  return text;
}

std::string functions(const json &report) {
  std::string text = "\ntransient bytes of each function\n";
  for (const json &function : report["functions"])
    text += fmt::format("  {:<16}{:>12}\n", function["name"].get<std::string>(),
                        formatAmount(function["transient_peak_bytes"]));
  return text;
}

} // namespace

std::string kedge::exporter::planText(const json &report, ModuleOp module) {
  PlanView view = viewPlan(module);
  return summary(report, view) + breakdown(report) + rates(report) + ranks(report) + pipelineText(report) +
         frontier(report) + timeline(view) + layers(view) + largest(view) + functions(report);
}
