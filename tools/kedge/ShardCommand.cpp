// kedge shard MODEL --mesh ... -o OUT.onnx: layouts as ONNX's multi-device annotations.
#include "driver/OutputFiles.h"
#include "driver/shard/Shard.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "tools/flags/AutoFlags.h"
#include "tools/kedge/Commands.h"
#include "tools/kedge/DeepSpeedFlags.h"

namespace kedge::tool {

using namespace driver;

namespace {

int runShard(const CompileOptions &options, ShardRequest request) {
  const rt::Mesh mesh = options.model.meshOfRanks();
  if (mesh.sizeOf(rt::Mesh::kTensor) == 1 && mesh.sizeOf(rt::Mesh::kPipeline) == 1)
    fail("shard: expected a mesh with an axis 'tensor' or 'pipeline', as in --mesh tensor=2; found {} rank{}",
         mesh.size(), mesh.size() == 1 ? "" : "s");
  if (mesh.sizeOf(rt::Mesh::kTensor) > 1 && mesh.sizeOf(rt::Mesh::kPipeline) > 1)
    fail("shard: axes 'tensor' and 'pipeline' together are not available yet; give one of both");
  if (request.output.empty() && !request.check && !request.explain && !options.plan.json)
    fail("shard needs -o OUT.onnx, --check or --explain");
  const nlohmann::json answer = shard(options, request);
  const std::string text = options.plan.json ? answer.dump(2) + "\n" : shardText(answer);
  reporter().answer(text);
  return 0;
}
} // namespace

void addShardCommand(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand("shard", "layouts over a mesh, as annotations of the ONNX file");
  auto options = std::make_shared<CompileOptions>();
  auto request = std::make_shared<ShardRequest>();
  addCompileOptions(*command, *options);
  removeAutoOptions(*command);
  const char *group = "Output";
  command->add_option("-o", request->output, "OUT.onnx: the model with the layouts as annotations")
      ->group(group);
  command
      ->add_option("--name", request->configuration,
                   "name of the device configuration that is written (default: the mesh)")
      ->group(group);
  command->add_flag("--check", request->check, "check the file's own annotations, and follow them")
      ->group(group);
  command->add_flag("--explain", request->explain, "list each collective that the layouts imply")
      ->group(group);
  command->add_flag("--json", options->plan.json, "the answer for machines")->group(group);
  command->callback([=, &exitCode] {
    *options = withDeepSpeedConfig(*command, *options);
    exitCode = runShard(*options, *request);
  });
}

} // namespace kedge::tool
