// Level 3: what to compute again instead of keeping it.
#ifndef KEDGE_REMATERIALIZE_PASSES
#define KEDGE_REMATERIALIZE_PASSES
include "mlir/Pass/PassBase.td"

def ChooseRecompute : Pass<"kedge-choose-recompute", "mlir::ModuleOp"> {
  let summary = "Find an execution sequence that fits a byte budget, or that a named policy asks for";
  let description = [{
    Gives each scheduled function whose transient bytes exceed what the budget leaves (or to which the policy
    applies) an attribute `sched.sequence`: numbers of launches in execution order, in which a launch may occur
    again; numbers from the count of launches on mean a fetch, then one result of a cluster with several. Costs come
    from the device model. With `offload`, values that the backward part reads may be copied to host memory and
    back instead: those of `sched.offloadable` (numbers of values), a fetch each. What was found is in the module's
    `sched.recompute`: budget, unconstrained peaks, smallest feasible budget, overhead and its proven lower bound.
    Where the module has that attribute already (from a run before states were moved to host memory), unconstrained
    peaks and overhead are of that. A budget that no sequence fits is no failure of the pass: the functions then
    have the sequence of the smallest peak found, and `fits` is false.

    Needs kedge-bind-results; kedge-insert-recompute carries it out. Statistics: launches to run again, values to
    fetch, bytes saved at the peak, launches solved in place of all layers (those of the few that layers which are alike were folded to).

    Example: `--kedge-choose-recompute="budget=activations=80% device=h100 threads=2"`
    ```mlir
    func.func @step(%x: tensor<512xi64> {train.binding = #train.binding<input "x">}) -> (tensor<512xi64> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
      %a = sched.library "onnx.Gather"(%x, %x) {axis = 0} : (tensor<512xi64>, tensor<512xi64>) -> tensor<512xi64>
      %b = sched.library "onnx.Gather"(%a, %x) {axis = 0} : (tensor<512xi64>, tensor<512xi64>) -> tensor<512xi64>
      %c = sched.library "onnx.Gather"(%b, %x) {axis = 0} : (tensor<512xi64>, tensor<512xi64>) -> tensor<512xi64>
      %y = sched.library "onnx.Gather"(%a, %c) {axis = 0} : (tensor<512xi64>, tensor<512xi64>) -> tensor<512xi64>
      return %y : tensor<512xi64>
    }
    ```
    becomes
    ```mlir
    module attributes {sched.recompute = {..., budget_bytes = ..., fits = true, ..., ops = 1 : i64, ...
      func.func @step(%x: ...) -> (...) attributes {sched.sequence = array<i64: 0, 1, 2, 0, 3>, train.kind = #train.kind<step>} {
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"auto\"", "none, full, segments=N, nth=N, sqrt, attention or auto">,
    Option<"budget", "budget", "std::string", "\"\"", "bytes of the arena: BYTES, 16GiB, 80%, activations=50%, device">,
    Option<"device", "device", "std::string", "\"\"", "device model: a name or FILE.json (default: this machine)">,
    Option<"effort", "effort", "int64_t", "0", "search steps of the solver (0: by the size of the function)">,
    Option<"threads", "threads", "int", "0", "threads that library workspaces are sized for (0: this machine's cores)">,
    Option<"offload", "offload", "bool", "false", "values may go to host memory and back">,
    Option<"frontier", "frontier", "int", "0", "points of added time against bytes to put into `sched.recompute` (0: none)">,
    Option<"hostBudget", "host-budget", "std::string", "\"\"", "bytes of host memory for states and values: BYTES, 16GiB (default: no limit)">,
  ];
}

def InsertRecompute : Pass<"kedge-insert-recompute", "mlir::func::FuncOp"> {
  let summary = "Reorder and clone launches as `sched.sequence` says";
  let description = [{
    A launch that occurs again becomes a clone with a number of its own (`clone`), so that nothing merges it with the
    first; `recomputed` tells the bytes that this frees and between which launches. A result of a cluster with several
    becomes a cluster of its own that reads the others. A value that is fetched is copied out (sched.offload) right
    behind the launch that makes it; `offloaded` tells why. Values stay the same to the bit. Removes the attributes.
    Statistics: launches cloned, values fetched.

    Example:
    ```mlir
    func.func @step(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">})
        attributes {sched.sequence = array<i64: 0, 1, 0, 2>, train.kind = #train.kind<step>} {
      %a = sched.library "a"(%x) {} : (tensor<4xf32>) -> tensor<4xf32>
      %b = sched.library "b"(%a) {} : (tensor<4xf32>) -> tensor<4xf32>
      %c = sched.library "c"(%a, %b) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %c : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @step(%x: ...) -> (...) attributes {train.kind = #train.kind<step>} {
      %a = sched.library "a"(%x) {} : (tensor<4xf32>) -> tensor<4xf32>
      %b = sched.library "b"(%a) {} : (tensor<4xf32>) -> tensor<4xf32>
      %again = sched.library "a"(%x) {} {clone = 1 : i64, recomputed = "frees 64 B from launch 1 to 2"} : ...
      %c = sched.library "c"(%again, %b) {} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %c : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["kedge::sched::SchedDialect"];
}
#endif
