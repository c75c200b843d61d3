// Kernels that are equal but for large numbers call one function, and the numbers are in a table of each.
// RUN: kedge-opt %s --kedge-share-code --split-input-file | FileCheck %s

// The first is what both call. 100 and 100 of @a are different numbers in @b: two columns. The divisor and the
// step of 16 stay in the code.
// CHECK:       llvm.mlir.global private constant @a_numbers(dense<100> : tensor<2xi64>)
// CHECK:       llvm.func @a(%[[T:.*]]: !llvm.ptr, %[[B:.*]]: i64, %[[E:.*]]: i64) attributes {sched.grain = 3 : i64} {
// CHECK-NEXT:    %[[N:.*]] = llvm.mlir.addressof @a_numbers : !llvm.ptr
// CHECK-NEXT:    llvm.call @a_shared(%[[T]], %[[B]], %[[E]], %[[N]])
// CHECK-NEXT:    llvm.return
// CHECK:       llvm.func private @a_shared(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %[[TABLE:.*]]: !llvm.ptr)
// CHECK-SAME:    no_inline
// CHECK-SAME:    passthrough = ["noduplicate"]
// CHECK:         %[[P:.*]] = llvm.getelementptr %[[TABLE]][0]
// CHECK-NEXT:    %[[X:.*]] = llvm.load %[[P]] invariant {alignment = 8 : i64} : !llvm.ptr -> i64
// CHECK-NEXT:    %[[Q:.*]] = llvm.getelementptr %[[TABLE]][1]
// CHECK-NEXT:    %[[Y:.*]] = llvm.load %[[Q]] invariant {alignment = 8 : i64} : !llvm.ptr -> i64
// CHECK:         %[[STEP:.*]] = arith.constant 16 : i64
// CHECK:         %[[DIVISOR:.*]] = arith.constant 48 : i64
// CHECK:         arith.divsi %{{.*}}, %[[DIVISOR]]
// CHECK:         arith.addi
// CHECK:       llvm.mlir.global private constant @b_numbers(dense<[200, 300]> : tensor<2xi64>)
// CHECK:       llvm.func @b
// CHECK:         llvm.call @a_shared
llvm.func @a(%t: !llvm.ptr, %begin: i64, %end: i64) attributes {sched.grain = 3 : i64} {
  %n = arith.constant 100 : i64
  %m = arith.constant 100 : i64
  %step = arith.constant 16 : i64
  %divisor = arith.constant 48 : i64
  %zero = arith.constant 0.0 : f32
  scf.for %i = %begin to %n step %step : i64 {
    %q = arith.divsi %i, %divisor : i64
    %at = arith.addi %q, %m : i64
    %place = llvm.getelementptr %t[%at] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %zero, %place : f32, !llvm.ptr
  }
  llvm.return
}
llvm.func @b(%t: !llvm.ptr, %begin: i64, %end: i64) attributes {sched.grain = 7 : i64} {
  %n = arith.constant 200 : i64
  %m = arith.constant 300 : i64
  %step = arith.constant 16 : i64
  %divisor = arith.constant 48 : i64
  %zero = arith.constant 0.0 : f32
  scf.for %i = %begin to %n step %step : i64 {
    %q = arith.divsi %i, %divisor : i64
    %at = arith.addi %q, %m : i64
    %place = llvm.getelementptr %t[%at] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %zero, %place : f32, !llvm.ptr
  }
  llvm.return
}
// Another divisor is another code.
// CHECK:       llvm.func @c
// CHECK-NOT:     llvm.call
llvm.func @c(%t: !llvm.ptr, %begin: i64, %end: i64) {
  %n = arith.constant 200 : i64
  %m = arith.constant 300 : i64
  %step = arith.constant 16 : i64
  %divisor = arith.constant 96 : i64
  %zero = arith.constant 0.0 : f32
  scf.for %i = %begin to %n step %step : i64 {
    %q = arith.divsi %i, %divisor : i64
    %at = arith.addi %q, %m : i64
    %place = llvm.getelementptr %t[%at] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %zero, %place : f32, !llvm.ptr
  }
  llvm.return
}

// -----

// Equal kernels, and kernels that call something, stay what they are: the former are one object anyway.
// CHECK-NOT: llvm.mlir.global
// CHECK:     llvm.func @same0
// CHECK-NOT: llvm.call
// CHECK:     llvm.func @calls0
// CHECK:       llvm.call @puts
llvm.func @puts(i64)
llvm.func @same0(%t: !llvm.ptr, %begin: i64, %end: i64) {
  %n = arith.constant 100 : i64
  llvm.store %n, %t : i64, !llvm.ptr
  llvm.return
}
llvm.func @same1(%t: !llvm.ptr, %begin: i64, %end: i64) {
  %n = arith.constant 100 : i64
  llvm.store %n, %t : i64, !llvm.ptr
  llvm.return
}
llvm.func @calls0(%t: !llvm.ptr, %begin: i64, %end: i64) {
  %n = arith.constant 100 : i64
  llvm.call @puts(%n) : (i64) -> ()
  llvm.return
}
llvm.func @calls1(%t: !llvm.ptr, %begin: i64, %end: i64) {
  %n = arith.constant 200 : i64
  llvm.call @puts(%n) : (i64) -> ()
  llvm.return
}
