#include "driver/program/StageTexts.h"
#include "driver/Compilation.h"
#include "driver/options/ProgramOptions.h"
#include "driver/plan/PipelinePlan.h"
#include "driver/program/ProgramBuilder.h"

namespace kedge::driver {
namespace {

std::string textOf(const CompileOptions &options) {
  Compilation compilation(options);
  compilation.import();
  if (options.emit != "onnx")
    compilation.step();
  if (options.emit == "onnx" || options.emit == "train")
    return compilation.text();
  compilation.schedule();
  if (options.emit == "schedule")
    return compilation.text();
  compilation.lower();
  if (options.emit == "ptx")
    return ProgramBuilder(compilation, options).ptx();
  return options.emit == "llvm" ? kernelText(compilation.kernels()) : compilation.text();
}

} // namespace

std::string textsOfStages(const CompileOptions &given) {
  const CompileOptions options = withChosenSchedule(given);
  if (options.emit == "onnx")
    return textOf(options);
  const rt::Mesh mesh = options.model.meshOfRanks();
  const int64_t places = mesh.sizeOf(rt::Mesh::kPipeline), each = mesh.size() / places;
  std::string texts;
  for (int64_t place = 0; place < places; ++place) {
    CompileOptions one = options;
    one.pipeline.stage = place;
    one.isTrial = place > 0; // notes are the same
    if (!options.saveIr.empty())
      one.saveIr = folderOfRank(options.saveIr, place * each);
    texts += fmt::format("{}// rank {}\n", place == 0 ? "" : "// -----\n", place * each) + textOf(one);
  }
  return texts;
}

} // namespace kedge::driver
