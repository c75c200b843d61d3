// RUN: kedge-opt %s --kedge-check-memory --split-input-file --verify-diagnostics
// What a plan may not be whatever its launches do; the others are beside the plans that hold, in check-memory.mlir.

// expected-error @+1 {{has no exec.arena in its module}}
exec.function @step {
}

// -----

exec.arena 192 persistent 0 align 64
exec.function @crooked {
  // expected-error @+1 {{lies at 32, which is no multiple of 64}}
  %a = exec.buffer "a" at 32 size 64 live [0, 1] tensor<16xf32>
  exec.launch "k0" reads() writes(%a) iterations 1 grain 1 stream 0 types [] -> [tensor<16xf32>]
}

// -----

exec.arena 192 persistent 64 align 64
// expected-error @+1 {{has the place 160 : i64 ('exec.offset') outside of an arena of 192 bytes}}
train.state parameter @w tensor<16xf32> {exec.offset = 160 : i64}
exec.function @step {
}
