// What a mesh means for a compilation: the rows of a rank's parts, and what the plan tells of the ranks.
#include "driver/Compilation.h"
#include "lib/Dialect/Train/Gradient/GradientOps.h"
#include "lib/Support/Error.h"

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
