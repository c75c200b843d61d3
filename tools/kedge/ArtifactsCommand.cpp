// kedge artifacts FOLDER: what ONNX Runtime's training was prepared with.
#include "driver/artifacts/Artifacts.h"
#include "lib/Support/Reporter.h"
#include "tools/flags/Flags.h"
#include "tools/kedge/Commands.h"

namespace kedge::tool {

void addArtifactsCommand(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "artifacts", "a model with its loss from the files of ONNX Runtime's generate_artifacts()");
  struct Request {
    std::string folder, output = "model.onnx";
  };
  auto request = std::make_shared<Request>();
  command->add_option("FOLDER", request->folder, "with training_model.onnx and checkpoint")->required();
  Flags flags(*command, "Options");
  flags.add("-o", request->output, "the ONNX file (model.onnx)");
  command->callback([=, &exitCode] {
    reporter().answer(driver::readArtifacts(request->folder, request->output));
    exitCode = 0;
  });
}

} // namespace kedge::tool
