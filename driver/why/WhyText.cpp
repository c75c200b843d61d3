#include "driver/why/Why.h"
#include "lib/Support/MemoryBudget.h"
#include <fmt/format.h>

using nlohmann::json;

namespace kedge::driver {
namespace {

std::string bytesText(int64_t bytes) {
  return bytes < 1024 ? fmt::format("{} B", bytes) : fmt::format("{} ({} bytes)", formatBytes(bytes), bytes);
}

std::string signedBytes(int64_t bytes) {
  return bytes == 0 ? "=" : fmt::format("{}{}", bytes < 0 ? "-" : "+", formatBytes(std::abs(bytes)));
}

std::string turnText(const json &turn) {
  std::string text =
      fmt::format("launch {}  {}", turn["launch"].get<int64_t>(), turn["kernel"].get<std::string>());
  if (turn.contains("phase"))
    text += "  " + turn["phase"].get<std::string>();
  for (const char *key : {"module", "node"})
    if (turn.contains(key) && !turn[key].get<std::string>().empty())
      text += (key == std::string("module") ? "  " : "/") + turn[key].get<std::string>();
  if (turn.contains("recomputed"))
    text += "  (again: " + turn["recomputed"].get<std::string>() + ")";
  if (turn.contains("copied"))
    text += "  (copy: " + turn["copied"].get<std::string>() + ")";
  return text;
}

std::string timesText(const json &value) {
  std::string text;
  for (const json &life : value["in_memory"]) {
    const int64_t from = life["from"].get<int64_t>();
    text += fmt::format("{}{} to {} at {}{}", text.empty() ? "" : ", ",
                        from < 0 ? "start" : std::to_string(from), life["to"].get<int64_t>(),
                        life["offset"].get<int64_t>(), life["memory"] == "host" ? " (host)" : "");
  }
  return text;
}

void line(std::string &text, const std::string &label, const std::string &content) {
  text += fmt::format("  {:<12}  {}\n", label, content);
}

std::string priceText(const std::string &decision, const json &row, const std::string &chosen) {
  if (row.contains("obstacle"))
    return fmt::format("    {:<10}  {}\n", decision, row["obstacle"].get<std::string>());
  return fmt::format("    {:<10}  {:>12}  {:>12}  {:>+12.3e} s{}\n", decision,
                     formatBytes(row["peak_bytes"].get<int64_t>()),
                     signedBytes(row["peak_change"].get<int64_t>()), row["seconds_change"].get<double>(),
                     decision == chosen ? "  (the plan)" : "");
}

std::string peakText(const json &peak, const std::string &function) {
  return fmt::format("{}: launch {} of {}, where {} are in use{}", peak["stands"].get<bool>() ? "yes" : "no",
                     peak["launch"].get<int64_t>(), function, formatBytes(peak["bytes"].get<int64_t>()),
                     peak["of_the_plan"].get<bool>() ? "" : " (another function has the plan's peak)");
}

std::string valueText(const json &value) {
  std::string text = "\n" + value["id"].get<std::string>();
  if (value.contains("node"))
    text +=
        fmt::format(": {} {}{}{}", value["phase"].get<std::string>(), value["module"].get<std::string>(),
                    value["module"].get<std::string>().empty() ? "" : "/", value["node"].get<std::string>());
  text += "\n";
  line(text, "value",
       fmt::format("{}, {}", value["type"].get<std::string>(), bytesText(value["bytes"].get<int64_t>())));
  line(text, "layout", value["layout"].get<std::string>());
  bool again = false;
  for (const json &turn : value["made"]) {
    line(text, again ? "made again" : "made", turnText(turn));
    again = true;
  }
  for (const json &turn : value["read"])
    line(text, "read", turnText(turn));
  line(text, "in memory",
       "launches " + timesText(value) +
           (value.contains("persistent") ? "; its place is a state's, which is always there" : ""));
  line(text, "at the peak", peakText(value["peak"], value["function"].get<std::string>()));
  if (!value.contains("prices"))
    return text;
  const std::string chosen = value.value("chosen", "");
  line(text, "the plan", chosen.empty() ? "keeps it" : chosen);
  line(text, "because", value["reason"].get<std::string>());
  text += fmt::format("    {:<10}  {:>12}  {:>12}  {:>14}\n", "", "peak", "change", "time a step");
  for (const char *decision : {"keep", "recompute", "offload"})
    text += priceText(decision, value["prices"][decision], chosen);
  return text;
}

std::string rowsText(const json &values) {
  std::string text = fmt::format("\n  {:<10}  {:<22}  {:>12}  {:<9}  {:<4}  {}\n", "value", "type", "bytes",
                                 "plan", "peak", "launches; what makes it");
  for (const json &value : values)
    text += fmt::format("  {:<10}  {:<22}  {:>12}  {:<9}  {:<4}  {}; {}/{}\n", value["id"].get<std::string>(),
                        value["type"].get<std::string>(), value["bytes"].get<int64_t>(),
                        value.value("chosen", "keep"), value["peak"]["stands"].get<bool>() ? "yes" : "-",
                        timesText(value), value.value("phase", ""), value.value("node", ""));
  return text;
}

std::string layoutText(const json &layout) {
  if (layout.is_string())
    return layout.get<std::string>();
  return fmt::format("part of {} over {}={}", layout["whole"].dump(), layout["axis"].get<std::string>(),
                     layout["parts"].get<int64_t>());
}

std::string stateText(const json &state) {
  std::string text = "\n";
  for (const json &copy : state["copies"])
    line(text, copy["role"].get<std::string>(),
         fmt::format("{}  {}  {}  {} memory at {}  {}", copy["state"].get<std::string>(),
                     copy["type"].get<std::string>(), bytesText(copy["bytes"].get<int64_t>()),
                     copy["memory"].get<std::string>(), copy["offset"].get<int64_t>(),
                     layoutText(copy["layout"])));
  for (const json &gradient : state["gradients"])
    line(text, "gradient",
         fmt::format(
             "{}  {}  {}, complete after launch {}, in memory {}", gradient["function"].get<std::string>(),
             gradient["type"].get<std::string>(), bytesText(gradient["bytes"].get<int64_t>()),
             gradient["complete_after"].get<int64_t>(),
             gradient["persistent"].get<bool>()
                 ? std::string("always (it adds up in a state)")
                 : fmt::format("{} to {}", gradient["from"].get<int64_t>(), gradient["to"].get<int64_t>())));
  for (const json &function : state["functions"])
    for (const auto &[key, label] :
         {std::pair{"gathers", "gathered by"}, {"readers", "read by"}, {"writers", "updated by"}})
      for (const json &turn : function[key])
        line(text, label, function["name"].get<std::string>() + " " + turnText(turn));
  line(text, "recompute", "a state cannot be computed again");
  for (const json &row : state["offload"])
    line(text, "offload",
         fmt::format("{} frees {} and adds at most {:.3e} s of copies a step{}",
                     row["option"].get<std::string>(), formatBytes(row["bytes"].get<int64_t>()),
                     row["seconds"].get<double>(), row["chosen"].get<bool>() ? "  (the plan)" : ""));
  if (state.contains("shard_obstacle"))
    line(text, "shard", state["shard_obstacle"].get<std::string>());
  for (const json &row : state["shard"])
    line(text, fmt::format("--zero {}", row["zero"].get<int64_t>()),
         fmt::format("a rank holds {} of states, sends at most {} elements per step{}",
                     bytesText(row["state_bytes"].get<int64_t>()),
                     row["elements_sent_at_most"].get<int64_t>(),
                     row["chosen"].get<bool>() ? "  (the plan)" : ""));
  return text;
}

} // namespace

std::string whyText(const json &answer) {
  const json &plan = answer["plan"];
  std::string text =
      fmt::format("{}: {}\n", answer["tensor"].get<std::string>(), answer["meaning"].get<std::string>());
  const std::string ofRank =
      plan.contains("rank")
          ? fmt::format(" of rank {} (stage {})", plan["rank"].get<int64_t>(), plan["stage"].get<int64_t>())
          : "";
  text += fmt::format(
      "the plan{}: peak {}, {}, {:.4g} s a step{}\n", ofRank, bytesText(plan["peak_bytes"].get<int64_t>()),
      plan["budget_bytes"].is_null()
          ? std::string("no budget")
          : fmt::format("budget {} ({})", formatBytes(plan["budget_bytes"].get<int64_t>()),
                        plan["fits"].get<bool>() ? "fits" : "does not fit"),
      plan["step_seconds"].get<double>(),
      answer.contains("forced") ? ", with the decision '" + answer["forced"].get<std::string>() + "'" : "");
  if (answer.contains("state"))
    return text + stateText(answer["state"]);
  const json &values = answer["values"];
  const bool priced = !values.empty() && values.front().contains("prices");
  if (!priced)
    return text + (values.empty()
                       ? ""
                       : rowsText(values) + "\nkedge why MODEL VALUE, as in " +
                             values.front()["id"].get<std::string>() + ", shows one with its prices\n");
  for (const json &value : values)
    text += valueText(value);
  if (answer.contains("of_its_gradient")) {
    text += "\n  in backward:";
    for (const json &id : answer["of_its_gradient"])
      text += " " + id.get<std::string>();
    text += "\n";
  }
  return text;
}

} // namespace kedge::driver
