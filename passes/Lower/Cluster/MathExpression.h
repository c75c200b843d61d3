// Formulas of math functions, on scalars or vectors.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace kedge::lower {

/// Arithmetic on values of the shape of one operand.
class Expression {
public:
  Expression(mlir::OpBuilder &b, mlir::Location loc, mlir::Type like) : b(b), loc(loc), like(like) {}

  mlir::Type typed(mlir::Type scalar) const {
    auto vector = mlir::dyn_cast<mlir::VectorType>(like);
    return vector ? mlir::Type(mlir::VectorType::get(vector.getShape(), scalar)) : scalar;
  }
  mlir::Value constant(mlir::TypedAttr value) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(typed(value.getType())))
      value = mlir::DenseElementsAttr::get(vector, mlir::cast<mlir::Attribute>(value));
    return mlir::arith::ConstantOp::create(b, loc, value);
  }
  mlir::Value f32(float value) { return constant(b.getF32FloatAttr(value)); }
  mlir::Value f64(double value) { return constant(b.getF64FloatAttr(value)); }
  mlir::Value i32(int32_t value) { return constant(b.getI32IntegerAttr(value)); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return mlir::arith::AddFOp::create(b, loc, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return mlir::arith::SubFOp::create(b, loc, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return mlir::arith::MulFOp::create(b, loc, x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return mlir::arith::DivFOp::create(b, loc, x, y); }
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z) {
    return mlir::math::FmaOp::create(b, loc, x, y, z);
  }
  mlir::Value abs(mlir::Value x) { return mlir::math::AbsFOp::create(b, loc, x); }
  mlir::Value exp(mlir::Value x) { return mlir::math::ExpOp::create(b, loc, x); }
  mlir::Value copySign(mlir::Value x, mlir::Value sign) {
    return mlir::math::CopySignOp::create(b, loc, x, sign);
  }
  mlir::Value less(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpFOp::create(b, loc, mlir::arith::CmpFPredicate::OLT, x, y);
  }
  mlir::Value select(mlir::Value c, mlir::Value x, mlir::Value y) {
    return mlir::arith::SelectOp::create(b, loc, c, x, y);
  }
  /// c[0] + c[1] x + ...
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<float> c) {
    mlir::Value sum = f32(c.back());
    for (float next : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, f32(next));
    return sum;
  }
  mlir::Value polynomial64(mlir::Value x, llvm::ArrayRef<double> c) {
    mlir::Value sum = f64(c.back());
    for (double next : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, f64(next));
    return sum;
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type like;
};

} // namespace kedge::lower
