// Level 2 -> level 3: what runs as one kernel, and when.
#ifndef KEDGE_SCHEDULE_PASSES
#define KEDGE_SCHEDULE_PASSES
include "passes/Base/KedgePass.td"
include "passes/Schedule/LaunchPasses.td"

def FuseAccumulation : KedgePass<"kedge-fuse-accumulation", "mlir::func::FuncOp"> {
  let summary = "Let products add gradients to what earlier micro-batches summed";
  let description = [{
    For GPUs, on level 2. Where gradients have the accumulators' type (`--precision fp32`, `--grad-dtype fp32`), the product that
    makes a weight's gradient adds it to the accumulator in place: cuBLASLt's beta is 0 in the first micro-batch, which the host
    knows, and 1 in the others. Under `--grad-dtype fp32` the 16-bit rounding before the cast goes: the product is summed in
    f32. Gradients of 16 bits, and those that anything else reads, are added by kernels.

    Example:
    ```mlir
    func.func @micro(%x: tensor<4x8xf32>, %d: tensor<4x16xf32>, %sum: tensor<8x16xf32>, %micro: tensor<i64>) -> tensor<8x16xf32> {
      %g = onnx.MatMul %x, %d {transA = true} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
      %new = train.accumulate %sum, %g, %micro : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<i64>) -> tensor<8x16xf32>
      return %new : tensor<8x16xf32>
    }
    ```
    becomes
    ```mlir
    func.func @micro(%x: tensor<4x8xf32>, %d: tensor<4x16xf32>, %sum: tensor<8x16xf32>, %micro: tensor<i64>) -> tensor<8x16xf32> {
      %new = train.accumulate_product %x, %d, %sum, %micro {transA = true} : (tensor<4x8xf32>, tensor<4x16xf32>, tensor<8x16xf32>, tensor<i64>) -> tensor<8x16xf32>
      return %new : tensor<8x16xf32>
    }
    ```
  }];
  let statistics = [Counter<"products joined", "products that add to an accumulator">];
  let dependentDialects = ["kedge::train::TrainDialect"];
}

def FuseGatherGradients : KedgePass<"kedge-fuse-gather-gradients", "mlir::func::FuncOp"> {
  let summary = "Add the gradient of looked-up rows onto the gradient that another use of the table makes";
  let description = [{
    For CPUs, on level 2, under `--same-bits` (the module's `dist.parts`). A table that is also a product's operand, as a tied
    embedding is, has a gradient of two terms. One has a few rows that are not zero, those that were looked up: they are added in place,
    and the table of the others is neither made nor read. Without `--same-bits` there is one such table a step, not one a part, and
    programs stay as they are.

    Example:
    ```mlir
    module attributes {dist.parts = 2 : i64} {
      func.func @f(%d: tensor<4x16xf32>, %at: tensor<4xi64>, %a: tensor<50x4xf32>, %b: tensor<4x16xf32>) -> tensor<50x16xf32> {
        %p = onnx.MatMul %a, %b : (tensor<50x4xf32>, tensor<4x16xf32>) -> tensor<50x16xf32>
        %g = train.gather_grad %d, %at {axis = 0 : i64, shape = array<i64: 50, 16>} : (tensor<4x16xf32>, tensor<4xi64>) -> tensor<50x16xf32>
        %s = onnx.Add %p, %g : (tensor<50x16xf32>, tensor<50x16xf32>) -> tensor<50x16xf32>
        return %s : tensor<50x16xf32>
      }
    }
    ```
    becomes
    ```mlir
    func.func @f(%d: ..., %at: ..., %a: ..., %b: ...) -> tensor<50x16xf32> {
      %p = onnx.MatMul %a, %b : (tensor<50x4xf32>, tensor<4x16xf32>) -> tensor<50x16xf32>
      %s = train.add_gather_grad %d, %at, %p {axis = 0 : i64} : (tensor<4x16xf32>, tensor<4xi64>, tensor<50x16xf32>) -> tensor<50x16xf32>
      return %s : tensor<50x16xf32>
    ```
  }];
  let statistics = [Counter<"gradients joined", "gradients of tables that add to another one">];
  let dependentDialects = ["kedge::train::TrainDialect"];
}

def JoinProducts : KedgePass<"kedge-join-products", "mlir::func::FuncOp"> {
  let summary = "Compute the gradient of a weight that many products of few rows read in one product over all their rows";
  let description = [{
    For CPUs, on level 2. The steps of a recurrent layer share its weights, so their gradient is a sum of one product per step, each of a
    few rows. Four or more of them, of f32 and of at most 64 rows, become one train.sum_products over the rows of all, which has the
    bits of the products and of their sum: no matrix as large as the weight is written per step. Rows that a concatenation has anyway
    are read from it, in either order.

    Example:
    ```mlir
    func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>, %c: tensor<2x3xf32>, %d: tensor<2x4xf32>) -> tensor<3x4xf32> {
      %p = onnx.Gemm %a, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
      %q = onnx.Gemm %c, %d {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
      %s = onnx.Add %p, %q : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
      %r = onnx.Gemm %a, %d {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
      %t = onnx.Add %s, %r : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
      %u = onnx.Gemm %c, %b {transA = true} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
      %v = onnx.Add %t, %u : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
      return %v : tensor<3x4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%a: ..., %b: ..., %c: ..., %d: ...) -> tensor<3x4xf32> {
      %x = onnx.Concat %a, %c, %a, %c {axis = 0 : i64} : (...) -> tensor<8x3xf32>
      %y = onnx.Concat %b, %d, %d, %b {axis = 0 : i64} : (...) -> tensor<8x4xf32>
      %v = train.sum_products %x, %y {chain = true, parts = 4 : i64, transA = true} : (tensor<8x3xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
      return %v : tensor<3x4xf32>
    ```
  }];
  let statistics = [Counter<"products joined", "products that are part of one over the rows of all">];
  let dependentDialects = ["kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def JoinSlices : KedgePass<"kedge-join-slices", "mlir::func::FuncOp"> {
  let summary = "Put the gradients of slices that make up a whole side by side";
  let description = [{
    For CPUs, on level 2. The gradient of a tensor that is read in slices is a sum of tensors of its size, each zero but for a slice. Where the slices
    follow each other along one dim and leave nothing out, it is an onnx.Concat of their gradients: the gates of recurrent layers, which exporters
    bring into ONNX's order, are such slices. Numbers are the same, but a zero may keep its sign.

    Example:
    ```mlir
    func.func @f(%a: tensor<2x3xf32>, %b: tensor<1x3xf32>) -> tensor<3x3xf32> {
      %0 = train.slice_grad %a {ends = array<i64: 3, 3>, shape = array<i64: 3, 3>, starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<3x3xf32>
      %1 = train.slice_grad %b {ends = array<i64: 1, 3>, shape = array<i64: 3, 3>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<1x3xf32>) -> tensor<3x3xf32>
      %2 = onnx.Add %0, %1 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
      return %2 : tensor<3x3xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%a: tensor<2x3xf32>, %b: tensor<1x3xf32>) -> tensor<3x3xf32> {
      %0 = onnx.Concat %b, %a {axis = 0 : i64} : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
      return %0 : tensor<3x3xf32>
    }
    ```
  }];
  let statistics = [Counter<"slices joined", "gradients of slices that are side by side now">];
  let dependentDialects = ["kedge::onnx::ONNXDialect"];
}

def MultiplyPlaces : KedgePass<"kedge-multiply-places", "mlir::func::FuncOp"> {
  let summary = "Make transposed convolutions of images of one place products of matrices";
  let description = [{
    For CPUs, on level 2. A generator of images begins with a transposed convolution of images of one place, which spreads the
    place over the window: a product of [images, channels] and [channels, channels of the result x window], and so are its gradients. In f32, without
    groups, padding and dilation.

    Example:
    ```mlir
    func.func @f(%x: tensor<2x3x1xf32>, %w: tensor<3x5x4xf32>) -> tensor<2x5x4xf32> {
      %0 = onnx.ConvTranspose %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>} : (tensor<2x3x1xf32>, tensor<3x5x4xf32>) -> tensor<2x5x4xf32>
      return %0 : tensor<2x5x4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<2x3x1xf32>, %w: tensor<3x5x4xf32>) -> tensor<2x5x4xf32> {
      %0 = onnx.Reshape %x {shape = array<i64: 2, 3>} : (tensor<2x3x1xf32>) -> tensor<2x3xf32>
      %1 = onnx.Reshape %w {shape = array<i64: 3, 20>} : (tensor<3x5x4xf32>) -> tensor<3x20xf32>
      %2 = onnx.Gemm %0, %1 : (tensor<2x3xf32>, tensor<3x20xf32>) -> tensor<2x20xf32>
      %3 = onnx.Reshape %2 {shape = array<i64: 2, 5, 4>} : (tensor<2x20xf32>) -> tensor<2x5x4xf32>
      return %3 : tensor<2x5x4xf32>
    }
    ```
  }];
  let statistics = [Counter<"products", "products that were convolutions and their gradients">];
  let dependentDialects = ["kedge::onnx::ONNXDialect"];
}

def PackWeights : KedgePass<"kedge-pack-weights", "mlir::func::FuncOp"> {
  let summary = "Pack a matrix once that many products of few rows read";
  let description = [{
    For CPUs, on level 2. A product packs its second matrix as the machine's tile reads it. With few rows, as the steps of a recurrent layer
    have them, that takes as long as multiplying. A matrix of f32 that four or more onnx.Gemm of at most 48 rows read in the same
    way is packed once per function; the products have the same bits.

    Example:
    ```mlir
    func.func @f(%a: tensor<2x128xf32>, %w: tensor<128x128xf32>) -> tensor<2x128xf32> {
      %0 = onnx.Gemm %a, %w : (tensor<2x128xf32>, tensor<128x128xf32>) -> tensor<2x128xf32>
      %1 = onnx.Gemm %0, %w : (tensor<2x128xf32>, tensor<128x128xf32>) -> tensor<2x128xf32>
      %2 = onnx.Gemm %1, %w : (tensor<2x128xf32>, tensor<128x128xf32>) -> tensor<2x128xf32>
      %3 = onnx.Gemm %2, %w : (tensor<2x128xf32>, tensor<128x128xf32>) -> tensor<2x128xf32>
      return %3 : tensor<2x128xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%a: ..., %w: ...) -> tensor<2x128xf32> {
      %p = train.pack_columns %w : (tensor<128x128xf32>) -> tensor<4x128x32xf32>
      %0 = train.packed_product %a, %p : (tensor<2x128xf32>, tensor<4x128x32xf32>) -> tensor<2x128xf32>
      ...
    ```
  }];
  let statistics = [Counter<"matrices packed", "matrices that are packed once">,
                    Counter<"products of packed matrices", "products that read them">];
  let dependentDialects = ["kedge::train::TrainDialect"];
}

def FuseGelu : KedgePass<"kedge-fuse-gelu", "mlir::func::FuncOp"> {
  let summary = "Make GELU and its derivative part of the product before them";
  let description = [{
    For GPUs, on level 2, before kedge-decompose. cuBLASLt computes GELU's tanh form of the sums of a product of 16-bit
    floats before it writes them, and keeps GELU's input if backward wants it; it multiplies the sums by GELU's derivative,
    and sums the rows of what it writes, which is the gradient of a bias. Such a product and what reads it become one
    train.fused_product. Products of f32 and f64, the form with erf, and rows that are not whole 16 bytes stay. With
    `sums=false` the sums stay apart, where kedge-fuse-sums gives them to the weight's product.

    Example:
    ```mlir
    func.func @f(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %b: tensor<16xbf16>, %v: tensor<16x8xbf16>, %d: tensor<4x8xbf16>) -> (tensor<4x16xbf16>, tensor<4x16xbf16>, tensor<16xbf16>) {
      %h = onnx.Gemm %x, %w, %b : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<4x16xbf16>
      %y = onnx.Gelu %h {approximate = "tanh"} : (tensor<4x16xbf16>) -> tensor<4x16xbf16>
      %dy = onnx.Gemm %d, %v {transB = true} : (tensor<4x8xbf16>, tensor<16x8xbf16>) -> tensor<4x16xbf16>
      %dh = train.gelu_grad %dy, %h {approximate = "tanh"} : (tensor<4x16xbf16>, tensor<4x16xbf16>) -> tensor<4x16xbf16>
      %db = onnx.ReduceSum %dh {axes = array<i64: 0>} : (tensor<4x16xbf16>) -> tensor<16xbf16>
      return %y, %dh, %db : tensor<4x16xbf16>, tensor<4x16xbf16>, tensor<16xbf16>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %b: tensor<16xbf16>, %v: tensor<16x8xbf16>, %d: tensor<4x8xbf16>) -> (tensor<4x16xbf16>, tensor<4x16xbf16>, tensor<16xbf16>) {
      %y, %h = train.fused_product "gelu" %x, %w, %b : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> (tensor<4x16xbf16>, tensor<4x16xbf16>)
      %dh, %db = train.fused_product "gelu_grad" %d, %v, %h {transB = true} : (tensor<4x8xbf16>, tensor<16x8xbf16>, tensor<4x16xbf16>) -> (tensor<4x16xbf16>, tensor<16xbf16>)
      return %y, %dh, %db : tensor<4x16xbf16>, tensor<4x16xbf16>, tensor<16xbf16>
    }
    ```
  }];
  let statistics = [Counter<"gelus joined", "activations that a product does">,
                    Counter<"gradients joined", "gradients of activations that a product does">,
                    Counter<"bias gradients joined", "sums of these that a product does">];
  let options = [Option<"sums", "sums", "bool", "true", "Join sums of rows of GELU's gradients, too">];
  let dependentDialects = ["kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def Decompose : KedgePass<"kedge-decompose", "mlir::func::FuncOp"> {
  let summary = "Write composite ops as the ops they consist of";
  let description = [{
    Rewrites every op that implements DecomposableOpInterface, unless `target` has a kernel for it. Runs after
    differentiation, so that composites keep gradients of their own.

    Example:
    ```mlir
    func.func @f(%x: tensor<4x8xf32>, %t: tensor<4xi64>) -> tensor<f32> {
      %0 = onnx.SoftmaxCrossEntropyLoss %x, %t {reduction = "mean"} : (tensor<4x8xf32>, tensor<4xi64>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<4x8xf32>, %t: tensor<4xi64>) -> tensor<f32> {
      %losses, %weights = train.nll %x, %t : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>)
      %sum = onnx.ReduceSum %losses {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
      %items = onnx.ReduceSum %weights {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
      %mean = onnx.Div %sum, %items : (tensor<f32>, tensor<f32>) -> tensor<f32>
      return %mean : tensor<f32>
    }
    ```
  }];
  let statistics = [Counter<"ops rewritten", "ops that became simpler ones">];
  let options = [Option<"target", "target", "::kedge::TargetKind", "::kedge::TargetKind::Cpu", "What the kernels are for: cpu or cuda.">];
  let dependentDialects = ["kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def PairFloat8Casts : KedgePass<"kedge-pair-float8-casts", "mlir::func::FuncOp"> {
  let summary = "Write a matrix of 8-bit floats and its transpose in one kernel";
  let description = [{
    For GPUs, behind kedge-decompose. Tensor cores of 8-bit floats read both operands along the summed dim. So most tensors
    are wanted as they are by one product, and transposed by another. A cast whose result is transposed becomes one op with
    both results, which reads the wide tensor once.

    Example:
    ```mlir
    func.func @f(%x: tensor<32x16xbf16>, %s: tensor<f32>) -> (tensor<32x16xf8E4M3FN>, tensor<16x32xf8E4M3FN>) {
      %0 = train.float8_cast %x, %s {to = f8E4M3FN} : (tensor<32x16xbf16>, tensor<f32>) -> tensor<32x16xf8E4M3FN>
      %1 = onnx.Transpose %0 {perm = array<i64: 1, 0>} : (tensor<32x16xf8E4M3FN>) -> tensor<16x32xf8E4M3FN>
      return %0, %1 : tensor<32x16xf8E4M3FN>, tensor<16x32xf8E4M3FN>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<32x16xbf16>, %s: tensor<f32>) -> (tensor<32x16xf8E4M3FN>, tensor<16x32xf8E4M3FN>) {
      %result, %transposed = train.float8_cast_both %x, %s {to = f8E4M3FN} : (tensor<32x16xbf16>, tensor<f32>) -> (tensor<32x16xf8E4M3FN>, tensor<16x32xf8E4M3FN>)
      return %result, %transposed : tensor<32x16xf8E4M3FN>, tensor<16x32xf8E4M3FN>
    }
    ```
  }];
  let statistics = [Counter<"casts paired", "casts that write both orders at once">];
  let dependentDialects = ["kedge::onnx::ONNXDialect", "kedge::train::TrainDialect"];
}

def UnpackInProducts : KedgePass<"kedge-unpack-in-products", "mlir::func::FuncOp"> {
  let summary = "Let products read weights in few bits as they are stored";
  let description = [{
    For the CPU, on level 2 without decomposable ops. Applies to weights in 4 bits, and in int8 with a scale for each row or
    column, which only products read, as their right operand, with or without rounding to 16 bits. The products read the
    codes instead of the weight, and unpack them while they pack the operand. The scales become the last operand, and the
    attribute `unpack` says how to read both. So no whole copy of the values is made. All results stay the same.

    Example:
    ```mlir
    func.func @f(%x: tensor<8x64xf32>, %c: tensor<2048xui8>, %s: tensor<64xf32>) -> tensor<8x64xf32> {
      %w = train.dequantize %c, %s {format = #tune.format<nf4>, block = 64 : i64, whole = tensor<64x64xf32>} : (tensor<2048xui8>, tensor<64xf32>) -> tensor<64x64xf32>
      %y = onnx.MatMul %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
      return %y : tensor<8x64xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<8x64xf32>, %c: tensor<2048xui8>, %s: tensor<64xf32>) -> tensor<8x64xf32> {
      %y = sched.library "onnx.MatMul"(%x, %c, %s) {transA = false, transB = false, unpack = {block = 64 : i64, format = "nf4", shape = array<i64: 64, 64>, type = "f32"}} : (tensor<8x64xf32>, tensor<2048xui8>, tensor<64xf32>) -> tensor<8x64xf32>
      return %y : tensor<8x64xf32>
    }
    ```
  }];
  let statistics = [Counter<"products", "products that read quantised weights">];
  let dependentDialects = ["kedge::sched::SchedDialect"];
}

def FormClusters : KedgePass<"kedge-form-clusters", "mlir::func::FuncOp"> {
  let summary = "Turn each op into a cluster, a library call or a view";
  let description = [{
    Needs level 2 without decomposable ops; leaves only `sched` ops, `onnx.Constant` and the return. Splat
    constants move into cluster bodies.

    Example:
    ```mlir
    func.func @f(%x: tensor<2x3xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
      %two = onnx.Constant dense<2.0> : tensor<f32>
      %0 = onnx.Add %x, %two : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
      %1 = onnx.Reshape %0 {shape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
      %2 = onnx.Gather %1, %i {axis = 0 : i64} : (tensor<6xf32>, tensor<4xi64>) -> tensor<4xf32>
      return %2 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<2x3xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
      %0 = sched.cluster domain [2, 3] reduced [](%x) maps ... {
      ^bb0(%a: f32):
        %two = arith.constant 2.000000e+00 : f32
        %b = arith.addf %a, %two : f32
        sched.yield %b : f32
      } : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %1 = sched.view %0 : tensor<2x3xf32> to tensor<6xf32>
      %2 = sched.library "onnx.Gather"(%1, %i) {axis = 0 : i64} : (tensor<6xf32>, tensor<4xi64>) -> tensor<4xf32>
      return %2 : tensor<4xf32>
    }
    ```
  }];
  let statistics = [Counter<"clusters", "ops that are a generated kernel">,
                    Counter<"library calls", "ops that the runtime computes">,
                    Counter<"views", "ops that only rename bytes">];
  let dependentDialects = ["kedge::sched::SchedDialect", "mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def FuseClusters : KedgePass<"kedge-fuse-clusters", "mlir::func::FuncOp"> {
  let summary = "Merge clusters that pass values to each other";
  let description = [{
    Computes a producer without reductions inside its reader, also through views, if no expensive value is then computed more
    often. Joins clusters of equal domain if both use one place for each value that is passed; what other ops read becomes a
    further output. Values stay the same: each is still rounded to its tensor's type. With `stores` (for GPUs, whose kernels
    store points while they reduce them) a reduction also joins an expensive producer, in front of ops that read it (a bias
    gradient is summed in the kernel that makes the gradient), and two clusters that reduce the same points of the same tensors
    become one, which reads them once.

    Example:
    ```mlir
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = sched.cluster domain [4] reduced [] (%x) maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> (i)>] {
        ^bb0(%a: f32):
          %b = math.tanh %a : f32
          sched.yield %b : f32
      } : (tensor<4xf32>) -> tensor<4xf32>
      %1 = sched.cluster domain [4] reduced [] (%0) maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> (i)>] {
        ^bb0(%a: f32):
          %b = arith.negf %a : f32
          sched.yield %b : f32
      } : (tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = sched.cluster domain [4] reduced [](%x) maps ... {
      ^bb0(%a: f32):
        %b = math.tanh %a : f32
        %c = arith.negf %b : f32
        ...
      return %0 : tensor<4xf32>
    ```
  }];
  let statistics = [Counter<"producers substituted", "clusters that their readers compute again">,
                    Counter<"clusters joined", "clusters computed together">];
  let options = [Option<"stores", "stores", "bool", "false", "Kernels store points while they reduce.">];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def PlaceUpdates : KedgePass<"kedge-place-updates", "mlir::func::FuncOp"> {
  let summary = "Update each parameter as soon as its gradient is final";
  let description = [{
    Moves ops that lead only to new state up: to just after their last operand is made, and after the last reader of the
    state that they replace. So live ranges of gradients end early. Of the ops that also lead to results, such as the norm
    of all gradients, moves those whose result has at most 1/64 of the bytes that they read, and concatenations. Ops that read
    gradients which ranks have reduced wait until the next reduction has begun, and updates of a stage of a pipeline until its last
    send or receive has. Ops that make a rank's part of an argument for a single reader come right before it.

    Example:
    ```mlir
    train.state parameter @w tensor<4xf32>
    func.func @step(%x: tensor<4xf32>, %w: tensor<4xf32> {train.binding = #train.binding<state @w>})
        -> (tensor<4xf32> {train.binding = #train.binding<state @w>}, tensor<4xf32>) attributes {train.kind = #train.kind<step>} {
      %g = sched.library "gradient"(%x, %w) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %y = sched.library "other"(%x) {} : (tensor<4xf32>) -> tensor<4xf32>
      %new = sched.library "update"(%w, %g) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %new, %y : tensor<4xf32>, tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @step(%x: ..., %w: ...) -> (...) attributes {train.kind = #train.kind<step>} {
      %g = sched.library "gradient"(%x, %w) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %new = sched.library "update"(%w, %g) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %y = sched.library "other"(%x) {} : (tensor<4xf32>) -> tensor<4xf32>
      return %new, %y : tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
  let statistics = [Counter<"ops moved", "ops of updates that run earlier">];
}

#endif
