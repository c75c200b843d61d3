// Who computes convolutions: cuDNN what it takes, generated kernels the others, or all of them.
// RUN: kedge-opt %s --kedge-emit-gpu-kernels=kernels-only=true | FileCheck %s --check-prefix=CUDNN
// RUN: kedge-opt %s --kedge-emit-gpu-kernels="convolutions=generated kernels-only=true" | FileCheck %s --check-prefix=OURS
// RUN: kedge-opt %s --kedge-emit-gpu-kernels="convolutions=generated arch=sm_80" | FileCheck %s --check-prefix=PTX "--implicit-check-not=.extern .func"

// CUDNN: gpu.module @kernels
// CUDNN: gpu.func @k0_convolution_pack({{.*}}) kernel
// CUDNN-SAME: sched.grid = "144x1x1"
// CUDNN: gpu.func @k1_convolution({{.*}}) kernel
// CUDNN-SAME: known_block_size = array<i32: 256, 1, 1>
// CUDNN-SAME: sched.grid = "196x1x1"
// CUDNN: gpu.func @k2_convolution_join(
// CUDNN-NOT: gpu.func

// In order: weights as tiles read them and the product; parts of the sum, then all of them; no tile; a product whose 98
// tiles are too few for a device: its channels are cut in two parts.
// OURS: gpu.func @k0_convolution_pack
// OURS: gpu.func @k1_convolution(
// OURS: gpu.func @k2_convolution_weights(
// OURS: gpu.func @k3_convolution_join(
// OURS: gpu.func @k4_convolution_direct(
// OURS: gpu.func @k5_convolution_pack
// OURS: gpu.func @k6_convolution(
// OURS: gpu.func @k7_convolution_join(
// OURS-NOT: gpu.func

// A step of a tile: 16-byte reads of the weights, both operands through shared memory, multiplied into registers.
// PTX-LABEL: .visible .entry k1_convolution(
// PTX: ld.global.v4.b32
// PTX: st.shared.v4.b32
// PTX: bar.sync
// PTX: ld.shared.v4.b32
// PTX: fma.rn.f32
// PTX-LABEL: .visible .entry k2_convolution_weights(
func.func @f(%x: tensor<32x64x28x28xf32>, %w: tensor<64x64x3x3xf32>, %dy: tensor<32x64x28x28xf32>,
             %thin: tensor<64x1x3x3xf32>) {
  %y = sched.library "onnx.Conv" (%x, %w) {pads = array<i64: 1, 1, 1, 1>}
       : (tensor<32x64x28x28xf32>, tensor<64x64x3x3xf32>) -> tensor<32x64x28x28xf32>
  %dw = sched.library "train.conv_grad_weight" (%x, %dy) {pads = array<i64: 1, 1, 1, 1>}
       : (tensor<32x64x28x28xf32>, tensor<32x64x28x28xf32>) -> tensor<64x64x3x3xf32>
  %d = sched.library "onnx.Conv" (%x, %thin) {pads = array<i64: 1, 1, 1, 1>, group = 64 : i64}
       : (tensor<32x64x28x28xf32>, tensor<64x1x3x3xf32>) -> tensor<32x64x28x28xf32>
  %e = sched.library "onnx.Conv" (%x, %w) {pads = array<i64: 0, 0, 1, 1>, strides = array<i64: 2, 2>}
       : (tensor<32x64x28x28xf32>, tensor<64x64x3x3xf32>) -> tensor<32x64x14x14xf32>
  return
}
