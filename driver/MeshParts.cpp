// What a mesh means for a compilation: the rows of a rank's parts, and what the plan tells of the ranks.
#include "driver/Compilation.h"
#include "driver/options/ParameterOptions.h"
#include "driver/options/StepOptions.h"
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "lib/Import/GraphImporter.h"
#include "lib/Import/LintOps.h"
#include "lib/Support/Error.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Mesh/Passes.h"

using namespace mlir;

namespace kedge::driver {

/// The rows of a part: the inputs that have as many as the first.
std::map<std::string, std::vector<int64_t>> Compilation::shapesOfParts() const {
  std::map<std::string, std::vector<int64_t>> shapes = options.model.shapes;
  if (options.parts == 1)
    return shapes;
  const std::string first = model.graph.inputs.empty() ? "" : model.graph.inputs.front().name;
  const auto given = shapes.find(first);
  if (given == shapes.end() || given->second.empty())
    fail("{}: --same-bits {}: a rank's rows are cut into {} parts; give the rows of the first input: --shape "
         "{}=ROWSx...",
         options.model.model, options.sameBits, options.parts, first);
  const int64_t rows = given->second.front();
  if (rows % options.parts != 0)
    fail("{}: --same-bits {}: {} rows of '{}' do not share among {} parts of a rank; give a multiple of {}",
         options.model.model, options.sameBits, rows, first, options.parts, options.parts);
  for (auto &[name, shape] : shapes)
    if (!shape.empty() && shape.front() == rows)
      shape.front() /= options.parts;
  return shapes;
}

/// Parts of one micro-batch each, whose model was read here.
bool Compilation::canJoinParts() const {
  constexpr int64_t kMostParts = 16; // what sums over rows is there once for each
  return options.parts > 1 && options.parts <= kMostParts && options.accumulate == options.parts &&
         !options.accumulatorType && options.resumedFrom.empty() && !options.isPipelined() &&
         !options.model.adapters.given() && model.trainingInfo.empty();
}

pipelines::StepOptions Compilation::stepOfJoinedParts() const {
  pipelines::StepOptions step = stepOptions(options, model);
  step.accumulate = 1;
  step.joinsParts = true;
  return step;
}

/// The step of all rows, with that of a part's rows beside it until kedge-join-parts. Where the two cannot be
/// joined the model of a part is as before.
bool Compilation::joinParts() {
  OwningOpRef<ModuleOp> ofPart = std::move(ir);
  ir = ofPart->clone();
  PassManager gradients(&context), step(&context);
  kedge::pipelines::addGradientPipeline(gradients, stepOptions(options, model));
  runPasses(gradients, Phase::Step);
  OwningOpRef<ModuleOp> beside = std::move(ir);
  importer::ImportOptions importing;
  importing.shapes = options.model.shapes;
  importing.roles = importer::rolesOf(findings);
  ir = importer::importModel(context, model, importing);
  applyParameterOptions(*ir, options);
  run(Phase::Model);
  beside->setSymName(mesh::partModuleName);
  ir->push_back(beside.release());
  kedge::pipelines::addStepPipeline(step, stepOfJoinedParts());
  runPasses(step, Phase::Step);
  if ((*ir)->hasAttr(dist::joinedName))
    return true;
  ir = std::move(ofPart);
  return false;
}

void Compilation::checkSameBits(func::FuncOp training) const {
  training.walk([&](train::BatchNormOp norm) {
    if (options.sameBits > 0)
      fail("{}: --same-bits {}: not available with BatchNormalization in training, whose statistics are "
           "those of a micro-batch on a "
           "rank; leave --train-mode out, or --same-bits",
           options.model.model, options.sameBits);
  });
}

/// All ranks of these axes run one program, and have one row.
void Compilation::addMesh(nlohmann::json &report) const {
  const rt::Mesh mesh = options.model.meshOfRanks();
  for (const rt::MeshAxis &axis : mesh.axes())
    report["mesh"]["axes"].push_back({{"name", axis.name}, {"size", axis.size}});
  report["ranks"] = nlohmann::json::array({{{"rank", 0},
                                            {"stage", 0},
                                            {"peak_bytes", report["peak_bytes"]},
                                            {"arena_bytes", report["arena_bytes"]},
                                            {"bubble", 0.0}}});
}

} // namespace kedge::driver
