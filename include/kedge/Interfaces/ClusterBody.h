// What ops say to describe themselves as loop nests, and the builder of scalar bodies.
#pragma once
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace kedge {

/// Loop nest of an op: `domain` sizes, which dims are `reduced`, and one map from the domain to the
/// indices of each operand and result. Maps are affine: dims, constants, +, *, floordiv, mod.
struct ClusterSpec {
  llvm::SmallVector<int64_t> domain;
  llvm::SmallVector<bool> reduced;
  llvm::SmallVector<mlir::AffineMap> inputMaps;
  llvm::SmallVector<mlir::AffineMap> outputMaps;
};

/// Elementwise over the shape of result 0; operands broadcast as in numpy.
void describeBroadcast(mlir::Operation *op, ClusterSpec &spec);
/// Elementwise over `domain`; operands and results broadcast against it as in numpy.
void describeBroadcast(mlir::Operation *op, llvm::ArrayRef<int64_t> domain, ClusterSpec &spec);
/// The map from a domain of `domain` to a tensor of `shape` broadcast against it (numpy rules).
mlir::AffineMap broadcastMap(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> domain,
                             llvm::ArrayRef<int64_t> shape);

enum class Fold { Add, Mul, Max, Min, And, Or };

/// Scalar arithmetic that picks arith/math ops by type. All operands of a call have one type; signless
/// integers are signed unless the builder is told otherwise (`isUnsigned`).
class ClusterBodyBuilder {
public:
  ClusterBodyBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  /// Integers are unsigned: division, remainder, comparison, max, min, conversion.
  bool isUnsigned = false;

  mlir::Value constant(mlir::Type type, double value);
  mlir::Value constantInt(mlir::Type type, int64_t value);
  /// Index of domain dim `dim` as i64.
  mlir::Value index(unsigned dim);
  /// Folds x over the reduced dims. Max and Min propagate NaN. The result is constant along them.
  mlir::Value reduce(Fold kind, mlir::Value x);
  mlir::Value sum(mlir::Value x) { return reduce(Fold::Add, x); }
  mlir::Value max(mlir::Value x) { return reduce(Fold::Max, x); }
  /// Uniform in [0, 1) as f32: Philox keyed by (seed, opId), counted by (step, row, element). seed, step,
  /// row and element are i64; see runtime/format/Philox.h, which it equals to the bit.
  mlir::Value random(mlir::Value seed, int64_t opId, mlir::Value step, mlir::Value row, mlir::Value element);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value rem(mlir::Value a, mlir::Value b); ///< sign of the dividend (C fmod and %)
  mlir::Value neg(mlir::Value a);
  mlir::Value abs(mlir::Value a);
  mlir::Value maximum(mlir::Value a, mlir::Value b); ///< propagates NaN
  mlir::Value minimum(mlir::Value a, mlir::Value b); ///< propagates NaN
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);

  mlir::Value exp(mlir::Value a);
  mlir::Value log(mlir::Value a);
  mlir::Value log1p(mlir::Value a);
  mlir::Value expm1(mlir::Value a);
  mlir::Value sqrt(mlir::Value a);
  mlir::Value rsqrt(mlir::Value a); ///< 1 / sqrt(a), within 0.51 units in the last place
  mlir::Value tanh(mlir::Value a);
  mlir::Value erf(mlir::Value a);
  mlir::Value sin(mlir::Value a);
  mlir::Value cos(mlir::Value a);
  mlir::Value pow(mlir::Value a, mlir::Value b);
  mlir::Value floor(mlir::Value a);
  mlir::Value ceil(mlir::Value a);
  mlir::Value roundEven(mlir::Value a);
  mlir::Value sigmoid(mlir::Value a); ///< 1 / (1 + exp(-a))
  /// Any unary op of the math dialect that has no name above.
  template <typename MathOp> mlir::Value math(mlir::Value a) { return MathOp::create(builder, loc, a); }

  enum class Compare { EQ, NE, LT, LE, GT, GE };
  /// i1; false for unordered floats except NE.
  mlir::Value compare(Compare kind, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b);
  mlir::Value logicalOr(mlir::Value a, mlir::Value b);
  mlir::Value logicalNot(mlir::Value a);
  /// ONNX Cast between scalar types (float to int truncates; to bool: not zero). `fromUnsigned`,
  /// `toUnsigned` tell signedness of integer types.
  mlir::Value cast(mlir::Value a, mlir::Type to, bool fromUnsigned = false, bool toUnsigned = false);
};

/// The type that a tensor element has inside a cluster body: f16, bf16 -> f32; ui8 -> i8; rest unchanged.
mlir::Type bodyType(mlir::Type elementType);

} // namespace kedge
