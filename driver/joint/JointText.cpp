#include "driver/joint/Joint.h"
#include "lib/Support/MemoryBudget.h"
#include <algorithm>
#include <fmt/format.h>

namespace kedge::driver {
namespace {

using nlohmann::json;

std::string secondsText(const json &seconds) {
  return seconds.is_null() ? "-" : fmt::format("{:.4g} s", seconds.get<double>());
}

std::string orNone(const std::string &text) { return text.empty() ? "none" : text; }

/// With the chunks that it needs besides.
std::string offloadText(const json &choice) {
  const std::string moved = orNone(choice["offload"]);
  return choice["feed_forward_chunk"] == 0 ? moved : moved + ", in chunks";
}

/// With what else says how the model is divided.
std::string meshText(const json &choice) {
  std::string text = orNone(choice["mesh"]);
  if (!choice["pipeline_schedule"].is_null())
    text += " " + choice["pipeline_schedule"].get<std::string>();
  return choice["sequence_parallel"] == false ? text + " (rows whole)" : text;
}

/// Of the column of meshes, and a space.
size_t widthOfMeshes(const json &rows) {
  size_t width = 32;
  for (const json &row : rows)
    width = std::max(width, meshText(row["choice"]).size() + 1);
  return width;
}

std::string rowText(const json &row, size_t width) {
  const json &choice = row["choice"];
  return fmt::format(
      "{:<{}}{:>5}{:>14}{:>7}  {:<27}{:>10}{:>12}{:>12}{:>12}  {}\n", meshText(choice), width,
      choice["zero"].get<int64_t>(),
      fmt::format("{} x {}", choice["rows"].get<int64_t>(), choice["accumulate"].get<int64_t>()),
      choice["precision"].get<std::string>(), offloadText(choice), formatBytes(choice["bucket_bytes"]),
      secondsText(row["seconds"]), secondsText(row["at_least"]),
      row["peak_bytes"].is_null() ? "-" : formatBytes(row["peak_bytes"]), row["why"].get<std::string>());
}

/// What stays when an axis has each of its values, and all others are free.
std::string axesText(const json &axes) {
  std::string text;
  for (const auto &[name, values] : axes.items()) {
    if (values.size() < 2)
      continue;
    text += fmt::format("\n{:<28}{:>12}{:>12}\n", name, "a step", "at least");
    for (const json &value : values)
      text += fmt::format("  {:<26}{:>12}{:>12}\n", orNone(value["value"]), secondsText(value["seconds"]),
                          secondsText(value["at_least"]));
  }
  return text;
}

std::string frontierText(const json &points) {
  std::string text = fmt::format("\nwithin {:>12}{:>12}{:>12}{:>12}  the fastest way\n", "bytes", "peak",
                                 "a step", "at least");
  for (const json &point : points) {
    const json &choice = point["choice"];
    text += fmt::format("{:>19}{:>12}{:>12}{:>12}  {}, zero {}, {} x {}, {}, offload {}\n",
                        formatBytes(point["budget_bytes"]), formatBytes(point["peak_bytes"]),
                        secondsText(point["seconds"]), secondsText(point["lower_bound"]),
                        orNone(choice["mesh"]), choice["zero"].get<int64_t>(), choice["rows"].get<int64_t>(),
                        choice["accumulate"].get<int64_t>(), choice["precision"].get<std::string>(),
                        offloadText(choice));
  }
  return text;
}

} // namespace

std::string jointText(const json &report, bool explains) {
  std::string text = fmt::format("{} ways to train within {}: {} scheduled, {} planned",
                                 report["considered"].get<int64_t>(), formatBytes(report["budget_bytes"]),
                                 report["scheduled"].get<int64_t>(), report["planned"].get<int64_t>());
  const auto refused = report["refused"].get<int64_t>();
  text += refused > 0 ? fmt::format(", {} not available\n", refused) : "\n";
  const size_t width = widthOfMeshes(report["rows"]);
  text += fmt::format("{:<{}}{:>5}{:>14}{:>7}  {:<27}{:>10}{:>12}{:>12}{:>12}\n", "mesh", width, "zero",
                      "rows x micro", "type", "offload", "bucket", "a step", "at least", "peak");
  for (const json &row : report["rows"])
    text += rowText(row, width);
  if (!report["gap"].is_null())
    text += fmt::format("proven: none of these ways takes less than {}; the choice takes {:.2f}% more\n",
                        secondsText(report["lower_bound"]), 100 * report["gap"].get<double>());
  if (report.contains("frontier"))
    text += frontierText(report["frontier"]);
  return text + (explains ? axesText(report["axes"]) : "");
}

} // namespace kedge::driver
