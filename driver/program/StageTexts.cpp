#include "driver/program/StageTexts.h"
#include "driver/Compilation.h"
#include "driver/options/ProgramOptions.h"
#include "driver/plan/PipelinePlan.h"
#include "driver/program/ProgramBuilder.h"

namespace kedge::driver {
namespace {

std::string textOf(const CompileOptions &options, FileCache *cache) {
  Compilation compilation(options);
  compilation.import();
  if (options.output.emit != Emit::Onnx)
    compilation.step();
  if (options.output.emit == Emit::Onnx || options.output.emit == Emit::Train)
    return compilation.text();
  compilation.schedule();
  if (options.output.emit == Emit::Schedule)
    return compilation.text();
  compilation.lower();
  if (options.output.emit == Emit::Ptx)
    return ProgramBuilder(compilation, options, cache).ptx();
  return options.output.emit == Emit::Llvm ? kernelText(compilation.kernels()) : compilation.text();
}

} // namespace

std::string textsOfStages(const CompileOptions &given, FileCache *cache) {
  const CompileOptions options = withChosenSchedule(given);
  if (options.output.emit == Emit::Onnx)
    return textOf(options, cache);
  const rt::Mesh mesh = options.model.meshOfRanks();
  const int64_t places = mesh.sizeOf(rt::Mesh::kPipeline), each = mesh.size() / places;
  std::string texts;
  for (int64_t place = 0; place < places; ++place) {
    CompileOptions one = options;
    one.pipeline.stage = place;
    one.setRepeats(place > 0); // notes are the same
    if (!options.output.saveIr.empty())
      one.output.saveIr = folderOfRank(options.output.saveIr, place * each);
    texts += fmt::format("{}// rank {}\n", place == 0 ? "" : "// -----\n", place * each) + textOf(one, cache);
  }
  return texts;
}

} // namespace kedge::driver
