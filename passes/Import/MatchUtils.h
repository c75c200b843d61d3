// What raise passes read from chains of primitives.
#pragma once
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace kedge::raise {

/// The value before ops that change nothing: Identity that passes gradients, casts to the same type, reshapes
/// and expansions to the same shape, Dropout outside training or of ratio 0.
mlir::Value skip(mlir::Value v);
/// The op that makes skip(v), if it is an `Op`.
template <typename Op> Op defining(mlir::Value v) { return skip(v).template getDefiningOp<Op>(); }
/// The number that all elements of a constant are.
std::optional<double> splatOf(mlir::Value v);
/// Equal within a relative 1e-4 (constants were rounded to 16 or 32 bits somewhere).
bool isNear(double a, double b);
bool isSplat(mlir::Value v, double number);
/// Whether both are the same value, or equal expressions of the same values (exporters repeat themselves).
bool same(mlir::Value a, mlir::Value b, unsigned depth = 4);

/// The ops that use v or a copy of it that skip() leads back to v, in the order of MLIR's lists of uses.
llvm::SmallVector<mlir::Operation *> usersOf(mlir::Value v);
/// The only user, or null.
mlir::Operation *onlyUser(mlir::Value v);
/// For a user with two operands: the one that is not v (or a copy of it); null when neither or both are.
mlir::Value otherOperand(mlir::Operation *user, mlir::Value v);

/// v as scale * value, the numbers of Mul and Div gathered.
struct Scaled {
  mlir::Value value;
  double scale = 1.0;
};
Scaled withoutScale(mlir::Value v);

/// Coefficients c0..c3 of v as a polynomial of x; nullopt when it is none.
std::optional<std::array<double, 4>> polynomialOf(mlir::Value v, mlir::Value x, unsigned depth = 8);
/// Values that v is computed from, v first, up to `depth` ops away; constants of equal elements left out.
llvm::SmallVector<mlir::Value> ancestors(mlir::Value v, unsigned depth);

/// The first axis of a ReduceMean over trailing axes that keeps them with size 1; nullopt for other ops.
std::optional<int64_t> trailingMeanAxis(mlir::Operation *reduceMean);
/// Whether v broadcasts to x's dims from `axis` on only: the weight or bias of a norm.
bool isRowParameter(mlir::Value v, mlir::Value x, int64_t axis);
/// v without leading dims of size 1, of rank `rank`.
mlir::Value dropLeadingOnes(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value v, int64_t rank);

/// Part of a tensor along one axis: a Slice or a result of Split.
struct MatchedPart {
  mlir::Value source;
  int64_t axis = 0, start = 0, size = 0, step = 1;
};
std::optional<MatchedPart> partOf(mlir::Value v);

/// Erases what nobody uses any more.
void eraseDead(mlir::func::FuncOp function);

} // namespace kedge::raise
