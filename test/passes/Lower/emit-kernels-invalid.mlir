// RUN: kedge-opt %s --split-input-file --kedge-emit-kernels=kernels-only=true --verify-diagnostics

func.func @short(%a: tensor<8x70xbf16>) -> tensor<8xbf16> {
  %0 = sched.cluster domain [8, 70] reduced [1] (%a)
       maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r)>] {
    ^bb0(%x: bf16):
      // expected-error @+1 {{reduces 'bf16'; widen it to f32 first}}
      %y = sched.reduce add %x : bf16
      sched.yield %y : bf16
  } : (tensor<8x70xbf16>) -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}

// -----

func.func @varies(%a: tensor<8x70xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{yields output 0 from a value that varies along a dim its map does not name}}
  %0 = sched.cluster domain [8, 70] reduced [1] (%a)
       maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r)>] {
    ^bb0(%x: f32):
      %s = sched.reduce add %x : f32
      %d = arith.subf %x, %s : f32
      sched.yield %d : f32
  } : (tensor<8x70xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @loop(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sched.cluster domain [8] reduced [] (%a) maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> (i)>] {
    ^bb0(%x: f32):
      %z = arith.constant 1 : i32
      // expected-error @+1 {{is not allowed in a cluster's body}}
      %y:2 = arith.addui_extended %z, %z : i32, i1
      sched.yield %x : f32
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

#same = affine_map<(r, c) -> (r, c)>
#block = affine_map<(r, c) -> (r floordiv 2, c)>
func.func @sum(%x: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2x2xf32>) {
  // expected-error @+1 {{has a sched.sum, which kernels of CPUs do not compute; compile with --target cuda}}
  %y:2 = sched.cluster domain [4, 2] reduced [1] (%x) maps [#same] -> [#same, #block] {
  ^bb0(%a: f32):
    %f = sched.reduce add %a : f32
    %s = sched.sum %a : f32
    sched.yield %f, %s : f32, f32
  } : (tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2x2xf32>)
  return %y#0, %y#1 : tensor<4x2xf32>, tensor<2x2xf32>
}
