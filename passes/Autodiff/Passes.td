// Level 1 -> level 2: loss, functions of a run, gradients, optimizer.
#ifndef KEDGE_AUTODIFF_PASSES
#define KEDGE_AUTODIFF_PASSES
include "mlir/Pass/PassBase.td"

class StepPass<string name, string op> : Pass<name, op> {
  let dependentDialects = ["kedge::KedgeDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def AddLoss : StepPass<"kedge-add-loss", "mlir::func::FuncOp"> {
  let summary = "Append the loss to @model";
  let description = [{
    Adds the labels as an input (unless the graph has one of that name) and the results `loss_sum`, `items`,
    `loss_rows`, `item_rows` (contract section 2); marks the function with `train.loss_gradient`, the gradient
    that enters backward, 1 / nominal items of the step, and with `train.nominal_items`. With `kind=none` the output `loss-output`
    is the loss. A function with `train.training_info` derives its gradients itself: `loss-output` is logged only.
  }];
  let options = [
    Option<"kind", "kind", "std::string", "\"cross-entropy\"", "none, cross-entropy, mse or bce-with-logits">,
    Option<"logits", "logits", "std::string", "\"\"", "output that the loss reads (default: the only float output)">,
    Option<"labels", "labels", "std::string", "\"labels\"", "input that holds the labels">,
    Option<"classAxis", "class-axis", "int64_t", "-100", "axis of the classes (-100: the last up to rank 3, else 1)">,
    Option<"ignoreIndex", "ignore-index", "int64_t", "-100", "label that does not count">,
    Option<"labelSmoothing", "label-smoothing", "double", "0.0", "weight of the uniform distribution">,
    Option<"lossOutput", "loss-output", "std::string", "\"\"", "output that is the loss (kind none)">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches of a step over all ranks">
  ];
}

def SplitFunctions : StepPass<"kedge-split-functions", "mlir::ModuleOp"> {
  let summary = "Make the functions of a run from @model: @step or @micro, @eval, @predict";
  let description = [{
    @eval and @predict run in evaluation mode (`train.evaluation`; `training_mode` of every op off); @predict has no labels and
    returns the model's outputs. @step returns the loss only. @model is gone.
  }];
  let options = [Option<"accumulate", "accumulate", "int64_t", "1", "micro-batches of a step: above 1, @micro instead of @step">];
}

def BindBuffers : StepPass<"kedge-bind-buffers", "mlir::func::FuncOp"> {
  let summary = "Return what training changes without a gradient: running statistics";
  let description = [{
    In training the new running mean and variance of each BatchNormalization become the new values of their
    states. In functions with `train.evaluation` the norm uses the running statistics. Statistics: buffers
    updated, norms in evaluation.
  }];
}

def BindRandom : StepPass<"kedge-bind-random", "mlir::func::FuncOp"> {
  let summary = "Give random ops their seed, step and row as arguments";
  let description = [{
    onnx.Dropout becomes train.dropout, keyed by the run's seed and its own id, counted by step, row and
    element; in evaluation mode it becomes its operand. Likewise the dropout of train.Attention. Statistic: random
    ops.
  }];
}

def Differentiate : StepPass<"kedge-differentiate", "mlir::func::FuncOp"> {
  let summary = "Append the gradient of the loss to every parameter";
  let description = [{
    For a function with `train.loss_gradient`: walks its ops backwards from the result `loss_sum` and asks each
    for its vector-Jacobian product (DifferentiableOpInterface). Ops without one that know a decomposition are
    decomposed first. Each train.gradient_of becomes the backward pass of its y. Adds a result a parameter that the loss depends on, `train.gradient = @parameter`. All ops
    that lack a gradient are named in one error. Statistics: gradients, ops added.
  }];
}

def AddOptimizer : StepPass<"kedge-add-optimizer", "mlir::ModuleOp"> {
  let summary = "Turn gradients into new parameters";
  let description = [{
    With @step the updates follow backward. With @micro gradients are accumulated (state), and @update reads
    the accumulators. Order: item correction, global norm, clipping, optimizer (contract section 2). The norm
    is summed per tensor in a fixed order. Makes the optimizer's state symbols. A function with
    `train.training_info` updates its variables itself and stays as it is. Statistics: parameters, state
    bytes.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"", "adamw, adam or sgd">,
    Option<"momentum", "momentum", "double", "0.0", "of sgd; 0: no buffer">,
    Option<"nesterov", "nesterov", "bool", "false", "Nesterov momentum">,
    Option<"clipNorm", "clip-norm", "double", "0.0", "largest global gradient norm; 0: no clipping">
  ];
}

def ChunkLogits : StepPass<"kedge-chunk-logits", "mlir::func::FuncOp"> {
  let summary = "Compute logits, their loss and their gradient for a few rows at a time";
  let description = [{
    A product with more than `max-bytes` of results (a language model's head) and everything that touches them, in
    forward and backward, runs once for each chunk of rows: logits never exist as a whole. Losses and the gradient of
    the rows are joined, gradients of weight and bias are summed chunk after chunk. Losses keep their bits; those two
    sums get another order, so the chunk size depends on shapes only, never on a budget. Results that the host reads
    (`train.output`) become one result a chunk, with `train.part` (its first element) and `train.whole`. Regions with
    an op that needs all rows at once stay. Statistics: heads, chunks.
  }];
  let options = [Option<"maxBytes", "max-bytes", "int64_t", "134217728", "of the logits of a chunk; 0: never">];
}
#endif
