// RUN: kedge-opt %s --kedge-add-optimizer=optimizer=adopt | FileCheck %s --check-prefix=ADOPT
// RUN: kedge-opt %s --kedge-add-optimizer=optimizer=schedule-free-adamw | FileCheck %s --check-prefix=FREE
// RUN: kedge-opt %s --kedge-add-optimizer=optimizer=prodigy | FileCheck %s --check-prefix=PRODIGY
// RUN: kedge-opt %s --kedge-add-optimizer="caution=updates" | FileCheck %s --check-prefix=UPDATES
// RUN: kedge-opt %s --kedge-add-optimizer="caution=decay moments=bf16" | FileCheck %s --check-prefix=DECAY
// RUN: kedge-opt %s --kedge-add-optimizer=optimizer=normuon | FileCheck %s --check-prefix=NORMUON

// ADOPT: train.state moment1 @w.moment1 tensor<4x6xf32>
// The direction is of the second moment before the step.
// ADOPT: func.func @step
// ADOPT-SAME: %[[BEFORE:arg[0-9]+]]: tensor<4x6xf32> {train.binding = #train.binding<state @w.moment2>}
// ADOPT: %[[ROOT:.*]] = onnx.Sqrt %[[BEFORE]]
// ADOPT: onnx.Max %[[ROOT]]

// The run's numbers are made once; z is the state that becomes the average.
// FREE-DAG: train.state state @schedule_free.weight_sum tensor<f64>
// FREE-DAG: train.state state @schedule_free.largest_rate tensor<f64>
// FREE-DAG: train.state average @w.average tensor<4x6xf32>
// FREE-DAG: train.state average @v.average tensor<5xf32>

// PRODIGY-DAG: train.state state @prodigy.distance tensor<f64> from 9.999{{.*}}E-7
// PRODIGY-DAG: train.state state @prodigy.numerator tensor<f64>
// PRODIGY-DAG: train.state state @w.moved tensor<4x6xf32>
// PRODIGY-DAG: train.state momentum @v.sums tensor<5xf32>

// UPDATES: %[[AGREES:.*]] = onnx.Greater %{{.*}} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xi1>
// UPDATES: onnx.ReduceSumSquare

// DECAY: train.state moment1 @w.moment1 tensor<4x6xbf16>
// DECAY: onnx.Where
// DECAY: train.dither

// Of a matrix with outputs along its second dimension, a number each; a vector is AdamW's.
// NORMUON: train.state state @w.neuron_moment tensor<1x6xf32>
// NORMUON: train.state moment1 @v.moment1 tensor<5xf32>
// NORMUON: train.adamw
train.state parameter @w tensor<4x6xf32> {tune.orthogonal = 1 : i64}
train.state parameter @v tensor<5xf32>
func.func @step(%w: tensor<4x6xf32> {train.binding = #train.binding<state @w>}, %v: tensor<5xf32> {train.binding = #train.binding<state @v>})
    -> (tensor<4x6xf32> {train.binding = #train.binding<gradient @w>}, tensor<5xf32> {train.binding = #train.binding<gradient @v>}) attributes {train.kind = #train.kind<step>} {
  %0 = onnx.Neg %w : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = onnx.Neg %v : (tensor<5xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<4x6xf32>, tensor<5xf32>
}
