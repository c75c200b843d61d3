#include "passes/Mesh/GivenCut.h"
#include "lib/Dialect/Dist/Cut.h"
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
    return state.emitError() << "--shard " << text << ": '" << fileNameOf(state).getValue() << "' has "
                             << shape.size() << " dimensions, the first is 0";
  if (shape[dim] == 1)
    return state.emitError() << "--shard " << text << ": dimension " << dim << " of '"
                             << fileNameOf(state).getValue() << "' has 1 element: expected one to cut";
  return success();
}

FailureOr<GivenCut> parseGivenCut(ModuleOp module, const std::string &text) {
  const size_t equals = text.rfind('=');
  StringRef target = equals == std::string::npos ? StringRef() : StringRef(text).substr(equals + 1);
  int dim = -1;
  const auto [axis, number] = target.split(':');
  if (axis != dist::tensorAxis || number.getAsInteger(10, dim) || dim < 0)
    return module.emitError() << "--shard " << text << ": expected REGEX=tensor:DIM with a dimension from 0";
  return GivenCut{text, rt::NamePattern::of("--shard " + text, text.substr(0, equals)), dim};
}

} // namespace kedge::mesh
