// The model with weights in integers, for --export-quantized.
#pragma once
#include "lib/Export/Template/ExportTemplateEdits.h"
#include "lib/Model/Model.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Adapters/OptionWords.h"
#include <map>

namespace kedge::driver {

struct QuantizedGraph {
  /// Weights that `module` rounds are codes behind a DequantizeLinear, and what they are multiplied with
  /// goes through QuantizeLinear and DequantizeLinear.
  model::Model model;
  /// What the program makes of its states, by the names of new initializers.
  std::map<std::string, exporter::StateElements> elements;
  std::map<std::string, int64_t> operators; ///< domains of new ones, with their versions
};

/// Whether `module` rounds a weight.
bool roundsWeights(mlir::ModuleOp module);
/// Throws kedge::Error where the file has no place for integers.
QuantizedGraph withIntegers(const model::Model &model, mlir::ModuleOp module, adapters::IntegerForm form);

} // namespace kedge::driver
