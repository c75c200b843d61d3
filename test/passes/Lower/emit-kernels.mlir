// RUN: kedge-opt %s --split-input-file --kedge-emit-kernels=kernels-only=true | FileCheck %s

// Two equal clusters share a kernel; a whole tensor is one long loop of four vectors a step.
// CHECK-LABEL: llvm.func @k0_act_128x96(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-SAME: sched.iterations = 3 : i64
// CHECK: scf.for
// CHECK: arith.muli %{{.*}}, %[[BLOCK:.*]] : i64
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK: math.tanh %{{.*}} : vector<16xf32>
// CHECK-COUNT-4: llvm.store %{{.*}} : vector<16xf32>, !llvm.ptr
// CHECK-NOT: llvm.func
func.func @equal(%a: tensor<128x96xf32>) -> tensor<128x96xf32> {
  %0 = sched.cluster domain [128, 96] reduced [] (%a)
       maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r, c)>] {
    ^bb0(%x: f32):
      %y = math.tanh %x : f32
      sched.yield %y : f32
  } {kedge.place = #kedge.place<forward "model.h.0.act", "Tanh">} : (tensor<128x96xf32>) -> tensor<128x96xf32>
  %1 = sched.cluster domain [128, 96] reduced [] (%0)
       maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r, c)>] {
    ^bb0(%x: f32):
      %y = math.tanh %x : f32
      sched.yield %y : f32
  } {kedge.place = #kedge.place<forward "model.h.1.act", "Tanh">} : (tensor<128x96xf32>) -> tensor<128x96xf32>
  return %1 : tensor<128x96xf32>
}

// -----

// A row fold has 64 partial results; what is left of a row is masked and neutral.
// CHECK-LABEL: llvm.func @k0_8x70
// CHECK-SAME: sched.iterations = 8 : i64
// CHECK: arith.addf %{{.*}} : vector<16xf32>
// CHECK: llvm.intr.masked.load
// CHECK: arith.select %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7]
// CHECK: vector.extract
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr
func.func @rows(%a: tensor<8x70xf32>) -> tensor<8xf32> {
  %0 = sched.cluster domain [8, 70] reduced [1] (%a)
       maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r)>] {
    ^bb0(%x: f32):
      %y = sched.reduce add %x : f32
      sched.yield %y : f32
  } : (tensor<8x70xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Columns lie in lanes when rows are folded: an iteration takes 64 of them.
// CHECK-LABEL: llvm.func @k0_32x256
// CHECK-SAME: sched.iterations = 4 : i64
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: llvm.load {{.*}} vector<16xf32>
// CHECK-COUNT-4: llvm.store %{{.*}} : vector<16xf32>, !llvm.ptr
func.func @columns(%a: tensor<32x256xf32>) -> tensor<256xf32> {
  %0 = sched.cluster domain [32, 256] reduced [0] (%a)
       maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (c)>] {
    ^bb0(%x: f32):
      %y = sched.reduce add %x : f32
      sched.yield %y : f32
  } : (tensor<32x256xf32>) -> tensor<256xf32>
  return %0 : tensor<256xf32>
}

// -----

// Indices that a reshape takes apart become loops of their own: rows of 64 contiguous elements, no gather.
// CHECK-LABEL: llvm.func @k0_4x16x768
// CHECK-NOT: masked.gather
// CHECK: llvm.load {{.*}} vector<16xf32>
// CHECK-NOT: masked.gather
// CHECK: llvm.return
func.func @heads(%a: tensor<4x12x16x64xf32>) -> tensor<4x16x768xf32> {
  %0 = sched.cluster domain [4, 16, 768] reduced [] (%a)
       maps [affine_map<(b, t, c) -> (b, c floordiv 64, t, c mod 64)>] -> [affine_map<(b, t, c) -> (b, t, c)>] {
    ^bb0(%x: f32):
      sched.yield %x : f32
  } : (tensor<4x12x16x64xf32>) -> tensor<4x16x768xf32>
  return %0 : tensor<4x16x768xf32>
}

// -----

// A reshape written as quotients and remainders of a flat index is the flat index.
// CHECK-LABEL: llvm.func @k0_6x35
// CHECK-NOT: rem
// CHECK: llvm.load {{.*}} vector<16xf32>
// CHECK-NOT: rem
// CHECK: llvm.return
func.func @flat(%a: tensor<5x6x7xf32>) -> tensor<6x35xf32> {
  %0 = sched.cluster domain [6, 35] reduced [] (%a)
       maps [affine_map<(i, j) -> ((i * 35 + j) floordiv 42, ((i * 35 + j) floordiv 7) mod 6, (i * 35 + j) mod 7)>]
         -> [affine_map<(i, j) -> (i, j)>] {
    ^bb0(%x: f32):
      sched.yield %x : f32
  } : (tensor<5x6x7xf32>) -> tensor<6x35xf32>
  return %0 : tensor<6x35xf32>
}

// -----

// What the fold has taken sixteen operations to compute lies on the stack until the outputs want it: tanh runs once.
// CHECK-LABEL: llvm.func @k0_8x64
// CHECK: %[[ROOM:.*]] = llvm.alloca %{{.*}} x f32 {alignment = 64 : i64}
// CHECK-COUNT-4: math.tanh
// CHECK-NOT: math.tanh
// CHECK: %[[KEPT:.*]] = llvm.getelementptr inbounds %[[ROOM]]
// CHECK-NEXT: llvm.store %{{.*}}, %[[KEPT]]
// CHECK-NOT: math.tanh
// CHECK: vector.extract
// CHECK: llvm.getelementptr inbounds %[[ROOM]]
// CHECK-NEXT: llvm.load
// CHECK-NOT: math.tanh
// CHECK: llvm.return
func.func @kept(%a: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = sched.cluster domain [8, 64] reduced [1] (%a)
       maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r, c)>] {
    ^bb0(%x: f32):
      %1 = math.tanh %x : f32
      %2 = arith.addf %1, %x : f32
      %3 = arith.mulf %2, %x : f32
      %4 = arith.addf %3, %x : f32
      %5 = arith.mulf %4, %x : f32
      %6 = arith.addf %5, %x : f32
      %7 = arith.mulf %6, %x : f32
      %8 = arith.addf %7, %x : f32
      %9 = arith.mulf %8, %x : f32
      %10 = arith.addf %9, %x : f32
      %11 = arith.mulf %10, %x : f32
      %12 = arith.addf %11, %x : f32
      %13 = arith.mulf %12, %x : f32
      %14 = arith.addf %13, %x : f32
      %15 = arith.mulf %14, %x : f32
      %16 = arith.addf %15, %x : f32
      %sum = sched.reduce add %16 : f32
      %y = arith.mulf %16, %sum : f32
      sched.yield %y : f32
  } : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

// The last of 17 columns, in bf16 and in f32, is stored alone: a masked store of one lane would be the whole 32 bits that the
// number was rounded from (LLVM 22, AVX-512), and write over the next row.
// CHECK-LABEL: llvm.func @k0_37x17(
// CHECK-NOT: llvm.intr.masked.store
// CHECK: llvm.store %{{.*}} {alignment = 2 : i64} : i16, !llvm.ptr
// CHECK-NOT: llvm.intr.masked.store
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr
// CHECK-NOT: llvm.intr.masked.store
func.func @tail(%a: tensor<37x17xbf16>) -> (tensor<17xf32>, tensor<37x17xbf16>) {
  %0:2 = sched.cluster domain [37, 17] reduced [0] (%a) maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (c)>, affine_map<(r, c) -> (r, c)>] {
    ^bb0(%x: bf16):
      %v = arith.extf %x : bf16 to f32
      %m = arith.mulf %v, %v : f32
      %p = arith.truncf %m : f32 to bf16
      %s = sched.reduce add %m : f32
      sched.yield %s, %p : f32, bf16
  } : (tensor<37x17xbf16>) -> (tensor<17xf32>, tensor<37x17xbf16>)
  return %0#0, %0#1 : tensor<17xf32>, tensor<37x17xbf16>
}
