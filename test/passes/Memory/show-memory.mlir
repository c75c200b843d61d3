// RUN: kedge-opt %s --kedge-show-memory="threads=2" -o /dev/null 2>&1 | FileCheck %s
// RUN: kedge-opt %s --kedge-show-memory="threads=2" --kedge-plan-memory 2>/dev/null | FileCheck %s --check-prefix=BYTES

// Two values of 4 KiB live while the second runs; the third is written over the second. kedge-plan-memory places as many bytes.
// CHECK: // @step: 3 launches
// CHECK-NEXT: // launch 0: 8.00 KiB live
// CHECK-NEXT: // %[[A:[a-z0-9]+]] 4.00 KiB, its bytes from launch 0 to 1
// CHECK-NEXT: %[[A]] = sched.library "onnx.Gather"
// CHECK: // launch 1: 12.00 KiB live, the most
// CHECK: // launch 2: 12.00 KiB live
// BYTES: exec.arena 12288 persistent 0
func.func @step(%x: tensor<512xi64> {train.binding = #train.binding<input "x">}) -> (tensor<512xi64> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
  %a = sched.library "onnx.Gather"(%x, %x) {axis = 0} : (tensor<512xi64>, tensor<512xi64>) -> tensor<512xi64>
  %b = sched.library "onnx.Gather"(%a, %x) {axis = 0} : (tensor<512xi64>, tensor<512xi64>) -> tensor<512xi64>
  %y = sched.library "onnx.Gather"(%b, %x) {axis = 0} : (tensor<512xi64>, tensor<512xi64>) -> tensor<512xi64>
  return %y : tensor<512xi64>
}
