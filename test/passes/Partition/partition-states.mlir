// RUN: kedge-opt %s --kedge-set-mesh=mesh=data=3 --kedge-partition-states="stage=1" --canonicalize | FileCheck %s --check-prefix=ONE
// RUN: kedge-opt %s --kedge-set-mesh=mesh=data=3 --kedge-partition-states="stage=3" --canonicalize | FileCheck %s --check-prefix=THREE
// RUN: kedge-opt %s --kedge-set-mesh=mesh=data=3 --kedge-partition-states="stage=3 persist-bytes=32" --canonicalize | FileCheck %s --check-prefix=PERSIST
// RUN: kedge-opt %s --kedge-set-mesh=mesh=data=3 --kedge-partition-states="stage=0" | FileCheck %s --check-prefix=NONE
// RUN: not kedge-opt %s --kedge-set-mesh=mesh=data=3 --kedge-partition-states="stage=4" 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: kedge-opt %s --kedge-set-mesh=mesh=replica=2,data=3 --kedge-partition-states=stage=1 --canonicalize | FileCheck %s --check-prefix=ONE

// RUN: kedge-opt %s --kedge-set-mesh=mesh=data=2 --kedge-partition-states="stage=1" --canonicalize | FileCheck %s --check-prefix=BLOCKS

// Stage 1: the momentum is sharded, the parameter is updated in parts and gathered.
// ONE: train.state parameter @w tensor<2x4xf32>
// ONE: train.state momentum @m tensor<3xf32> from unit {of = @w, sharding = #dist.sharding<[2, 4] over "data" = 3>}
// ONE: train.state working_copy @v.working tensor<4xbf16>
// ONE: train.state parameter @v tensor<2xf32> {sharding = #dist.sharding<[4] over "data" = 3>}
// ONE-LABEL: func.func @step
// ONE-SAME: %[[W:[a-z0-9]+]]: tensor<2x4xf32>
// ONE: %[[OWN:.*]] = dist.local_shard %[[W]] {{.*}} : (tensor<2x4xf32>) -> tensor<3xf32>
// ONE: %[[NEW:.*]], %[[BUF:.*]] = train.momentum %[[OWN]], %{{.*}} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, {{.*}}) -> (tensor<3xf32>, tensor<3xf32>)
// ONE: %[[WHOLE:.*]] = dist.all_gather %[[NEW]] {{.*}} -> tensor<2x4xf32>
// ONE: return %[[WHOLE]], %[[BUF]]
// A working copy is rounded from the master's part, and travels in 16 bits.
// ONE-LABEL: func.func @restore
// ONE-SAME: %[[V:[a-z0-9]+]]: tensor<2xf32>
// ONE: %[[C:.*]] = onnx.Cast %[[V]]
// ONE: %[[G:.*]] = dist.all_gather %[[C]] {{.*}} : (tensor<2xbf16>) -> tensor<4xbf16>
// ONE: return %[[G]]

// Stage 3: nothing is whole for longer than it is read.
// THREE: train.state parameter @w tensor<3xf32> {sharding
// THREE: train.state working_copy @v.working tensor<2xbf16> {of = @v, sharding
// THREE-LABEL: func.func @step
// THREE-NOT: dist.all_gather
// THREE: train.momentum
// THREE-LABEL: func.func @restore
// THREE-NOT: dist.
// THREE: return %{{.*}} : tensor<2xbf16>
// THREE-LABEL: func.func @eval
// THREE: onnx.Neg
// THREE-NEXT: %[[W3:.*]] = dist.all_gather %{{.*}} : (tensor<3xf32>) -> tensor<2x4xf32>
// THREE-NEXT: onnx.Add %{{.*}}, %[[W3]]

// PERSIST: train.state parameter @w tensor<2x4xf32>
// PERSIST: train.state momentum @m tensor<3xf32>
// NONE-NOT: dist.{{[a-z_]+}} %
// STAGE: error: stage 4 over 3 ranks, persist-bytes = 0: expected a stage from 0 to 3, and bytes that are not negative
// Moments in 8 bits are cut between blocks, and a rank updates its own; where three ranks would cut a block, they stay whole.
// BLOCKS: train.state moment1 @q.moment1 tensor<512xui8> {{.*}}sharding = #dist.sharding<[4, 256] over "data" = 2>}
// BLOCKS: train.state state @q.absmax1 tensor<2xf32> {{.*}}sharding = #dist.sharding<[4] over "data" = 2>}
// BLOCKS-LABEL: func.func @update
// BLOCKS-SAME: %[[Q:[a-z0-9]+]]: tensor<32x32xf32> {{[^,]*}}, %[[C:[a-z0-9]+]]: tensor<512xui8>
// BLOCKS: %[[P:.*]] = dist.local_shard %[[Q]] {{.*}} : (tensor<32x32xf32>) -> tensor<512xf32>
// BLOCKS: %[[B:.*]] = onnx.Reshape %[[P]] {{.*}} -> tensor<2x256xf32>
// BLOCKS: %[[D:.*]] = onnx.Reshape %[[C]] {{.*}} -> tensor<2x256xui8>
// BLOCKS: = train.adam8bit %[[B]], %[[D]], %{{.*}} -> (tensor<2x256xf32>, tensor<2x256xui8>, tensor<2xf32>, tensor<2x256xui8>, tensor<2xf32>)
// BLOCKS-DAG: %[[W:.*]] = dist.all_gather %{{.*}} : (tensor<512xf32>) -> tensor<32x32xf32>
// BLOCKS: return %[[W]], %{{.*}} : tensor<32x32xf32>, tensor<512xui8>, tensor<2xf32>, tensor<512xui8>, tensor<2xf32>
// ONE: train.state moment1 @q.moment1 tensor<4x256xui8>
// ONE: train.state state @q.absmax1 tensor<4xf32>
train.state parameter @w tensor<2x4xf32>
train.state momentum @m tensor<2x4xf32> from unit {of = @w}
train.state working_copy @v.working tensor<4xbf16> {of = @v}
train.state parameter @v tensor<4xf32>
func.func @step(%w: tensor<2x4xf32> {train.binding = #train.binding<state @w>}, %m: tensor<2x4xf32> {train.binding = #train.binding<state @m>},
                %g: tensor<2x4xf32> {train.binding = #train.binding<input "g">}, %one: tensor<f32> {train.binding = #train.binding<scalar "lr">})
    -> (tensor<2x4xf32> {train.binding = #train.binding<state @w>}, tensor<2x4xf32> {train.binding = #train.binding<state @m>})
    attributes {train.kind = #train.kind<step>} {
  %new, %buffer = train.momentum %w, %m, %g, %one, %one, %one, %one {decay = true, lr_scale = 1.0 : f64, nesterov = false}
      : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  return %new, %buffer : tensor<2x4xf32>, tensor<2x4xf32>
}
func.func @restore(%v: tensor<4xf32> {train.binding = #train.binding<state @v>})
    -> (tensor<4xbf16> {train.binding = #train.binding<state @v.working>}) attributes {train.kind = #train.kind<restore>} {
  %0 = onnx.Cast %v {to = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}
func.func @eval(%x: tensor<2x4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<2x4xf32> {train.binding = #train.binding<state @w>})
    -> (tensor<2x4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<eval>} {
  %0 = onnx.Neg %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = onnx.Add %0, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = onnx.Mul %1, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}
train.state parameter @q tensor<32x32xf32>
train.state moment1 @q.moment1 tensor<4x256xui8> {of = @q}
train.state state @q.absmax1 tensor<4xf32> {of = @q}
train.state moment2 @q.moment2 tensor<4x256xui8> {of = @q}
train.state state @q.absmax2 tensor<4xf32> {of = @q}
func.func @update(%q: tensor<32x32xf32> {train.binding = #train.binding<state @q>}, %c: tensor<4x256xui8> {train.binding = #train.binding<state @q.moment1>},
                  %a: tensor<4xf32> {train.binding = #train.binding<state @q.absmax1>}, %d: tensor<4x256xui8> {train.binding = #train.binding<state @q.moment2>},
                  %b: tensor<4xf32> {train.binding = #train.binding<state @q.absmax2>}, %g: tensor<32x32xf32> {train.binding = #train.binding<input "g">},
                  %one: tensor<f32> {train.binding = #train.binding<scalar "lr">})
    -> (tensor<32x32xf32> {train.binding = #train.binding<state @q>}, tensor<4x256xui8> {train.binding = #train.binding<state @q.moment1>},
        tensor<4xf32> {train.binding = #train.binding<state @q.absmax1>}, tensor<4x256xui8> {train.binding = #train.binding<state @q.moment2>},
        tensor<4xf32> {train.binding = #train.binding<state @q.absmax2>}) attributes {train.kind = #train.kind<update>} {
  %p = onnx.Reshape %q {shape = array<i64: 4, 256>} : (tensor<32x32xf32>) -> tensor<4x256xf32>
  %h = onnx.Reshape %g {shape = array<i64: 4, 256>} : (tensor<32x32xf32>) -> tensor<4x256xf32>
  %n:5 = train.adam8bit %p, %c, %a, %d, %b, %h, %one, %one, %one, %one, %one, %one, %one, %one, %one {decay = true, lr_scale = 1.0 : f64}
      : (tensor<4x256xf32>, tensor<4x256xui8>, tensor<4xf32>, tensor<4x256xui8>, tensor<4xf32>, tensor<4x256xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<4x256xf32>, tensor<4x256xui8>, tensor<4xf32>, tensor<4x256xui8>, tensor<4xf32>)
  %w = onnx.Reshape %n#0 {shape = array<i64: 32, 32>} : (tensor<4x256xf32>) -> tensor<32x32xf32>
  return %w, %n#1, %n#2, %n#3, %n#4 : tensor<32x32xf32>, tensor<4x256xui8>, tensor<4xf32>, tensor<4x256xui8>, tensor<4xf32>
}
