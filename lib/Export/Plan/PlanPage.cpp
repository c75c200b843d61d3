// kedge plan --report FILE.html: one page that needs nothing else.
#include "PlanPage.h"
#include "lib/Export/Plan/PlanReport.h"
#include "lib/Export/Plan/PlanView.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::exporter;
using nlohmann::json;

namespace {

/// Names occur many times: ranges and launches hold indices.
class Strings {
public:
  size_t operator()(const std::string &text) {
    auto [entry, isNew] = indices.try_emplace(text, indices.size());
    if (isNew)
      list.push_back(text);
    return entry->second;
  }
  json list = json::array();

private:
  std::map<std::string, size_t> indices;
};

json rangeJson(const PlanRange &range, Strings &strings) {
  return {strings(range.name),
          strings(range.type),
          strings(range.layer),
          strings(layerGroup(range.layer)),
          strings(range.share),
          range.bytes,
          range.offset,
          range.first,
          range.last};
}

json functionJson(const PlanFunction &function, Strings &strings) {
  json launches = json::array(), ranges = json::array();
  for (const PlanLaunch &launch : function.launches)
    launches.push_back({strings(launch.kernel), strings(launch.layer), static_cast<int>(launch.phase),
                        strings(launch.reason)});
  for (const PlanRange &range : function.ranges)
    ranges.push_back(rangeJson(range, strings));
  return {{"name", function.name}, {"launches", launches}, {"ranges", ranges}};
}

json pageJson(const json &report, const json &answers, const PlanView &view, const std::string &title) {
  Strings strings;
  json state = json::array(), functions = json::array();
  for (const PlanRange &range : view.state)
    state.push_back(rangeJson(range, strings));
  for (const PlanFunction &function : view.functions)
    functions.push_back(functionJson(function, strings));
  return {{"title", title},
          {"report", report},
          {"arena", view.arenaBytes},
          {"persistent", view.persistentBytes},
          {"shares",
           {"parameters", "working_copies", "buffers", "optimizer", "gradients", "communication",
            "activations", "workspace"}},
          {"fullest", view.fullest()},
          {"state", state},
          {"functions", functions},
          {"strings", strings.list},
          {"answers", answers}};
}

void replace(std::string &text, const std::string &mark, const std::string &content) {
  text.replace(text.find(mark), mark.size(), content);
}

} // namespace

std::string kedge::exporter::planPage(const json &report, const json &answers, ModuleOp module,
                                      const std::string &title) {
  std::string data = pageJson(report, answers, viewPlan(module), title).dump(-1, ' ', /*ensure_ascii=*/true);
  // Names of a model may hold what ends a script element.
  for (size_t at = 0; (at = data.find('<', at)) != std::string::npos;)
    data.replace(at, 1, "\\u003c");
  std::string page = plan_page::html;
  replace(page, "@STYLE@", plan_page::style);
  replace(page, "@SCRIPT@", std::string(plan_page::answers) + plan_page::script);
  replace(page, "@PLAN@", data);
  return page;
}
