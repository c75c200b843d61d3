// One scalar operation of a cluster's body on `width` lanes at once.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "mlir/IR/Builders.h"

namespace kedge::lower {

/// How conversions from and to bf16 and 8-bit floats are lowered; to nearest even. Both ways have the same
/// bits, but for the payloads of NaNs.
enum class Conversions {
  Integers, ///< operations on integers, the same on every machine
  Device    ///< arith.extf and arith.truncf, which lowerConversions (Gpu/DeviceConversions.h) expands
};

/// Emits body operations on vectors of `width` lanes, or on scalars when width is 1. bf16 lives in registers
/// as its bits (i16), and so do 8-bit floats (i8).
class ScalarOps {
public:
  ScalarOps(mlir::OpBuilder &builder, mlir::Location loc, Conversions conversions = Conversions::Integers)
      : builder(builder), loc(loc), conversions(conversions) {}

  /// Type of a body scalar in registers.
  mlir::Type registerType(mlir::Type scalar, unsigned width) const;
  /// All lanes equal to a scalar; anything else unchanged.
  mlir::Value splat(mlir::Value value, unsigned width);
  /// A constant of a body type in all lanes.
  mlir::Value constant(mlir::TypedAttr value, unsigned width);
  mlir::Value intConstant(unsigned bits, int64_t value, unsigned width);
  /// The result of `op`; operands have `width` lanes. Not for index, random, reduce.
  mlir::Value emit(mlir::Operation *op, mlir::ValueRange operands, unsigned width);
  /// An f16, bf16 or 8-bit float of a register as f32.
  mlir::Value widen(mlir::Value value, mlir::Type from);
  /// f32, rounded once, as a register holds a float of 16 or 8 bits; of 8 bits the caller has limited it to
  /// the largest finite one.
  mlir::Value narrow(mlir::Value value, mlir::Type to);
  /// sched.random with operands of `width` lanes.
  mlir::Value random(sched::RandomOp op, mlir::ValueRange operands, unsigned width);
  /// sched.random of the `copies` (at most 4) vectors of elements that follow `first`, a scalar multiple of
  /// 4: draws each block of four numbers once. seed, step and row are scalars.
  llvm::SmallVector<mlir::Value> randomRun(sched::RandomOp op, mlir::Value seed, mlir::Value step,
                                           mlir::Value row, mlir::Value first, unsigned width,
                                           unsigned copies);
  /// sched.random of the four elements from `first` on, a multiple of 4: one draw. All operands are scalars.
  mlir::Value randomBlock(sched::RandomOp op, mlir::Value seed, mlir::Value step, mlir::Value row,
                          mlir::Value first);

  mlir::Value combine(sched::ReductionKind kind, mlir::Value a, mlir::Value b);
  /// Neutral element of a reduction over a body type.
  mlir::Value identity(sched::ReductionKind kind, mlir::Type scalar, unsigned width);
  /// Four words of the block `counter` names; all i32.
  std::array<mlir::Value, 4> philox(std::array<mlir::Value, 4> counter, mlir::Value key0, mlir::Value key1);

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  bool isDevices(mlir::Type type) const;
  mlir::Value uniform(mlir::Value word);
  mlir::Value roundToBFloat(mlir::Value value);
  mlir::Value widenFloat8(mlir::Value value, mlir::FloatType from);
  mlir::Value roundToFloat8(mlir::Value value, mlir::FloatType to);
  mlir::Value divide(mlir::Operation *op, mlir::Value a, mlir::Value b);
  mlir::Value clone(mlir::Operation *op, mlir::ValueRange operands, mlir::Type resultScalar);

  Conversions conversions;
};

/// Lanes of a register value: 1 for a scalar.
unsigned widthOf(mlir::Value value);
/// `scalar` itself, or a vector of it.
mlir::Type lanesOf(mlir::Type scalar, unsigned width);

} // namespace kedge::lower
