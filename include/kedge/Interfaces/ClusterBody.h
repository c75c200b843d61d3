// How ops describe themselves as loop nests, and the builder of their scalar bodies.
#pragma once
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace kedge {

/// The loop nest of an op: the sizes of its domain, the dims that are reduced, and for each operand and
/// result a map from the domain to its indices. Maps are affine: dims, constants, +, *, floordiv, mod.
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
/// The map from `domain` to the indices of a tensor of `shape` that is broadcast against it (numpy's rules).
mlir::AffineMap broadcastMap(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> domain,
                             llvm::ArrayRef<int64_t> shape);

enum class ClusterReduction { Add, Mul, Max, Min, And, Or };

/// Builds scalar arithmetic and picks the op of arith or math by type. All operands
/// of a call have one type. Integers are signed unless `isUnsigned` is set.
class ClusterBodyBuilder {
public:
  ClusterBodyBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  /// Treat integers as unsigned in division, remainder, comparison, max, min and conversion.
  bool isUnsigned = false;

  mlir::Value constant(mlir::Type type, double value);
  mlir::Value constantInt(mlir::Type type, int64_t value);
  /// The index along dim `dim` of the domain, as i64.
  mlir::Value index(unsigned dim);
  /// Reduces x over the reduced dims. Max and Min propagate NaN. The result is the same at all points along
  /// these dims.
  mlir::Value reduce(ClusterReduction kind, mlir::Value x);
  mlir::Value sum(mlir::Value x) { return reduce(ClusterReduction::Add, x); }
  mlir::Value max(mlir::Value x) { return reduce(ClusterReduction::Max, x); }
  /// A uniform random number in [0, 1) as f32: Philox with the key (seed, opId) and the counter (step,
  /// row, element). seed, step, row and element are i64. The same bits as runtime/format/Philox.h.
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
  mlir::Value rsqrt(mlir::Value a); ///< 1 / sqrt(a), with an error of at most 0.51 units in the last place
  mlir::Value tanh(mlir::Value a);
  mlir::Value erf(mlir::Value a);
  mlir::Value sin(mlir::Value a);
  mlir::Value cos(mlir::Value a);
  mlir::Value pow(mlir::Value a, mlir::Value b);
  mlir::Value floor(mlir::Value a);
  mlir::Value ceil(mlir::Value a);
  mlir::Value roundEven(mlir::Value a);
  mlir::Value sigmoid(mlir::Value a); ///< 1 / (1 + exp(-a))
  /// Any unary op of the math dialect that has no method above.
  template <typename MathOp> mlir::Value math(mlir::Value a) { return MathOp::create(builder, loc, a); }

  enum class Compare { EQ, NE, LT, LE, GT, GE };
  /// i1. With NaN all comparisons are false except NE.
  mlir::Value compare(Compare kind, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b);
  mlir::Value logicalOr(mlir::Value a, mlir::Value b);
  mlir::Value logicalNot(mlir::Value a);
  /// ONNX's Cast between scalars: float to integer truncates, and to bool means "is not
  /// zero". `fromUnsigned` and `toUnsigned` say whether integer types are unsigned.
  mlir::Value cast(mlir::Value a, mlir::Type to, bool fromUnsigned = false, bool toUnsigned = false);
};

/// The type of a tensor element inside a cluster body: f16 and bf16 become f32, ui8 becomes i8, all others
/// stay.
mlir::Type bodyType(mlir::Type elementType);

} // namespace kedge
