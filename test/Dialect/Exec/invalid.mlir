// RUN: kedge-opt %s --split-input-file --verify-diagnostics

// What holds.
train.state parameter @w tensor<16xf32>
train.state moment1 @m tensor<16xf32>
exec.arena 320 persistent 128 align 64 {reservations = [#exec.reservation<"context", 1024, "measured">]}
exec.host_arena 64 persistent 64 align 64
exec.function @step kind <step> {
  %w = exec.buffer "w" at 0 size 64 live [-1, 3] tensor<16xf32> state @w
  %lr = exec.buffer "lr" at 64 size 4 live [-1, 3] tensor<f32> binds [#train.binding<scalar "lr">]
  %mh = exec.buffer "m" in host at 0 size 64 live [-1, 3] tensor<16xf32> state @m
  %m = exec.buffer "m" at 128 size 64 live [0, 2] tensor<16xf32>
  %s = exec.buffer "workspace" at 192 size 100 live [1, 1] tensor<100xi8>
  %y = exec.buffer "y" at 256 size 32 live [1, 2] tensor<8xf32> binds [#train.binding<output "y" part 8 of tensor<16xf32>>]
  exec.copy %mh to %m stream 1 records 0 tensor<16xf32> {offloaded = "frees 64 B"}
  exec.launch "k" reads(%w, %m, %lr) writes(%w, %y) workspace %s iterations 1 grain 1 stream 0 waits [0]
    types [tensor<16xf32>, tensor<16xf32>, tensor<f32>] -> [tensor<16xf32>, tensor<8xf32>] {recomputed = "frees 64 B"}
  exec.copy %m to %mh stream 2 tensor<16xf32>
  exec.gradient @w %m after 0 tensor<16xf32>
}

// -----

// expected-error @+1 {{has the alignment 48, which is no power of two}}
exec.arena 96 persistent 0 align 48

// -----

// expected-error @+1 {{keeps 128 bytes between functions, but has 64}}
exec.host_arena 64 persistent 128 align 64

// -----

// What holds.
exec.host_arena 12352 persistent 12352 align 64 {files = [#exec.file<"/a b", 8192>, #exec.file<"c", 4096>]}

// -----

// expected-error @+1 {{has 64 bytes in a file, expected whole blocks of 4096}}
exec.host_arena 64 persistent 64 align 64 {files = [#exec.file<"/a", 64>]}

// -----

// expected-error @+1 {{has 8192 bytes in files, but keeps 4096 bytes between functions}}
exec.host_arena 8192 persistent 4096 align 64 {files = [#exec.file<"/a", 8192>]}

// -----

// expected-error @+1 {{attribute 'bytes' failed to satisfy constraint}}
exec.arena -64 persistent 0 align 64

// -----

// expected-error @+1 {{attribute 'reservations' failed to satisfy constraint: reservations}}
exec.arena 64 persistent 0 align 64 {reservations = ["context"]}

// -----

// expected-error @+1 {{is of kind 'micro' and called 'step': programs know the kind by the name}}
exec.function @step kind <micro> {
  %a = exec.buffer "a" at 0 size 64 live [0, 2] tensor<16xf32>
}

// -----

// expected-error @+1 {{holds buffers, launches, copies and gradients only}}
exec.function @step {
  // expected-note @+1 {{found 'arith.constant'}}
  %c = arith.constant 0 : i32
}

// -----

exec.function @step {
  // expected-error @+1 {{lives from launch 3 to launch 2}}
  %a = exec.buffer "a" at 0 size 64 live [3, 2] tensor<16xf32>
}

// -----

exec.function @step {
  // expected-error @+1 {{has 32 bytes, but holds a 'tensor<16xf32>'}}
  %a = exec.buffer "a" at 0 size 32 live [0, 2] tensor<16xf32>
}

// -----

exec.function @step {
  // expected-error @+1 {{attribute 'offset' failed to satisfy constraint}}
  %a = exec.buffer "a" at -64 size 64 live [0, 2] tensor<16xf32>
}

// -----

exec.function @step {
  // expected-error @+1 {{attribute 'type' failed to satisfy constraint}}
  %a = exec.buffer "a" at 0 size 64 live [0, 2] f32
}

// -----

train.state parameter @w tensor<16xf32>
exec.function @step {
  // expected-error @+1 {{is a state and bound to something else, too}}
  %a = exec.buffer "a" at 0 size 64 live [-1, 2] tensor<16xf32> state @w binds [#train.binding<input "x">]
}

// -----

exec.function @step {
  // expected-error @+1 {{binds #train.binding<gradient @w>, but the host writes or reads inputs, scalars, results and outputs}}
  %a = exec.buffer "a" at 0 size 64 live [-1, 2] tensor<16xf32> binds [#train.binding<gradient @w>]
}

// -----

exec.function @step {
  // expected-error @+1 {{attribute 'bindings' failed to satisfy constraint: bindings}}
  %a = exec.buffer "a" at 0 size 64 live [-1, 2] tensor<16xf32> binds ["input:x"]
}

// -----

exec.function @step {
  // expected-error @+1 {{names @w, which is no train.state of the module}}
  %a = exec.buffer "a" at 0 size 64 live [-1, 2] tensor<16xf32> state @w
}

// -----

exec.function @step {
  %a = exec.buffer "a" at 0 size 64 live [0, 2] tensor<16xf32>
  // expected-error @+1 {{names @w, which is no train.state of the module}}
  exec.gradient @w %a after 0 tensor<16xf32>
}

// -----

train.state parameter @w tensor<16xf32>
exec.function @step {
  %a = exec.buffer "a" at 0 size 64 live [0, 2] tensor<16xf32>
  // expected-error @+1 {{is whole after launch -2}}
  exec.gradient @w %a after -2 tensor<16xf32>
}

// -----

train.state parameter @w tensor<16xf32>
exec.function @step {
  // expected-note @+1 {{the buffer}}
  %a = exec.buffer "a" at 0 size 32 live [0, 2] tensor<8xf32>
  // expected-error @+1 {{touches 64 bytes ('tensor<16xf32>') of buffer 'a', which has 32}}
  exec.gradient @w %a after 0 tensor<16xf32>
}

// -----

exec.function @small {
  // expected-note @+1 {{the buffer}}
  %a = exec.buffer "a" at 0 size 32 live [0, 1] tensor<8xf32>
  // expected-error @+1 {{touches 64 bytes ('tensor<16xf32>') of buffer 'a', which has 32}}
  exec.launch "k0" reads() writes(%a) iterations 1 grain 1 stream 0 types [] -> [tensor<16xf32>]
}

// -----

exec.function @counts {
  %a = exec.buffer "a" at 0 size 64 live [-1, 1] tensor<16xf32>
  // expected-error @+1 {{reads 1 buffers, but has 0 types for them}}
  exec.launch "k0" reads(%a) writes() iterations 1 grain 1 stream 0 types [] -> []
}

// -----

exec.function @types {
  %a = exec.buffer "a" at 0 size 64 live [-1, 1] tensor<16xf32>
  // expected-error @+1 {{reads a 'f32', expected a ranked tensor of numbers}}
  exec.launch "k0" reads(%a) writes() iterations 1 grain 1 stream 0 types [f32] -> []
}

// -----

exec.function @kernel_on_host {
  %m = exec.buffer "m" in host at 0 size 64 live [-1, 1] tensor<16xf32>
  %a = exec.buffer "a" at 0 size 64 live [0, 1] tensor<16xf32>
  // expected-error @+1 {{touches buffer 'm' in host memory: only exec.copy may}}
  exec.launch "k0" reads(%m) writes(%a) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
}

// -----

exec.function @within {
  %a = exec.buffer "a" at 0 size 64 live [-1, 1] tensor<16xf32>
  %b = exec.buffer "b" at 64 size 64 live [0, 1] tensor<16xf32>
  // expected-error @+1 {{copies within one memory: expected one buffer of the arena and one in host memory}}
  exec.copy %a to %b stream 0 tensor<16xf32>
}

// -----

exec.function @small_copy {
  // expected-note @+1 {{the buffer}}
  %a = exec.buffer "a" at 0 size 32 live [-1, 1] tensor<8xf32>
  %b = exec.buffer "b" in host at 64 size 64 live [0, 1] tensor<16xf32>
  // expected-error @+1 {{touches 64 bytes ('tensor<16xf32>') of buffer 'a', which has 32}}
  exec.copy %a to %b stream 0 tensor<16xf32>
}

// -----

func.func @operand(%x: index) {
  // expected-error @+1 {{has an operand that is no exec.buffer}}
  exec.copy %x to %x stream 0 tensor<16xf32>
  return
}

// -----

exec.function @stream {
  // expected-error @+1 {{attribute 'stream' failed to satisfy constraint}}
  exec.launch "k0" reads() writes() iterations 1 grain 1 stream -1 types [] -> []
}

// -----

exec.function @grain {
  // expected-error @+1 {{attribute 'grain' failed to satisfy constraint}}
  exec.launch "k0" reads() writes() iterations 1 grain 0 stream 0 types [] -> []
}

// -----

// Elements without a size in memory.
exec.function @index {
  // expected-error @+1 {{holds a 'tensor<4xindex>', expected a ranked tensor of numbers}}
  %a = exec.buffer "a" at 0 size 64 live [0, 2] tensor<4xindex>
}

// -----

train.state parameter @w tensor<4xf32>
exec.function @index_gradient {
  %a = exec.buffer "a" at 0 size 64 live [0, 2] tensor<4xf32>
  // expected-error @+1 {{touches a 'tensor<4xindex>', expected a ranked tensor of numbers}}
  exec.gradient @w %a after 0 tensor<4xindex>
}
