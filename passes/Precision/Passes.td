// Level 1: which values are 16-bit, and the casts between them and the others.
#ifndef KEDGE_PRECISION_PASSES
#define KEDGE_PRECISION_PASSES
include "passes/Base/KedgePass.td"

def WidenStates : KedgePass<"kedge-widen-states", "mlir::ModuleOp"> {
  let summary = "Give parameters that their file stores in 16 bits an f32 master, whatever precision is asked for";
  let description = [{
    A parameter of @model of type bf16 or f16 becomes f32: the master that the optimizer updates, with moments of its type. A
    second state `NAME.working` of the old type is what @model reads, and @restore computes it when a run starts. Running
    statistics that are updated become f32 without a copy. `tune.stored` notes the type of the bytes in the file. Frozen tensors
    and the variables of a training_info keep their types.

    Example: `--kedge-widen-states`
    ```mlir
    train.state parameter @w tensor<4x4xbf16> from #train.weight<"m.onnx"[0, +32]>
    func.func @model(%x: tensor<2x4xbf16> {train.binding = #train.binding<input "x">}, %w: tensor<4x4xbf16> {train.binding = #train.binding<state @w>}) -> tensor<2x4xbf16> attributes {train.kind = #train.kind<model>} {
      %0 = onnx.MatMul %x, %w : (tensor<2x4xbf16>, tensor<4x4xbf16>) -> tensor<2x4xbf16>
      return %0 : tensor<2x4xbf16>
    }
    ```
    becomes
    ```mlir
    train.state parameter @w tensor<4x4xf32> from #train.weight<"m.onnx"[0, + 32]> {tune.stored = bf16}
    train.state working_copy @w.working tensor<4x4xbf16> from unit {of = @w}
    func.func @model(%x: tensor<2x4xbf16> {train.binding = #train.binding<input "x">}, %w: tensor<4x4xbf16> {train.binding = #train.binding<state @w.working>})...
      %0 = onnx.MatMul %x, %w : (tensor<2x4xbf16>, tensor<4x4xbf16>) -> tensor<2x4xbf16>
      return %0 : tensor<2x4xbf16>
    }
    ```
  }];
  let statistics = [Counter<"parameters", "parameters that are kept in f32">,
                    Counter<"running statistics", "buffers that are kept in f32">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def FuseBias : KedgePass<"kedge-fuse-bias", "mlir::func::FuncOp"> {
  let summary = "Make a product and the bias that is added to it one op of @model, which rounds once";
  let description = [{
    An onnx.MatMul by one matrix, and an onnx.Add of a bias to its result, become an onnx.Gemm, if the result has no other
    reader. The bias has rank 1, one number for each column. This is PyTorch's linear, which its autocast lists name. The
    launch of the product then adds the bias. In f32 no number changes. The new op has the product's place. A scalar C is
    moved from an onnx.Gemm to an onnx.Add, because scalars are never rounded.

    Example: `--kedge-fuse-bias`
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
  let statistics = [Counter<"biases joined", "sums that a product does">,
                    Counter<"scalars taken out", "factors that moved after a product">];
  let dependentDialects = ["kedge::onnx::ONNXDialect"];
}

def AssignPrecision : KedgePass<"kedge-assign-precision", "mlir::func::FuncOp"> {
  let summary = "Decide for every op of @model whether it computes on 16-bit values or on f32";
  let description = [{
    Sets `train.precision` to bf16, f16 or f32 on each op with f32 operands or results, and on the arguments that become
    16-bit. Nothing else changes. Policy `master`: everything that depends on a parameter or a float input is 16-bit,
    except losses, values computed from a loss, and ops with only scalar results. A loss that the graph makes (`loss-output`) is f32
    from the last product on, and so are the inputs that it alone reads. Policy `autocast`: PyTorch's lists
    (PrecisionOpInterface). `file` overrides either policy; the last line that matches an op counts:

    ```
    # low | fp32 | follow | widest, then op:NAME (an ONNX operator) or node:REGEX (searched in the op's place in the model)
    fp32 op:Softmax
    low  node:h\.0\.mlp
    ```

    A scalar (rank 0) does not affect the precision of an op, and is never rounded. f64 and 16-bit values of the model keep
    their types.

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
  let statistics = [Counter<"ops in 16 bits", "ops whose class is low">,
                    Counter<"ops in f32", "ops whose class is fp32">];
  let options = [
    Option<"type", "type", "std::string", "\"bf16\"", "bf16 or fp16">,
    Option<"policy", "policy", "std::string", "\"master\"", "master or autocast">,
    Option<"file", "file", "std::string", "\"\"", "lines that override the policy by op or node">,
    Option<"lossOutput", "loss-output", "kedge::LossOutputs", "kedge::LossOutputs()", "outputs that are the loss, where the graph makes it, as NAME,NAME=WEIGHT">
  ];
}

def InsertCasts : KedgePass<"kedge-insert-casts", "mlir::ModuleOp"> {
  let summary = "Carry out kedge-assign-precision: casts, working copies of parameters, and @restore that makes them";
  let description = [{
    An operand whose type differs from its op's precision is cast. A value is cast at most once to each type, and never
    back to the type that it was cast from. If the argument of a parameter has a precision, the parameter gets a second
    state `NAME.working` of that type, which @model reads instead. @restore computes all working copies from their masters
    when a run starts. A frozen parameter gets the type itself, since it never changes; the runtime exports the values in
    its file. The model's outputs keep their types.

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
  let statistics = [Counter<"casts", "casts that remain">, Counter<"working copies", "parameters with a 16-bit copy">,
                    Counter<"frozen tensors in 16 bits", "frozen states that are stored so">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def ChooseFloat8 : KedgePass<"kedge-choose-float8", "mlir::func::FuncOp"> {
  let summary = "Decide which products of @model have operands of 8-bit floats";
  let description = [{
    Runs after kedge-insert-casts. Marks a MatMul or Gemm of bf16 operands with `train.float8`, the types of its two operands
    (both E4M3), if its rows, columns and summed dim are multiples of 16. Heads, the last products, are not marked.
    kedge-differentiate gives gradients of marked products the mark, too, with E5M2 for the gradient of the result. Fails if
    no product can be marked.

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
  let statistics = [Counter<"products in 8 bits", "products that read float8">,
                    Counter<"other products", "products that do not">];
  let dependentDialects = ["kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def CastToFloat8 : KedgePass<"kedge-cast-to-float8", "mlir::func::FuncOp"> {
  let summary = "Carry out kedge-choose-float8: scales, casts, products of 8-bit floats";
  let description = [{
    Runs after kedge-differentiate. A product with `train.float8` becomes a train.scaled_product of its operands, cast to
    these types. A tensor is cast once to each type: forward and backward, and readers with other shapes, share the cast.
    The largest magnitudes of rows are computed by an op of their own, before the scale, so that it can be fused with the
    op that makes the rows.

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
      %4 = train.scaled_product %1, %3, %inverse, %inverse_1 : (tensor<16x32xf8E4M3FN>, tensor<32x64xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<16x64xbf16>
      return %4 : tensor<16x64xbf16>
    }
    ```
  }];
  let statistics = [Counter<"products", "products of float8 operands">,
                    Counter<"tensors cast", "tensors that are cast for them">];
  let dependentDialects = ["kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def DropMasters : KedgePass<"kedge-drop-masters", "mlir::ModuleOp"> {
  let summary = "Let bf16 parameters live without fp32 masters, by stochastic rounding";
  let description = [{
    Runs after kedge-add-optimizer. If a parameter has a bf16 working copy, its state gets the copy's type and the copy is
    removed. The optimizer reads the parameter widened to f32, and its result is rounded by train.stochastic_round. The
    random numbers have the seed and the parameter's number among the model's states as key, and step and element as
    counter. Moments and accumulators stay f32. Frozen tensors are not changed.

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
  let statistics = [Counter<"masters dropped", "parameters kept in 16 bits alone">,
                    Counter<"bytes saved", "of the masters' storage">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def SplitMasters : KedgePass<"kedge-split-masters", "mlir::ModuleOp"> {
  let summary = "Hold fp32 masters as bf16 parameters and 8 bits of what rounding took";
  let description = [{
    Runs after kedge-add-optimizer. If a parameter has a bf16 working copy, its state gets the copy's type, the copy is removed,
    and a state of role `residual` is made. The optimizer reads what train.join makes of both, and train.split takes its result
    apart. Products read the parameter as it is. Frozen tensors are not changed.

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
    train.state residual @w.residual tensor<4xi8> from unit {of = @w}
    func.func @update(%w: tensor<4xbf16> {train.binding = #train.binding<state @w>}, %r: tensor<4xi8> {train.binding = #train.binding<state @w.residual>}) -> (tensor<4xbf16> {train.binding = #train.binding<state @w>}, tensor<4xi8> {train.binding = #train.binding<state @w.residual>}) attributes {train.kind = #train.kind<update>} {
      %0 = train.join %w, %r ...
      %1 = onnx.Neg %0 : (tensor<4xf32>) -> tensor<4xf32>
      %value, %residual = train.split %1 ...
      return %value, %residual : tensor<4xbf16>, tensor<4xi8>
    }
    ```
  }];
  let statistics = [Counter<"masters split", "masters kept as 16 more bits">,
                    Counter<"bytes saved", "of the masters' storage">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::train::TrainDialect"];
}

def ScaleLoss : KedgePass<"kedge-scale-loss", "mlir::ModuleOp"> {
  let summary = "Multiply the gradient that enters backward by a loss scale that is state";
  let description = [{
    Needs @step or @micro before kedge-differentiate. Adds the states `scaler.loss_scale`, `scaler.growth_counter`,
    `scaler.hysteresis` and `scaler.optimizer_steps`, and a train.scale_loss after the loss. kedge-add-optimizer then
    divides gradients by the scale, skips steps with gradients that are not finite, and updates the scale.

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
  let statistics = [Counter<"losses scaled", "losses that are multiplied by the scale">];
  let options = [
    Option<"init", "init", "kedge::ExactDouble", "65536.0", "scale of the first step">,
    Option<"hysteresis", "hysteresis", "int64_t", "1", "steps in a row that overflow before the scale shrinks">
  ];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::train::TrainDialect"];
}
#endif
