// RUN: kedge-opt %s --kedge-check-memory --split-input-file --verify-diagnostics
// What a plan may not be whatever its launches do; the others are beside the plans that hold, in check-memory.mlir.

// expected-error @+1 {{has no exec.arena in its module}}
exec.function @step {
}

// -----

exec.arena 192 persistent 0 align 64
exec.function @crooked {
  // expected-error @+1 {{is at 32, which is no multiple of 64}}
  %a = exec.buffer "a" at 32 size 64 live [0, 1] tensor<16xf32>
  exec.launch "k0" reads() writes(%a) iterations 1 grain 1 stream 0 types [] -> [tensor<16xf32>]
}

// -----

exec.arena 192 persistent 64 align 64
// expected-error @+1 {{has the place 160 : i64 ('exec.offset') outside of an arena of 192 bytes}}
train.state parameter @w tensor<16xf32> {exec.offset = 160 : i64}
exec.function @step {
}

// -----

// A moment that this function does not name: a temporary lies on it.
exec.arena 192 persistent 128 align 64
train.state parameter @w tensor<16xf32> {exec.offset = 0 : i64}
train.state moment1 @m tensor<16xf32> {exec.offset = 64 : i64}
exec.function @micro {
  %w = exec.buffer "w" at 0 size 64 live [-1, 0] tensor<16xf32> state @w
  // expected-error @+1 {{is at 64, within the 128 bytes that functions keep for each other}}
  %a = exec.buffer "a" at 64 size 64 live [0, 0] tensor<16xf32>
  exec.launch "k0" reads(%w) writes(%a) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
}

// -----

exec.arena 192 persistent 128 align 64
// expected-note @+1 {{here}}
train.state parameter @w tensor<16xf32> {exec.offset = 0 : i64}
exec.function @micro {
  // expected-error @+1 {{is at 64, but the state 'w' is at 0}}
  %w = exec.buffer "w" at 64 size 64 live [-1, 0] tensor<16xf32> state @w
}

// -----

exec.arena 192 persistent 64 align 64
// expected-error @+1 {{holds the state 'w' at [64, 128), beyond the 64 bytes that functions keep for each other}}
train.state parameter @w tensor<16xf32> {exec.offset = 64 : i64}
exec.function @step {
}

// -----

exec.arena 192 persistent 128 align 64
train.state parameter @w tensor<16xf32> {exec.offset = 0 : i64}
// expected-error @+1 {{holds the state 'm' at 32, on bytes of the state 'w' at [0, 64)}}
train.state moment1 @m tensor<16xf32> {exec.offset = 32 : i64}
exec.function @step {
}

// -----

exec.arena 64 persistent 0 align 64
module @kernels {
  llvm.func @k0() attributes {sched.iterations = 4 : i64}
}
exec.function @step {
  %a = exec.buffer "a" at 0 size 64 live [0, 0] tensor<16xf32>
  // expected-error @+1 {{runs 5 iterations of 'k0', which has 4}}
  exec.launch "k0" reads() writes(%a) iterations 5 grain 1 stream 0 types [] -> [tensor<16xf32>]
}

// -----

exec.arena 64 persistent 0 align 64
module @kernels {
  // expected-error @+1 {{is launched and does not say its iterations: expected 'sched.iterations'}}
  llvm.func @k0()
}
exec.function @step {
  %a = exec.buffer "a" at 0 size 64 live [0, 0] tensor<16xf32>
  exec.launch "k0" reads() writes(%a) iterations 5 grain 1 stream 0 types [] -> [tensor<16xf32>]
}
