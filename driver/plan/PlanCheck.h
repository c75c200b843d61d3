// kedge plan --check FILE.json: whether a plan has become worse than a stored one.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace kedge::driver {

/// The plan in a file of `kedge plan --json` or `--report FILE.json`. Throws kedge::Error when the file is
/// none.
nlohmann::json readPlan(const std::string &path);

/// What is worse in `plan` than in `stored`, a line each: the peak in bytes, the added time. Empty when
/// nothing is.
std::string worseThan(const nlohmann::json &stored, const nlohmann::json &plan);

} // namespace kedge::driver
