// The layouts along `tensor` and the stages of a level-2 program, as annotations of the nodes of the file.
#pragma once
#include "lib/Export/Template/AnnotatedModel.h"
#include "mlir/IR/BuiltinOps.h"

namespace kedge::driver {

struct ChosenLayouts {
  model::DeviceConfiguration configuration;
  exporter::NodeAnnotations nodes;
  int64_t tensors = 0;             ///< specs of tensors that are cut
  std::vector<std::string> unsaid; ///< layouts that the format has no words for, a sentence each
};

/// Reads what kedge-propagate-shardings or kedge-assign-stages wrote on the ops and states of `level2`, which
/// must be a compilation with CompileOptions::layoutsOnly.
ChosenLayouts layoutsOf(mlir::ModuleOp level2, const model::Model &model, const std::string &configuration);

} // namespace kedge::driver
