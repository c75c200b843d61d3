// Optimizers that see a parameter as a matrix: Adafactor and Muon, written in ops of the model's kind.
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "passes/Autodiff/GradientReductions.h"
#include "passes/Autodiff/ParameterUpdate.h"
#include <cmath>

using namespace mlir;

namespace kedge::autodiff {
using train::Role;

namespace {

/// Arithmetic on values of the update.
struct MatrixFormula : GradientBuilder {
  explicit MatrixFormula(ParameterUpdate &u) : GradientBuilder{u.builder, u.loc} {}

  Value number(Value like, double value) { return scalarLike(builder, loc, like, value); }
  Value atLeast(Value x, double least) { return onnx::MaxOp::create(builder, loc, x, number(x, least)); }
  Value root(Value x) { return onnx::SqrtOp::create(builder, loc, x); }
  /// a + t (b - a)
  Value lerp(Value a, Value b, Value t) { return add(a, mul(t, sub(b, a))); }
  Value meanOver(Value x, int64_t axis) {
    return onnx::ReduceMeanOp::create(builder, loc, x, ArrayRef<int64_t>{axis}, true);
  }
  Value rootMeanSquare(Value x) {
    return root(scale(sumOfSquares(builder, x), 1.0 / static_cast<double>(elementCount(shapeOf(x)))));
  }
};

/// In f32, times what clipping and items make of it.
Value scaledGradient(MatrixFormula &f, ParameterUpdate &u) {
  return f.mul(f.cast(u.gradient, f.builder.getF32Type()), u.scale);
}

/// w (1 - lr decay) - step; the step is f32, whatever the parameter is.
Value decayedAndMoved(MatrixFormula &f, ParameterUpdate &u, Value step) {
  Value decayed = u.param;
  if (u.state.getDecay())
    decayed = f.sub(u.param,
                    f.mul(f.cast(f.scale(u.scalar("lr_decay"), u.lrScale()), elementOf(u.param)), u.param));
  return f.sub(decayed, f.cast(step, elementOf(u.param)));
}

/// torch.finfo(torch.float32).eps, Adafactor's first epsilon.
constexpr double kEpsilon1 = 1.1920928955078125e-07;

/// The estimate of the squared gradient, from means over its rows and columns; moves them along.
Value factoredVariance(MatrixFormula &f, ParameterUpdate &u, Value squared, Value mix) {
  auto type = cast<RankedTensorType>(squared.getType());
  const int64_t rank = type.getRank();
  SmallVector<int64_t> rows(type.getShape()), columns(type.getShape());
  rows[rank - 1] = columns[rank - 2] = 1;
  Value row = u.makeState(Role::State, "row_moment", type.clone(rows));
  Value column = u.makeState(Role::State, "column_moment", type.clone(columns));
  Value newRow = f.lerp(row, f.meanOver(squared, rank - 1), mix);
  Value newColumn = f.lerp(column, f.meanOver(squared, rank - 2), mix);
  u.keep(row, newRow);
  u.keep(column, newColumn);
  return f.div(f.mul(newRow, newColumn), f.atLeast(f.meanOver(newRow, rank - 2), kEpsilon1));
}

Value wholeVariance(MatrixFormula &f, ParameterUpdate &u, Value squared, Value mix) {
  Value before = u.makeState(Role::Moment2, "moment2", squared.getType());
  Value after = f.lerp(before, squared, mix);
  u.keep(before, after);
  return after;
}

/// t^-0.8 and 1 / sqrt(t), t the number of the update.
std::pair<Value, Value> adafactorWeights(MatrixFormula &f, ParameterUpdate &u) {
  Value step = u.countedStep();
  if (!step)
    return {u.scalar("adafactor_mix"), u.scalar("inverse_sqrt_step")};
  Value one = f.number(step, 1);
  return {onnx::PowOp::create(f.builder, f.loc, step, f.number(step, -0.8)), f.div(one, f.root(step))};
}

/// Coefficients of the quintic iteration, and how often it runs.
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
constexpr int kIterations = 5;

Value gemm(MatrixFormula &f, Value a, Value b, Value c, double alpha, double beta) {
  return onnx::GemmOp::create(f.builder, f.loc, a, b, c, /*transA=*/false, /*transB=*/false,
                              APFloat(static_cast<float>(alpha)), APFloat(static_cast<float>(beta)));
}

/// Newton and Schulz's way to the nearest orthogonal matrix, in bf16.
Value orthogonalised(MatrixFormula &f, Value update) {
  const bool tall = shapeOf(update)[0] > shapeOf(update)[1];
  auto transposed = [&](Value x) -> Value {
    return onnx::TransposeOp::create(f.builder, f.loc, x, f.builder.getDenseI64ArrayAttr({1, 0}));
  };
  Type bf16 = f.builder.getBF16Type();
  Value x = f.cast(update, bf16);
  if (tall)
    x = transposed(x);
  Value norm = f.cast(f.root(sumOfSquares(f.builder, x)), bf16);
  x = f.div(x, f.atLeast(norm, 1e-7));
  for (int k = 0; k < kIterations; ++k) {
    Value gram = onnx::MatMulOp::create(f.builder, f.loc, x, x, /*transA=*/false, /*transB=*/true);
    x = gemm(f, gemm(f, gram, gram, gram, kC, kB), x, x, 1, kA);
  }
  return tall ? transposed(x) : x;
}

} // namespace

void updateAdafactor(ParameterUpdate &u) {
  MatrixFormula f(u);
  auto [mix, inverseRoot] = adafactorWeights(f, u);
  Value gradient = scaledGradient(f, u), squared = f.mul(gradient, gradient);
  Value variance =
      rankOf(gradient) > 1 ? factoredVariance(f, u, squared, mix) : wholeVariance(f, u, squared, mix);
  Value direction = f.div(gradient, f.root(f.atLeast(variance, kEpsilon1 * kEpsilon1)));
  Value rate = onnx::MinOp::create(f.builder, f.loc, f.scale(u.scalar("lr"), u.lrScale()), inverseRoot);
  Value size = onnx::MaxOp::create(
      f.builder, f.loc, f.rootMeanSquare(f.cast(u.param, f.builder.getF32Type())), u.scalar("eps"));
  Value step = f.div(f.mul(size, rate), f.atLeast(f.rootMeanSquare(direction), 1));
  u.finish(decayedAndMoved(f, u, f.mul(step, direction)));
}

void updateMuon(ParameterUpdate &u) {
  if (!u.state->hasAttr(tune::orthogonalName))
    return updateAdam(u);
  MatrixFormula f(u);
  Value gradient = scaledGradient(f, u), before = u.makeState(Role::Momentum, "momentum", gradient.getType());
  Value momentum = u.scalar("momentum"), rest = f.sub(f.number(momentum, 1), momentum);
  Value after = f.lerp(before, gradient, rest);
  Value update = u.settings.nesterov ? f.lerp(gradient, after, momentum) : after;
  ArrayRef<int64_t> shape = shapeOf(u.param);
  const double factor = 0.2 * std::sqrt(static_cast<double>(std::max(shape[0], shape[1]))) * u.lrScale();
  Value direction = f.cast(orthogonalised(f, update), f.builder.getF32Type());
  u.finish(decayedAndMoved(f, u, f.mul(f.scale(u.scalar("lr"), factor), direction)));
  u.keep(before, after);
}

} // namespace kedge::autodiff
