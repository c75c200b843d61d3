// What a plan of a pipeline tells people beyond that of one rank.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace kedge::exporter {

/// Ranks, stages and the slots of all ranks, of a report with `pipeline`; empty for another.
std::string pipelineText(const nlohmann::json &report);

} // namespace kedge::exporter
