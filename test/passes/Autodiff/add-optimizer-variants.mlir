// RUN: kedge-opt %s --kedge-add-optimizer=optimizer=adopt | FileCheck %s --check-prefix=ADOPT
// RUN: kedge-opt %s --kedge-add-optimizer=optimizer=schedule-free-adamw | FileCheck %s --check-prefix=FREE
// RUN: kedge-opt %s --kedge-add-optimizer=optimizer=prodigy | FileCheck %s --check-prefix=PRODIGY
// RUN: kedge-opt %s --kedge-add-optimizer="caution=updates" | FileCheck %s --check-prefix=UPDATES
// RUN: kedge-opt %s --kedge-add-optimizer="caution=decay moments=bf16" | FileCheck %s --check-prefix=DECAY
// RUN: kedge-opt %s --kedge-add-optimizer=optimizer=normuon | FileCheck %s --check-prefix=NORMUON
// RUN: kedge-opt %s --kedge-add-optimizer="optimizer=soap precondition-frequency=5" | FileCheck %s --check-prefix=SOAP

// RUN: kedge-opt %s --kedge-add-optimizer="optimizer=galore proj-rank=2 update-proj-gap=7" | FileCheck %s --check-prefix=GALORE
// RUN: kedge-opt %s --kedge-add-optimizer="optimizer=apollo proj-rank=2" | FileCheck %s --check-prefix=APOLLO
// RUN: kedge-opt %s --kedge-add-optimizer="optimizer=apollo proj-rank=2 scale-type=tensor" | FileCheck %s --check-prefix=TENSOR

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

// A basis for each side of a matrix, made of the mean that has the step's gradient in it.
// SOAP-DAG: train.state state @w.left_products tensor<4x4xf32>
// SOAP-DAG: train.state state @w.right_basis tensor<6x6xf32>
// SOAP: train.eigenbasis {{.*}} {frequency = 5 : i64{{.*}}} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>) -> (tensor<4x4xf32>, tensor<4xi64>)
// SOAP: train.eigenbasis {{.*}} -> (tensor<6x6xf32>, tensor<6xi64>)
// SOAP: train.adamw

// Moments of two numbers along the shorter side, that of the 4 rows.
// GALORE-DAG: train.state state @w.projection tensor<4x2xf32>
// GALORE-DAG: train.state moment1 @w.moment1 tensor<2x6xf32>
// GALORE: train.leading_basis {{.*}} {axis = 0 : i64, frequency = 7 : i64{{.*}}} : (tensor<4x6xf32>, tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
// GALORE: train.adamw

// The projection is no state.
// APOLLO-NOT: projection
// APOLLO-DAG: train.state moment1 @w.moment1 tensor<2x6xf32>
// APOLLO-DAG: train.state state @w.step_norm tensor<f32>
// APOLLO: train.random {{.*}}distribution = "normal"{{.*}}shape = array<i64: 4, 2>
// APOLLO: onnx.ReduceSum {{.*}} -> tensor<1x6xf32>
// TENSOR-NOT: tensor<1x6xf32>
train.state parameter @w tensor<4x6xf32> {tune.orthogonal = 1 : i64}
train.state parameter @v tensor<5xf32>
func.func @step(%w: tensor<4x6xf32> {train.binding = #train.binding<state @w>}, %v: tensor<5xf32> {train.binding = #train.binding<state @v>})
    -> (tensor<4x6xf32> {train.binding = #train.binding<gradient @w>}, tensor<5xf32> {train.binding = #train.binding<gradient @v>}) attributes {train.kind = #train.kind<step>} {
  %0 = onnx.Neg %w : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = onnx.Neg %v : (tensor<5xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<4x6xf32>, tensor<5xf32>
}
