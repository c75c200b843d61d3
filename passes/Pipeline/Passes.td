// Level 2: which stage computes what, and each stage's own program of all micro-batches.
#ifndef KEDGE_PIPELINE_PASSES
#define KEDGE_PIPELINE_PASSES
include "passes/Base/KedgePass.td"

class PipelinePass<string name> : KedgePass<name, "mlir::ModuleOp"> {
  let dependentDialects = ["kedge::KedgeDialect", "kedge::dist::DistDialect", "kedge::onnx::ONNXDialect",
                           "kedge::train::TrainDialect", "mlir::func::FuncDialect"];
}

def AssignStages : PipelinePass<"kedge-assign-stages"> {
  let summary = "The stage of the pipeline that computes each op";
  let description = [{
    Notes a stage (`dist.pipeline_stage`) on the ops of @micro and @update, from 0 up to the ranks along `pipeline` of the
    module's `dist.mesh` (times `chunks`: a rank has several stages in turn). A forward op is of the stage that `stages` names for its module. Without
    names, stages have equal shares of the predicted time of forward and backward, up to a twentieth, and are cut between nodes where the fewest bytes
    cross. With `room`, the longest stage is as short as stages that keep to it allow: each with its states, what enters it of the micro-batches on
    their way, and what one of them keeps for its backward pass; what has no room beyond that is computed again, and its time counts. No op is of an earlier stage than what it reads. A gradient is of the stage of its forward op, and of no
    later one than the gradients that it reads. A state is of the first stage that reads it in the forward pass, an update of that of
    its state. Ops of states alone are of the first stage that reads their result. Ops that depend on constants, on numbers of the host
    and on the loss scale alone have no stage: each rank that needs them computes them. A collective of tensors of several stages becomes one for each stage. @eval and @predict have their ops
    where training has them.

    Example: `--kedge-assign-stages`
    ```mlir
    module attributes {dist.mesh = #dist.mesh<["pipeline"] = [2]>} {
      func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<micro>} {
        %a = onnx.Exp %x {kedge.place = #kedge.place<forward "a", "a">} : (tensor<4xf32>) -> tensor<4xf32>
        %b = onnx.Exp %a {kedge.place = #kedge.place<forward "b", "b">} : (tensor<4xf32>) -> tensor<4xf32>
        return %b : tensor<4xf32>
      }
    }
    ```
    becomes
    ```mlir
      ...
        %a = onnx.Exp %x {dist.pipeline_stage = 0 : i64, ...
        %b = onnx.Exp %a {dist.pipeline_stage = 1 : i64, ...
    ```
  }];
  let statistics = [Counter<"stages", "stages of the pipeline">, Counter<"ops", "ops with a stage">];
  let options = [
    ListOption<"stages", "stages", "kedge::pipeline::StageRule", "REGEX=K: the stage of the modules that it names">,
    Option<"chunks", "chunks", "int64_t", "1", "stages of each rank">,
    Option<"room", "room", "int64_t", "0", "bytes that each rank may take; 0: stages are balanced by time alone">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "of a step">,
    Option<"allForwardsFirst", "all-forwards-first", "bool", "false", "all micro-batches of a step are on a stage at once">,
    Option<"device", "device", "std::string", "\"\"", "device model: a name or FILE.json (default: this machine)">
  ];
}

def UnrollPipeline : PipelinePass<"kedge-unroll-pipeline"> {
  let summary = "One stage's program: the step of all micro-batches, in the order of a schedule";
  let description = [{
    Replaces @micro and @update by the @step of the rank at place `stage` of the pipeline. It runs forward and backward of each micro-batch in the order of
    `schedule`, timed by predicted seconds on `device`, then the update, and sends each value that another stage reads as soon as it is made (dist.send, dist.receive). With zero-bubble, backward ops that
    lead to the gradient of one state alone, and that no other rank waits for, run later. The module's `dist.timetable` has the slots of all ranks. Transfers of all
    ranks have one order, so that no rank waits for one that waits for it. Inputs hold the rows of all
    micro-batches. Gradients are added up in the order of micro-batches. A state that other stages hold keeps its name and its whole shape in `sharding`,
    and nothing of its elements; one that files do not have leaves the module. A state that several stages read is
    sent at the begin of the step by the one that updates it. @eval and @predict run the forward pass of all micro-batches; outputs come
    together on the first stage, losses are on the one that makes them.

    Example: `--kedge-unroll-pipeline`
    ```mlir
    module attributes {dist.mesh = #dist.mesh<["pipeline"] = [2]>} {
      func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<result "items">}) attributes {train.kind = #train.kind<micro>} {
        %a = onnx.Exp %x {dist.pipeline_stage = 0 : i64, kedge.place = #kedge.place<forward "a", "a">} : (tensor<4xf32>) -> tensor<4xf32>
        %b = onnx.Exp %a {dist.pipeline_stage = 1 : i64, kedge.place = #kedge.place<forward "b", "b">} : (tensor<4xf32>) -> tensor<4xf32>
        return %b : tensor<4xf32>
      }
      func.func @update() attributes {train.kind = #train.kind<update>} {
        return
      }
    }
    ```
    becomes
    ```mlir
      ...
        %a = onnx.Exp %x ...
        %token = dist.send %a, %first {kedge.place = ..., number = 0 : i64, peer = 1 : i64, ranks = 2 : i64} : ...
      ...
    ```
  }];
  let statistics = [Counter<"slots", "parts of the schedule of one rank">,
                    Counter<"sends", "values sent to other stages">,
                    Counter<"receives", "values received from other stages">,
                    Counter<"states elsewhere", "states that only other stages hold">];
  let options = [
    Option<"stage", "stage", "int64_t", "0", "the rank's place along `pipeline`, whose program is made">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "of a step">,
    Option<"schedule", "schedule", "std::string", "\"1f1b\"", "gpipe, 1f1b, interleaved=V or zero-bubble">,
    Option<"device", "device", "std::string", "\"\"", "device model: a name or FILE.json (default: this machine)">
  ];
}

def UnrollMicroBatches : PipelinePass<"kedge-unroll-micro-batches"> {
  let summary = "The step of all micro-batches in one function, for sums over micro-batches";
  let description = [{
    Replaces @micro and @update by a @step that runs forward and backward of each micro-batch up to the next train.sum_micros, adds up
    what all of them have made, and goes on. What is alike in all micro-batches (of states, constants and such sums) is there once.
    Inputs hold the rows of all micro-batches. Gradients are added up in the order of micro-batches. @eval and @predict run the
    micro-batches one by one. Which values of the first micro-batches are kept until their backward pass, and which are computed again, is
    the affair of kedge-choose-recompute.

    Example: `--kedge-unroll-micro-batches=micro-batches=2`
    ```mlir
    func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">}) attributes {train.kind = #train.kind<micro>} {
      %0 = onnx.ReduceSum %x {axes = array<i64: 0>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
      %1 = train.sum_micros %0 : (tensor<f32>) -> tensor<f32>
      %2 = onnx.Mul %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
      return %2 : tensor<f32>
    }
    func.func @update() attributes {train.kind = #train.kind<update>} {
      return
    }
    ```
    becomes
    ```mlir
    func.func @step(%x: tensor<8xf32> {train.binding = #train.binding<input "x">}) -> ... {
      %first = onnx.Slice %x ...
      %0 = onnx.ReduceSum %first ...
      %second = onnx.Slice %x ...
      %1 = onnx.ReduceSum %second ...
      %2 = onnx.Add %0, %1 ...
      %3 = onnx.Mul %0, %2 ...
      %4 = onnx.Mul %1, %2 ...
      ...
    ```
  }];
  let statistics = [Counter<"sums joined", "sums over ranks done once a step">,
                    Counter<"ops written", "ops of all micro-batches">];
  let options = [Option<"microBatches", "micro-batches", "int64_t", "1", "of a step">];
}
#endif
