// Level 2 -> level 3: what runs as one kernel, and when.
#ifndef KEDGE_SCHEDULE_PASSES
#define KEDGE_SCHEDULE_PASSES
include "mlir/Pass/PassBase.td"

def Decompose : Pass<"kedge-decompose", "mlir::func::FuncOp"> {
  let summary = "Write composite ops as the ops they consist of";
  let description = [{
    Rewrites every op that implements DecomposableOpInterface. Runs after differentiation, so that
    composites keep their own gradients. Leaves no decomposable op. Statistic: ops rewritten.
  }];
}

def FormClusters : Pass<"kedge-form-clusters", "mlir::func::FuncOp"> {
  let summary = "Turn each op into a cluster, a library call or a view";
  let description = [{
    Needs level 2 without decomposable ops; leaves only `sched` ops, `onnx.Constant` and the return. Splat
    constants move into cluster bodies. Statistics: clusters, library calls, views.
  }];
  let dependentDialects = ["kedge::sched::SchedDialect", "mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def FuseClusters : Pass<"kedge-fuse-clusters", "mlir::func::FuncOp"> {
  let summary = "Merge clusters that pass values to each other";
  let description = [{
    Computes a producer without folds inside its reader, through views, when nothing expensive is then computed
    more often; joins clusters of equal domain that agree where each passed value lies, keeping what others
    read as further outputs. Values stay the same: each is still rounded to its tensor's type.
    Statistics: producers substituted, clusters joined.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def PlaceUpdates : Pass<"kedge-place-updates", "mlir::func::FuncOp"> {
  let summary = "Update each parameter as soon as its gradient is final";
  let description = [{
    Moves whatever only leads to new state up, to just behind its last operand and behind the last reader of the
    state that it replaces, so that gradients die early; of what leads to results too, such as the norm of all
    gradients, the ops that make a 64th of what they read or less. Statistic: ops moved.
  }];
}
#endif
