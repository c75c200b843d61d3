// The model with its adapters as nodes of their own, for --export-onnx-adapters.
#pragma once
#include "lib/Export/Template/ExportTemplateEdits.h"
#include "lib/Model/Model.h"
#include "mlir/IR/BuiltinOps.h"

namespace kedge::driver {

/// `model` with y + scale B(A(x)) behind each product or convolution y of a weight that `module` has an
/// adapter for. A and B are initializers without elements: those are the program's states of the same name.
model::Model withAdapterNodes(const model::Model &model, mlir::ModuleOp module);

/// Lets nodes of the file that others stand for (model::Model::lowered) read the experts with their adapters,
/// too.
void editLoweredExperts(const model::Model &loaded, mlir::ModuleOp module, exporter::Edits &edits);

/// How an exported file holds an adapter of a weight whose codes the file has.
enum class PackedForm {
  Merged, ///< values with the adapter in them, in the place of codes, scales and zero points
  Beside  ///< the codes stay; A and B, which withAdapterNodes() added, are nodes beside the product
};

/// Edits the products of such weights; `loaded` is the model as the file has it.
void editPackedProducts(const model::Model &loaded, mlir::ModuleOp module, PackedForm form,
                        exporter::Edits &edits);

} // namespace kedge::driver
