// RUN: kedge-opt %s --kedge-check-memory --split-input-file --verify-diagnostics

// A plan that holds: b takes a's bytes once a is dead.
train.state parameter @w tensor<16xf32>
exec.arena 256 persistent 64 align 64
exec.function @good {
  %w = exec.buffer "w" at 0 size 64 live [-1, 3] tensor<16xf32> state @w
  %a = exec.buffer "a" at 64 size 64 live [0, 1] tensor<16xf32>
  %b = exec.buffer "b" at 128 size 64 live [1, 2] tensor<16xf32>
  %c = exec.buffer "c" at 64 size 64 live [2, 3] tensor<16xf32> binds [#train.binding<output "c">]
  exec.launch "k0" reads(%w) writes(%a) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  exec.launch "k1" reads(%a) writes(%b) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  exec.launch "k2" reads(%b) writes(%c) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
}

// -----

// One offset moved.
exec.arena 256 persistent 64 align 64
exec.function @overlap {
  %a = exec.buffer "a" at 64 size 64 live [0, 1] tensor<16xf32>
  // expected-error @+1 {{shares bytes with live buffer 'a'}}
  %b = exec.buffer "b" at 64 size 64 live [1, 2] tensor<16xf32> binds [#train.binding<output "b">]
  exec.launch "k0" reads() writes(%a) iterations 1 grain 1 stream 0 types [] -> [tensor<16xf32>]
  exec.launch "k1" reads(%a) writes(%b) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
}

// -----

// One lifetime shortened.
exec.arena 256 persistent 64 align 64
exec.function @short {
  // expected-error @+1 {{declares the lifetime [0, 0], but launches use it in [0, 1]}}
  %a = exec.buffer "a" at 64 size 64 live [0, 0] tensor<16xf32>
  %b = exec.buffer "b" at 128 size 64 live [1, 2] tensor<16xf32> binds [#train.binding<output "b">]
  exec.launch "k0" reads() writes(%a) iterations 1 grain 1 stream 0 types [] -> [tensor<16xf32>]
  exec.launch "k1" reads(%a) writes(%b) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
}

// -----

exec.arena 96 persistent 0 align 64
exec.function @outside {
  // expected-error @+1 {{outside the arena of 96 bytes}}
  %a = exec.buffer "a" at 64 size 64 live [0, 1] tensor<16xf32> binds [#train.binding<output "a">]
  exec.launch "k0" reads() writes(%a) iterations 1 grain 1 stream 0 types [] -> [tensor<16xf32>]
}

// -----

exec.arena 256 persistent 0 align 64
exec.function @unwritten {
  %a = exec.buffer "a" at 0 size 64 live [0, 0] tensor<16xf32>
  %b = exec.buffer "b" at 64 size 64 live [0, 1] tensor<16xf32> binds [#train.binding<output "b">]
  // expected-error @+1 {{reads buffer 'a' before any launch writes it}}
  exec.launch "k0" reads(%a) writes(%b) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
}

// -----

// A host arena: a state and a value of equal offsets in the other arena share no byte with what lies there.
train.state parameter @m tensor<16xf32>
exec.arena 128 persistent 0 align 64
exec.host_arena 128 persistent 64 align 64
exec.function @host {
  %m = exec.buffer "m" in host at 0 size 64 live [-1, 3] tensor<16xf32> state @m
  %a = exec.buffer "a" at 0 size 64 live [0, 1] tensor<16xf32>
  %h = exec.buffer "a" in host at 64 size 64 live [1, 2] tensor<16xf32>
  %b = exec.buffer "a" at 64 size 64 live [2, 3] tensor<16xf32> binds [#train.binding<output "a">]
  exec.copy %m to %a stream 0 tensor<16xf32>
  exec.copy %a to %h stream 0 tensor<16xf32>
  exec.copy %h to %b stream 0 tensor<16xf32>
}

// -----

exec.arena 128 persistent 0 align 64
exec.host_arena 64 persistent 0 align 64
exec.function @beyond_host {
  %a = exec.buffer "a" at 0 size 64 live [-1, 0] tensor<16xf32> binds [#train.binding<input "a">]
  // expected-error @+1 {{outside the host arena of 64 bytes}}
  %h = exec.buffer "a" in host at 64 size 64 live [0, 1] tensor<16xf32>
  %b = exec.buffer "b" at 64 size 64 live [1, 2] tensor<16xf32> binds [#train.binding<output "b">]
  exec.copy %a to %h stream 0 tensor<16xf32>
  exec.copy %h to %b stream 0 tensor<16xf32>
}

// -----

exec.arena 256 persistent 0 align 64
exec.host_arena 128 persistent 0 align 64
exec.function @host_overlap {
  %a = exec.buffer "a" at 0 size 64 live [-1, 1] tensor<16xf32> binds [#train.binding<input "a">]
  %h = exec.buffer "h" in host at 0 size 64 live [0, 2] tensor<16xf32>
  // expected-error @+1 {{shares bytes with live buffer 'h'}}
  %i = exec.buffer "i" in host at 0 size 64 live [1, 3] tensor<16xf32>
  %b = exec.buffer "b" at 64 size 64 live [2, 4] tensor<16xf32> binds [#train.binding<output "b">]
  %c = exec.buffer "c" at 128 size 64 live [3, 4] tensor<16xf32> binds [#train.binding<output "c">]
  exec.copy %a to %h stream 0 tensor<16xf32>
  exec.copy %a to %i stream 0 tensor<16xf32>
  exec.copy %h to %b stream 0 tensor<16xf32>
  exec.copy %i to %c stream 0 tensor<16xf32>
}

// -----

// Copies beside launches: k1 runs while a goes to host memory, k2 takes a's bytes and waits.
exec.arena 192 persistent 0 align 64
exec.host_arena 64 persistent 0 align 64
exec.function @streams {
  %a = exec.buffer "a" at 0 size 64 live [0, 2] tensor<16xf32>
  %h = exec.buffer "a" in host at 0 size 64 live [1, 4] tensor<16xf32>
  %b = exec.buffer "b" at 64 size 64 live [2, 3] tensor<16xf32>
  %c = exec.buffer "c" at 0 size 64 live [3, 6] tensor<16xf32> binds [#train.binding<output "c">]
  %a2 = exec.buffer "a" at 128 size 64 live [4, 6] tensor<16xf32> binds [#train.binding<output "a">]
  exec.launch "k0" reads() writes(%a) iterations 1 grain 1 stream 0 records 0 types [] -> [tensor<16xf32>]
  exec.copy %a to %h stream 2 waits [0] records 1 tensor<16xf32>
  exec.launch "k1" reads() writes(%b) iterations 1 grain 1 stream 0 types [] -> [tensor<16xf32>]
  exec.launch "k2" reads(%b) writes(%c) iterations 1 grain 1 stream 0 waits [1] types [tensor<16xf32>] -> [tensor<16xf32>]
  exec.copy %h to %a2 stream 1 waits [1] records 2 tensor<16xf32>
  exec.launch "k3" reads(%c, %a2) writes(%c) iterations 1 grain 1 stream 0 waits [2] types [tensor<16xf32>, tensor<16xf32>] -> [tensor<16xf32>]
}

// -----

// The wait is one launch too late: k2 may overwrite what is still being copied.
exec.arena 192 persistent 0 align 64
exec.host_arena 64 persistent 0 align 64
exec.function @late_wait {
  %a = exec.buffer "a" at 0 size 64 live [0, 2] tensor<16xf32>
  %h = exec.buffer "a" in host at 0 size 64 live [1, 4] tensor<16xf32>
  %b = exec.buffer "b" at 64 size 64 live [2, 3] tensor<16xf32>
  %c = exec.buffer "c" at 0 size 64 live [3, 4] tensor<16xf32>
  %d = exec.buffer "d" at 64 size 64 live [4, 5] tensor<16xf32> binds [#train.binding<output "d">]
  exec.launch "k0" reads() writes(%a) iterations 1 grain 1 stream 0 records 0 types [] -> [tensor<16xf32>]
  exec.copy %a to %h stream 2 waits [0] records 1 tensor<16xf32>
  exec.launch "k1" reads() writes(%b) iterations 1 grain 1 stream 0 types [] -> [tensor<16xf32>]
  // expected-error @+1 {{may start before launch 1 on stream 2 is done, and both touch bytes of buffer 'c'}}
  exec.launch "k2" reads(%b) writes(%c) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  exec.launch "k3" reads(%c) writes(%d) iterations 1 grain 1 stream 0 waits [1] types [tensor<16xf32>] -> [tensor<16xf32>]
}

// -----

// The launch that reads does not wait for what it reads.
train.state parameter @m tensor<16xf32>
exec.arena 192 persistent 0 align 64
exec.host_arena 64 persistent 64 align 64
exec.function @no_wait {
  %m = exec.buffer "m" in host at 0 size 64 live [-1, 3] tensor<16xf32> state @m
  %a = exec.buffer "a" at 0 size 64 live [0, 1] tensor<16xf32>
  %b = exec.buffer "b" at 64 size 64 live [1, 3] tensor<16xf32> binds [#train.binding<output "b">]
  exec.copy %m to %a stream 1 records 0 tensor<16xf32>
  // expected-error @+1 {{may start before launch 0 on stream 1 is done, and both touch bytes of buffer 'a'}}
  exec.launch "k0" reads(%a) writes(%b) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
  exec.launch "k1" reads(%b) writes(%b) iterations 1 grain 1 stream 0 waits [0] types [tensor<16xf32>] -> [tensor<16xf32>]
}

// -----

// An update beside products: the next launch that takes the gradient's bytes must wait for it, and does not.
train.state parameter @w tensor<16xf32>
exec.arena 256 persistent 64 align 64
exec.function @update_overtaken {
  %w = exec.buffer "w" at 0 size 64 live [-1, 4] tensor<16xf32> state @w
  %g = exec.buffer "g" at 64 size 64 live [0, 2] tensor<16xf32>
  %x = exec.buffer "x" at 128 size 64 live [2, 3] tensor<16xf32>
  %y = exec.buffer "y" at 64 size 64 live [3, 4] tensor<16xf32> binds [#train.binding<output "y">]
  exec.launch "k0" reads() writes(%g) iterations 1 grain 1 stream 0 records 0 types [] -> [tensor<16xf32>]
  exec.launch "k1" reads(%w, %g) writes(%w) iterations 1 grain 1 stream 5 waits [0] records 1 types [tensor<16xf32>, tensor<16xf32>] -> [tensor<16xf32>]
  exec.launch "k2" reads() writes(%x) iterations 1 grain 1 stream 0 types [] -> [tensor<16xf32>]
  // expected-error @+1 {{may start before launch 1 on stream 5 is done, and both touch bytes of buffer 'y'}}
  exec.launch "k3" reads(%x) writes(%y) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
}

// -----

// The new state goes to host memory while the old one may still be on its way from there.
train.state parameter @m tensor<16xf32>
exec.arena 192 persistent 0 align 64
exec.host_arena 64 persistent 64 align 64
exec.function @state_overtaken {
  %m = exec.buffer "m" in host at 0 size 64 live [-1, 3] tensor<16xf32> state @m
  %a = exec.buffer "a" at 0 size 64 live [0, 2] tensor<16xf32>
  %b = exec.buffer "b" at 64 size 64 live [0, 3] tensor<16xf32> binds [#train.binding<output "b">]
  exec.launch "k0" reads() writes(%b) iterations 1 grain 1 stream 0 records 0 types [] -> [tensor<16xf32>]
  exec.copy %m to %a stream 1 tensor<16xf32>
  // expected-error @+1 {{may start before launch 1 on stream 1 is done, and both touch bytes of buffer 'm'}}
  exec.copy %b to %m stream 2 waits [0] tensor<16xf32>
}

// -----

exec.arena 192 persistent 0 align 64
exec.function @unknown_event {
  %a = exec.buffer "a" at 0 size 64 live [0, 1] tensor<16xf32> binds [#train.binding<output "a">]
  // expected-error @+1 {{waits for event 3, which no earlier launch records}}
  exec.launch "k0" reads() writes(%a) iterations 1 grain 1 stream 0 waits [3] types [] -> [tensor<16xf32>]
}

// -----

exec.arena 192 persistent 0 align 64
exec.function @event_twice {
  %a = exec.buffer "a" at 0 size 64 live [0, 2] tensor<16xf32> binds [#train.binding<output "a">]
  exec.launch "k0" reads() writes(%a) iterations 1 grain 1 stream 0 records 0 types [] -> [tensor<16xf32>]
  // expected-error @+1 {{records event 0, as an earlier launch does}}
  exec.launch "k1" reads() writes(%a) iterations 1 grain 1 stream 0 records 0 types [] -> [tensor<16xf32>]
}
