#include "driver/plan/PlanCheck.h"
#include "lib/Support/Error.h"
#include "lib/Support/MemoryBudget.h"
#include "runtime/io/JsonSize.h"
#include <fmt/format.h>
#include <fstream>

namespace kedge::driver {
using nlohmann::json;

json readPlan(const std::string &path) {
  rt::expectJsonFile(path);
  std::ifstream file(path);
  if (!file)
    fail("--check {}: cannot be read; write it with kedge plan --json", path);
  json plan = json::parse(file, nullptr, /*allow_exceptions=*/false);
  auto isNumber = [](const json &from, const char *key) {
    return from.contains(key) && from[key].is_number();
  };
  if (!plan.is_object() || !isNumber(plan, "peak_bytes") || !plan.contains("recompute") ||
      !plan["recompute"].is_object() || !isNumber(plan["recompute"], "overhead"))
    fail("--check {}: is no plan: expected a file of kedge plan --json, with peak_bytes and "
         "recompute.overhead",
         path);
  return plan;
}

std::string worseThan(const json &stored, const json &plan) {
  // Sums of seconds differ in their last bits from machine to machine.
  constexpr double kLastBits = 1e-9;
  std::string lines;
  if (const int64_t before = stored["peak_bytes"], now = plan["peak_bytes"]; now > before)
    lines += fmt::format("the peak is {} bytes ({}), was {} ({})\n", now, formatBytes(now), before,
                         formatBytes(before));
  if (const double before = stored["recompute"]["overhead"], now = plan["recompute"]["overhead"];
      now > before + kLastBits)
    lines += fmt::format("the added time is {:.3f}%, was {:.3f}%\n", 100 * now, 100 * before);
  return lines;
}

} // namespace kedge::driver
