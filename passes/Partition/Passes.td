// Level 2: what ranks share of the state (ZeRO), and what they send each other.
#ifndef KEDGE_PARTITION_PASSES
#define KEDGE_PARTITION_PASSES
include "passes/Base/KedgePass.td"

class PartitionPass<string name> : KedgePass<name, "mlir::ModuleOp"> {
  let dependentDialects = ["kedge::KedgeDialect", "kedge::dist::DistDialect", "kedge::onnx::ONNXDialect",
                           "kedge::train::TrainDialect"];
}

def SetMesh : KedgePass<"kedge-set-mesh", "mlir::ModuleOp"> {
  let summary = "How the ranks of a run are arranged";
  let description = [{
    Sets the module's `dist.mesh`, which every later pass reads: how many ranks train on different rows, which of them share a
    state, along which axes gradients are summed. `mesh` names axes with their ranks, in any order, as `--mesh` of kedge does:
    `replica` and `data`. The attribute has them in the order that numbers the ranks, the outermost first, without axes of one
    rank; one rank in all has no mesh. With `parts`, sums over the rows of a step are balanced trees over so many equal parts of
    them (the module's `dist.parts`), however many ranks there are.

    Example: `--kedge-set-mesh=mesh=data=4,replica=2`
    ```mlir
    train.state parameter @w tensor<3xf32>
    ```
    becomes
    ```mlir
    module attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 4]>} {
      train.state parameter @w tensor<3xf32>
    }
    ```
  }];
  let statistics = [Counter<"ranks", "ranks of the mesh">];
  let options = [
    Option<"mesh", "mesh", "kedge::rt::Mesh", "kedge::rt::Mesh()", "AXIS=N,...: axes of the mesh; empty: one rank">,
    Option<"parts", "parts", "int64_t", "0", "of a step's rows, a power of two, whose sums are added in a tree; 0: in any order">
  ];
  let dependentDialects = ["kedge::dist::DistDialect"];
}

def ReduceGradients : PartitionPass<"kedge-reduce-gradients"> {
  let summary = "Gradients become those of all ranks";
  let description = [{
    Each gradient that a function returns is summed over the ranks that train on different rows (the module's `dist.mesh`): along
    `data` by a dist.reduce_scatter, whose parts are then summed along `replica` in the same way. Where a gradient is read as a
    whole, dist.all_gathers follow. Gradients are sent in buckets, in the order in which backward makes them. A bucket is complete
    with `bucket-bytes` or more, and is sent as soon as its last gradient is made; with `late`, after all gradients. A scalar
    gradient uses a dist.all_reduce. With `over=data` and later `over=replica`, what micro-batches add up is summed along `data`
    in each of them, and along `replica` once a step.

    Example:
    ```mlir
    module attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
      train.state parameter @w tensor<3xf32>
      func.func @step(%x: tensor<3xf32> {train.binding = #train.binding<input "x">}, %w: tensor<3xf32> {train.binding = #train.binding<state @w>})
          -> (tensor<3xf32> {train.binding = #train.binding<gradient @w>}) attributes {train.kind = #train.kind<step>} {
        %g = onnx.Mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        return %g : tensor<3xf32>
      }
    }
    ```
    becomes
    ```mlir
      ...
      %g = onnx.Mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %part = dist.reduce_scatter %g {kedge.place = ..., ranks = 2 : i64} : (tensor<3xf32>) -> tensor<2xf32>
      %sum = dist.all_gather %part {kedge.place = ..., ranks = 2 : i64} : (tensor<2xf32>) -> tensor<3xf32>
      return %sum : tensor<3xf32>
    ```
  }];
  let statistics = [Counter<"gradients", "gradients that ranks sum">, Counter<"buckets", "collectives that do it">,
                    Counter<"bytes", "bytes of these gradients">];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", "26214400", "of gradients that travel together">,
    Option<"late", "late", "bool", "false", "only when all gradients are there, which stay whole until then (stage 1)">,
    Option<"over", "over", "std::string", "\"all\"", "axes to sum over: all, data, or replica, of gradients that are summed over data">
  ];
}

def PartitionStates : PartitionPass<"kedge-partition-states"> {
  let summary = "Each rank keeps its part of the states that a ZeRO stage shards";
  let description = [{
    Stage 1 shards the optimizer's states and the masters of 16-bit parameters; stage 2 also accumulators; stage 3 also
    parameters, their working copies and frozen tensors, unless they have at most `persist-bytes`. Functions take and return
    the parts. A state that is read as a whole is gathered right before its first reader. For a state that is returned as
    a whole, each rank computes its own part, and the parts are gathered. Parts are those of the ranks along `data` of the
    module's `dist.mesh`; along `replica` ranks hold the same parts. Elementwise ops are then computed on parts: of an
    AdamW, only the own part is left. Gathers move after such ops, so that a cast comes before its result is sent. Scalar
    states stay whole, and so do accumulators of a tree (`dist.parts`), which are summed over ranks at the end.

    Example: `--kedge-partition-states=stage=1`
    ```mlir
    module attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
      train.state parameter @w tensor<3xf32>
      train.state momentum @m tensor<3xf32> from unit {of = @w}
      func.func @step(%g: tensor<3xf32> {train.binding = #train.binding<input "g">}, %m: tensor<3xf32> {train.binding = #train.binding<state @m>})
          -> (tensor<3xf32> {train.binding = #train.binding<state @m>}) attributes {train.kind = #train.kind<step>} {
        %sum = onnx.Add %g, %m : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        return %sum : tensor<3xf32>
      }
    }
    ```
    becomes
    ```mlir
    train.state momentum @m tensor<2xf32> from unit {of = @w, sharding = #dist.sharding<[3] over "data" = 2>}
    func.func @step(%g: ..., %m: tensor<2xf32> ...) -> (tensor<2xf32> ...) attributes {train.kind = #train.kind<step>} {
      %part = dist.local_shard %g {ranks = 2 : i64} : (tensor<3xf32>) -> tensor<2xf32>
      %sum = onnx.Add %part, %m : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      return %sum : tensor<2xf32>
    }
    ```
  }];
  let statistics = [Counter<"states sharded", "states that ranks hold a part of">,
                    Counter<"bytes saved", "of these states on a rank">,
                    Counter<"ops on parts", "ops that now compute a rank's part">];
  let options = [
    Option<"stage", "stage", "int64_t", "0", "of ZeRO: 0 (nothing) to 3">,
    Option<"persistBytes", "persist-bytes", "int64_t", "0", "parameters of at most these bytes stay whole in stage 3">
  ];
}

def SyncBatchNorm : KedgePass<"kedge-sync-batch-norm", "mlir::func::FuncOp"> {
  let summary = "Statistics of BatchNormalization in training over the rows of all ranks, or of all micro-batches";
  let description = [{
    Runs on level 2, before kedge-differentiate. Decomposes train.batch_norm into ops in which mean and variance are sums
    over the ranks of the module's `dist.mesh` (dist.all_reduce), over `micro-batches` (train.sum_micros), or over both, and
    gradients pass through these sums. Running statistics are then equal on all these ranks, and are updated once for all
    these micro-batches.

    Example:
    ```mlir
    module attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
      func.func @step(%x: tensor<2x3xf32>, %w: tensor<3xf32>, %m: tensor<3xf32>) -> tensor<2x3xf32> attributes {train.kind = #train.kind<step>} {
        %y:5 = train.batch_norm %x, %w, %w, %m, %m
            : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
            -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
        return %y#0 : tensor<2x3xf32>
      }
    }
    ```
    becomes
    ```mlir
    func.func @step(%x: ..., %w: ..., %m: ...) -> tensor<2x3xf32> attributes {train.kind = #train.kind<step>} {
      %sum = onnx.ReduceSum %x {axes = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<3xf32>
      %all = dist.all_reduce %sum {kind = "sum", ranks = 2 : i64} : (tensor<3xf32>) -> tensor<3xf32>
      %quarter = onnx.Constant dense<2.500000e-01> : tensor<f32>
      %mean = onnx.Mul %all, %quarter : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
      ...
    ```
  }];
  let statistics = [Counter<"norms", "norms whose statistics are of all ranks">];
  let options = [
    Option<"overRanks", "over-ranks", "bool", "true", "sums are over ranks">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "over which sums are, too; their number in a step">
  ];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::dist::DistDialect", "kedge::onnx::ONNXDialect",
                           "kedge::train::TrainDialect"];
}

def SyncRanges : KedgePass<"kedge-sync-ranges", "mlir::func::FuncOp"> {
  let summary = "Ranges of fake quantisation follow the rows of all ranks";
  let description = [{
    Runs on level 2, before kedge-differentiate. The batch's ends that train.moving_range takes become the largest and the least over
    the ranks of the module's `dist.mesh`, so that all ranks round to the same grid.

    Example:
    ```mlir
    module attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
      func.func @step(%lo: tensor<f32>, %hi: tensor<f32>, %a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) attributes {train.kind = #train.kind<step>} {
        %min, %max = train.moving_range %lo, %hi, %a, %b {averaging = 0.5 : f32} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
        return %min, %max : tensor<f32>, tensor<f32>
      }
    }
    ```
    becomes
    ```mlir
    func.func @step(%lo: ..., %hi: ..., %a: ..., %b: ...) -> (tensor<f32>, tensor<f32>) attributes {train.kind = #train.kind<step>} {
      %0 = onnx.Neg %lo : (tensor<f32>) -> tensor<f32>
      %1 = dist.all_reduce %0 {kind = "max", ranks = 2 : i64} : (tensor<f32>) -> tensor<f32>
      %2 = onnx.Neg %1 : (tensor<f32>) -> tensor<f32>
      %3 = dist.all_reduce %hi {kind = "max", ranks = 2 : i64} : (tensor<f32>) -> tensor<f32>
      %min, %max = train.moving_range %2, %3, %a, %b {averaging = 5.000000e-01 : f32} : ...
    ```
  }];
  let statistics = [Counter<"ranges", "ranges that follow all ranks">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::dist::DistDialect", "kedge::onnx::ONNXDialect",
                           "kedge::train::TrainDialect"];
}

def BucketGathers : KedgePass<"kedge-bucket-gathers", "mlir::func::FuncOp"> {
  let summary = "One dist.all_gather for several tensors";
  let description = [{
    Gathers of states, in the order of their first readers, and gathers of new states, in the order in which backward
    makes their gradients, are joined up to `bucket-bytes` of whole tensors.

    Example:
    ```mlir
    func.func @f(%a: tensor<2xf32>, %b: tensor<1xf32>) -> tensor<2xf32> {
      %0 = dist.all_gather %a {ranks = 2 : i64} : (tensor<2xf32>) -> tensor<3xf32>
      %1 = onnx.ReduceSum %0 {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
      %2 = dist.all_gather %b {ranks = 2 : i64} : (tensor<1xf32>) -> tensor<2xf32>
      %3 = onnx.Add %2, %1 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
      return %3 : tensor<2xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%a: tensor<2xf32>, %b: tensor<1xf32>) -> tensor<2xf32> {
      %0:2 = dist.all_gather %a, %b {ranks = 2 : i64} : (tensor<2xf32>, tensor<1xf32>) -> (tensor<3xf32>, tensor<2xf32>)
      %1 = onnx.ReduceSum %0#0 {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
      %3 = onnx.Add %0#1, %1 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
      return %3 : tensor<2xf32>
    }
    ```
  }];
  let statistics = [Counter<"gathers joined", "gathers that share a collective">,
                    Counter<"buckets", "collectives that do it">];
  let options = [Option<"bucketBytes", "bucket-bytes", "int64_t", "26214400", "of whole tensors that travel together">];
}

def GatherAgain : KedgePass<"kedge-gather-again", "mlir::func::FuncOp"> {
  let summary = "Drop what was gathered after its readers, and gather it again for later ones";
  let description = [{
    On level 3: finds the widest gap between the readers of a gathered state. If it has more than four launches (as between
    forward and backward), the readers after it get a gather of their own, right before the first of them. It has a
    number (`clone`), so that it is not merged with the first gather. No state is gathered more than twice. This pass runs
    without a memory budget; with one, kedge-choose-recompute decides.

    Example:
    ```mlir
    func.func @f(%p: tensor<2xf32>, %x: tensor<3xf32>) -> tensor<3xf32> {
      %w = sched.library "dist.all_gather"(%p) {ranks = 2 : i64} {} : (tensor<2xf32>) -> tensor<3xf32>
      %a = sched.library "a"(%x, %w) {} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %b = sched.library "b"(%a) {} : (tensor<3xf32>) -> tensor<3xf32>
      %c = sched.library "b"(%b) {} : (tensor<3xf32>) -> tensor<3xf32>
      %d = sched.library "b"(%c) {} : (tensor<3xf32>) -> tensor<3xf32>
      %e = sched.library "b"(%d) {} : (tensor<3xf32>) -> tensor<3xf32>
      %f = sched.library "c"(%e, %w) {} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      return %f : tensor<3xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%p: tensor<2xf32>, %x: tensor<3xf32>) -> tensor<3xf32> {
      %w = sched.library "dist.all_gather"(%p) {ranks = 2 : i64} : (tensor<2xf32>) -> tensor<3xf32>
      %a = sched.library "a"(%x, %w) {} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %b = sched.library "b"(%a) {} : (tensor<3xf32>) -> tensor<3xf32>
      %c = sched.library "b"(%b) {} : (tensor<3xf32>) -> tensor<3xf32>
      %d = sched.library "b"(%c) {} : (tensor<3xf32>) -> tensor<3xf32>
      %e = sched.library "b"(%d) {} : (tensor<3xf32>) -> tensor<3xf32>
      %again = sched.library "dist.all_gather"(%p) {ranks = 2 : i64} {clone = 1 : i64} : (tensor<2xf32>) -> tensor<3xf32>
      %f = sched.library "c"(%e, %again) {} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      return %f : tensor<3xf32>
    }
    ```
  }];
  let statistics = [Counter<"gathers", "gathers that backward repeats">];
  let dependentDialects = ["kedge::sched::SchedDialect"];
}

def OrderCollectives : KedgePass<"kedge-order-collectives", "mlir::func::FuncOp"> {
  let summary = "Let gradients of weights run while what others wait for is sent along `tensor`";
  let description = [{
    On level 3, when all gathers have their places. A product that no later collective along `tensor` waits for (the gradient of a
    weight), what reads the result of a collective without being awaited itself (a norm's gradient), and what is made of both (sums
    of squares, updates) wait until such a collective has begun, and run under it: as many as its predicted seconds take, less those
    of other ops in front of its reader. None waits for more than two collectives, since what it reads stays in memory. Collectives
    keep their order, and so do ops that wait. No bit of a result changes. `device` is whose predicted seconds count.

    Example:
    ```mlir
    func.func @f(%x: tensor<256x64xf32>, %d: tensor<256x128xf32>, %w: tensor<128x64xf32>) -> (tensor<64x128xf32>, tensor<8192xf32>) {
      %dw = sched.library "onnx.MatMul"(%x, %d) {transA = true, transB = false} : (tensor<256x64xf32>, tensor<256x128xf32>) -> tensor<64x128xf32>
      %dx = sched.library "onnx.MatMul"(%d, %w) {transA = false, transB = false} : (tensor<256x128xf32>, tensor<128x64xf32>) -> tensor<256x64xf32>
      %part = sched.library "dist.reduce_scatter"(%dx) {axis = "tensor", ranks = 2 : i64} {collective} : (tensor<256x64xf32>) -> tensor<8192xf32>
      %y = sched.library "next"(%part) {} : (tensor<8192xf32>) -> tensor<8192xf32>
      %all = sched.library "dist.all_gather"(%y) {axis = "tensor", ranks = 2 : i64} {collective} : (tensor<8192xf32>) -> tensor<16384xf32>
      %z = sched.library "last"(%all) {} : (tensor<16384xf32>) -> tensor<8192xf32>
      return %dw, %z : tensor<64x128xf32>, tensor<8192xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: ..., %d: ..., %w: ...) -> (...) {
      %dx = sched.library "onnx.MatMul"(%d, %w) ...
      %part = sched.library "dist.reduce_scatter"(%dx) ...
      %dw = sched.library "onnx.MatMul"(%x, %d) ...
      %y = sched.library "next"(%part) ...
      %all = sched.library "dist.all_gather"(%y) ...
      %z = sched.library "last"(%all) ...
      return %dw, %z : tensor<64x128xf32>, tensor<8192xf32>
    }
    ```
  }];
  let statistics = [Counter<"ops moved", "ops that now run while a collective is under way">];
  let options = [Option<"device", "device", "std::string", "\"\"", "name or file; empty: this machine">];
}

def CheckCollectives : KedgePass<"kedge-check-collectives", "mlir::ModuleOp"> {
  let summary = "All ranks issue collectives that meet, in an order in which none waits for ever";
  let description = [{
    On level 3 or 4. Checks that every collective is for as many ranks as the module's `dist.mesh` has along its axes. If all
    ranks run one program, whose functions have no control flow, the rest follows: each group issues the same at the same place.
    If ranks have programs of their own (nested modules with a `dist.mesh`, in the order of ranks, or for the ranks that
    `dist.ranks` names): checks for each function that the ranks of each group issue the same collectives with the same types
    and sizes in the same order, sends with their receives, and names the first that has no match. Then runs the orders of all
    ranks together: where ranks wait for each other in a circle, it names who waits in which op.

    Example:
    ```mlir
    module @rank0 attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
      func.func @step(%a: tensor<2xf32>) -> tensor<4xf32> {
        // expected-error @+1 {{collective 0 of @step on @rank0 is dist.all_gather {ranks = 2 : i64} (tensor<2xf32>, tensor<4xf32>), on @rank1 it is dist.all_gather {ranks = 2 : i64} (tensor<2xf32>, tensor<3xf32>)}}
        %w = sched.library "dist.all_gather"(%a) {ranks = 2 : i64} {collective} : (tensor<2xf32>) -> tensor<4xf32>
        return %w : tensor<4xf32>
      }
    }
    module @rank1 attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
      func.func @step(%a: tensor<2xf32>) -> tensor<3xf32> {
        // expected-note @+1 {{the other one is here}}
        %w = sched.library "dist.all_gather"(%a) {ranks = 2 : i64} {collective} : (tensor<2xf32>) -> tensor<3xf32>
        return %w : tensor<3xf32>
      }
    }
    ```
  }];
  let statistics = [Counter<"collectives", "collectives that all ranks agree on">];
}
#endif
