// Level 3: what to compute again instead of keeping it.
#ifndef KEDGE_REMATERIALIZE_PASSES
#define KEDGE_REMATERIALIZE_PASSES
include "passes/Base/KedgePass.td"

def ChooseRecompute : KedgePass<"kedge-choose-recompute", "mlir::ModuleOp"> {
  let summary = "Find an execution sequence that fits a byte budget, or that a named policy asks for";
  let description = [{
    If the transient bytes of a scheduled function exceed what the budget leaves, or if the policy applies to it, it gets
    an attribute `sched.sequence`: the numbers of its launches in execution order, in which a launch may occur several
    times. Numbers that are not below the count of launches mean first the fetches, then single results of clusters with several. Costs
    come from the device model. With `offload`, values that the backward part reads may be copied to host memory and back
    instead: those in `sched.offloadable` (numbers of values), one fetch for each.

    The module's `sched.recompute` (#sched.recompute) contains budget, unconstrained peaks, smallest feasible budget, overhead and its proven
    lower bound. If the module has that attribute already, from a run before states were moved to host memory, the
    unconstrained peaks and the overhead refer to that run. If no sequence fits the budget, the pass does not fail: the
    functions get the sequence with the smallest peak found, and `fits` is false.

    Needs kedge-bind-results; kedge-insert-recompute applies the sequence.

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
    module attributes {sched.recompute = #sched.recompute<policy = "auto", fits = true, budget_bytes = ..., ops = 1 : i64, ...
      func.func @step(%x: ...) -> (...) attributes {sched.sequence = array<i64: 0, 1, 2, 0, 3>, train.kind = #train.kind<step>} {
    ```
  }];
  let statistics = [Counter<"launches to run again", "launches that backward repeats">,
                    Counter<"values to fetch", "values that wait in host memory">,
                    Counter<"bytes saved at the peak", "of a function's transient bytes">,
                    Counter<"launches solved in place of all layers", "of the few to which equal layers were folded">];
  let options = [
    Option<"policy", "policy", "kedge::remat::Policy", "kedge::remat::Policy{kedge::remat::Policy::Kind::Auto}", "none, full, segments=N, nth=N, sqrt, attention or auto">,
    Option<"budget", "budget", "kedge::MemoryBudget", "kedge::MemoryBudget()", "bytes of the arena: BYTES, 16GiB, 80%, activations=50%, device">,
    Option<"device", "device", "std::string", "\"\"", "device model: a name or FILE.json (default: this machine)">,
    Option<"effort", "effort", "int64_t", "0", "search steps of the solver (0: by the size of the function)">,
    Option<"threads", "threads", "int", "0", "threads that library workspaces are sized for (0: this machine's cores)">,
    Option<"offload", "offload", "bool", "false", "values may go to host memory and back">,
    Option<"search", "search", "kedge::remat::PlanSearch", "kedge::remat::PlanSearch::Whole", "whole, quick, smallest or policies: how long plans are looked for">,
    Option<"frontier", "frontier", "int", "0", "points of added time against bytes to put into `sched.recompute` (0: none)">,
    Option<"hostBudget", "host-budget", "int64_t", "0", "bytes of host memory for states and values (0: no limit)">,
  ];
}

def PriceValues : KedgePass<"kedge-price-values", "mlir::ModuleOp"> {
  let summary = "Note what keeping, recomputing and offloading a value would cost and save in the chosen plan";
  let description = [{
    The module gets `sched.prices`: for each function of a step its transient values (number, type, bytes,
    place, what the plan chose for it) and `runs`, the values that each launch of the chosen plan writes. Those
    that `numbers` lists also get prices: for each of `keep`, `recompute` and `offload` the peak of the whole plan and the seconds of
    the function, with only this decision changed and the order of all other launches as it is; or the `obstacle`, if it
    cannot be so. With `force`, the plan of this decision takes the place of the chosen one.

    Needs kedge-choose-recompute; kedge-insert-recompute may follow. `kedge why` asks it.

    Example: `--kedge-choose-recompute="policy=none device=h100 threads=2" --kedge-price-values="numbers=step#1 device=h100 threads=2"`
    ```mlir
    func.func @step(%x: tensor<512xi64> {train.binding = #train.binding<input "x">}) -> (tensor<512xi64> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
      %a = sched.library "onnx.Gather"(%x, %x) {axis = 0} : (tensor<512xi64>, tensor<512xi64>) -> tensor<512xi64>
      %y = sched.library "onnx.Gather"(%a, %x) {axis = 0} : (tensor<512xi64>, tensor<512xi64>) -> tensor<512xi64>
      return %y : tensor<512xi64>
    }
    ```
    becomes
    ```mlir
    module attributes {sched.prices = [{function = "step", runs = [array<i64: 1>, array<i64: 2>], values = [...
    ```
  }];
  let statistics = [Counter<"values priced", "values whose alternatives have a price">];
  let options = [
    ListOption<"numbers", "numbers", "std::string", "FUNCTION#N,...: the values to price, by their numbers">,
    Option<"force", "force", "std::string", "\"\"", "keep, recompute or offload: the decision about the one value selected">,
    Option<"device", "device", "std::string", "\"\"", "device model: a name or FILE.json (default: this machine)">,
    Option<"threads", "threads", "int", "0", "threads that library workspaces are sized for (0: this machine's cores)">,
  ];
}

def InsertRecompute : KedgePass<"kedge-insert-recompute", "mlir::func::FuncOp"> {
  let summary = "Reorder and clone launches as `sched.sequence` says";
  let description = [{
    A launch that occurs again becomes a clone with a number (`clone`), so that it is not merged with the first;
    `recomputed` says how many bytes this frees, and between which launches. If the sequence has a single result of a
    cluster with several, it becomes a cluster of its own that reads the other results. A value that is fetched is copied
    to the host (sched.offload) right after the launch that makes it; `offloaded` says why. All values keep their bits. Removes
    the attributes.

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
  let statistics = [Counter<"launches cloned", "launches that run again">,
                    Counter<"values fetched", "values that come back from host memory">];
  let dependentDialects = ["kedge::sched::SchedDialect"];
}
#endif
