// Level 1 -> level 2: loss, functions of a run, gradients, optimizer.
#ifndef KEDGE_AUTODIFF_PASSES
#define KEDGE_AUTODIFF_PASSES
include "passes/Base/KedgePass.td"

class StepPass<string name, string op> : KedgePass<name, op> {
  let dependentDialects = ["kedge::KedgeDialect", "kedge::dist::DistDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def AddLoss : StepPass<"kedge-add-loss", "mlir::func::FuncOp"> {
  let summary = "Append the loss to @model";
  let description = [{
    Adds the labels as an input, unless the graph has an input of that name. Adds the results `loss_sum` and `items` (the
    loss is their quotient) and, for each row, `loss_rows` and `item_rows`. Notes on the function `train.nominal_items`, the
    items of a step of which none is ignored, and `train.loss_gradient`, the gradient with which backward starts:
    1 / nominal items (`nominal-items` names those of another shape, where steps of several shapes train the same states). With `kind=none` the loss is the sum of the outputs that `loss-output` names, times their weights; else they are
    added to the loss. A loss of several terms has each as a result `loss.NAME`, without its weight. A function with `train.training_info`
    computes its gradients itself, so `loss-output` is only logged.

    Example: `--kedge-add-loss=kind=mse`
    ```mlir
    func.func @model(%x: tensor<2x5xf32> {train.binding = #train.binding<input "x">}) -> (tensor<2x5xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
      %y = onnx.Tanh %x : (tensor<2x5xf32>) -> tensor<2x5xf32>
      return %y : tensor<2x5xf32>
    }
    ```
    becomes
    ```mlir
    func.func @model(%x: tensor<2x5xf32> {train.binding = #train.binding<input "x">}, %labels: tensor<2x5xf32> {train.binding = #train.binding<input "labels">})...
      %y = onnx.Tanh %x : (tensor<2x5xf32>) -> tensor<2x5xf32>
      %0 = onnx.Sub %y, %labels {kedge.place = #forward_loss} : ...
      %1 = onnx.Mul %0, %0 {kedge.place = #forward_loss} : ...
      %sum = onnx.ReduceSum %1 {axes = array<i64: 0, 1>, kedge.place = #forward_loss} : (tensor<2x5xf32>) -> tensor<f32>
      %rows = onnx.ReduceSum %1 {axes = array<i64: 1>, kedge.place = #forward_loss} : (tensor<2x5xf32>) -> tensor<2xf32>
      return %y, %sum, %rows : tensor<2x5xf32>, tensor<f32>, tensor<2xf32>
    }
    ```
  }];
  let statistics = [Counter<"results added", "results of @model that the loss adds">];
  let options = [
    Option<"kind", "kind", "kedge::LossSpec", "kedge::LossFunction::CrossEntropy", "the loss, as NAME:key=value,..., or several as OUT=NAME*WEIGHT,...">,
    Option<"logits", "logits", "std::string", "\"\"", "output that the loss reads (default: the only float output)">,
    Option<"labels", "labels", "std::string", "\"labels\"", "input that holds the labels">,
    Option<"classAxis", "class-axis", "int64_t", "-100", "axis of the classes (-100: the last up to rank 3, else 1)">,
    Option<"ignoreIndex", "ignore-index", "int64_t", "-100", "label that does not count">,
    Option<"labelSmoothing", "label-smoothing", "kedge::ExactDouble", "0.0", "weight of the uniform distribution">,
    Option<"classWeights", "class-weights", "std::string", "\"\"", "a weight for each class, joined by / (cross-entropy)">,
    Option<"posWeight", "pos-weight", "std::string", "\"\"", "how much more positive labels count: one number, or one for each element of the last axis, joined by / (bce-with-logits)">,
    Option<"sampleWeights", "sample-weights", "std::string", "\"\"", "input that holds a weight for each row">,
    Option<"lossOutput", "loss-output", "kedge::LossOutputs", "kedge::LossOutputs()", "outputs that are minimized as they are, as NAME,NAME=WEIGHT: the loss (kind none), or added to it">,
    Option<"accumulate", "accumulate", "int64_t", "1", "micro-batches of a step on each rank of the module's mesh">,
    Option<"nominalItems", "nominal-items", "kedge::ExactDouble", "0.0", "items of a micro-batch that the gradient is divided by; 0: those of its own shape">
  ];
}

def BoundLabels : StepPass<"kedge-bound-labels", "mlir::ModuleOp"> {
  let summary = "Which classes the labels of a loss may name";
  let description = [{
    Notes in the module's `train.bounds` the range of classes for each input of @model that a cross-entropy reads as labels,
    and the ranges that the loss noted on @model. The ignored label is allowed outside of the range.

    Example:
    ```mlir
    func.func @model(%x: tensor<2x5xf32> {train.binding = #train.binding<input "x">}, %y: tensor<2xi64> {train.binding = #train.binding<input "labels">}) -> tensor<2xf32> attributes {train.kind = #train.kind<model>} {
      %0:3 = train.cross_entropy %x, %y {axis = 1 : i64, ignore_index = -100 : i64} : (tensor<2x5xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
      return %0#0 : tensor<2xf32>
    }
    ```
    becomes
    ```mlir
    module attributes {train.bounds = {labels = {allowed = array<i64: -100>, hi = 4 : i64, lo = 0 : i64}}} {
      ...
    }
    ```
  }];
  let statistics = [Counter<"labels bounded", "inputs whose range is noted">];
}

def SplitFunctions : StepPass<"kedge-split-functions", "mlir::ModuleOp"> {
  let summary = "Make the functions of a run from @model: @step or @micro, @eval, @predict";
  let description = [{
    @eval and @predict run in evaluation mode (`training_mode` of every op is off). @predict has no labels and returns the
    model's outputs. @step returns only the loss. @model is removed.

    Example:
    ```mlir
    func.func @model(%x: tensor<4xf32> {train.binding = #train.binding<input "x">})
        -> (tensor<4xf32> {train.binding = #train.binding<output "y">}, tensor<f32> {train.binding = #train.binding<result "loss_sum">},
            tensor<4xf32> {train.binding = #train.binding<result "loss_rows">}) attributes {train.kind = #train.kind<model>} {
      %y = onnx.Neg %x : (tensor<4xf32>) -> tensor<4xf32>
      %rows = onnx.Mul %y, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %sum = onnx.ReduceSum %rows {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
      return %y, %sum, %rows : tensor<4xf32>, tensor<f32>, tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @step(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<step>} {
      %y = onnx.Neg %x : (tensor<4xf32>) -> tensor<4xf32>
      %rows = onnx.Mul %y, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %sum = onnx.ReduceSum %rows {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
      return %sum : tensor<f32>
    }
    func.func @eval(%x2: ...) -> (tensor<4xf32> {train.binding = #train.binding<result "loss_rows">}) attributes {train.kind = #train.kind<eval>} {
    ...
    func.func @predict(%x3: ...) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<predict>} {
      %y3 = onnx.Neg %x3 : (tensor<4xf32>) -> tensor<4xf32>
      return %y3 : tensor<4xf32>
    }
    ```
  }];
  let statistics = [Counter<"functions", "functions that a model becomes">];
  let options = [Option<"accumulate", "accumulate", "int64_t", "1", "micro-batches of a step: above 1, or with dist.parts, @micro instead of @step">];
}

def BindBuffers : StepPass<"kedge-bind-buffers", "mlir::func::FuncOp"> {
  let summary = "Return what training changes without a gradient: running statistics";
  let description = [{
    In training, the new running mean and variance of each BatchNormalization are returned as the new values of their
    states. In functions of kind eval or predict, the norm uses the running statistics.

    Example:
    ```mlir
    train.state buffer @mean tensor<3xf32>
    train.state buffer @var tensor<3xf32>
    func.func @step(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %m: tensor<3xf32> {train.binding = #train.binding<state @mean>},
                    %v: tensor<3xf32> {train.binding = #train.binding<state @var>}) -> tensor<2x3xf32> attributes {train.kind = #train.kind<step>} {
      %y:5 = train.batch_norm %x, %w, %w, %m, %v
          : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
          -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
      return %y#0 : tensor<2x3xf32>
    }
    ```
    becomes
    ```mlir
    func.func @step(%x: ..., %w: ..., %m: ..., %v: ...) -> (tensor<2x3xf32>, ... @mean>}, ... @var>}) attributes {train.kind = #train.kind<step>} {
      %y, %mean, %var, %batch_mean, %invstd = train.batch_norm %x, %w, %w, %m, %v : ...
      return %y, %mean, %var : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>
    }
    ```
  }];
  let statistics = [Counter<"buffers updated", "running statistics that the function returns">,
                    Counter<"norms in evaluation", "norms that read their running statistics">];
}

def CountExperts : StepPass<"kedge-count-experts", "mlir::func::FuncOp"> {
  let summary = "How many tokens each expert has, as results of a step";
  let description = [{
    Adds to @step, or @micro, a result `experts.LAYER` for each choice of experts that a train.grouped_matmul of the forward pass
    reads: how many places have each expert, over all ranks.

    Example:
    ```mlir
    func.func @step(%x: tensor<6x3xf32> {train.binding = #train.binding<input "x">}, %e: tensor<6x2xi64> {train.binding = #train.binding<input "e">},
                    %w: tensor<4x3x5xf32> {train.binding = #train.binding<input "w">}) -> (tensor<6x2x5xf32> {train.binding = #train.binding<output "y">})
        attributes {train.kind = #train.kind<step>} {
      %y = train.grouped_matmul %x, %e, %w {kedge.place = #kedge.place<forward "mlp", "y">} : (tensor<6x3xf32>, tensor<6x2xi64>, tensor<4x3x5xf32>) -> tensor<6x2x5xf32>
      return %y : tensor<6x2x5xf32>
    }
    ```
    becomes
    ```mlir
    func.func @step(...) -> (..., tensor<4xi64> {train.binding = #train.binding<result "experts.mlp">}) attributes {train.kind = #train.kind<step>} {
      ...
      %counts = onnx.ReduceSum %ones {axes = array<i64: 0>, kedge.place = ...} : (tensor<12x4xi64>) -> tensor<4xi64>
      %y = train.grouped_matmul ...
      return %y, %counts : tensor<6x2x5xf32>, tensor<4xi64>
    }
    ```
  }];
  let statistics = [Counter<"layers", "choices of experts that are counted">];
}

def BindRandom : StepPass<"kedge-bind-random", "mlir::func::FuncOp"> {
  let summary = "Give random ops their seed, step and row as arguments";
  let description = [{
    onnx.Dropout becomes train.dropout. Its random numbers have the run's seed and the op's id as key, and step, row and
    element as counter. In evaluation mode it is replaced by its operand. The dropout of train.attention is treated in the
    same way. onnx.RandomNormal and onnx.RandomUniform become train.random in every function.

    Example:
    ```mlir
    func.func @step(%x: tensor<2x3xf32> {train.binding = #train.binding<input "x">}) -> tensor<2x3xf32> attributes {train.kind = #train.kind<step>} {
      %y = onnx.Dropout %x {ratio = 0.5 : f32, training_mode = true, op_id = 7 : i64}
          : (tensor<2x3xf32>) -> tensor<2x3xf32>
      return %y : tensor<2x3xf32>
    }
    ```
    becomes
    ```mlir
    func.func @step(%x: ..., %seed: ... "seed">}, %step: ... "step">}, %row: ... "row_base">}) -> tensor<2x3xf32> attributes {train.kind = #train.kind<step>} {
      %y = train.dropout %x, %seed, %step, %row {op_id = 7 : i64, ratio = 5.000000e-01 : f32} : ...
      return %y : tensor<2x3xf32>
    }
    ```
  }];
  let statistics = [Counter<"random ops", "ops that draw numbers">];
}

def Differentiate : StepPass<"kedge-differentiate", "mlir::func::FuncOp"> {
  let summary = "Append the gradient of the loss to every parameter";
  let description = [{
    For a function with `train.loss_gradient`: goes through its ops backwards from the result `loss_sum`, and asks each
    for its vector-Jacobian product (DifferentiableOpInterface). Ops that have none but can be decomposed are decomposed
    first. Each train.gradient_of becomes the backward pass of its y. For each parameter that the loss depends on, adds a
    result that is bound as its gradient. One error names all ops that lack a gradient.

    Example:
    ```mlir
    train.state parameter @w tensor<f32>
    func.func @step(%x: tensor<f32> {train.binding = #train.binding<input "x">}, %w: tensor<f32> {train.binding = #train.binding<state @w>})
        -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<step>, train.loss_gradient = 0.5 : f64} {
      %y = onnx.Mul %x, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
      return %y : tensor<f32>
    }
    ```
    becomes
    ```mlir
    func.func @step(%x: ..., %w: ...) -> (..., tensor<f32> {train.binding = #train.binding<gradient @w>}) attributes {train.kind = #train.kind<step>} {
      %y = onnx.Mul %x, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %dy = onnx.Constant dense<5.000000e-01> : tensor<f32>
      %dx = onnx.Mul %dy, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %dw = onnx.Mul %dy, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
      return %y, %dw : tensor<f32>, tensor<f32>
    }
    ```
  }];
  let statistics = [Counter<"gradients", "parameters with a gradient">,
                    Counter<"ops added", "ops of the backward part">];
}

def SetGradientType : StepPass<"kedge-set-gradient-type", "mlir::func::FuncOp"> {
  let summary = "Give the gradients of all parameters one type";
  let description = [{
    Casts the gradients that @step or @micro returns to the type of --grad-dtype. Without this pass, a gradient has the
    type in which backward computes it. f64 is not changed.

    Example: `--kedge-set-gradient-type=type=bf16`
    ```mlir
    train.state parameter @w tensor<4xf32>
    func.func @step(%w: tensor<4xf32> {train.binding = #train.binding<state @w>}) -> (tensor<4xf32> {train.binding = #train.binding<gradient @w>}) attributes {train.kind = #train.kind<step>} {
      %0 = onnx.Neg %w : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    train.state parameter @w tensor<4xf32>
    func.func @step(%w: tensor<4xf32> {train.binding = #train.binding<state @w>}) -> (tensor<4xbf16> {train.binding = #train.binding<gradient @w>}) attributes {train.kind = #train.kind<step>} {
      %0 = onnx.Neg %w : (tensor<4xf32>) -> tensor<4xf32>
      %1 = onnx.Cast %0 {to = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
      return %1 : tensor<4xbf16>
    }
    ```
  }];
  let statistics = [Counter<"gradients cast", "gradients of another type than their parameter's">];
  let options = [Option<"type", "type", "std::string", "\"fp32\"", "fp32, bf16 or fp16">];
}

def AccumulateGradients : StepPass<"kedge-accumulate-gradients", "mlir::ModuleOp"> {
  let summary = "Add up the gradients of micro-batches in state, for @update";
  let description = [{
    Adds accumulators to the state, of the parameters' type or of `type`. @micro adds its gradients to them instead of
    returning these; the first micro-batch overwrites them. The new function @update returns the accumulators as
    the gradients. A module without @micro is not changed. With `dist.parts` the micro-batches of a rank are its parts of the
    rows, and their gradients are added in a balanced tree: a sum waits in an accumulator of its level until its neighbour is there.

    Example:
    ```mlir
    train.state parameter @w tensor<f32>
    func.func @micro(%x: tensor<f32> {train.binding = #train.binding<input "x">}, %w: tensor<f32> {train.binding = #train.binding<state @w>})
        -> (tensor<f32> {train.binding = #train.binding<gradient @w>}) attributes {train.kind = #train.kind<micro>} {
      %g = onnx.Mul %x, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
      return %g : tensor<f32>
    }
    ```
    becomes
    ```mlir
    train.state parameter @w tensor<f32>
    train.state accumulator @w.accumulator tensor<f32> from unit {of = @w}
    func.func @micro(%x: ..., %w: ..., %micro: ... "micro">}, %before: ... @w.accumulator>}) -> (... @w.accumulator>}) attributes {train.kind = #train.kind<micro>} {
      %g = onnx.Mul %x, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %sum = train.accumulate %before, %g, %micro ...
      return %sum : tensor<f32>
    }
    func.func @update(%whole: ... @w.accumulator>}) -> (... #train.binding<gradient @w>}) attributes {train.kind = #train.kind<update>} {
      return %whole : tensor<f32>
    }
    ```
  }];
  let statistics = [Counter<"accumulators", "gradients that have one">,
                    Counter<"state bytes", "bytes of all accumulators">];
  let options = [
    Option<"type", "type", "std::string", "\"\"", "fp32, bf16 or fp16 (default: the parameters' type)">,
    Option<"accumulate", "accumulate", "int64_t", "1", "micro-batches of a step, the parts of all rows among them">
  ];
}

def AddOptimizer : StepPass<"kedge-add-optimizer", "mlir::ModuleOp"> {
  let summary = "Turn gradients into new parameters";
  let description = [{
    Adds the updates after the backward pass of @step, or to @update. First gradients are corrected for the number of
    items that are not ignored. Then follow the global norm, clipping and the optimizer. The norm is summed by rows of
    each tensor, then over tensors in a fixed order; vectors are joined first. Creates the symbols of the optimizer's
    state. After kedge-scale-loss, gradients are first divided by the scale; a step with a gradient that is not finite
    keeps all states and changes only the scale. A function with `train.training_info` updates its variables itself and
    is not changed. On a mesh (the module's `dist.mesh`), gradients are sums over all ranks already (kedge-reduce-gradients), and
    each rank along `data` adds its own part to the norm; items and overflow are of all ranks.

    Example: `--kedge-add-optimizer=optimizer=sgd`
    ```mlir
    train.state parameter @w tensor<3xf32>
    func.func @step(%x: tensor<3xf32> {train.binding = #train.binding<input "x">}, %w: tensor<3xf32> {train.binding = #train.binding<state @w>})
        -> (tensor<3xf32> {train.binding = #train.binding<gradient @w>}) attributes {train.kind = #train.kind<step>} {
      %g = onnx.Mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      return %g : tensor<3xf32>
    }
    ```
    becomes
    ```mlir
    func.func @step(%x: ..., %w: ..., %decay: ... "weight_decay">}, %lr: ... "lr">}) -> (... "grad_norm">}, ... @w>}) attributes {train.kind = #train.kind<step>} {
      %g = onnx.Mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      train.final_gradient @w %g : tensor<3xf32>
      %scale = onnx.Constant dense<1.000000e+00> : tensor<f32>
      %square = onnx.ReduceSumSquare %g {axes = array<i64: 0>, kedge.place = #update_optimizer} : (tensor<3xf32>) -> tensor<f32>
      %root = onnx.Sqrt %square {kedge.place = #update_optimizer} : (tensor<f32>) -> tensor<f32>
      %norm = onnx.Mul %root, %scale {kedge.place = #update_optimizer} : ...
      %new = train.sgd %w, %g, %scale, %decay, %lr {decay = true, kedge.place = #update_w, ...} : ...
      return %norm, %new : tensor<f32>, tensor<3xf32>
    }
    ```
  }];
  let statistics = [Counter<"parameters", "parameters that the step updates">,
                    Counter<"state bytes", "bytes of moments and counters">];
  let options = [
    Option<"optimizer", "optimizer", "kedge::autodiff::Optimizer", "kedge::autodiff::Optimizer::AdamW", "the update rule, as in `kedge compile --optimizer`">,
    Option<"momentum", "momentum", "kedge::ExactDouble", "0.0", "of sgd, rmsprop and muon; 0: no buffer of sgd and rmsprop">,
    Option<"nesterov", "nesterov", "bool", "false", "Nesterov momentum">,
    Option<"moments", "moments", "kedge::autodiff::Moments", "kedge::autodiff::Moments::Fp32", "of adamw, adam, lion and sgd: fp32, bf16 or int8 (companded, in groups of 32; see train.companded), of the first two also int4 (in blocks of 128; see train.adam4bit)">,
    Option<"caution", "caution", "kedge::autodiff::Caution", "kedge::autodiff::Caution::None", "what adamw leaves out: none, updates (of elements against their gradient) or decay (of elements against their update)">,
    Option<"preconditionFrequency", "precondition-frequency", "int64_t", "10", "of soap: updates from one refresh of a matrix's basis to the next">,
    Option<"maxPreconditionDim", "max-precondition-dim", "int64_t", "10000", "of soap: the longest side of a matrix that has a basis">,
    Option<"shampooBeta", "shampoo-beta", "kedge::ExactDouble", "-1.0", "of soap: of the mean of products of gradients; negative: beta2">,
    Option<"projRank", "proj-rank", "int64_t", "0", "of galore and apollo: numbers that a side of a matrix is projected to; 0: 128 and 256">,
    Option<"updateProjGap", "update-proj-gap", "int64_t", "200", "of galore and apollo: updates from one projection to the next">,
    Option<"projScale", "proj-scale", "kedge::ExactDouble", "-1.0", "of galore: times the step; of apollo: its square; negative: 0.25 and 1">,
    Option<"scaleType", "scale-type", "kedge::autodiff::ScaleType", "kedge::autodiff::ScaleType::Channel", "what apollo has one factor for: channel or tensor">,
    Option<"averageDecay", "average-decay", "kedge::ExactDouble", "0.0", "of the moving average that is kept of each parameter; 0: none is kept">,
    Option<"clipNorm", "clip-norm", "kedge::ExactDouble", "0.0", "largest global gradient norm; 0: no clipping">,
    Option<"signedItems", "signed-items", "bool", "false", "weights of rows are counted: the sum of the items may be negative, the norm is not">,
    Option<"scaleGrowth", "scale-growth", "kedge::ExactDouble", "2.0", "of the loss scale, after a window of clean steps">,
    Option<"scaleBackoff", "scale-backoff", "kedge::ExactDouble", "0.5", "of the loss scale, after an overflow">,
    Option<"scaleWindow", "scale-window", "int64_t", "2000", "clean steps in a row before the loss scale grows">,
    Option<"scaleHysteresis", "scale-hysteresis", "int64_t", "1", "overflows before the loss scale shrinks">,
    Option<"scaleMinimum", "scale-minimum", "kedge::ExactDouble", "0.0", "the loss scale does not fall below it">
  ];
}

def ChooseMatrices : StepPass<"kedge-choose-matrices", "mlir::ModuleOp"> {
  let summary = "Which parameters Muon updates as matrices";
  let description = [{
    Marks trained matrices of @model as `tune.orthogonal`: those that `weights` names. Without `weights`, all matrices
    that only a MatMul or Gemm reads, except that of the head, the last product.

    Example: `--kedge-choose-matrices`
    ```mlir
    train.state parameter @w tensor<4x6xf32>
    train.state parameter @head tensor<6x5xf32>
    func.func @model(%x: tensor<2x4xf32>, %w: tensor<4x6xf32> {train.binding = #train.binding<state @w>}, %head: tensor<6x5xf32> {train.binding = #train.binding<state @head>}) -> tensor<2x5xf32> attributes {train.kind = #train.kind<model>} {
      %0 = onnx.MatMul %x, %w : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
      %1 = onnx.MatMul %0, %head : (tensor<2x6xf32>, tensor<6x5xf32>) -> tensor<2x5xf32>
      return %1 : tensor<2x5xf32>
    }
    ```
    becomes
    ```mlir
    train.state parameter @w tensor<4x6xf32> {tune.orthogonal}
    train.state parameter @head tensor<6x5xf32>
    ```
  }];
  let statistics = [Counter<"matrices", "parameters that Muon updates">];
  let options = [Option<"weights", "weights", "std::string", "\"\"", "REGEX (default: all but embeddings and the head)">,
                 Option<"neurons", "neurons", "bool", "false", "say the dimension of the outputs, too: `tune.orthogonal = 1 : i64`">];
}

def ChunkLogits : StepPass<"kedge-chunk-logits", "mlir::func::FuncOp"> {
  let summary = "Compute logits, their loss and their gradient for a few rows at a time";
  let description = [{
    If the result of a product has more than `max-bytes` (as in the head of a language model), the product and all ops on
    its result, in forward and backward, run once for each chunk of rows. So the logits never exist as a whole. Losses
    and the gradient of the rows are joined. Gradients of weight and bias are summed over the chunks, which changes the
    order of these two sums. So the chunk size depends only on shapes, never on a budget. The bits of losses stay the same. An
    output that the host reads becomes one result for each chunk, bound as a part of the whole. Nothing is changed where
    an op needs all rows at once.

    Example: `--kedge-chunk-logits=max-bytes=256`
    ```mlir
    func.func @predict(%x: tensor<4x8xf32>, %w: tensor<8x32xf32>) -> (tensor<4x32xf32> {train.binding = #train.binding<output "logits">}) attributes {train.kind = #train.kind<predict>} {
      %logits = onnx.MatMul %x, %w : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32>
      return %logits : tensor<4x32xf32>
    }
    ```
    becomes
    ```mlir
    func.func @predict(%x: tensor<4x8xf32>, %w: tensor<8x32xf32>) -> (tensor<2x32xf32> ..., tensor<2x32xf32> ...) attributes {train.kind = #train.kind<predict>} {
      %x0 = onnx.Slice %x {ends = array<i64: 2, 8>, starts = array<i64: 0, 0>, ...
      %logits0 = onnx.MatMul %x0, %w {train.chunk = 0 : i64} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
      %x1 = onnx.Slice %x {ends = array<i64: 4, 8>, starts = array<i64: 2, 0>, ...
      %logits1 = onnx.MatMul %x1, %w {train.chunk = 1 : i64} : (tensor<2x8xf32>, tensor<8x32xf32>) -> tensor<2x32xf32>
      return %logits0, %logits1 : tensor<2x32xf32>, tensor<2x32xf32>
    }
    ```
  }];
  let statistics = [Counter<"heads", "losses that are computed in chunks">,
                    Counter<"chunks", "chunks of rows of all heads">];
  let options = [Option<"maxBytes", "max-bytes", "int64_t", "134217728", "of the logits of a chunk; 0: never">];
}
#endif
