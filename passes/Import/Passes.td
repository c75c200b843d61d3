// Level 1: composites raised from the primitives that exporters write them as. Each pass leaves what it does
// not know, erases what it made dead, and counts what it raised.
#ifndef KEDGE_IMPORT_PASSES
#define KEDGE_IMPORT_PASSES
include "passes/Base/KedgePass.td"

class ModelPass<string name, string text> : KedgePass<name, "mlir::func::FuncOp"> {
  let summary = text;
  // Constants are computed by the ops' own kernels, which are of the other three.
  let dependentDialects = ["kedge::onnx::ONNXDialect", "kedge::train::TrainDialect", "kedge::sched::SchedDialect",
                           "mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

/// Looks at all ops of the kinds `roots`.
class RaisePass<string name, string counter, list<string> roots, string text> : ModelPass<name, text> {
  let statistics = [Counter<counter, "composites that are one op now">];
  let baseClass = "::kedge::raise::RaisePass<\"" # counter # "\", "
                  # !interleave(!foreach(root, roots, "::kedge::onnx::" # root # "Op"), ", ") # ">";
}

def BoundIndices : KedgePass<"kedge-bound-indices", "mlir::ModuleOp"> {
  let summary = "Which values an input may have whose elements are indices";
  let description = [{
    Notes in the module's `train.bounds` the range of inputs of @model that `onnx.Gather` uses as indices, directly or
    through casts and views: the smallest range that all uses allow. The program refuses data outside of it, instead of
    reading past the end of a table. Runs before composites are raised, which may hide the Gather.

    Example:
    ```mlir
    func.func @model(%ids: tensor<2x3xi64> {train.binding = #train.binding<input "ids">}, %table: tensor<5x4xf32>) -> tensor<2x3x4xf32> attributes {train.kind = #train.kind<model>} {
      %0 = onnx.Gather %table, %ids {axis = 0 : i64} : (tensor<5x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
      return %0 : tensor<2x3x4xf32>
    }
    ```
    becomes
    ```mlir
    module attributes {train.bounds = {ids = {hi = 4 : i64, lo = 0 : i64}}} {
      ...
    }
    ```
  }];
  let statistics = [Counter<"inputs bounded", "inputs whose range is noted">];
}
def RaiseGelu : RaisePass<"kedge-raise-gelu", "gelus", ["Erf", "Tanh"], "Gelu from erf or tanh"> {
  let description = [{
    0.5 x (1 + erf(x / sqrt 2)) and 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), with factors in any order
    and the polynomial in any form, become `onnx.Gelu`.

    Example:
    ```mlir
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %root = onnx.Constant dense<1.41421354> : tensor<f32>
      %one = onnx.Constant dense<1.0> : tensor<f32>
      %half = onnx.Constant dense<0.5> : tensor<f32>
      %0 = onnx.Div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %1 = onnx.Erf %0 : (tensor<4xf32>) -> tensor<4xf32>
      %2 = onnx.Add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %3 = onnx.Mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %4 = onnx.Mul %3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      return %4 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = onnx.Gelu %x : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
  }];
}
def RaiseSilu : RaisePass<"kedge-raise-silu", "silus", ["Sigmoid"], "SiLU from sigmoid"> {
  let description = [{
    x sigmoid(alpha x) becomes `onnx.Swish`.

    Example:
    ```mlir
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = onnx.Sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
      %1 = onnx.Mul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = onnx.Swish %x : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
  }];
}
def RaiseSwiglu : RaisePass<"kedge-raise-swiglu", "swiglus", ["Swish"], "SwiGLU from SiLU"> {
  let description = [{
    Runs after raise-silu: silu(gate) * up, both of one shape, becomes `train.swiglu` if the SiLU has no other use.

    Example:
    ```mlir
    func.func @f(%gate: tensor<4xf32>, %up: tensor<4xf32>) -> tensor<4xf32> {
      %0 = onnx.Swish %gate : (tensor<4xf32>) -> tensor<4xf32>
      %1 = onnx.Mul %0, %up : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%gate: tensor<4xf32>, %up: tensor<4xf32>) -> tensor<4xf32> {
      %0 = train.swiglu %gate, %up : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
  }];
}
def RaiseLayerNorm : RaisePass<"kedge-raise-layer-norm", "layer norms", ["Mul", "Div"],
                               "LayerNormalization from mean and deviation"> {
  let description = [{
    (x - mean) / sqrt(mean((x - mean)^2) + epsilon) over trailing dims, with the weight and bias that follow
    when there are any, becomes `onnx.LayerNormalization`.

    Example:
    ```mlir
    func.func @f(%x: tensor<3x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<3x8xf32> {
      %epsilon = onnx.Constant dense<1.000000e-05> : tensor<f32>
      %0 = onnx.ReduceMean %x {axes = array<i64: 1>, keepdims = true} : (tensor<3x8xf32>) -> tensor<3x1xf32>
      %1 = onnx.Sub %x, %0 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
      %2 = onnx.Mul %1, %1 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
      %3 = onnx.ReduceMean %2 {axes = array<i64: 1>, keepdims = true} : (tensor<3x8xf32>) -> tensor<3x1xf32>
      %4 = onnx.Add %3, %epsilon : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
      %5 = onnx.Sqrt %4 : (tensor<3x1xf32>) -> tensor<3x1xf32>
      %6 = onnx.Div %1, %5 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
      %7 = onnx.Mul %6, %w : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
      %8 = onnx.Add %7, %b : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
      return %8 : tensor<3x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<3x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<3x8xf32> {
      %y, %mean, %deviation = onnx.LayerNormalization %x, %w, %b {axis = 1 : i64} : ...
      return %y : tensor<3x8xf32>
    }
    ```
  }];
}
def RaiseRmsNorm : RaisePass<"kedge-raise-rms-norm", "rms norms", ["Mul", "Div"],
                             "RMSNormalization from the mean square"> {
  let description = [{
    x / sqrt(mean(x^2) + epsilon) over trailing dims, with the weight that follows when there is one, becomes
    `onnx.RMSNormalization`.

    Example:
    ```mlir
    func.func @f(%x: tensor<3x8xf32>, %w: tensor<8xf32>) -> tensor<3x8xf32> {
      %epsilon = onnx.Constant dense<1.000000e-05> : tensor<f32>
      %0 = onnx.Mul %x, %x : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
      %1 = onnx.ReduceMean %0 {axes = array<i64: 1>, keepdims = true} : (tensor<3x8xf32>) -> tensor<3x1xf32>
      %2 = onnx.Add %1, %epsilon : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
      %3 = onnx.Sqrt %2 : (tensor<3x1xf32>) -> tensor<3x1xf32>
      %4 = onnx.Div %x, %3 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
      %5 = onnx.Mul %4, %w : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
      return %5 : tensor<3x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<3x8xf32>, %w: tensor<8xf32>) -> tensor<3x8xf32> {
      %y, %root = onnx.RMSNormalization %x, %w {axis = 1 : i64} : ...
      return %y : tensor<3x8xf32>
    }
    ```
  }];
}
def RaiseGroupNorm : RaisePass<"kedge-raise-group-norm", "group norms", ["InstanceNormalization"],
                               "GroupNormalization from InstanceNormalization"> {
  let description = [{
    An InstanceNormalization of [N, groups, rest] with scale 1 and bias 0, reshaped back to [N, C, ...] and then scaled
    and shifted by channel, becomes `onnx.GroupNormalization`.

    Example:
    ```mlir
    func.func @f(%x: tensor<2x6x4xf32>, %w: tensor<6x1xf32>, %b: tensor<6x1xf32>) -> tensor<2x6x4xf32> {
      %one = onnx.Constant dense<1.0> : tensor<3xf32>
      %zero = onnx.Constant dense<0.0> : tensor<3xf32>
      %0 = onnx.Reshape %x {shape = array<i64: 2, 3, 8>} : (tensor<2x6x4xf32>) -> tensor<2x3x8xf32>
      %1:3 = onnx.InstanceNormalization %0, %one, %zero
          : (tensor<2x3x8xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x8xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
      %2 = onnx.Reshape %1#0 {shape = array<i64: 2, 6, 4>} : (tensor<2x3x8xf32>) -> tensor<2x6x4xf32>
      %3 = onnx.Mul %2, %w : (tensor<2x6x4xf32>, tensor<6x1xf32>) -> tensor<2x6x4xf32>
      %4 = onnx.Add %3, %b : (tensor<2x6x4xf32>, tensor<6x1xf32>) -> tensor<2x6x4xf32>
      return %4 : tensor<2x6x4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<2x6x4xf32>, %w: tensor<6x1xf32>, %b: tensor<6x1xf32>) -> tensor<2x6x4xf32> {
      %0 = onnx.Reshape %w {shape = array<i64: 6>} : (tensor<6x1xf32>) -> tensor<6xf32>
      %1 = onnx.Reshape %b {shape = array<i64: 6>} : (tensor<6x1xf32>) -> tensor<6xf32>
      %y, %mean, %deviation = onnx.GroupNormalization %x, %0, %1 {num_groups = 3 : i64} : ...
      return %y : tensor<2x6x4xf32>
    }
    ```
  }];
}
def RaiseRotary : RaisePass<"kedge-raise-rotary", "rotary embeddings", ["Add"], "Rotary embedding from slices"> {
  let description = [{
    x cos + rotate(x) sin, where rotate(x) joins the negated second half of the last dim to the first half (or
    swaps neighbours and negates one), becomes `train.rotary`.

    Example:
    ```mlir
    func.func @f(%x: tensor<3x8xf32>, %cos: tensor<3x8xf32>, %sin: tensor<3x8xf32>) -> tensor<3x8xf32> {
      %0:2 = onnx.Split %x {axis = 1, split = array<i64: 4, 4>}
          : (tensor<3x8xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
      %1 = onnx.Neg %0#1 : (tensor<3x4xf32>) -> tensor<3x4xf32>
      %2 = onnx.Concat %1, %0#0 {axis = 1} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
      %3 = onnx.Mul %2, %sin : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
      %4 = onnx.Mul %x, %cos : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
      %5 = onnx.Add %4, %3 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
      return %5 : tensor<3x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<3x8xf32>, %cos: tensor<3x8xf32>, %sin: tensor<3x8xf32>) -> tensor<3x8xf32> {
      %0 = train.rotary %x, %x, %cos, %sin : ...
      return %0 : tensor<3x8xf32>
    }
    ```
  }];
}
def RaiseAttention : ModelPass<"kedge-raise-attention", "Attention from softmax of a product"> {
  let description = [{
    softmax(scale Q K^T + mask) V over [B, H, T, D] becomes `train.attention`. Scales are combined into one, and a softcap
    becomes an attribute. Transposes to and from [B, T, H, D] become layouts. Keys and values that are repeated for groups
    of heads are used without the repetition. A constant mask that is causal or a window becomes `sees`,
    which costs neither memory nor time; any other stays an operand, and a remark names it if it has an element for each
    query and key. A Dropout of the probabilities becomes `ratio`, with its `op_id`. Attentions that are one op in the model
    are treated in the same way.

    Example:
    ```mlir
    func.func @f(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
      %four = onnx.Constant dense<4.0> : tensor<f32>
      %0 = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x8x16xf32>) -> tensor<2x4x16x8xf32>
      %1 = onnx.MatMul %q, %0 : (tensor<2x4x8x16xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x8x8xf32>
      %2 = onnx.Div %1, %four : (tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
      %3 = onnx.Softmax %2 {axis = 3} : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
      %4 = onnx.MatMul %3, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
      return %4 : tensor<2x4x8x16xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
      %o, %lse = train.attention %q, %k, %v {scale = 2.500000e-01 : f64} : ...
      return %o : tensor<2x4x8x16xf32>
    }
    ```
  }];
  let options = [Option<"keepMasks", "keep-masks", "bool", "false", "leave constant masks as they are">];
  let statistics = [Counter<"attentions", "attentions that are one op now">,
                    Counter<"band masks", "constant masks that became `sees`">,
                    Counter<"tensor masks", "masks with an element for each query and key that stayed">,
                    Counter<"dropouts", "dropouts of probabilities that became `ratio`">,
                    Counter<"repeats undone", "keys and values that are used without repetition">];
}
def RaiseExperts : RaisePass<"kedge-raise-experts", "experts", ["MatMul", "ReduceSum"], "Grouped products from experts as exporters write them"> {
  let description = [{
    A product whose rows have a matrix each, gathered by index out of a tensor [E, K, N] or [E, N, K], becomes
    `train.grouped_matmul`, which copies no matrix. Rows that are repeated for the experts of a token are used without the
    repetition.

    A sum over all experts [E, T, H], weighted by a tensor that is zero but for the experts that onnx.TopK chose for each row
    (scattered, or a sum of one-hot masks), becomes the sum over these: products become `train.grouped_matmul`, and ops that
    compute each element or part rows are computed for the rows that are left.

    What stays as it is written, all of it for CUDA, is named by a remark that says what it costs. Runs after transposes are
    folded.

    Example:
    ```mlir
    func.func @f(%x: tensor<6x4xf32>, %w: tensor<8x3x4xf32>, %experts: tensor<6xi64>) -> tensor<6x3x1xf32> {
      %0 = onnx.Gather %w, %experts {axis = 0 : i64} : (tensor<8x3x4xf32>, tensor<6xi64>) -> tensor<6x3x4xf32>
      %1 = onnx.Reshape %x {shape = array<i64: 6, 4, 1>} : (tensor<6x4xf32>) -> tensor<6x4x1xf32>
      %2 = onnx.MatMul %0, %1 : (tensor<6x3x4xf32>, tensor<6x4x1xf32>) -> tensor<6x3x1xf32>
      return %2 : tensor<6x3x1xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<6x4xf32>, %w: tensor<8x3x4xf32>, %experts: tensor<6xi64>) -> tensor<6x3x1xf32> {
      ...
      %2 = train.grouped_matmul %0, %1, %w {transB = true} : (tensor<6x4xf32>, tensor<6x1xi64>, tensor<8x3x4xf32>) -> tensor<6x1x3xf32>
      %3 = onnx.Reshape %2 {shape = array<i64: 6, 3, 1>} : ...
      return %3 : tensor<6x3x1xf32>
    }
    ```
  }];
  let options = [Option<"target", "target", "::kedge::TargetKind", "::kedge::TargetKind::Cpu", "What the kernels are for: cpu or cuda.">];
}
def SeparateDocuments : ModelPass<"kedge-separate-documents", "Documents of a row do not see each other"> {
  let description = [{
    Gives the model an input `document_borders`, i64 [rows, length + 1], and every attention its borders as `documents`: 0, where
    each further document of the row begins, then length. No mask of T x T is made. Attentions must be over whole rows, each
    query with its own key, and no softmax over scores may be left that was not recognised as an attention's. Runs after
    attention is raised.

    Example:
    ```mlir
    func.func @model(%q: tensor<2x1x8x16xf32>, %k: tensor<2x1x8x16xf32>, %v: tensor<2x1x8x16xf32>) -> tensor<2x1x8x16xf32> attributes {train.kind = #train.kind<model>} {
      %o, %lse = train.attention %q, %k, %v sees(causal) {scale = 0.25 : f64} : (tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>) -> (tensor<2x1x8x16xf32>, tensor<2x1x8xf32>)
      return %o : tensor<2x1x8x16xf32>
    }
    ```
    becomes
    ```mlir
    func.func @model(%q: tensor<2x1x8x16xf32>, %k: tensor<2x1x8x16xf32>, %v: tensor<2x1x8x16xf32>, %borders: tensor<2x9xi64> {train.binding = #train.binding<input "document_borders">}) -> tensor<2x1x8x16xf32> attributes {train.kind = #train.kind<model>} {
      %o, %lse = train.attention %q, %k, %v documents(%borders) sees(causal) {scale = 2.500000e-01 : f64} : ...
      return %o : tensor<2x1x8x16xf32>
    }
    ```
  }];
  let statistics = [Counter<"attentions", "attentions that read borders now">];
}
def DropConstants : KedgePass<"kedge-drop-constants", "mlir::ModuleOp"> {
  let summary = "Constants that the model no longer reads";
  let description = [{
    A constant state that no value of @model depends on, such as a mask that became a fact of attention, is no argument any more,
    and is neither read from its file nor kept in memory. Runs after composites are raised.

    Example:
    ```mlir
    train.state constant @mask tensor<8x8xf32>
    func.func @model(%x: tensor<2xf32>, %m: tensor<8x8xf32> {train.binding = #train.binding<state @mask>}) -> tensor<2xf32> attributes {train.kind = #train.kind<model>} {
      return %x : tensor<2xf32>
    }
    ```
    becomes
    ```mlir
    func.func @model(%x: tensor<2xf32>) -> tensor<2xf32> attributes {train.kind = #train.kind<model>} {
      return %x : tensor<2xf32>
    }
    ```
  }];
  let statistics = [Counter<"constants dropped", "states that are gone">, Counter<"bytes dropped", "bytes of these states">];
}
def FoldTransposes : ModelPass<"kedge-fold-transposes", "Products of transposed operands"> {
  let description = [{
    If an operand of a MatMul is a Transpose of the last two dims, the MatMul reads its source with `transA` or `transB`
    instead. Exporters write the weight of a Linear in this way. Its gradients then need no transposes either. Runs after
    attention is raised.

    Example: `--kedge-fold-transposes --canonicalize`
    ```mlir
    func.func @f(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> tensor<4x6xf32> {
      %0 = onnx.Transpose %w {perm = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
      %1 = onnx.MatMul %x, %0 : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
      return %1 : tensor<4x6xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> tensor<4x6xf32> {
      %0 = onnx.MatMul %x, %w {transB = true} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
      return %0 : tensor<4x6xf32>
    }
    ```
  }];
  let statistics = [Counter<"transposes folded", "operands that are read transposed">];
}
#endif
