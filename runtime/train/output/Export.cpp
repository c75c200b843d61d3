#include "runtime/train/output/Export.h"
#include "runtime/format/Convert.h"
#include "runtime/format/OnnxWriter.h"
#include "runtime/io/Error.h"
#include "runtime/train/checkpoint/CheckpointTensors.h"
#include "runtime/train/checkpoint/WholeStates.h"
#include "runtime/train/weights/Adapters.h"
#include "runtime/train/weights/Weights.h"

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

const nlohmann::json &exportTemplate(const Program &program, const char *mode) {
  if (const auto edited = program.exportTemplate.find("refused"); edited != program.exportTemplate.end())
    fail("--export-onnx: the program was compiled from '{}', which was edited: the exported file would have "
         "the graph from "
         "before the edit; use --export-safetensors",
         edited->get<std::string>());
  auto found = program.exportTemplate.find(mode);
  const bool isQuantized = std::string_view(mode) == "quantized";
  if (isQuantized && found == program.exportTemplate.end())
    fail("--export-quantized: the program '{}' rounds nothing to integers: compile it with --qat "
         "REGEX=int8|uint8|int4",
         program.name);
  if (isQuantized && found->is_string())
    fail("--export-quantized: {}", found->get<std::string>());
  if (found != program.exportTemplate.end() && found->is_null())
    fail("--export-onnx-adapters: the model's products are in functions that several nodes call, where no "
         "adapter can be put; "
         "inline the functions, or use --export-onnx or --export-adapter");
  if (found != program.exportTemplate.end() && found->is_string())
    fail("--export-onnx-adapters: {}", found->get<std::string>());
  if (found == program.exportTemplate.end())
    fail("--export-onnx: the program '{}' holds no {} model to export: compile it again", program.name, mode);
  return *found;
}

void exportOnnx(const std::string &path, const Executor &executor, const ProgramImage &image,
                const std::string &model, const char *mode) {
  const Program &program = executor.program();
  const nlohmann::json &skeleton = exportTemplate(program, mode);
  const std::string modelPath = !model.empty()          ? model
                                : program.files.empty() ? std::string()
                                                        : program.files[0].path;
  const bool merges = std::string_view(mode) != "adapters";
  onFirstRank(executor, [&](WholeStates &states) {
    if (copiesFromModel(skeleton.value("model", nlohmann::json::array())) ||
        copiesFromModel(skeleton.value("external", nlohmann::json::array())))
      checkModelFile(program, model);
    MergedWeights merged(executor, states, merges);
    writeOnnx(skeleton, image.data, image.dataSize, modelPath, path, [&](const std::string &name) {
      const State *state = program.state(name);
      if (!state)
        fail("the program is damaged: its export names the state '{}', which it lacks", name);
      if (merged.has(*state))
        return ExportedState{merged.fetch(*state),
                             {DType::F32, merged.shapeOf(*state)},
                             inversePerm(layoutOf(program, *state))};
      return ExportedState{states.fetch(*state), states.descOf(*state),
                           inversePerm(layoutOf(program, *state))};
    });
  });
}

} // namespace kedge::rt
