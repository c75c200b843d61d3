// Level 3 -> level 3: clusters and library calls that one launch can compute, or that fewer can.
#ifndef KEDGE_SCHEDULE_LAUNCH_PASSES
#define KEDGE_SCHEDULE_LAUNCH_PASSES
include "passes/Base/KedgePass.td"

def FuseSums : KedgePass<"kedge-fuse-sums", "mlir::func::FuncOp"> {
  let summary = "Let the product that makes a weight's gradient sum the rows of the gradient that it reads";
  let description = [{
    For GPUs, on level 3, behind kedge-fuse-clusters. The gradient of a bias is the sum of the rows of a gradient; the product
    that makes the weight's gradient reads the same rows, and cuBLASLt sums them as it does. A cluster that is nothing but
    such a sum joins the product, which becomes a train.fused_product. Sums that another kernel computes while it makes the
    gradient have joined that kernel before, and stay there. Products of 16-bit floats whose rows are whole 16 bytes.

    Example:
    ```mlir
    func.func @f(%x: tensor<4x8xbf16>, %d: tensor<4x16xbf16>) -> (tensor<8x16xbf16>, tensor<16xbf16>) {
      %w = sched.library "onnx.MatMul"(%x, %d) {transA = true, transB = false} : (tensor<4x8xbf16>, tensor<4x16xbf16>) -> tensor<8x16xbf16>
      %b = sched.cluster domain [4, 16] reduced [0] (%d) maps [affine_map<(d0, d1) -> (d0, d1)>] -> [affine_map<(d0, d1) -> (d1)>] {
      ^bb0(%a: bf16):
        %0 = arith.extf %a : bf16 to f32
        %1 = sched.reduce add %0 : f32
        %2 = arith.truncf %1 : f32 to bf16
        sched.yield %2 : bf16
      } : (tensor<4x16xbf16>) -> tensor<16xbf16>
      return %w, %b : tensor<8x16xbf16>, tensor<16xbf16>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<4x8xbf16>, %d: tensor<4x16xbf16>) -> (tensor<8x16xbf16>, tensor<16xbf16>) {
      %0:2 = sched.library "train.fused_product"(%x, %d) {epilogue = "sums_b", transA = true, transB = false} : (tensor<4x8xbf16>, tensor<4x16xbf16>) -> (tensor<8x16xbf16>, tensor<16xbf16>)
      return %0#0, %0#1 : tensor<8x16xbf16>, tensor<16xbf16>
    }
    ```
  }];
  let statistics = [Counter<"sums joined", "sums that a cluster computes with its values">];
  let dependentDialects = ["kedge::sched::SchedDialect"];
}

def PackAttention : KedgePass<"kedge-pack-attention", "mlir::func::FuncOp"> {
  let summary = "Let attention read Q, K and V where their projection is, and write their gradients there";
  let description = [{
    On level 3: if the operands of a 16-bit attention are the three parts of a Split, it reads the whole tensor with strides
    instead, and its gradient writes directly into the tensor that a Concat would make. Nothing is copied, and no number
    changes.

    Example:
    ```mlir
    func.func @f(%x: tensor<1x2x12xbf16>) -> tensor<1x2x2x2xbf16> {
      %q, %k, %v = sched.library "onnx.Split"(%x) {axis = 2 : i64, split = array<i64: 4, 4, 4>} : (tensor<1x2x12xbf16>) -> (tensor<1x2x4xbf16>, tensor<1x2x4xbf16>, tensor<1x2x4xbf16>)
      %0 = sched.view %q : tensor<1x2x4xbf16> to tensor<1x2x2x2xbf16>
      %1 = sched.view %k : tensor<1x2x4xbf16> to tensor<1x2x2x2xbf16>
      %2 = sched.view %v : tensor<1x2x4xbf16> to tensor<1x2x2x2xbf16>
      %o, %lse = sched.library "train.attention"(%0, %1, %2) {q_layout = "bthd", k_layout = "bthd", v_layout = "bthd", o_layout = "bthd"} : (tensor<1x2x2x2xbf16>, tensor<1x2x2x2xbf16>, tensor<1x2x2x2xbf16>) -> (tensor<1x2x2x2xbf16>, tensor<1x2x2xf32>)
      return %o : tensor<1x2x2x2xbf16>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<1x2x12xbf16>) -> tensor<1x2x2x2xbf16> {
      %0:2 = sched.library "train.attention"(%x) {kv_num_heads = 2 : i64, o_layout = "bthd", packed = true, q_num_heads = 2 : i64} : (tensor<1x2x12xbf16>) -> (tensor<1x2x2x2xbf16>, tensor<1x2x2xf32>)
      return %0#0 : tensor<1x2x2x2xbf16>
    }
    ```
  }];
  let statistics = [Counter<"calls packed", "attentions that read one packed tensor">];
  let dependentDialects = ["kedge::sched::SchedDialect"];
}

def SumColumns : KedgePass<"kedge-sum-columns", "mlir::func::FuncOp"> {
  let summary = "Sum columns in the kernel that makes or reads their rows";
  let description = [{
    For GPUs, on level 3: a cluster that reduces along rows and writes their points reads what other clusters of the same domain
    reduce along columns, or makes it: the gradient of a normalization's input, those of its scale and bias, and that of the bias
    in front of it. They become one cluster, which also yields the sums of blocks of rows (`sched.sum`), and one that reduces the
    blocks. So points are read once. The rows of a block follow from the domain: as many as leave `blocks` blocks. If no such
    number divides the rows, nothing changes. The order of the sums is another one than without this pass.

    Example: `--kedge-sum-columns=blocks=4`
    ```mlir
    func.func @f(%x: tensor<64x8xf32>) -> (tensor<64x8xf32>, tensor<8xf32>) {
      %0 = sched.cluster domain [64, 8] reduced [1] (%x) maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r, c)>] {
      ^bb0(%a: f32):
        %s = sched.reduce add %a : f32
        %b = arith.subf %a, %s : f32
        sched.yield %b : f32
      } : (tensor<64x8xf32>) -> tensor<64x8xf32>
      %1 = sched.cluster domain [64, 8] reduced [0] (%x) maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (c)>] {
      ^bb0(%a: f32):
        %s = sched.reduce add %a : f32
        sched.yield %s : f32
      } : (tensor<64x8xf32>) -> tensor<8xf32>
      return %0, %1 : tensor<64x8xf32>, tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<64x8xf32>) -> (tensor<64x8xf32>, tensor<8xf32>) {
      %0:2 = sched.cluster domain [64, 8] reduced [1](%x) maps ... {
      ^bb0(%a: f32):
        %s = sched.reduce add %a : f32
        %b = arith.subf %a, %s : f32
        %t = sched.sum %a : f32
        sched.yield %b, %t : f32, f32
      } : (tensor<64x8xf32>) -> (tensor<64x8xf32>, tensor<4x8xf32>)
      %1 = sched.cluster domain [4, 8] reduced [0](%0#1) maps ... {
      ^bb0(%a: f32):
        %s = sched.reduce add %a : f32
        ...
      return %0#0, %1 : tensor<64x8xf32>, tensor<8xf32>
    ```
  }];
  let statistics = [Counter<"clusters joined", "column sums computed with their values">];
  let options = [Option<"blocks", "blocks", "int64_t", "256", "Blocks of rows, at least.">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::sched::SchedDialect"];
}

def JoinPartialSums : KedgePass<"kedge-join-partial-sums", "mlir::func::FuncOp"> {
  let summary = "Let the sums of several kernels' partial sums follow each other, for one launch";
  let description = [{
    For GPUs, on level 3, behind kedge-place-updates. kedge-sum-columns leaves a short launch behind each kernel of rows: it adds
    up the sums of blocks. Equal ones wait for each other, as long as no more than `held` bytes of partial sums do:
    they move to the place of the last, with the updates that read the sums in between. kedge-group-launches makes one
    launch of them. Each sum keeps its order of terms, and so its bits. One stays where a product, a collective or a state
    that is replaced in between stands in the way.

    Example:
    ```mlir
    func.func @f(%x: tensor<2x32x8xf32>, %y: tensor<2x32x8xf32>) -> (tensor<2x32x8xf32>, tensor<8xf32>, tensor<2x32x8xf32>, tensor<8xf32>) {
      %a, %pa = sched.cluster domain [2, 32, 8] reduced [] (%x) maps [affine_map<(d0, d1, d2) -> (d0, d1, d2)>] -> [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1 floordiv 16, d2)>] {
      ^bb0(%v: f32):
        %0 = math.tanh %v : f32
        %1 = sched.sum %0 : f32
        sched.yield %0, %1 : f32, f32
      } : (tensor<2x32x8xf32>) -> (tensor<2x32x8xf32>, tensor<2x2x8xf32>)
      %sa = sched.cluster domain [2, 2, 8] reduced [0, 1] (%pa) maps [affine_map<(d0, d1, d2) -> (d0, d1, d2)>] -> [affine_map<(d0, d1, d2) -> (d2)>] {
      ^bb0(%v: f32):
        %0 = sched.reduce add %v : f32
        sched.yield %0 : f32
      } : (tensor<2x2x8xf32>) -> tensor<8xf32>
      %b, %pb = sched.cluster domain [2, 32, 8] reduced [] (%y) maps [affine_map<(d0, d1, d2) -> (d0, d1, d2)>] -> [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1 floordiv 16, d2)>] {
      ^bb0(%v: f32):
        %0 = math.tanh %v : f32
        %1 = sched.sum %0 : f32
        sched.yield %0, %1 : f32, f32
      } : (tensor<2x32x8xf32>) -> (tensor<2x32x8xf32>, tensor<2x2x8xf32>)
      %sb = sched.cluster domain [2, 2, 8] reduced [0, 1] (%pb) maps [affine_map<(d0, d1, d2) -> (d0, d1, d2)>] -> [affine_map<(d0, d1, d2) -> (d2)>] {
      ^bb0(%v: f32):
        %0 = sched.reduce add %v : f32
        sched.yield %0 : f32
      } : (tensor<2x2x8xf32>) -> tensor<8xf32>
      return %a, %sa, %b, %sb : tensor<2x32x8xf32>, tensor<8xf32>, tensor<2x32x8xf32>, tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    ...
      %0:2 = sched.cluster domain [2, 32, 8] ...
      ...
      %1:2 = sched.cluster domain [2, 32, 8] ...
      ...
      %2 = sched.cluster domain [2, 2, 8] reduced [0, 1](%0#1) ...
      ...
      %3 = sched.cluster domain [2, 2, 8] reduced [0, 1](%1#1) ...
      ...
    ```
  }];
  let statistics = [Counter<"joins moved", "sums of partial sums that wait for a later one">];
  let options = [Option<"held", "held", "int64_t", "16777216", "Bytes of partial sums that wait, at most.">];
  let dependentDialects = ["kedge::sched::SchedDialect"];
}

def JoinMaxima : KedgePass<"kedge-join-maxima", "mlir::func::FuncOp"> {
  let summary = "Find the maxima of weights of equal shape in one kernel";
  let description = [{
    For GPUs, on level 3, behind kedge-fuse-clusters. A step in 8-bit floats finds the largest magnitude of each weight, then
    its scale: two short launches for each weight. Clusters that reduce nothing but maxima, of states alone or of the results of
    such clusters, move to the front of the function, and those with equal loops become one cluster. A cluster
    stays where it is if it reads more than `most` bytes: the cast that follows would read them from memory once more, and take
    longer than the launch that is left out. A maximum has the same bits in any order.

    Example:
    ```mlir
    train.state parameter @w0 tensor<4x16xbf16>
    train.state parameter @w1 tensor<4x16xbf16>
    func.func @f(%w0: tensor<4x16xbf16> {train.binding = #train.binding<state @w0>}, %w1: tensor<4x16xbf16> {train.binding = #train.binding<state @w1>}) -> (tensor<4xbf16>, tensor<4xbf16>) {
      %m0 = sched.cluster domain [4, 16] reduced [1] (%w0) maps [affine_map<(d0, d1) -> (d0, d1)>] -> [affine_map<(d0, d1) -> (d0)>] {
      ^bb0(%a: bf16):
        %0 = math.absf %a : bf16
        %1 = sched.reduce max %0 : bf16
        sched.yield %1 : bf16
      } : (tensor<4x16xbf16>) -> tensor<4xbf16>
      %m1 = sched.cluster domain [4, 16] reduced [1] (%w1) maps [affine_map<(d0, d1) -> (d0, d1)>] -> [affine_map<(d0, d1) -> (d0)>] {
      ^bb0(%a: bf16):
        %0 = math.absf %a : bf16
        %1 = sched.reduce max %0 : bf16
        sched.yield %1 : bf16
      } : (tensor<4x16xbf16>) -> tensor<4xbf16>
      return %m0, %m1 : tensor<4xbf16>, tensor<4xbf16>
    }
    ```
    becomes
    ```mlir
    ...
      %0:2 = sched.cluster domain [4, 16] reduced [1](%w0, %w1) maps [...] -> [...] {
      ^bb0(%a: bf16, %b: bf16):
        %1 = math.absf %a : bf16
        %2 = sched.reduce max %1 : bf16
        %3 = math.absf %b : bf16
        %4 = sched.reduce max %3 : bf16
        sched.yield %4, %2 : bf16, bf16
      } : (tensor<4x16xbf16>, tensor<4x16xbf16>) -> (tensor<4xbf16>, tensor<4xbf16>)
      return %0#1, %0#0 : tensor<4xbf16>, tensor<4xbf16>
    ...
    ```
  }];
  let statistics = [Counter<"clusters joined", "maxima computed with their values">];
  let options = [Option<"most", "most", "int64_t", "12582912", "Bytes that a cluster reads, at most.">];
  let dependentDialects = ["kedge::sched::SchedDialect"];
}
def PadRows : KedgePass<"kedge-pad-rows", "mlir::func::FuncOp"> {
  let summary = "Let long rows of odd length begin at aligned addresses";
  let description = [{
    For GPUs, on level 3: a value of at least `least` numbers a row that products make or read, and whose rows do not begin at
    multiples of 16 bytes (logits over 50257 tokens, and their gradient), gets rows of a multiple of 64 in memory. Matrix units
    load 16 bytes at once, so products of odd rows are slow. Only the distance from row to row changes: products know the
    columns that count (`widths`: of A, B and the result), clusters have the same domains, what lies between rows is never read,
    and no number changes. Values that leave the function, and those that anything else reads, stay dense.

    Example:
    ```mlir
    func.func @f(%x: tensor<4x8xbf16>, %w: tensor<8x1001xbf16>) -> tensor<4x8xbf16> {
      %l = sched.library "onnx.MatMul"(%x, %w) {} : (tensor<4x8xbf16>, tensor<8x1001xbf16>) -> tensor<4x1001xbf16>
      %y = sched.library "onnx.MatMul"(%l, %w) {transB = true} : (tensor<4x1001xbf16>, tensor<8x1001xbf16>) -> tensor<4x8xbf16>
      return %y : tensor<4x8xbf16>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<4x8xbf16>, %w: tensor<8x1001xbf16>) -> tensor<4x8xbf16> {
      %l = sched.library "onnx.MatMul"(%x, %w) {widths = array<i64: 8, 1001, 1001>} : (tensor<4x8xbf16>, tensor<8x1001xbf16>) -> tensor<4x1024xbf16>
      %y = sched.library "onnx.MatMul"(%l, %w) {transB = true, widths = array<i64: 1001, 1001, 8>} : (tensor<4x1024xbf16>, tensor<8x1001xbf16>) -> tensor<4x8xbf16>
      return %y : tensor<4x8xbf16>
    }
    ```
  }];
  let statistics = [Counter<"values padded", "values whose rows got padding">,
                    Counter<"bytes of padding", "of all these values">];
  let options = [Option<"least", "least", "int64_t", "1000", "Elements of a row, at least.">];
  let dependentDialects = ["kedge::sched::SchedDialect"];
}

def ApproximateExponentials : KedgePass<"kedge-approximate-exponentials", "mlir::func::FuncOp"> {
  let summary = "Mark exponentials that 16-bit floats hide the error of";
  let description = [{
    For GPUs, on level 3: exp, tanh and erf of f32 are marked `afn` where all that comes of them is rounded to 16 bits or fewer
    before it leaves the cluster, or where their operand is made of 16-bit floats alone. The emitter then takes the machine's
    power of two, of 2 units of f32's last place. The mark is on the op, so that a cluster that runs again, or a part of it,
    computes the same bits.

    Example:
    ```mlir
    func.func @f(%x: tensor<64xbf16>) -> tensor<64xbf16> {
      %0 = sched.cluster domain [64] reduced [] (%x) maps [affine_map<(d0) -> (d0)>] -> [affine_map<(d0) -> (d0)>] {
      ^bb0(%a: bf16):
        %b = arith.extf %a : bf16 to f32
        %c = math.exp %b : f32
        %d = arith.truncf %c : f32 to bf16
        sched.yield %d : bf16
      } : (tensor<64xbf16>) -> tensor<64xbf16>
      return %0 : tensor<64xbf16>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<64xbf16>) -> tensor<64xbf16> {
      %0 = sched.cluster domain [64] reduced [](%x) maps ... {
      ^bb0(%a: bf16):
        %b = arith.extf %a : bf16 to f32
        %c = math.exp %b fastmath<afn> : f32
        %d = arith.truncf %c : f32 to bf16
        ...
      return %0 : tensor<64xbf16>
    ```
  }];
  let statistics = [Counter<"exponentials", "exponentials of the fast form">];
  let dependentDialects = ["kedge::sched::SchedDialect"];
}

def DequantizeAgain : KedgePass<"kedge-dequantize-again", "mlir::func::FuncOp"> {
  let summary = "Drop the values of a weight in few bits after their readers, and make them again for later ones";
  let description = [{
    On level 3: if a reader comes more than four launches after the reader before it (as in backward after forward), the
    launches that make the values are cloned right before it. Clones have a number (`clone`), so that they are not merged with
    the originals. So no whole copy of the weights is live from forward to backward.

    Example:
    ```mlir
    train.state frozen @c tensor<4xui8> {tune.encoding = #tune.encoding<int8 codes of tensor<4xf32> double false>}
    func.func @f(%c: tensor<4xui8> {train.binding = #train.binding<state @c>}, %x: tensor<4xf32>) -> tensor<4xf32> {
      %w = sched.library "dequantise"(%c) {} {} : (tensor<4xui8>) -> tensor<4xf32>
      %a = sched.library "a"(%x, %w) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %b = sched.library "b"(%a) {} : (tensor<4xf32>) -> tensor<4xf32>
      %d = sched.library "b"(%b) {} : (tensor<4xf32>) -> tensor<4xf32>
      %e = sched.library "b"(%d) {} : (tensor<4xf32>) -> tensor<4xf32>
      %f = sched.library "b"(%e) {} : (tensor<4xf32>) -> tensor<4xf32>
      %g = sched.library "c"(%f, %w) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %g : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%c: ..., %x: tensor<4xf32>) -> tensor<4xf32> {
      %w = sched.library "dequantise"(%c) {...} : (tensor<4xui8>) -> tensor<4xf32>
      %a = sched.library "a"(%x, %w) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %b = sched.library "b"(%a) {} : (tensor<4xf32>) -> tensor<4xf32>
      %d = sched.library "b"(%b) {} : (tensor<4xf32>) -> tensor<4xf32>
      %e = sched.library "b"(%d) {} : (tensor<4xf32>) -> tensor<4xf32>
      %f = sched.library "b"(%e) {} : (tensor<4xf32>) -> tensor<4xf32>
      %v = sched.library "dequantise"(%c) {...} {clone = 1 : i64} : (tensor<4xui8>) -> tensor<4xf32>
      %g = sched.library "c"(%f, %v) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %g : tensor<4xf32>
    }
    ```
  }];
  let statistics = [Counter<"clones", "dequantised values that are computed again">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::sched::SchedDialect", "kedge::train::TrainDialect"];
}

#endif
