// Level 1: low-rank adapters beside frozen weights.
#ifndef KEDGE_ADAPTERS_PASSES
#define KEDGE_ADAPTERS_PASSES
include "passes/Base/KedgePass.td"

def InsertAdapters : KedgePass<"kedge-insert-adapters", "mlir::ModuleOp"> {
  let summary = "Add low-rank adapters to frozen weights";
  let description = [{
    Replaces the result y of each product or convolution of @model, if `weights` names its frozen weight, by
    y + scale B(A(dropout(x))). scale is alpha / rank, or alpha / sqrt(rank) with `scaling=rslora`. A and B are parameters
    named `<module>.lora_A.weight`, [rank, in], and `<module>.lora_B.weight`, [out, rank], for either storage order of the
    weight. With `magnitude` y is m / |w + scale B A| (x w + scale B(A(x))) for each output, where m [out] is a parameter named
    `<module>.lora_magnitude_vector` that begins as |w|, and the norm has no gradient. A table of embeddings has the adapters
    `<module>.lora_embedding_A`, [rank, rows], zero at first, and `<module>.lora_embedding_B`, [width, rank]. With `folder`, their ranks, scales and first values come from a folder that peft wrote. Runs on level 1,
    before casts and gradients are added.

    Example: `--kedge-insert-adapters="weights=proj rank=2 alpha=4"`
    ```mlir
    train.state frozen @proj.weight tensor<6x4xf32> {onnx_name = "proj.weight"}
    func.func @model(%x: tensor<3x4xf32>, %w: tensor<6x4xf32> {train.binding = #train.binding<state @proj.weight>}) -> tensor<3x6xf32> attributes {train.kind = #train.kind<model>} {
      %y = onnx.MatMul %x, %w {transB = true} : (tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<3x6xf32>
      return %y : tensor<3x6xf32>
    }
    ```
    becomes
    ```mlir
    train.state frozen @proj.weight tensor<6x4xf32> {onnx_name = "proj.weight"}
    train.state parameter @proj.lora_A.weight tensor<2x4xf32> from #tune.random<uniform 5.000000e-01 : f64> {onnx_name = "proj.lora_A.weight", tune.adapter = #tune.adapter<A of @proj.weight ...
    train.state parameter @proj.lora_B.weight tensor<6x2xf32> from unit {onnx_name = "proj.lora_B.weight", tune.adapter = #tune.adapter<B of @proj.weight ...
    func.func @model(%x: ..., %w: ..., %b: ... @proj.lora_B.weight>}, %a: ... @proj.lora_A.weight>}) -> tensor<3x6xf32> attributes {train.kind = #train.kind<model>} {
      %y = onnx.MatMul %x, %w {transB = true} : (tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<3x6xf32>
      %h = onnx.MatMul %x, %a {transB = true} : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
      %z = onnx.Gemm %h, %b, %y {alpha = 2.000000e+00 : f32, transB = true} : ...
      return %z : tensor<3x6xf32>
    }
    ```
  }];
  let statistics = [Counter<"adapters", "weights that got one">,
                    Counter<"parameters added", "elements of all new parameters">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect", "kedge::tune::TuneDialect"];
  let options = [
    Option<"weights", "weights", "std::string", "\"\"", "REGEX, searched in the names of weights">,
    Option<"rank", "rank", "int64_t", "8", "columns of A's and B's product">,
    Option<"alpha", "alpha", "kedge::ExactDouble", "8.0", "of the scale alpha / rank">,
    Option<"dropout", "dropout", "kedge::ExactDouble", "0.0", "share of the adapter's input that is dropped in training">,
    Option<"scaling", "scaling", "kedge::adapters::Scaling", "kedge::adapters::Scaling::Standard", "standard: alpha / rank; rslora: alpha / sqrt(rank)">,
    Option<"init", "init", "kedge::adapters::FirstValues", "kedge::adapters::FirstValues::Kaiming", "of A: kaiming, uniform by the input's size, or gaussian, of deviation 1 / rank; pissa and olora: A and B begin as a part of the weight, which keeps the rest">,
    Option<"magnitude", "magnitude", "bool", "false", "DoRA: the norm of each output's weights is a parameter of its own">,
    ListOption<"rankPattern", "rank-pattern", "kedge::adapters::NumberRule", "REGEX=N: the rank of modules of such names; the first that fits holds">,
    ListOption<"alphaPattern", "alpha-pattern", "kedge::adapters::NumberRule", "REGEX=X: the same of alpha">,
    Option<"folder", "folder", "std::string", "\"\"", "adapters as peft saves them, in the place of the options above">
  ];
}

def InsertScales : KedgePass<"kedge-insert-scales", "mlir::ModuleOp"> {
  let summary = "Multiply what frozen products give, or take, by numbers that train (IA3)";
  let description = [{
    Each output of a product of @model whose frozen weight `weights` names, its bias included, is multiplied by a parameter
    `<module>.ia3_l`, [out, 1], which begins at one; where `inputs` names the weight, too, each input is instead, by [1, in]. With
    `folder`, modules and first values come from a folder that peft wrote. Runs on level 1, before casts and gradients are added.

    Example: `--kedge-insert-scales=weights=proj`
    ```mlir
    train.state frozen @proj.weight tensor<6x4xf32> {onnx_name = "proj.weight"}
    func.func @model(%x: tensor<3x4xf32>, %w: tensor<6x4xf32> {train.binding = #train.binding<state @proj.weight>}) -> tensor<3x6xf32> attributes {train.kind = #train.kind<model>} {
      %y = onnx.MatMul %x, %w {transB = true} : (tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<3x6xf32>
      return %y : tensor<3x6xf32>
    }
    ```
    becomes
    ```mlir
    train.state frozen @proj.weight tensor<6x4xf32> {onnx_name = "proj.weight"}
    train.state parameter @proj.ia3_l tensor<6x1xf32> from 1.000000e+00 : f64 {onnx_name = "proj.ia3_l", tune.adapter = #tune.adapter<output_scale of @proj.weight ...
    func.func @model(%x: ..., %w: ..., %l: ... @proj.ia3_l>}) -> tensor<3x6xf32> attributes {train.kind = #train.kind<model>} {
      %y = onnx.MatMul %x, %w {transB = true} : (tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<3x6xf32>
      %row = onnx.Reshape %l {shape = array<i64: 6>} : (tensor<6x1xf32>) -> tensor<6xf32>
      %z = onnx.Mul %y, %row : (tensor<3x6xf32>, tensor<6xf32>) -> tensor<3x6xf32>
      return %z : tensor<3x6xf32>
    }
    ```
  }];
  let statistics = [Counter<"scales", "weights that got one">, Counter<"parameters added", "elements of all new parameters">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect", "kedge::tune::TuneDialect"];
  let options = [
    Option<"weights", "weights", "std::string", "\"\"", "REGEX, searched in the names of weights">,
    Option<"inputs", "inputs", "std::string", "\"\"", "REGEX: those of them whose inputs are scaled in the place of outputs">,
    Option<"folder", "folder", "std::string", "\"\"", "scales as peft saves them, in the place of the options above">
  ];
}

def InsertTokens : KedgePass<"kedge-insert-tokens", "mlir::ModuleOp"> {
  let summary = "Rows of frozen tables train";
  let description = [{
    Rows of a frozen table that @model looks up are replaced by those of a parameter `<module>.trainable_tokens_delta`, [rows, width],
    which begins with the table's own. The other rows stay frozen: no gradient of the table's size is made for look-ups. Whatever else
    reads the table, as a tied head, reads it with these rows in it. With `folder`, rows and first values come from a folder that peft
    wrote. Runs on level 1, before casts and gradients are added.

    Example: `--kedge-insert-tokens=tokens=embed=1`
    ```mlir
    train.state frozen @embed.weight tensor<6x4xf32> {onnx_name = "embed.weight"}
    func.func @model(%x: tensor<3xi64>, %w: tensor<6x4xf32> {train.binding = #train.binding<state @embed.weight>}) -> tensor<3x4xf32> attributes {train.kind = #train.kind<model>} {
      %y = onnx.Gather %w, %x {axis = 0 : i64} : (tensor<6x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
      return %y : tensor<3x4xf32>
    }
    ```
    becomes
    ```mlir
    train.state parameter @embed.trainable_tokens_delta tensor<1x4xf32> from unit {onnx_name = "embed.trainable_tokens_delta", tune.adapter = #tune.adapter<tokens of @embed.weight ...
    func.func @model(%x: ..., %w: ..., %t: ... @embed.trainable_tokens_delta>}) -> tensor<3x4xf32> attributes {train.kind = #train.kind<model>} {
      %y = onnx.Gather %w, %x {axis = 0 : i64} : (tensor<6x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
      ...
      %new = onnx.MatMul %ones, %t ...
      ...
      %z = onnx.Where %is, %new, %y ...
      return %z : tensor<3x4xf32>
    }
    ```
  }];
  let statistics = [Counter<"tables", "of which rows train">, Counter<"parameters added", "elements of all new parameters">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect", "kedge::tune::TuneDialect"];
  let options = [
    ListOption<"tokens", "tokens", "kedge::adapters::TokenRule", "REGEX=ROW+FIRST-LAST: rows of tables of such names">,
    Option<"folder", "folder", "std::string", "\"\"", "rows as peft saves them, in the place of the option above">
  ];
}

def AddReference : KedgePass<"kedge-add-reference", "mlir::ModuleOp"> {
  let summary = "The model's output with its adapters off";
  let description = [{
    Adds the result `reference` to @model: what the output `logits` would be without adapters and without Dropout. Ops that no
    adapter changes are shared, others are computed once more behind them; weights are the same. A loss beside a reference takes
    the result away. Without adapters nothing changes. Runs on level 1, behind `kedge-insert-adapters`.

    Example: `--kedge-insert-adapters="weights=proj rank=2" --kedge-add-reference`
    ```mlir
    train.state frozen @proj.weight tensor<6x4xf32> {onnx_name = "proj.weight"}
    func.func @model(%x: tensor<3x4xf32>, %w: tensor<6x4xf32> {train.binding = #train.binding<state @proj.weight>}) -> (tensor<3x6xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
      %h = onnx.MatMul %x, %w {transB = true} : (tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<3x6xf32>
      %y = onnx.Tanh %h : (tensor<3x6xf32>) -> tensor<3x6xf32>
      return %y : tensor<3x6xf32>
    }
    ```
    becomes
    ```mlir
    func.func @model(%x: ..., %w: ..., %b: ... @proj.lora_B.weight>}, %a: ... @proj.lora_A.weight>}) -> (tensor<3x6xf32> {train.binding = #train.binding<output "y">}, tensor<3x6xf32> {train.binding = #train.binding<result "reference">}) attributes {train.kind = #train.kind<model>} {
      %h = onnx.MatMul %x, %w {transB = true} : (tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<3x6xf32>
      %low = onnx.MatMul %x, %a {transB = true} : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
      %z = onnx.Gemm %low, %b, %h {alpha = 4.000000e+00 : f32, transB = true} : ...
      %y = onnx.Tanh %z : (tensor<3x6xf32>) -> tensor<3x6xf32>
      %base = onnx.Identity %h {stops_gradient} : (tensor<3x6xf32>) -> tensor<3x6xf32>
      %off = onnx.Tanh %base : (tensor<3x6xf32>) -> tensor<3x6xf32>
      return %y, %off : tensor<3x6xf32>, tensor<3x6xf32>
    }
    ```
  }];
  let statistics = [Counter<"ops", "that are computed once more">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect", "kedge::tune::TuneDialect"];
  let options = [
    Option<"logits", "logits", "std::string", "\"\"", "output that the loss reads (default: the only float output)">
  ];
}

def QuantizeWeights : KedgePass<"kedge-quantize-weights", "mlir::ModuleOp"> {
  let summary = "Keep frozen weights in few bits";
  let description = [{
    Frozen weights that a REGEX of `weights` names become codes, with one scale (the largest magnitude) for each block of 64
    elements (nf4, fp4) or for each output (int8). `train.dequantize` computes the values that the model reads. With
    `double-quantize` the scales are in 8 bits, too. The place of the first values does not change: the runtime encodes
    them while it reads them.

    Example: `--kedge-quantize-weights=weights=proj=nf4`
    ```mlir
    train.state frozen @proj tensor<8x16xf32> {onnx_name = "proj"}
    func.func @model(%x: tensor<3x16xf32>, %w: tensor<8x16xf32> {train.binding = #train.binding<state @proj>}) -> tensor<3x8xf32> attributes {train.kind = #train.kind<model>} {
      %y = onnx.MatMul %x, %w {transB = true} : (tensor<3x16xf32>, tensor<8x16xf32>) -> tensor<3x8xf32>
      return %y : tensor<3x8xf32>
    }
    ```
    becomes
    ```mlir
    train.state frozen @proj tensor<64xui8> {onnx_name = "proj", tune.encoding = #tune.encoding<nf4 codes of tensor<8x16xf32> double false>}
    train.state frozen @proj.absmax tensor<2xf32> {of = @proj, onnx_name = "proj.absmax", tune.encoding = #tune.encoding<nf4 absmax of tensor<8x16xf32> double false>}
    func.func @model(%x: ..., %codes: ... @proj>}, %absmax: ... @proj.absmax>}) -> tensor<3x8xf32> attributes {train.kind = #train.kind<model>} {
      %w = train.dequantize %codes, %absmax {block = 64 : i64, ...
      %y = onnx.MatMul %x, %w {transB = true} : (tensor<3x16xf32>, tensor<8x16xf32>) -> tensor<3x8xf32>
      return %y : tensor<3x8xf32>
    }
    ```
  }];
  let statistics = [Counter<"weights", "weights that are stored in few bits">,
                    Counter<"bytes saved", "of the states' storage">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect", "kedge::tune::TuneDialect"];
  let options = [
    ListOption<"weights", "weights", "kedge::adapters::QuantizeRule", "REGEX=nf4, REGEX=fp4 or REGEX=int8; the first that fits a name holds">,
    Option<"doubleQuantize", "double-quantize", "bool", "false", "largest magnitudes of blocks in 8 bits, too (nf4, fp4)">
  ];
}

def InsertFakeQuantization : KedgePass<"kedge-insert-fake-quantization", "mlir::ModuleOp"> {
  let summary = "Round weights and their inputs to integers while they train";
  let description = [{
    Weights of MatMul, Gemm and Conv that a REGEX of `weights` names are read as the deployed model will hold them:
    `train.fake_quantize` with scales from the largest magnitudes (int8, int4) or from the range (uint8) of the weight itself. What
    they are multiplied with is rounded, too, with the scale of a range that follows those of the batches (a moving average):
    two states for each product, or for all products with the same input. Evaluation reads the ranges and keeps them. Before step
    `observe` nothing is rounded; from step `freeze` on the ranges stay. Runs on level 1, before casts and gradients are added.

    Example: `--kedge-insert-fake-quantization=weights=proj=int8`
    ```mlir
    train.state parameter @proj.weight tensor<6x4xf32> {onnx_name = "proj.weight"}
    func.func @model(%x: tensor<3x4xf32>, %w: tensor<6x4xf32> {train.binding = #train.binding<state @proj.weight>}) -> tensor<3x6xf32> attributes {train.kind = #train.kind<model>} {
      %y = onnx.MatMul %x, %w {transB = true} : (tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<3x6xf32>
      return %y : tensor<3x6xf32>
    }
    ```
    becomes
    ```mlir
    train.state parameter @proj.weight tensor<6x4xf32> {onnx_name = "proj.weight", tune.fake_quantized = #tune.fake_quantized<int8 axis 0 : i64 range @proj.input_min @proj.input_max input uint8>}
    train.state buffer @proj.input_min tensor<f32> from unit {onnx_name = "proj.input_min"}
    train.state buffer @proj.input_max tensor<f32> from unit {onnx_name = "proj.input_max"}
    func.func @model(%x: ..., %w: ..., %min: ... @proj.input_min>}, %max: ... @proj.input_max>}) -> (tensor<3x6xf32>, ... @proj.input_min>}, ... @proj.input_max>}) attributes {train.kind = #train.kind<model>} {
      %lo = onnx.ReduceMin %x {axes = array<i64: 0, 1>} : (tensor<3x4xf32>) -> tensor<f32>
      %hi = onnx.ReduceMax %x {axes = array<i64: 0, 1>} : (tensor<3x4xf32>) -> tensor<f32>
      %new_min, %new_max = train.moving_range %lo, %hi, %min, %max {averaging = 0.00999999977 : f32} : ...
      %now_min = train.by_mode %new_min, %min : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %now_max = train.by_mode %new_max, %max : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %xscale, %xzero = train.range_scale %now_min, %now_max {high = 255 : i64, low = 0 : i64} : ...
      %xq = train.fake_quantize %x, %xscale, %xzero {high = 255 : i64, low = 0 : i64} : ...
      %least = onnx.ReduceMin %w {axes = array<i64: 1>, keepdims = true} : (tensor<6x4xf32>) -> tensor<6x1xf32>
      %most = onnx.ReduceMax %w {axes = array<i64: 1>, keepdims = true} : (tensor<6x4xf32>) -> tensor<6x1xf32>
      %wscale, %wzero = train.range_scale %least, %most {high = 127 : i64, low = -127 : i64} : ...
      %wq = train.fake_quantize %w, %wscale, %wzero {high = 127 : i64, low = -127 : i64} : ...
      %y = onnx.MatMul %xq, %wq {transB = true} : (tensor<3x4xf32>, tensor<6x4xf32>) -> tensor<3x6xf32>
      return %y, %new_min, %new_max : tensor<3x6xf32>, tensor<f32>, tensor<f32>
    }
    ```
  }];
  let statistics = [Counter<"weights", "weights that are rounded">,
                    Counter<"ranges", "inputs of products whose range is followed">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect", "kedge::tune::TuneDialect"];
  let options = [
    ListOption<"weights", "weights", "kedge::adapters::FakeQuantizeRule", "REGEX=int8, REGEX=uint8 or REGEX=int4; the first that fits a name holds">,
    Option<"scales", "scales", "kedge::adapters::Granularity", "kedge::adapters::Granularity::Channel", "of weights: one for a tensor, for each channel (output) or for each block of inputs">,
    Option<"block", "block", "int64_t", "32", "elements of a block">,
    Option<"activations", "activations", "kedge::adapters::Activations", "kedge::adapters::Activations::UInt8", "what inputs of the products are rounded to: uint8, int8 or none">,
    Option<"averaging", "averaging", "kedge::ExactDouble", "0.01", "how far a range follows a batch's">,
    Option<"observe", "observe", "int64_t", "0", "steps in which ranges are followed and nothing is rounded">,
    Option<"freeze", "freeze", "int64_t", "0", "step from which on the ranges stay (0: never)">,
    Option<"learned", "learned", "bool", "false", "scales of inputs are parameters: the ranges give the first ones">,
    Option<"sums", "sums", "bool", "false", "what an Add of two values reads of rounded inputs and of products is rounded, too">
  ];
}

def RoundBiases : KedgePass<"kedge-round-biases", "mlir::ModuleOp"> {
  let summary = "Round the biases of rounded products in evaluation, as integers of 32 bits";
  let description = [{
    A deployed product of integers adds its bias as an integer of 32 bits, whose step is that of the product: the input's scale times the
    weight's. In evaluation and prediction the biases of Conv and Gemm are rounded to such steps, where input and weight are rounded; a
    BatchNormalization that `kedge-fold-norms` multiplied into the weight becomes such a bias. Training keeps its biases and norms.

    Example: `--kedge-round-biases`
    ```mlir
    train.state parameter @w tensor<6x4xf32>
    train.state parameter @b tensor<6xf32>
    func.func @model(%x: tensor<3x4xf32>, %w: tensor<6x4xf32> {train.binding = #train.binding<state @w>}, %b: tensor<6xf32> {train.binding = #train.binding<state @b>},
                     %xs: tensor<f32>, %xz: tensor<f32>, %ws: tensor<6x1xf32>, %wz: tensor<6x1xf32>) -> tensor<3x6xf32> attributes {train.kind = #train.kind<model>} {
      %xq = train.fake_quantize %x, %xs, %xz {high = 255 : i64, low = 0 : i64} : (tensor<3x4xf32>, tensor<f32>, tensor<f32>) -> tensor<3x4xf32>
      %wq = train.fake_quantize %w, %ws, %wz {high = 127 : i64, low = -127 : i64} : (tensor<6x4xf32>, tensor<6x1xf32>, tensor<6x1xf32>) -> tensor<6x4xf32>
      %y = onnx.Gemm %xq, %wq, %b {transB = true} : (tensor<3x4xf32>, tensor<6x4xf32>, tensor<6xf32>) -> tensor<3x6xf32>
      return %y : tensor<3x6xf32>
    }
    ```
    becomes
    ```mlir
    func.func @model(...) -> tensor<3x6xf32> attributes {train.kind = #train.kind<model>} {
      %xq = train.fake_quantize ...
      %wq = train.fake_quantize ...
      %flat = onnx.Reshape %ws {shape = array<i64: 6>} : (tensor<6x1xf32>) -> tensor<6xf32>
      %steps = onnx.Mul %xs, %flat : (tensor<f32>, tensor<6xf32>) -> tensor<6xf32>
      %none = onnx.Constant dense<0.000000e+00> : tensor<6xf32>
      %bq = train.fake_quantize %b, %steps, %none {high = 2147483647 : i64, low = -2147483648 : i64} : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
      %now = train.by_mode %b, %bq : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
      %y = onnx.Gemm %xq, %wq, %now {transB = true} : ...
      return %y : tensor<3x6xf32>
    }
    ```
  }];
  let statistics = [Counter<"biases", "that are rounded">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect", "kedge::tune::TuneDialect"];
}

def FoldNorms : KedgePass<"kedge-fold-norms", "mlir::ModuleOp"> {
  let summary = "Multiply BatchNormalization into convolutions' weights before they are rounded";
  let description = [{
    A deployed model has no BatchNormalization behind a convolution: its weight is w s, with s = scale / sqrt(running variance + epsilon).
    So that is what is rounded, where BatchNormalization alone reads the convolution; the product is divided by s again, so that training
    still normalises with the batch's statistics, and evaluation computes what the deployed model computes. Where s is 0, 1 is taken.
    Gradients pass through s to the scale. Runs behind `kedge-insert-fake-quantization`.

    Example: `--kedge-fold-norms`
    ```mlir
    train.state parameter @conv.weight tensor<4x1x3x3xf32> {tune.fake_quantized = #tune.fake_quantized<int8 axis 0 : i64 input uint8>}
    train.state parameter @scale tensor<4xf32>
    train.state parameter @bias tensor<4xf32>
    train.state buffer @mean tensor<4xf32>
    train.state buffer @variance tensor<4xf32>
    func.func @model(%x: tensor<2x1x8x8xf32>, %w: tensor<4x1x3x3xf32> {train.binding = #train.binding<state @conv.weight>},
                     %s: tensor<4xf32> {train.binding = #train.binding<state @scale>}, %b: tensor<4xf32> {train.binding = #train.binding<state @bias>},
                     %m: tensor<4xf32> {train.binding = #train.binding<state @mean>}, %v: tensor<4xf32> {train.binding = #train.binding<state @variance>}) -> tensor<2x4x6x6xf32> attributes {train.kind = #train.kind<model>} {
      %least = onnx.ReduceMin %w {axes = array<i64: 1, 2, 3>, keepdims = true} : (tensor<4x1x3x3xf32>) -> tensor<4x1x1x1xf32>
      %most = onnx.ReduceMax %w {axes = array<i64: 1, 2, 3>, keepdims = true} : (tensor<4x1x3x3xf32>) -> tensor<4x1x1x1xf32>
      %scale, %zero = train.range_scale %least, %most {high = 127 : i64, low = -127 : i64} : (tensor<4x1x1x1xf32>, tensor<4x1x1x1xf32>) -> (tensor<4x1x1x1xf32>, tensor<4x1x1x1xf32>)
      %wq = train.fake_quantize %w, %scale, %zero {high = 127 : i64, low = -127 : i64} : (tensor<4x1x3x3xf32>, tensor<4x1x1x1xf32>, tensor<4x1x1x1xf32>) -> tensor<4x1x3x3xf32>
      %c = onnx.Conv %x, %wq {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x1x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<2x4x6x6xf32>
      %y = onnx.BatchNormalization %c, %s, %b, %m, %v : (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x6x6xf32>
      return %y : tensor<2x4x6x6xf32>
    }
    ```
    becomes
    ```mlir
    train.state parameter @conv.weight tensor<4x1x3x3xf32> {tune.fake_quantized = ..., tune.folded_norm = #tune.folded_norm<scale @scale bias @bias mean @mean variance @variance epsilon 9.99999974E-6 : f32>}
    ...
    func.func @model(...) -> tensor<2x4x6x6xf32> attributes {train.kind = #train.kind<model>} {
      %deviation = train.inverse_deviation %v {epsilon = 9.99999974E-6 : f32} : (tensor<4xf32>) -> tensor<4xf32>
      %factor = onnx.Mul %s, %deviation : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      ...
      %f = onnx.Where %none, %one, %factor : ...
      %column = onnx.Reshape %f {shape = array<i64: 4, 1, 1, 1>} : ...
      %ws = onnx.Mul %w, %column : (tensor<4x1x3x3xf32>, tensor<4x1x1x1xf32>) -> tensor<4x1x3x3xf32>
      %least = onnx.ReduceMin %ws ...
      %most = onnx.ReduceMax %ws ...
      %scale, %zero = train.range_scale %least, %most ...
      %wq = train.fake_quantize %ws, %scale, %zero ...
      %c = onnx.Conv %x, %wq ...
      %channels = onnx.Reshape %f {shape = array<i64: 1, 4, 1, 1>} : ...
      %d = onnx.Div %c, %channels : (tensor<2x4x6x6xf32>, tensor<1x4x1x1xf32>) -> tensor<2x4x6x6xf32>
      %y = onnx.BatchNormalization %d, %s, ...
      return %y : tensor<2x4x6x6xf32>
    }
    ```
  }];
  let statistics = [Counter<"norms", "that are multiplied into weights">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::onnx::ONNXDialect", "kedge::train::TrainDialect", "kedge::tune::TuneDialect"];
}
#endif
