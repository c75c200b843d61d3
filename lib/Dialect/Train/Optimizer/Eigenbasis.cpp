#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Optimizer/BasisOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

LogicalResult EigenbasisOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto matrix = cast<RankedTensorType>(adaptor.getMatrix().getType());
  const bool isSquare = matrix.getRank() == 2 && matrix.getDimSize(0) == matrix.getDimSize(1);
  if (!isSquare || !matrix.getElementType().isF32() || adaptor.getBasis().getType() != matrix)
    return emitOptionalError(loc, "has a matrix ", matrix, " and a basis ", adaptor.getBasis().getType(),
                             ", expected two squares of f32 of one size");
  types.push_back(matrix);
  types.push_back(RankedTensorType::get({matrix.getDimSize(0)}, IntegerType::get(context, 64)));
  return success();
}

LogicalResult LeadingBasisOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  auto matrix = cast<RankedTensorType>(adaptor.getMatrix().getType()),
       basis = cast<RankedTensorType>(adaptor.getBasis().getType());
  const auto axis = static_cast<int64_t>(adaptor.getAxis());
  const bool fits = matrix.getRank() == 2 && basis.getRank() == 2 && (axis == 0 || axis == 1) &&
                    matrix.getElementType().isF32() && basis.getElementType().isF32() &&
                    basis.getDimSize(0) == matrix.getDimSize(axis) &&
                    basis.getDimSize(1) <= basis.getDimSize(0);
  if (!fits)
    return emitOptionalError(loc, "has a matrix ", matrix, " and a basis ", basis, " of axis ", axis,
                             ", expected f32 [m, n] and f32 [m, r] of axis 0 or [n, r] of axis 1");
  types.push_back(basis);
  return success();
}
