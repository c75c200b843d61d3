// kedge shapes NAME: a published model as ONNX without weights.
#include "driver/WriteModel.h"
#include "driver/shapes/Shapes.h"
#include "lib/Support/Reporter.h"
#include "tools/flags/Flags.h"
#include "tools/kedge/Commands.h"

namespace kedge::tool {
namespace {

struct Request {
  std::string name, output;
  driver::shapes::ShapeChanges changes;
};

void runShapes(const Request &request) {
  if (request.name.empty()) {
    reporter().answer(driver::shapes::publishedShapes());
    return;
  }
  const model::Model model = driver::shapes::publishedModel(request.name, request.changes);
  const std::string path = request.output.empty() ? request.name + ".onnx" : request.output;
  driver::writeModel(model, path);
  std::string text =
      fmt::format("{}: {} parameters without values; inputs:", path, driver::shapes::weightsOf(model));
  for (const model::ValueInfo &input : model.graph.inputs)
    text += " " + input.describe();
  reporter().answer(text + "\n");
}

} // namespace

void addShapesCommand(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "shapes", "a published model without weights, to plan with; without a name: which there are");
  auto request = std::make_shared<Request>();
  driver::shapes::ShapeChanges &changes = request->changes;
  command->add_option("NAME", request->name, "gpt2, llama-8b, resnet50, ...");
  Flags flags(*command, "Options");
  flags.add("-o", request->output, "the ONNX file (NAME.onnx)")->needs("NAME");
  Flags sizes(*command, "Sizes");
  const auto add = [&](const char *flag, std::optional<int64_t> &size, double most, const char *help) {
    sizes.number(flag, size, {1, most}, help)->needs("NAME");
  };
  add("--layers", changes.layers, 10000, "blocks");
  add("--width", changes.width, 1 << 20, "of a token's row");
  add("--heads", changes.heads, 1 << 16, "of attention");
  add("--key-heads", changes.keyHeads, 1 << 16, "heads of keys and values, which the heads share");
  add("--hidden", changes.hidden, 1 << 24, "width inside the feed-forwards");
  add("--vocabulary", changes.vocabulary, 1 << 24, "number of tokens");
  add("--positions", changes.positions, 1 << 24, "largest length of a row");
  command->callback([=, &exitCode] {
    runShapes(*request);
    exitCode = 0;
  });
}

} // namespace kedge::tool
