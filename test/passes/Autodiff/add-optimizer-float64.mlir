// Moments of 8 bits are for f32 and 16 bits: those of an f64 parameter are its own type's, as in AdamW.
// RUN: kedge-opt %s --kedge-add-optimizer="optimizer=adamw8bit" | FileCheck %s

// CHECK: train.state moment1 @w.moment1 tensor<64x64xf64>
// CHECK: train.state moment1 @v.moment1 tensor<16x256xui8>
// CHECK: train.adamw
// CHECK: train.adam8bit
train.state parameter @w tensor<64x64xf64>
train.state parameter @v tensor<64x64xf32>
func.func @step(%w: tensor<64x64xf64> {train.binding = #train.binding<state @w>}, %v: tensor<64x64xf32> {train.binding = #train.binding<state @v>})
    -> (tensor<64x64xf64> {train.binding = #train.binding<gradient @w>}, tensor<64x64xf32> {train.binding = #train.binding<gradient @v>}) attributes {train.kind = #train.kind<step>} {
  %0 = onnx.Neg %w : (tensor<64x64xf64>) -> tensor<64x64xf64>
  %1 = onnx.Neg %v : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %1 : tensor<64x64xf64>, tensor<64x64xf32>
}
