#include "passes/Mesh/GivenCut.h"
#include "kedge/Dialect/Dist/Cut.h"
#include "lib/Support/Error.h"
#include "passes/Mesh/Annotations.h"

using namespace mlir;

namespace kedge::mesh {

bool GivenCut::isOf(train::StateOp state) const {
  const bool isRead = llvm::is_contained(
      {train::Role::Parameter, train::Role::Frozen, train::Role::WorkingCopy}, state.getRole());
  return isRead && names.isIn(fileNameOf(state).str());
}

LogicalResult GivenCut::check(train::StateOp state) const {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(state.getType()).getShape();
  if (dim >= static_cast<int64_t>(shape.size()))
    return state.emitError() << "--shard " << given << ": '" << fileNameOf(state).getValue() << "' has "
                             << shape.size() << " dimensions, the first is 0";
  if (shape[dim] == 1)
    return state.emitError() << "--shard " << given << ": dimension " << dim << " of '"
                             << fileNameOf(state).getValue() << "' has 1 element: expected one to cut";
  return success();
}

GivenCut GivenCut::parse(const std::string &text) {
  const auto [rule, target] = rt::NameRule::split(text);
  const auto [axis, number] = StringRef(target).split(':');
  GivenCut cut{rule, -1};
  if (axis != dist::tensorAxis || number.getAsInteger(10, cut.dim) || cut.dim < 0)
    fail("'{}': expected REGEX=tensor:DIM with a dimension from 0", text);
  return cut;
}

} // namespace kedge::mesh
