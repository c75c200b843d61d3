// Level 3: states that live in host memory.
#ifndef KEDGE_OFFLOAD_PASSES
#define KEDGE_OFFLOAD_PASSES
include "passes/Base/KedgePass.td"

def OffloadStates : KedgePass<"kedge-offload-states", "mlir::ModuleOp"> {
  let summary = "Keep optimizer state, accumulators or parameters in host memory";
  let description = [{
    Gives the states of the named kinds the attribute `sched.host` and adds copies around their uses: a sched.fetch right
    before the launch that reads a state (launches close to each other share one), and a sched.offload right after the
    launch that makes its new value. `optimizer`: moments, momentum buffers and the state of a model with
    TrainingInfoProto. `gradients`: accumulators. `params`: parameters, frozen ones included. Scalars are not moved.
    With `optimizer=DIR` these states live in a file in the directory DIR: `sched.disk = "DIR"`, and `disk` on the copies.

    Needs kedge-bind-results.

    Example: `--kedge-offload-states=states=optimizer`
    ```mlir
    train.state moment1 @m tensor<4xf32>
    func.func @step(%g: tensor<4xf32> {train.binding = #train.binding<input "g">}, %m: tensor<4xf32> {train.binding = #train.binding<state @m>})
        -> (tensor<4xf32> {train.binding = #train.binding<state @m>}) attributes {train.kind = #train.kind<step>} {
      %new = sched.library "update"(%m, %g) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %new : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    train.state moment1 @m tensor<4xf32> {sched.host}
    func.func @step(%g: ..., %m: ...) -> (...) attributes {train.kind = #train.kind<step>} {
      %here = sched.fetch %m {kedge.place = #transfer_m} : tensor<4xf32>
      %new = sched.library "update"(%here, %g) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %there = sched.offload %new : tensor<4xf32>
      return %there : tensor<4xf32>
    }
    ```
  }];
  let statistics = [Counter<"states offloaded", "states in host memory">, Counter<"states in files", "states on disk">,
                    Counter<"fetches", "copies to the device">, Counter<"offloads", "copies to the host">];
  let options = [ListOption<"states", "states", "kedge::Offload", "optimizer, gradients, params, each perhaps as KIND=DIR">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::sched::SchedDialect"];
}
#endif
