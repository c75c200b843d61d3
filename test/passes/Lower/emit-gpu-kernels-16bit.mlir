// RUN: kedge-opt %s --split-input-file --kedge-emit-gpu-kernels | FileCheck %s
// RUN: kedge-opt %s --split-input-file --kedge-emit-gpu-kernels="arch=sm_80 opt-level=2" | FileCheck %s --check-prefix=PTX --implicit-check-not=.extern
// RUN: %if ptxas %{ kedge-opt %s --split-input-file --kedge-emit-gpu-kernels="arch=sm_80 statistics-only=true" | FileCheck %s --check-prefix=CODE %}
// RUN: %if ptxas %{ kedge-opt %s --split-input-file --kedge-emit-gpu-kernels="arch=sm_90 statistics-only=true" | FileCheck %s --check-prefix=CODE %}

// Eight neighbours of 16 bits are one access of 16 bytes, eight of 32 bits two; the product is one of f32.
// CHECK-LABEL: gpu.func @k0_64x96
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xi16>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xf32>
// CHECK: arith.mulf %{{.*}} : vector<8xf32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xi16>, !llvm.ptr<1>
// PTX-LABEL: .visible .entry k0_64x96(
// PTX-COUNT-3: ld.global.v4.b32
// PTX-NOT: ld.global
// PTX-COUNT-4: cvt.rn.bf16x2.f32
// PTX: st.global.v4.b32
// PTX-NOT: st.global
// CODE: // k0_64x96: {{.*}} 0 stack, 0 spilled
func.func @scaled(%a: tensor<64x96xbf16>, %s: tensor<96xf32>) -> tensor<64x96xbf16> {
  %0 = sched.cluster domain [64, 96] reduced [] (%a, %s)
       maps [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>] -> [affine_map<(r, c) -> (r, c)>] {
    ^bb0(%x: bf16, %w: f32):
      %v = arith.extf %x : bf16 to f32
      %p = arith.mulf %v, %w : f32
      %y = arith.truncf %p : f32 to bf16
      sched.yield %y : bf16
  } : (tensor<64x96xbf16>, tensor<96xf32>) -> tensor<64x96xbf16>
  return %0 : tensor<64x96xbf16>
}

// -----

// A row of 768 f16 in the registers of a warp: three loads of 16 bytes.
// CHECK-LABEL: gpu.func @k0_8192x768
// CHECK-COUNT-3: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<8xf16>
// CHECK-NOT: llvm.load
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-COUNT-3: llvm.store %{{.*}} : vector<8xf16>, !llvm.ptr<1>
// PTX-LABEL: .visible .entry k0_8192x768(
// PTX-COUNT-3: ld.global.v4.b32
// PTX-COUNT-3: st.global.v4.b32
// CODE: // k0_8192x768: {{.*}} 0 stack, 0 spilled
func.func @rows(%a: tensor<8192x768xf16>) -> tensor<8192x768xf16> {
  %0 = sched.cluster domain [8192, 768] reduced [1] (%a)
       maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r, c)>] {
    ^bb0(%x: f16):
      %v = arith.extf %x : f16 to f32
      %s = sched.reduce add %v : f32
      %d = arith.subf %v, %s : f32
      %y = arith.truncf %d : f32 to f16
      sched.yield %y : f16
  } : (tensor<8192x768xf16>) -> tensor<8192x768xf16>
  return %0 : tensor<8192x768xf16>
}

// -----

// Attention copies its operands by 16 bytes, multiplies on tensor cores and stores 16 bytes at once; rows of an embedding's
// gradient are read so, too.
// CHECK-LABEL: gpu.func @k0_attention
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.mma.sync
// CHECK-NOT: vector<{{.*}}>, !llvm.ptr<1>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xi16>, !llvm.ptr<1>
// CHECK-LABEL: gpu.func @k2_row_sums
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xi16>
// PTX-LABEL: .visible .entry k0_attention(
// PTX-NOT: ld.global
// PTX: cp.async.cg.shared.global [%{{.*}}], [%{{.*}}], 16
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// PTX: cvt.rn.bf16x2.f32
// PTX: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// PTX: st.global.v4.b32
// CODE: // k0_attention: {{[1-9][0-9]*}} registers
func.func @attention(%q: tensor<2x64x4x64xbf16>, %g: tensor<256x768xbf16>, %i: tensor<256xi64>)
    -> (tensor<2x64x4x64xbf16>, tensor<50257x768xbf16>) {
  %o, %lse = sched.library "train.attention" (%q, %q, %q) {scale = 0.125 : f64, visible = {right = 0 : i64},
    softcap = 0.0 : f64, q_layout = "bthd", k_layout = "bthd", v_layout = "bthd", o_layout = "bthd"}
    : (tensor<2x64x4x64xbf16>, tensor<2x64x4x64xbf16>, tensor<2x64x4x64xbf16>)
    -> (tensor<2x64x4x64xbf16>, tensor<2x4x64xf32>)
  %d = sched.library "train.gather_grad" (%g, %i) {axis = 0 : i64}
    : (tensor<256x768xbf16>, tensor<256xi64>) -> tensor<50257x768xbf16>
  return %o, %d : tensor<2x64x4x64xbf16>, tensor<50257x768xbf16>
}

// -----

// Marked exponentials are the machine's powers of two, tanh a quotient of its own approximation (eight neighbours each); what is
// not marked keeps its polynomial. The sum of a row that is read again rescales with the same exponential.
// PTX-LABEL: .visible .entry k0_64x96(
// PTX-NOT: call
// PTX-COUNT-8: ex2.approx.ftz.f32
// PTX-COUNT-8: ex2.approx.ftz.f32
// PTX-COUNT-8: ex2.approx.ftz.f32
// PTX-NOT: ex2.approx
// PTX: ret;
// PTX-LABEL: .visible .entry k1_64x96(
// PTX-NOT: ex2.approx
// PTX: ret;
// PTX-LABEL: .visible .entry k2_3x50257_stage0(
// PTX: ex2.approx.ftz.f32
// CODE: // k0_64x96: {{.*}} 0 stack, 0 spilled
// CODE: // k1_64x96: {{.*}} 0 stack, 0 spilled
// CODE: // k2_3x50257_stage0: {{.*}} 0 stack, 0 spilled
#same = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
func.func @exponentials(%a: tensor<64x96xbf16>, %b: tensor<3x50257xbf16>)
    -> (tensor<64x96xbf16>, tensor<64x96xbf16>, tensor<3xf32>) {
  %0 = sched.cluster domain [64, 96] reduced [] (%a) maps [#same] -> [#same] {
    ^bb0(%x: bf16):
      %v = arith.extf %x : bf16 to f32
      %e = math.exp %v fastmath<afn> : f32
      %t = math.tanh %v fastmath<afn> : f32
      %r = math.erf %v fastmath<afn> : f32
      %s = arith.addf %e, %t : f32
      %p = arith.addf %s, %r : f32
      %y = arith.truncf %p : f32 to bf16
      sched.yield %y : bf16
  } : (tensor<64x96xbf16>) -> tensor<64x96xbf16>
  %1 = sched.cluster domain [64, 96] reduced [] (%a) maps [#same] -> [#same] {
    ^bb0(%x: bf16):
      %v = arith.extf %x : bf16 to f32
      %e = math.exp %v : f32
      %y = arith.truncf %e : f32 to bf16
      sched.yield %y : bf16
  } : (tensor<64x96xbf16>) -> tensor<64x96xbf16>
  %2 = sched.cluster domain [3, 50257] reduced [1] (%b) maps [#same] -> [#row] {
    ^bb0(%x: bf16):
      %v = arith.extf %x : bf16 to f32
      %m = sched.reduce max %v : f32
      %d = arith.subf %v, %m : f32
      %e = math.exp %d fastmath<afn> : f32
      %s = sched.reduce add %e : f32
      sched.yield %s : f32
  } : (tensor<3x50257xbf16>) -> tensor<3xf32>
  return %0, %1, %2 : tensor<64x96xbf16>, tensor<64x96xbf16>, tensor<3xf32>
}

// -----

// A norm's gradient with the sums of columns of blocks of 32 rows: two warps take a row in each of eight turns. Three tensors of points and the
// scale are read 8 bytes at a time, which leaves no thread idle, the points are stored so, and behind the turns the sums of four teams are
// joined in shared memory and stored. Two blocks fit a multiprocessor: at most 128 registers, and none is spilled.
// CHECK-LABEL: gpu.func @k0_8192x768
// CHECK: scf.for %{{.*}} = %{{.*}} to %c8_i32
// CHECK: gpu.barrier
// PTX-LABEL: .visible .entry k0_8192x768(
// PTX-COUNT-3: ld.global.v2.b32
// PTX-COUNT-3: st.global.v2.b32
// PTX-COUNT-9: ld.global.v2.b32
// PTX: st.shared.v4.b32
// PTX: ld.shared.v4.b32
// PTX-COUNT-2: st.global.v4.b32
// CODE: // k0_8192x768: {{[1-9][0-9]|1[01][0-9]|12[0-8]}} registers, 12352 shared, 0 stack, 0 spilled
#same = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
#column = affine_map<(r, c) -> (c)>
#block = affine_map<(r, c) -> (r floordiv 32, c)>
func.func @norm(%g: tensor<8192x768xbf16>, %x: tensor<8192x768xbf16>, %o: tensor<8192x768xbf16>, %w: tensor<768xbf16>, %mean: tensor<8192xf32>, %r: tensor<8192xf32>) -> tensor<8192x768xbf16> {
  %0:4 = sched.cluster domain [8192, 768] reduced [1] (%g, %x, %o, %w, %mean, %r) maps [#same, #same, #same, #column, #row, #row] -> [#same, #block, #block, #block] {
  ^bb0(%a: bf16, %b: bf16, %c: bf16, %d: bf16, %m: f32, %s: f32):
    %n = arith.constant 7.680000e+02 : f32
    %gw = arith.extf %a : bf16 to f32
    %xw = arith.extf %b : bf16 to f32
    %ow = arith.extf %c : bf16 to f32
    %ww = arith.extf %d : bf16 to f32
    %e = arith.subf %xw, %m : f32
    %h = arith.mulf %e, %s : f32
    %p = arith.mulf %gw, %ww : f32
    %q = arith.mulf %p, %h : f32
    %t = sched.reduce add %q : f32
    %u = sched.reduce add %p : f32
    %v = arith.divf %t, %n : f32
    %y = arith.divf %u, %n : f32
    %z = arith.subf %p, %y : f32
    %i = arith.mulf %h, %v : f32
    %j = arith.subf %z, %i : f32
    %k = arith.mulf %s, %j : f32
    %l = arith.addf %ow, %k : f32
    %dx = arith.truncf %l : f32 to bf16
    %dw = arith.mulf %gw, %h : f32
    %back = arith.extf %dx : bf16 to f32
    %s0 = sched.sum %dw : f32
    %s1 = sched.sum %gw : f32
    %s2 = sched.sum %back : f32
    sched.yield %dx, %s0, %s1, %s2 : bf16, f32, f32, f32
  } : (tensor<8192x768xbf16>, tensor<8192x768xbf16>, tensor<8192x768xbf16>, tensor<768xbf16>, tensor<8192xf32>, tensor<8192xf32>) -> (tensor<8192x768xbf16>, tensor<256x768xf32>, tensor<256x768xf32>, tensor<256x768xf32>)
  return %0#0 : tensor<8192x768xbf16>
}

// -----

// Rows of 50257 logits that lie 50304 apart: 16 bytes at a time in both walks, and the label is compared in 32 bits. What is
// behind the last column is read, not reduced, and stored as zeros.
// PTX-LABEL: .visible .entry k0_64x50257(
// PTX-NOT: ld.global.b16
// PTX: ld.global.v4.b32
// PTX-NOT: setp.eq.b64 {{.*}}, {{.*}}
// PTX: setp.eq.b32
// PTX: selp.f32 {{.*}}, 0fFF800000
// PTX: st.global.v4.b32
// PTX-NOT: st.global.b16
// CODE: // k0_64x50257: {{.*}} 0 stack, 0 spilled
#same = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
func.func @loss(%x: tensor<64x50304xbf16>, %l: tensor<64xi64>) -> tensor<64x50304xbf16> {
  %0:2 = sched.cluster domain [64, 50257] reduced [1] (%x, %l) maps [#same, #row] -> [#same, #row] {
  ^bb0(%a: bf16, %label: i64):
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %v = arith.extf %a : bf16 to f32
    %m = sched.reduce max %v : f32
    %d = arith.subf %v, %m : f32
    %e = math.exp %d fastmath<afn> : f32
    %s = sched.reduce add %e : f32
    %i = sched.index 1
    %is = arith.cmpi eq, %i, %label : i64
    %own = arith.select %is, %v, %zero : f32
    %picked = sched.reduce add %own : f32
    %target = arith.select %is, %one, %zero : f32
    %p = arith.divf %e, %s : f32
    %g = arith.subf %p, %target : f32
    %y = arith.truncf %g : f32 to bf16
    sched.yield %y, %picked : bf16, f32
  } : (tensor<64x50304xbf16>, tensor<64xi64>) -> (tensor<64x50304xbf16>, tensor<64xf32>)
  return %0#0 : tensor<64x50304xbf16>
}

// -----

// A cast of a matrix and its transpose: patches of 4 x 4. On sm_80 integers round.
// CHECK-LABEL: gpu.func @k0_128x192
// CHECK: arith.truncf %{{.*}} : vector<4xf32> to vector<4xf8E4M3FN>
// CHECK: vector.shuffle
// CHECK: gpu.barrier
// PTX-LABEL: .visible .entry k0_128x192(
// PTX-COUNT-4: ld.global.v2.b32
// PTX-COUNT-4: st.global.b32
// PTX-COUNT-4: st.shared.b32
// PTX: bar.sync
// PTX-COUNT-4: ld.shared.b32
// PTX: st.global.v4.b32
// CODE: // k0_128x192: {{.*}} 0 stack, 0 spilled
#same = affine_map<(r, c) -> (r, c)>
#turned = affine_map<(r, c) -> (c, r)>
func.func @casts(%x: tensor<128x192xbf16>) -> (tensor<128x192xf8E4M3FN>, tensor<192x128xf8E4M3FN>) {
  %0:2 = sched.cluster domain [128, 192] reduced [] (%x) maps [#same] -> [#same, #turned] {
  ^bb0(%a: bf16):
    %v = arith.extf %a : bf16 to f32
    %y = arith.truncf %v : f32 to f8E4M3FN
    sched.yield %y, %y : f8E4M3FN, f8E4M3FN
  } : (tensor<128x192xbf16>) -> (tensor<128x192xf8E4M3FN>, tensor<192x128xf8E4M3FN>)
  return %0#0, %0#1 : tensor<128x192xf8E4M3FN>, tensor<192x128xf8E4M3FN>
}
