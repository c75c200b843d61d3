#include "runtime/train/Export.h"
#include "runtime/format/Convert.h"
#include "runtime/format/OnnxWriter.h"
#include "runtime/io/Error.h"
#include "runtime/train/CheckpointTensors.h"
#include "runtime/train/Weights.h"
#include "runtime/train/WholeStates.h"

namespace kedge::rt {
namespace {

bool copiesFromModel(const nlohmann::json &pieces) {
  for (const nlohmann::json &piece : pieces)
    if (piece.is_array() && !piece.empty() &&
        (piece[0] == "copy" || (piece[0] == "message" && copiesFromModel(piece.at(2)))))
      return true;
  return false;
}

} // namespace

const nlohmann::json &exportSkeleton(const Program &program, bool trainingMode) {
  const char *mode = trainingMode ? "training" : "inference";
  if (const auto edited = program.exportSkeleton.find("refused"); edited != program.exportSkeleton.end())
    fail("--export-onnx: the program was compiled from '{}', which had been edited: an export would be the graph before that with "
         "these weights; use --export-safetensors",
         edited->get<std::string>());
  auto found = program.exportSkeleton.find(mode);
  if (found == program.exportSkeleton.end())
    fail("--export-onnx: the program '{}' holds no {} model to export: compile it again", program.name, mode);
  return *found;
}

void exportOnnx(const std::string &path, const Executor &executor, const ProgramImage &image,
                const std::string &model, bool trainingMode) {
  const Program &program = executor.program();
  const nlohmann::json &skeleton = exportSkeleton(program, trainingMode);
  const std::string modelPath = !model.empty()          ? model
                                : program.files.empty() ? std::string()
                                                        : program.files[0].path;
  if (copiesFromModel(skeleton.value("model", nlohmann::json::array())) ||
      copiesFromModel(skeleton.value("external", nlohmann::json::array())))
    checkModelFile(program, model);
  onFirstRank(executor, [&](WholeStates &states) {
    writeOnnx(skeleton, image.data, image.dataSize, modelPath, path, [&](const std::string &name) {
      const State *state = program.state(name);
      if (!state)
        fail("the program is damaged: its export names the state '{}', which it lacks", name);
      const TensorDesc whole{state->desc.type, state->viewOrWhole().whole};
      return ExportedState{states.fetch(*state), whole, inversePerm(layoutOf(program, *state))};
    });
  });
}

} // namespace kedge::rt
