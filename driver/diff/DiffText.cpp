#include "driver/diff/Diff.h"
#include <fmt/format.h>

using nlohmann::json;

namespace kedge::driver {
namespace {

std::string numberText(const json &value) {
  return value.is_string() ? value.get<std::string>() : fmt::format("{:.9g}", value.get<double>());
}

std::string errorText(const json &value) {
  if (value.is_null())
    return "-";
  if (value.is_string())
    return value.get<std::string>();
  return value.get<double>() == 0 ? "0" : fmt::format("{:.2e}", value.get<double>());
}

std::string differenceText(const json &entry) {
  std::string text = fmt::format("  {}, element {}: {} ({}) and {} ({})", entry["what"].get<std::string>(),
                                 entry["element"].get<int64_t>(), numberText(entry["a"]),
                                 entry["dtype_a"].get<std::string>(), numberText(entry["b"]),
                                 entry["dtype_b"].get<std::string>());
  if (entry.contains("ulps"))
    text += fmt::format(", {} ulps apart", entry["ulps"].get<int64_t>());
  text += fmt::format("; {} elements differ, relative error {}\n",
                      entry["elements_that_differ"].get<int64_t>(), errorText(entry["relative_error"]));
  if (entry.contains("first_reader"))
    text += fmt::format("    first read by {}, whose result {}\n",
                        entry["first_reader"]["what"].get<std::string>(),
                        entry["first_reader"]["equal"].get<bool>() ? "is equal all the same" : "differs");
  for (const json &read : entry["reads"])
    if (!read.get<std::string>().empty())
      text += "    reads " + read.get<std::string>() + "\n";
  return text;
}

} // namespace

std::string diffText(const json &found) {
  std::string text = fmt::format("{} values compared: {} equal to the bit, {} within {:g}, {} different; in "
                                 "{} alone {}, in {} alone {}\n",
                                 found["compared"].get<int64_t>(), found["equal_to_the_bit"].get<int64_t>(),
                                 found["within_tolerance"].get<int64_t>(), found["tolerance"].get<double>(),
                                 found["different"].get<int64_t>(), found["a"].get<std::string>(),
                                 found["only_a"].get<int64_t>(), found["b"].get<std::string>(),
                                 found["only_b"].get<int64_t>());
  if (found.contains("engine"))
    text += fmt::format("the values of {} are those of {}\n", found["b"].get<std::string>(),
                        found["engine"].get<std::string>());
  for (const char *side : {"a", "b"})
    if (const int64_t ranks = found.value(std::string("ranks_") + side, int64_t(1)); ranks > 1)
      text += fmt::format("the values of {} are put together from {} ranks\n", found[side].get<std::string>(),
                          ranks);
  if (!found["states_before"].empty())
    text += "\nstates that differ before the first step\n";
  for (const json &state : found["states_before"])
    text += differenceText(state);
  if (!found["first"].is_null())
    text += "\nthe first value that differs\n" + differenceText(found["first"]);
  const bool apart = found["different"].get<int64_t>() > 0 || found["within_tolerance"].get<int64_t>() > 0;
  if (!apart)
    return text;
  size_t width = 5;
  for (const json &row : found["layers"])
    width = std::max(width, row["layer"].get<std::string>().size());
  text += fmt::format("\nrelative error of a layer's values\n  {:<{}}  {:>9}  {:>9}\n", "layer", width,
                      "forward", "backward");
  for (const json &row : found["layers"])
    text += fmt::format("  {:<{}}  {:>9}  {:>9}\n",
                        row["layer"].get<std::string>().empty() ? "-" : row["layer"].get<std::string>(),
                        width, errorText(row["forward"]), errorText(row["backward"]));
  return text;
}

} // namespace kedge::driver
