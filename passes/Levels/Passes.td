// What belongs to no phase: the borders between levels, and what any of them may run.
#ifndef KEDGE_LEVELS_PASSES
#define KEDGE_LEVELS_PASSES
include "passes/Base/KedgePass.td"

def MergeEqual : KedgePass<"kedge-merge-equal", "mlir::func::FuncOp"> {
  let summary = "Common subexpressions, wherever in the model they are";
  let description = [{
    Like MLIR's elimination of common subexpressions, but it also merges ops that differ only in `kedge.place`. The first
    of equal ops stays, with its place; if that is of the backward and another's is of the forward, with the other's. For levels 1 and 2 only: after rematerialization, equal launches are intended.

    Example:
    ```mlir
    func.func @model(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {train.kind = #train.kind<model>} {
      %a = onnx.Tanh %x {kedge.place = #kedge.place<forward "h.0", "a">} : (tensor<4xf32>) -> tensor<4xf32>
      %b = onnx.Tanh %x {kedge.place = #kedge.place<forward "h.1", "b">} : (tensor<4xf32>) -> tensor<4xf32>
      return %a, %b : tensor<4xf32>, tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    #forward_h_0 = #kedge.place<forward "h.0", "a">
    ...
    func.func @model(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {train.kind = #train.kind<model>} {
    %a = onnx.Tanh %x {kedge.place = #forward_h_0} : (tensor<4xf32>) -> tensor<4xf32>
    return %a, %a : tensor<4xf32>, tensor<4xf32>
    ```
  }];
  let statistics = [Counter<"ops merged", "ops that an equal one replaces">];
}

class Border<string name, string text> : KedgePass<name, "mlir::ModuleOp"> { let summary = text; }

def VerifyModel : Border<"kedge-verify-model", "The border after level 1: one function of canonical ops"> {
  let description = [{
    Runs after import and raising, and changes nothing. Checks that @model is the only function; that it consists of
    supported ops of onnx and train, with static shapes; that each op which computes something has a place; and that every
    argument and result is bound. A note of each error points at the other op involved.

    Example:
    ```mlir
    func.func @model(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<model>} {
      // expected-error@+1 {{lacks 'kedge.place': what made it forgot where it belongs}}
      %a = onnx.Tanh %x : (tensor<4xf32>) -> tensor<4xf32>
      // expected-note@+1 {{next to it is #kedge.place<forward "h.0", "neg">}}
      %y = onnx.Neg %a {kedge.place = #kedge.place<forward "h.0", "neg">} : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let statistics = [Counter<"ops checked", "ops of level 1">];
}

def VerifyStep : Border<"kedge-verify-step", "The border after level 2: the functions of a run, gradients written out"> {
  let description = [{
    Runs after differentiation and the optimizer, and changes nothing. Checks that there is @step, or @micro with @update,
    and no @model; that their ops are of onnx and train, with static shapes and places; that nothing is left to
    differentiate; that arguments and results are bound; and that each train.final_gradient has the type of its parameter. A
    note of each error points at the other op involved.

    Example:
    ```mlir
    // expected-note@+1 {{the parameter is declared here}}
    train.state parameter @w tensor<4xf32>
    func.func @step(%x: tensor<2xf32> {train.binding = #train.binding<input "x">}) -> (tensor<2xf32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<step>} {
      // expected-error@+1 {{is 'tensor<2xf32>', its parameter 'tensor<4xf32>'}}
      train.final_gradient @w %x : tensor<2xf32>
      return %x : tensor<2xf32>
    }
    ```
  }];
  let statistics = [Counter<"ops checked", "ops of level 2">];
}

def NoteUpdates : Border<"kedge-note-updates", "Note which states a step has to update, before casts can hide it"> {
  let description = [{
    Runs on level 1 before casts are inserted. Sets `train.updates` on the module: the states whose next value @model returns,
    and the running statistics of norms in training mode. kedge-check-updates compares the functions of the step with it.

    Example:
    ```mlir
    train.state buffer @b tensor<f32>
    func.func @model(%b: tensor<f32> {train.binding = #train.binding<state @b>}) -> (tensor<f32> {train.binding = #train.binding<state @b>}) attributes {train.kind = #train.kind<model>} {
      %y = onnx.Neg %b : (tensor<f32>) -> tensor<f32>
      return %y : tensor<f32>
    }
    ```
    becomes
    ```mlir
    module attributes {train.updates = [@b]} {
    ```
  }];
  let statistics = [Counter<"states noted", "states that a step has to update">];
}

def NameValues : KedgePass<"kedge-name-values", "mlir::func::FuncOp"> {
  let summary = "Name each value of the step by its place, so that two programs of a model can be compared";
  let description = [{
    Runs on level 2 as gradients are made, in front of all that depends on ranks, memory and target. A name is the part of the step,
    module and node, and the op among those of the node. It goes on with what computes the value, as `kedge.values`, to the launch table:
    an op that is rewritten into others leaves it on the one that makes its result. kedge-localize adds how the value is spread over
    ranks, kedge-unroll-pipeline its micro-batch. kedge diff pairs values by it.

    Example:
    ```mlir
    func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.kind = #train.kind<step>} {
      %a = onnx.Tanh %x {kedge.place = #kedge.place<forward "h.0", "act">} : (tensor<4xf32>) -> tensor<4xf32>
      return %a : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    #forward_h_0 = #kedge.place<forward "h.0", "act">
    ...
    %a = onnx.Tanh %x {kedge.place = #forward_h_0, kedge.values = [{value = "forward h.0/act Tanh.0"...
    ```
  }];
  let statistics = [Counter<"values named", "values that show their ONNX name">];
}

def CheckUpdates : Border<"kedge-check-updates", "A step updates each state that level 1 updates, whatever the precision"> {
  let description = [{
    Runs behind the optimizer. Checks that each state in the module's `train.updates` gets a new value in a function of the
    step; that a parameter with a final gradient does; and that a function which returns a new master returns its working copy
    as well. Removes `train.updates`, and changes nothing else.

    Example:
    ```mlir
    module attributes {train.updates = [@b]} {
      // expected-error@+1 {{'b' is updated by the model, but keeps its first value in every step}}
      train.state buffer @b tensor<f32>
      func.func @step(%b: tensor<f32> {train.binding = #train.binding<state @b>}) -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<step>} {
        return %b : tensor<f32>
      }
    }
    ```
  }];
  let statistics = [Counter<"updates checked", "states whose update was found">];
}

def VerifySchedule : Border<"kedge-verify-schedule", "The border after level 3: nothing but launches, in order"> {
  let description = [{
    Runs after scheduling and again after rematerialization, and changes nothing. Checks that functions consist of
    clusters, library calls, views, copies, constants and marks of gradients; that no op of level 2 is left; that no
    `sched.sequence` is left to apply; that launches have places; and that the clones in a function have different
    numbers. A note of each error points at the other op involved.

    Example:
    ```mlir
    func.func @step(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
      // expected-error@+1 {{is none of level 3 (clusters, library calls, views, copies and constants)}}
      %a = onnx.Tanh %x : (tensor<4xf32>) -> tensor<4xf32>
      // expected-note@+1 {{its result is read here}}
      %y = sched.library "y"(%a) {} {kedge.place = #kedge.place<forward "h.0", "y">} : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let statistics = [Counter<"ops checked", "ops of level 3">];
}
#endif
