#pragma once
#include "lib/Dialect/ONNX/OnnxFamily.h"
#include "lib/Dialect/Sched/SchedAttrs.h"
#include "lib/Dialect/Sched/SchedDialect.h"
#include "lib/Interfaces/LibraryCallOpInterface.h"
#include "lib/Support/Assert.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

namespace kedge::sched {

/// The attributes of an OpT in the dictionary of its call; what they leave out is null. The call's verifier
/// has checked them.
template <typename OpT>
typename OpT::Properties readProperties(mlir::DictionaryAttr attrs,
                                        llvm::function_ref<mlir::InFlightDiagnostic()> emitError) {
  typename OpT::Properties properties{};
  [[maybe_unused]] const mlir::LogicalResult read = OpT::setPropertiesFromAttr(properties, attrs, emitError);
  KEDGE_ASSERT(succeeded(read));
  return properties;
}

} // namespace kedge::sched

#define GET_OP_CLASSES
#include "lib/Dialect/Sched/SchedOps.h.inc"
