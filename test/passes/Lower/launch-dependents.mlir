// RUN: kedge-opt %s --kedge-launch-dependents --kedge-statistics 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t.err
// STATISTICS: 2 kedge-launch-dependents kernels

// In front of all that a kernel does; what it calls has nothing to wait for.
// CHECK-LABEL: gpu.module @kernels
gpu.module @kernels {
  // CHECK: gpu.func @flat0
  // CHECK-NOT: griddepcontrol
  gpu.func @flat0(%x: !llvm.ptr<1>) {
    gpu.return
  }
  // CHECK: gpu.func @k0
  // CHECK-NEXT: nvvm.griddepcontrol wait
  // CHECK-NEXT: nvvm.griddepcontrol launch_dependents
  // CHECK-NEXT: llvm.load
  gpu.func @k0(%x: !llvm.ptr<1>) kernel {
    %v = llvm.load %x : !llvm.ptr<1> -> f32
    llvm.store %v, %x : f32, !llvm.ptr<1>
    gpu.return
  }
  // CHECK: gpu.func @k1
  // CHECK-NEXT: nvvm.griddepcontrol wait
  // CHECK-NEXT: nvvm.griddepcontrol launch_dependents
  // CHECK-NEXT: gpu.return
  gpu.func @k1(%x: !llvm.ptr<1>) kernel {
    gpu.return
  }
}
