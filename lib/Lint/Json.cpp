#include "lib/Lint/Lint.h"
#include <nlohmann/json.hpp>

namespace kedge::lint {

std::string toJson(const Report &report) {
  using Json = nlohmann::ordered_json;
  Json findings = Json::array(), initializers = Json::array();
  for (const Finding &f : report.findings)
    findings.push_back({{"severity", severityName(f.severity)},
                        {"code", f.code},
                        {"node", f.node},
                        {"tensor", f.tensor},
                        {"module", f.module},
                        {"reason", f.reason},
                        {"remedy", f.remedy},
                        {"repairable", f.repairable},
                        {"mended", f.mended}});
  for (const Initializer &i : report.initializers)
    initializers.push_back({{"name", i.name},
                            {"original", i.original},
                            {"verdict", verdictName(i.verdict)},
                            {"reason", (i.guessed ? "a guess: " : "") + i.reason}});
  Json root = {{"findings", std::move(findings)}, {"initializers", std::move(initializers)}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace kedge::lint
