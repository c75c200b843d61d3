// RUN: kedge-opt %s --kedge-place-side-launches --kedge-place-copies --kedge-check-memory --kedge-statistics 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t.err
// RUN: kedge-opt %s --kedge-place-side-launches=beside=2 --kedge-place-copies --kedge-check-memory | FileCheck %s --check-prefix=TWO
// STATISTICS: 4 kedge-place-copies waits
// STATISTICS: 2 kedge-place-side-launches launches moved

// The update of w runs beside the first product; the second one takes the gradient's bytes, and waits for it. So does
// the sum of the bias' gradient, whose reader is on its stream, too. The last update has nothing beside it. Products are
// a library's, and stay.
train.state parameter @w tensor<16xf32>
train.state parameter @b tensor<16xf32>
exec.arena 512 persistent 128 align 64
// CHECK-LABEL: exec.function @step
// TWO-LABEL: exec.function @step
exec.function @step kind #train.kind<step> {
  %w = exec.buffer "w" at 0 size 64 live [-1, 6] tensor<16xf32> state @w
  %b = exec.buffer "b" at 64 size 64 live [-1, 6] tensor<16xf32> state @b
  %x = exec.buffer "x" at 128 size 64 live [0, 2] tensor<16xf32>
  // Its bytes are another's from launch 3 on, which waits; the plan's lifetimes stay.
  // CHECK: exec.buffer "g" at 192 size 64 live[0, 1] tensor<16xf32>
  %g = exec.buffer "g" at 192 size 64 live [0, 1] tensor<16xf32>
  %y = exec.buffer "y" at 256 size 64 live [2, 5] tensor<16xf32>
  %z = exec.buffer "z" at 192 size 64 live [3, 6] tensor<16xf32>
  %p = exec.buffer "p" at 320 size 64 live [3, 4] tensor<16xf32>
  %s = exec.buffer "s" at 384 size 64 live [4, 6] tensor<16xf32>
  // CHECK: exec.launch "gradient" {{.*}} stream 0 records 0 types
  exec.launch "gradient" reads(%w) writes(%x, %g) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>, tensor<16xf32>]
  // CHECK-NEXT: exec.launch "update" {{.*}} stream 5 waits [0] records 1 types
  // TWO: exec.launch "update" {{.*}} stream 0 types
  exec.launch "update" reads(%w, %g) writes(%w) iterations 1 grain 1 stream 0 types [tensor<16xf32>, tensor<16xf32>] -> [tensor<16xf32>]
  // CHECK-NEXT: exec.launch library "onnx.MatMul" {{.*}} stream 0 types
  exec.launch library "onnx.MatMul" reads(%x) writes(%y) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  // CHECK-NEXT: exec.launch library "onnx.MatMul" {{.*}} stream 0 waits [1] records 2 types
  exec.launch library "onnx.MatMul" reads(%y) writes(%z, %p) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>, tensor<16xf32>]
  // CHECK-NEXT: exec.launch "sum" {{.*}} stream 5 waits [2] records 3 types
  exec.launch "sum" reads(%p) writes(%s) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  // CHECK-NEXT: exec.launch library "onnx.MatMul" {{.*}} stream 0 types
  exec.launch library "onnx.MatMul" reads(%z) writes(%y) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  // CHECK-NEXT: exec.launch "update" {{.*}} stream 0 waits [3] types
  exec.launch "update" reads(%b, %s) writes(%b) iterations 1 grain 1 stream 0 types [tensor<16xf32>, tensor<16xf32>] -> [tensor<16xf32>]
}

// No step: nothing moves.
// CHECK-LABEL: exec.function @eval
exec.function @eval kind #train.kind<eval> {
  %x = exec.buffer "x" at 128 size 64 live [-1, 1] tensor<16xf32> binds [#train.binding<input "x">]
  %y = exec.buffer "y" at 256 size 64 live [0, 2] tensor<16xf32> binds [#train.binding<output "y">]
  %z = exec.buffer "z" at 320 size 64 live [1, 2] tensor<16xf32> binds [#train.binding<output "z">]
  // CHECK-NOT: stream 5
  exec.launch "k0" reads(%x) writes(%y) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  exec.launch "k1" reads(%x) writes(%z) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
}
