// RUN: kedge-opt %s --kedge-note-workspaces --kedge-emit-gpu-kernels | FileCheck %s
// RUN: kedge-opt %s --kedge-emit-gpu-kernels=kernels-only=true | FileCheck %s --check-prefix=KERNELS

// A product with an epilogue is the runtime's call. Its kernels do the rest where the library has no algorithm with it: from the product,
// which lies where its result does (3) or beside it (4), to the results.
// CHECK-LABEL: func.func @step
// CHECK: epilogue = "gelu", {{.*}} operands = [4, 3]}], sched.workspace = {{[0-9]+}} : i64}
// CHECK: epilogue = "gelu", {{.*}} operands = [2, 2]}], sched.workspace
// CHECK: epilogue = "gelu_grad", {{.*}} operands = [3, 2, 3, 4]}], sched.workspace
// CHECK: epilogue = "gelu_grad", {{.*}} operands = [3, 2, 3]}], sched.workspace
// CHECK: epilogue = "sums_a", {{.*}} operands = [0, 3]}], sched.workspace
// CHECK: epilogue = "sums_b", {{.*}} operands = [1, 3]}], sched.workspace

// One kernel for all GELUs, named by the place of the product. Its tanh is the machine's: 16 bits hide the difference.
// KERNELS: gpu.func @k0_m_64x16
// KERNELS: math.tanh {{.*}} fastmath<afn>
// KERNELS-COUNT-4: gpu.return
// KERNELS-NOT: gpu.func
func.func @step(%x: tensor<64x32xbf16>, %w: tensor<32x16xbf16>, %b: tensor<16xbf16>, %d: tensor<64x16xbf16>, %v: tensor<16x16xbf16>)
    attributes {train.kind = #train.kind<step>} {
  %y:2 = sched.library "train.fused_product"(%x, %w, %b) {epilogue = "gelu", transA = false, transB = false} {kedge.place = #kedge.place<forward "m", "fc">} : (tensor<64x32xbf16>, tensor<32x16xbf16>, tensor<16xbf16>) -> (tensor<64x16xbf16>, tensor<64x16xbf16>)
  %e = sched.library "train.fused_product"(%x, %w) {epilogue = "gelu", transA = false, transB = false} {kedge.place = #kedge.place<forward "m", "fc">} : (tensor<64x32xbf16>, tensor<32x16xbf16>) -> tensor<64x16xbf16>
  %g:2 = sched.library "train.fused_product"(%d, %v, %y#1) {epilogue = "gelu_grad", transA = false, transB = true} {kedge.place = #kedge.place<backward "m", "fc">} : (tensor<64x16xbf16>, tensor<16x16xbf16>, tensor<64x16xbf16>) -> (tensor<64x16xbf16>, tensor<16xbf16>)
  %h = sched.library "train.fused_product"(%d, %v, %y#1) {epilogue = "gelu_grad", transA = false, transB = true} {kedge.place = #kedge.place<backward "m", "fc">} : (tensor<64x16xbf16>, tensor<16x16xbf16>, tensor<64x16xbf16>) -> tensor<64x16xbf16>
  %s:2 = sched.library "train.fused_product"(%d, %x) {epilogue = "sums_a", transA = true, transB = false} {kedge.place = #kedge.place<backward "m", "fc">} : (tensor<64x16xbf16>, tensor<64x32xbf16>) -> (tensor<16x32xbf16>, tensor<16xbf16>)
  %t:2 = sched.library "train.fused_product"(%x, %d) {epilogue = "sums_b", transA = true, transB = false} {kedge.place = #kedge.place<backward "m", "fc">} : (tensor<64x32xbf16>, tensor<64x16xbf16>) -> (tensor<32x16xbf16>, tensor<16xbf16>)
  return
}
