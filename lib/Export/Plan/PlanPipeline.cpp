#include "lib/Export/Plan/PlanPipeline.h"
#include "lib/Export/Plan/PlanView.h"
#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

using nlohmann::json;

namespace kedge::exporter {
namespace {

constexpr double kColumns = 96;

/// "h.0 to h.5" of the groups of layers that a stage has; ends alone tell.
std::string modulesOf(const json &stage) {
  std::vector<std::string> groups;
  for (const json &module : stage["modules"])
    if (std::string group = layerGroup(module); groups.empty() || groups.back() != group)
      groups.push_back(group);
  if (groups.empty())
    return "-";
  return groups.size() == 1 ? groups.front() : groups.front() + " to " + groups.back();
}

/// Columns of memory besides the device's, where a rank has any.
std::vector<std::pair<std::string, const char *>> otherMemory(const json &ranks) {
  std::vector<std::pair<std::string, const char *>> columns;
  for (const auto &[title, key] : {std::pair("host memory", "host_bytes"), std::pair("disk", "disk_bytes")})
    if (std::any_of(ranks.begin(), ranks.end(),
                    [key = key](const json &rank) { return rank.value(key, int64_t{0}) != 0; }))
      columns.emplace_back(title, key);
  return columns;
}

std::string ranksText(const json &report) {
  const json &ranks = report["ranks"];
  const auto others = otherMemory(ranks);
  std::string text =
      fmt::format("  {:<6}{:<7}{:>12}{:>9}{:>11}", "rank", "place", "peak", "bubble", "in flight");
  for (const auto &[title, key] : others)
    text += fmt::format("{:>13}", title);
  for (const json &rank : ranks) {
    text += fmt::format("\n  {:<6}{:<7}{:>12}{:>8.1f}%{:>11}", rank["rank"].get<int64_t>(),
                        rank["stage"].get<int64_t>(), formatAmount(rank["peak_bytes"]),
                        100 * rank["bubble"].get<double>(), rank["in_flight"].get<int64_t>());
    for (const auto &[title, key] : others)
      text += fmt::format("{:>13}", formatAmount(rank.value(key, int64_t{0})));
  }
  return text + "\n";
}

std::string stagesText(const json &pipeline) {
  std::string text = fmt::format("\n  {:<7}{:<7}{:>15}  modules\n", "stage", "place", "a micro-batch");
  for (const json &stage : pipeline["stages"])
    text += fmt::format("  {:<7}{:<7}{:>13.3g} s  {}\n", stage["stage"].get<int64_t>(),
                        stage["rank"].get<int64_t>(), stage["seconds"].get<double>(), modulesOf(stage));
  return text;
}

bool isPart(const json &slot, const char *part) { return slot["part"].get<std::string>() == part; }

/// "F3", and "F3/1" where a rank has several stages.
std::string nameOf(const json &slot, bool severalStages) {
  const char letter = isPart(slot, "forward") ? 'F' : isPart(slot, "backward") ? 'B' : 'W';
  const std::string name = fmt::format("{}{}", letter, slot["micro"].get<int64_t>());
  return severalStages ? fmt::format("{}/{}", name, slot["stage"].get<int64_t>()) : name;
}

/// A digit for a forward's micro-batch, a letter for a backward's, '=' for weights, '.' for waiting.
char markOf(const json &slot) {
  const auto micro = slot["micro"].get<int64_t>();
  if (isPart(slot, "weights"))
    return '=';
  return static_cast<char>(isPart(slot, "forward") ? '0' + micro % 10 : 'a' + micro % 26);
}

std::string rowOf(const json &pipeline, int64_t place, double seconds) {
  std::string row(static_cast<size_t>(kColumns), '.');
  const auto columnOf = [&](double time) {
    return static_cast<size_t>(std::llround(kColumns * time / seconds));
  };
  for (const json &slot : pipeline["slots"])
    if (slot["rank"].get<int64_t>() == place)
      for (size_t at = columnOf(slot["begin"]); at < std::min(columnOf(slot["end"]), row.size()); ++at)
        row[at] = markOf(slot);
  return row;
}

std::string orderOf(const json &pipeline, int64_t place, bool severalStages) {
  std::vector<std::string> names;
  for (const json &slot : pipeline["slots"])
    if (slot["rank"].get<int64_t>() == place)
      names.push_back(nameOf(slot, severalStages));
  return fmt::format("{}", fmt::join(names, " "));
}

} // namespace

std::string pipelineText(const json &report) {
  if (!report.contains("pipeline"))
    return "";
  const json &pipeline = report["pipeline"], &ranks = report["ranks"];
  const double seconds = pipeline["seconds"];
  const bool severalStages = pipeline["stages"].size() > ranks.size();
  std::string text =
      fmt::format("\npipeline {}: {:.3g} s of micro-batches, {:.1f}% of them waiting (bubble)\n",
                  pipeline["schedule"].get<std::string>(), seconds, 100 * pipeline["bubble"].get<double>());
  text += ranksText(report) + stagesText(pipeline);
  text += fmt::format("\n  slots over {:.3g} s (0 to 9 forward, a to z backward{}, . waiting)\n", seconds,
                      severalStages ? " of any stage" : ", = weights");
  for (const json &rank : ranks)
    text +=
        fmt::format("  {:>4} |{}|\n", rank["rank"].get<int64_t>(), rowOf(pipeline, rank["stage"], seconds));
  text += "\n  order of each rank (F forward, B backward, W weights)\n";
  for (const json &rank : ranks)
    text += fmt::format("  {:>4}  {}\n", rank["rank"].get<int64_t>(),
                        orderOf(pipeline, rank["stage"], severalStages));
  return text;
}

} // namespace kedge::exporter
