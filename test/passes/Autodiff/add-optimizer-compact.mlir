// RUN: kedge-opt %s --kedge-add-optimizer="moments=int8" | FileCheck %s
// RUN: kedge-opt %s --kedge-add-optimizer="optimizer=lion moments=bf16" | FileCheck %s --check-prefix=HALF
// RUN: kedge-opt %s --kedge-add-optimizer="moments=int4" | FileCheck %s --check-prefix=NIBBLES

// Companded moments are codes in groups of 32 with a scale each, filled up where 32 does not divide the elements; those of small
// tensors stay f32.
// CHECK: train.state parameter @w tensor<65x65xf32>
// CHECK-DAG: train.state moment1 @w.moment1 tensor<133x32xi8>
// CHECK-DAG: train.state state @w.moment1.scale tensor<133xf16>
// CHECK-DAG: train.state moment2 @w.moment2 tensor<133x32xui8>
// CHECK-DAG: train.state state @w.moment2.scale tensor<133xf16>
// CHECK-DAG: train.state moment1 @v.moment1 tensor<16xf32>
// CHECK: train.companded {{.*}}rule = "adamw"
// CHECK: train.adamw

// Blocks of 128 must divide a tensor's elements; 4225 have none.
// NIBBLES-DAG: train.state moment1 @w.moment1 tensor<65x65xf32>
// NIBBLES-DAG: train.state moment1 @x.moment1 tensor<32x64xui8>
// NIBBLES-DAG: train.state state @x.absmax2 tensor<32xf32>
// NIBBLES: train.adam4bit {{.*}}decoupled = true
// NIBBLES: train.pack_nibbles %[[CODES:[a-z0-9_#]+]], %[[CODES]] {{.*}}: (tensor<32x2x64xui8>, tensor<32x2x64xui8>) -> tensor<32x64xui8>

// HALF-DAG: train.state moment1 @w.moment1 tensor<65x65xbf16>
// HALF-DAG: train.state moment1 @v.moment1 tensor<16xbf16>
// HALF: %[[M:.*]] = onnx.Cast %{{.*}} : (tensor<65x65xbf16>) -> tensor<65x65xf32>
// HALF: %{{.*}}, %[[NEW:.*]] = train.lion %{{[a-z0-9]+}}, %[[M]]
// HALF: train.dither %[[NEW]], %[[M]], %{{.*}} : (tensor<65x65xf32>, tensor<65x65xf32>, tensor<i64>) -> tensor<65x65xbf16>
train.state parameter @w tensor<65x65xf32>
train.state parameter @v tensor<16xf32>
train.state parameter @x tensor<64x64xf32>
func.func @step(%w: tensor<65x65xf32> {train.binding = #train.binding<state @w>}, %v: tensor<16xf32> {train.binding = #train.binding<state @v>},
                %x: tensor<64x64xf32> {train.binding = #train.binding<state @x>})
    -> (tensor<65x65xf32> {train.binding = #train.binding<gradient @w>}, tensor<16xf32> {train.binding = #train.binding<gradient @v>},
        tensor<64x64xf32> {train.binding = #train.binding<gradient @x>}) attributes {train.kind = #train.kind<step>} {
  %0 = onnx.Neg %w : (tensor<65x65xf32>) -> tensor<65x65xf32>
  %1 = onnx.Neg %v : (tensor<16xf32>) -> tensor<16xf32>
  %2 = onnx.Neg %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %1, %2 : tensor<65x65xf32>, tensor<16xf32>, tensor<64x64xf32>
}
