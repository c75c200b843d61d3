// The attributes of a library call by the names and types of its op.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "kedge/Support/Assert.h"

namespace kedge::sched {

/// What the OpT that became this call was told; what it leaves out is null. kedge-verify-schedule checks
/// calls' attributes by their ops.
template <typename OpT> typename OpT::Properties propertiesOf(LibraryOp call) {
  typename OpT::Properties properties{};
  [[maybe_unused]] const mlir::LogicalResult read =
      OpT::setPropertiesFromAttr(properties, call.getAttrs(), [&] { return call.emitOpError(); });
  KEDGE_ASSERT(succeeded(read));
  return properties;
}

} // namespace kedge::sched
