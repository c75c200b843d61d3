#include "driver/shard/Shard.h"
#include "driver/Compilation.h"
#include "driver/shard/Collectives.h"
#include "driver/shard/Layouts.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "lib/Support/TextFile.h"

using nlohmann::json;

namespace kedge::driver {
namespace {

std::string placeText(const json &row) {
  const std::string module = row["module"], node = row["node"];
  return module.empty() ? node : module + "/" + node;
}

json layoutsTo(const CompileOptions &options, const ShardRequest &request) {
  CompileOptions chosen = options;
  chosen.layoutsOnly = true;
  Compilation compilation(chosen);
  compilation.import();
  compilation.step();
  const std::string mesh = options.model.meshOfRanks().text();
  const std::string name = !request.configuration.empty() ? request.configuration : mesh;
  const ChosenLayouts layouts = layoutsOf(compilation.module(), compilation.onnx(), name);
  json answer = {{"schema", 1},
                 {"model", options.model.model},
                 {"mesh", mesh},
                 {"configuration", name},
                 {"follows", options.model.configuration},
                 {"devices", layouts.configuration.devices},
                 {"nodes", layouts.nodes.size()},
                 {"tensors", layouts.tensors},
                 {"unsaid", layouts.unsaid},
                 {"without_rule", opsWithoutRule(compilation.module())}};
  if (!request.output.empty()) {
    for (const std::string &sentence : layouts.unsaid)
      note("{}: ONNX's annotations have no words for that: it is left out, and the file is cut otherwise "
           "than with --mesh",
           sentence);
    writeText(request.output,
              exporter::annotatedModel(compilation.onnx(), layouts.configuration, layouts.nodes));
    answer["output"] = request.output;
  }
  return answer;
}

} // namespace

json shard(const CompileOptions &options, const ShardRequest &request) {
  if (request.check && options.model.configuration.empty())
    fail("{}: --check: no device configuration of the file is followed; give --configuration NAME, or "
         "--ranks or --mesh of "
         "one that it has",
         options.model.model);
  json answer = layoutsTo(options, request);
  if (request.explain) {
    CompileOptions whole = options;
    whole.setRepeats(true);
    Compilation compilation(whole);
    compilation.import();
    compilation.step();
    answer["collectives"] = collectivesOf(compilation.module());
  }
  if (request.check)
    answer["check"] = "passed";
  return answer;
}

std::string shardText(const json &answer) {
  const std::string follows = answer["follows"];
  std::string text = fmt::format(
      "{}: mesh {}, {} devices: {} tensors of {} nodes are cut{}\n", answer["model"].get<std::string>(),
      answer["mesh"].get<std::string>(), answer["devices"].get<int64_t>(), answer["tensors"].get<int64_t>(),
      answer["nodes"].get<int64_t>(),
      follows.empty() ? "" : ", as configuration '" + follows + "' of the file says");
  if (answer.contains("check"))
    text += fmt::format("configuration '{}': passed\n", follows);
  if (answer.contains("output"))
    text += fmt::format("{}: configuration '{}' written\n", answer["output"].get<std::string>(),
                        answer["configuration"].get<std::string>());
  if (!answer.contains("collectives"))
    return text;
  int64_t bytes = 0;
  text += fmt::format("\n{:<9} {:<15} {:<7} {:<5} {:>12} {:>12}  {}\n", "phase", "collective", "axis", "type",
                      "elements", "bytes", "node");
  for (const json &row : answer["collectives"]) {
    text += fmt::format("{:<9} {:<15} {:<7} {:<5} {:>12} {:>12}  {}\n", row["phase"].get<std::string>(),
                        row["collective"].get<std::string>(), row["axis"].get<std::string>(),
                        row["type"].get<std::string>(), row["elements"].get<int64_t>(),
                        row["bytes"].get<int64_t>(), placeText(row));
    bytes += row["bytes"].get<int64_t>();
  }
  text += fmt::format("{} collectives, {} bytes\n", answer["collectives"].size(), bytes);
  for (const json &row : answer["without_rule"])
    text += fmt::format("whole on every rank: {} ({}): it has no sharding rule\n", placeText(row),
                        row["op"].get<std::string>());
  return text;
}

} // namespace kedge::driver
