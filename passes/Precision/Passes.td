// Level 1: which values are 16-bit, and the casts between them and the others.
#ifndef KEDGE_PRECISION_PASSES
#define KEDGE_PRECISION_PASSES
include "mlir/Pass/PassBase.td"

def JoinBias : Pass<"kedge-join-bias", "mlir::func::FuncOp"> {
  let summary = "Make a product and the bias that is added to it one op of @model, which rounds once";
  let description = [{
    An onnx.Add of a bias (rank 1, one number a column) to an onnx.MatMul by one matrix, whose result nothing else reads,
    becomes an onnx.Gemm: what PyTorch calls linear, and what its autocast lists name. In f32 no
    number changes, and the bias is added in the product's launch. The joined op has the product's place. A C of rank 0 is taken out of an onnx.Gemm the
    other way round: scalars are never rounded. Statistics: biases joined, scalars taken out.

    Example: `--kedge-join-bias`
    ```mlir
    func.func @model(%x: tensor<2x3x4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<5x4xf32> {train.binding = #train.binding<input "w">}, %b: tensor<5xf32> {train.binding = #train.binding<input "b">}) -> tensor<2x3x5xf32> attributes {train.kind = #train.kind<model>} {
      %0 = onnx.MatMul %x, %w {transB = true} : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5xf32>
      %1 = onnx.Add %0, %b : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
      return %1 : tensor<2x3x5xf32>
    }
    ```
    becomes
    ```mlir
    func.func @model...
      %0 = onnx.Gemm %x, %w, %b {transB = true} : (tensor<2x3x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
      return %0 : tensor<2x3x5xf32>
    }
    ```
  }];
  let dependentDialects = ["kedge::onnx::ONNXDialect"];
}

def AssignPrecision : Pass<"kedge-assign-precision", "mlir::func::FuncOp"> {
  let summary = "Decide for every op of @model whether it computes on 16-bit values or on f32";
  let description = [{
    Writes `train.precision = bf16`, `f16` or `f32` on each op that f32 values touch, and on the arguments that become
    16-bit; nothing else changes. Policy `master`: what depends on a parameter or a float input is 16-bit, except a
    loss, what follows from one, and ops whose results are all scalars. Policy `autocast`: PyTorch's lists
    (PrecisionOpInterface). `file` overrides either, the last line that fits an op wins:

    ```
    # low | fp32 | follow | widest, then op:NAME (an ONNX operator) or node:REGEX (searched in the op's place in the model)
    fp32 op:Softmax
    low  node:h\.0\.mlp
    ```

    A scalar (rank 0) decides nothing and is never rounded. f64 and 16-bit values of the model stay as they are.
    Statistics: ops in 16 bits, ops in f32.

    Example: `--kedge-assign-precision="type=bf16 policy=autocast"`
    ```mlir
    func.func @model(%x: tensor<2x4xf32> {train.binding = #train.binding<input "x">}, %y: tensor<4x4xf32> {train.binding = #train.binding<input "y">}) -> tensor<2x4xf32> attributes {train.kind = #train.kind<model>} {
      %0 = onnx.MatMul %x, %y : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %1 = onnx.Tanh %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
      %2 = onnx.Softmax %1 {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
      return %2 : tensor<2x4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @model...
      %0 = onnx.MatMul %x, %y {train.precision = bf16} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %1 = onnx.Tanh %0 {train.precision = bf16} : (tensor<2x4xf32>) -> tensor<2x4xf32>
      %2 = onnx.Softmax %1 {axis = 1 : i64, train.precision = f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
      return %2 : tensor<2x4xf32>
    }
    ```
  }];
  let options = [
    Option<"type", "type", "std::string", "\"bf16\"", "bf16 or fp16">,
    Option<"policy", "policy", "std::string", "\"master\"", "master or autocast">,
    Option<"file", "file", "std::string", "\"\"", "lines that override the policy by op or node">
  ];
}

def InsertCasts : Pass<"kedge-insert-casts", "mlir::ModuleOp"> {
  let summary = "Carry out kedge-assign-precision: casts, working copies of parameters, and @restore that makes them";
  let description = [{
    An operand whose type differs from its op's precision is cast; a value is cast once to a type however often it is
    used, and never back to what it was made from. A parameter whose argument has a precision gets a second state
    `NAME.working` of that type, which @model reads in its place; @restore makes all working copies from their
    masters when a run starts. A frozen parameter takes that type itself: it never changes, and the runtime exports what its
    file has. The model's outputs keep their types. Statistics: casts, working copies, frozen tensors in 16 bits.

    Example: `--kedge-insert-casts`
    ```mlir
    train.state parameter @w tensor<4x4xf32>
    func.func @model(%x: tensor<2x4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<4x4xf32> {train.binding = #train.binding<state @w>, train.precision = bf16}) -> tensor<2x4xf32> attributes {train.kind = #train.kind<model>} {
      %0 = onnx.MatMul %x, %w {train.precision = bf16} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      return %0 : tensor<2x4xf32>
    }
    ```
    becomes
    ```mlir
    train.state parameter @w tensor<4x4xf32>
    train.state working_copy @w.working tensor<4x4xbf16> from unit {of = @w}
    func.func @model(%x: tensor<2x4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<4x4xbf16> {train.binding = #train.binding<state @w.working>})...
      %0 = onnx.Cast %x {to = bf16} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
      %1 = onnx.MatMul %0, %w : (tensor<2x4xbf16>, tensor<4x4xbf16>) -> tensor<2x4xbf16>
      %2 = onnx.Cast %1 {to = f32} : (tensor<2x4xbf16>) -> tensor<2x4xf32>
      return %2 : tensor<2x4xf32>
    }
    ```
  }];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def ChooseFloat8 : Pass<"kedge-choose-float8", "mlir::func::FuncOp"> {
  let summary = "Decide which products of @model have operands of 8-bit floats";
  let description = [{
    Runs behind kedge-insert-casts. A MatMul or Gemm of bf16 operands whose rows, columns and summed dim are multiples of 16
    gets `train.float8`, the types of its two operands: E4M3 both. Heads, products behind which no other stands, do
    not. Their gradients (kedge-differentiate) pass the mark on, with E5M2 for the gradient of the result. Fails when no
    product fits. Statistics: products in 8 bits, other products.

    Example: `--kedge-choose-float8`
    ```mlir
    func.func @model(%x: tensor<16x32xbf16> {train.binding = #train.binding<input "x">}, %w: tensor<32x64xbf16> {train.binding = #train.binding<input "w">}, %h: tensor<64x16xbf16> {train.binding = #train.binding<input "h">}) -> tensor<16x16xbf16> attributes {train.kind = #train.kind<model>} {
      %0 = onnx.MatMul %x, %w : (tensor<16x32xbf16>, tensor<32x64xbf16>) -> tensor<16x64xbf16>
      %1 = onnx.MatMul %0, %h : (tensor<16x64xbf16>, tensor<64x16xbf16>) -> tensor<16x16xbf16>
      return %1 : tensor<16x16xbf16>
    }
    ```
    becomes
    ```mlir
    func.func @model...
      %0 = onnx.MatMul %x, %w {train.float8 = [f8E4M3FN, f8E4M3FN]} : (tensor<16x32xbf16>, tensor<32x64xbf16>) -> tensor<16x64xbf16>
      %1 = onnx.MatMul %0, %h : (tensor<16x64xbf16>, tensor<64x16xbf16>) -> tensor<16x16xbf16>
      return %1 : tensor<16x16xbf16>
    }
    ```
  }];
  let dependentDialects = ["kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def CastToFloat8 : Pass<"kedge-cast-to-float8", "mlir::func::FuncOp"> {
  let summary = "Carry out kedge-choose-float8: scales, casts, products of 8-bit floats";
  let description = [{
    Runs behind kedge-differentiate. A product with `train.float8` becomes a train.ScaledProduct of its operands, cast to
    these types. A tensor is cast once to a type, however often and in whatever shapes it is read: forward, its gradients
    and their products share the cast. The largest magnitudes of rows stand apart from the scale, so that they are
    found where the rows are made. Statistics: products, tensors cast.

    Example: `--kedge-cast-to-float8`
    ```mlir
    func.func @f(%x: tensor<16x32xbf16>, %w: tensor<32x64xbf16>) -> tensor<16x64xbf16> {
      %0 = onnx.MatMul %x, %w {train.float8 = [f8E4M3FN, f8E5M2]} : (tensor<16x32xbf16>, tensor<32x64xbf16>) -> tensor<16x64xbf16>
      return %0 : tensor<16x64xbf16>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<16x32xbf16>, %w: tensor<32x64xbf16>) -> tensor<16x64xbf16> {
      %0 = train.row_maxima %x : (tensor<16x32xbf16>) -> tensor<16xbf16>
      %scale, %inverse = train.float8_scale %0 {to = f8E4M3FN} : (tensor<16xbf16>) -> (tensor<f32>, tensor<f32>)
      %1 = train.float8_cast %x, %scale {to = f8E4M3FN} : (tensor<16x32xbf16>, tensor<f32>) -> tensor<16x32xf8E4M3FN>
      %2 = train.row_maxima %w : (tensor<32x64xbf16>) -> tensor<32xbf16>
      %scale_0, %inverse_1 = train.float8_scale %2 {to = f8E5M2} : (tensor<32xbf16>) -> (tensor<f32>, tensor<f32>)
      %3 = train.float8_cast %w, %scale_0 {to = f8E5M2} : (tensor<32x64xbf16>, tensor<f32>) -> tensor<32x64xf8E5M2>
      %4 = train.ScaledProduct %1, %3, %inverse, %inverse_1 : (tensor<16x32xf8E4M3FN>, tensor<32x64xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<16x64xbf16>
      return %4 : tensor<16x64xbf16>
    }
    ```
  }];
  let dependentDialects = ["kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def DropMasters : Pass<"kedge-drop-masters", "mlir::ModuleOp"> {
  let summary = "Let bf16 parameters live without fp32 masters, by stochastic rounding";
  let description = [{
    Runs behind kedge-add-optimizer. The state of a parameter that has a bf16 working copy takes the copy's type, and the
    copy is gone; the optimizer reads the parameter widened, and what it returns is rounded by train.stochastic_round, whose
    random numbers are keyed by the seed and the parameter's number among the states of the model, and counted by step and
    element. Moments and accumulators stay f32. Frozen tensors stay as they are. Statistics: masters dropped, bytes saved.

    Example:
    ```mlir
    train.state parameter @w tensor<4xf32>
    train.state working_copy @w.working tensor<4xbf16> from unit {of = @w}
    func.func @update(%w: tensor<4xf32> {train.binding = #train.binding<state @w>}) -> (tensor<4xf32> {train.binding = #train.binding<state @w>}, tensor<4xbf16> {train.binding = #train.binding<state @w.working>}) attributes {train.kind = #train.kind<update>} {
      %0 = onnx.Neg %w : (tensor<4xf32>) -> tensor<4xf32>
      %1 = onnx.Cast %0 {to = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
      return %0, %1 : tensor<4xf32>, tensor<4xbf16>
    }
    ```
    becomes
    ```mlir
    train.state parameter @w tensor<4xbf16>
    func.func @update(%w: tensor<4xbf16> {train.binding = #train.binding<state @w>}, %seed: tensor<i64> {train.binding = #train.binding<scalar "seed">}, %step: tensor<i64> {train.binding = #train.binding<scalar "step">}) -> (tensor<4xbf16> {train.binding = #train.binding<state @w>}) attributes {train.kind = #train.kind<update>} {
      %0 = onnx.Cast %w ...
      %1 = onnx.Neg %0 : (tensor<4xf32>) -> tensor<4xf32>
      %2 = train.stochastic_round %1, %seed, %step ...
      return %2 : tensor<4xbf16>
    }
    ```
  }];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def ScaleLoss : Pass<"kedge-scale-loss", "mlir::ModuleOp"> {
  let summary = "Multiply the gradient that enters backward by a loss scale that is state";
  let description = [{
    Needs @step or @micro before kedge-differentiate. Adds the states `scaler.loss_scale`, `scaler.growth_counter`,
    `scaler.hysteresis` and `scaler.optimizer_steps`, and a train.scale_loss behind the loss; kedge-add-optimizer
    unscales, skips steps whose gradients are not finite, and updates the scale. Statistic: losses scaled.

    Example: `--kedge-scale-loss=init=1024`
    ```mlir
    func.func @step(%x: tensor<f32> {train.binding = #train.binding<input "x">}) -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<step>} {
      %0 = onnx.Tanh %x : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    ```
    becomes
    ```mlir
    train.state scaler @scaler.loss_scale tensor<f32> from 1.024000e+03 : f64
    train.state scaler @scaler.growth_counter tensor<i64> from unit
    train.state scaler @scaler.hysteresis tensor<i64> from 1.000000e+00 : f64
    train.state scaler @scaler.optimizer_steps tensor<i64> from unit
    func.func @step(%x: tensor<f32> {train.binding = #train.binding<input "x">}, %scale: tensor<f32> {train.binding = #train.binding<state @scaler.loss_scale>})...
      %0 = onnx.Tanh %x : (tensor<f32>) -> tensor<f32>
      %1 = train.scale_loss %0, %scale {kedge.place = ...} : (tensor<f32>, tensor<f32>) -> tensor<f32>
      return %1 : tensor<f32>
    }
    ```
  }];
  let options = [
    Option<"init", "init", "double", "65536.0", "scale of the first step">,
    Option<"hysteresis", "hysteresis", "int64_t", "1", "steps in a row that overflow before the scale shrinks">
  ];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::train::TrainDialect"];
}
#endif
