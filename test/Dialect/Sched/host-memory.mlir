// RUN: kedge-opt %s --split-input-file --verify-diagnostics

// What lies in host memory is read by fetches and the return alone.
train.state moment1 @m tensor<4xf32> {sched.host}
func.func @good(%x: tensor<4xf32>, %m: tensor<4xf32> {train.binding = #train.binding<state @m>}) -> (tensor<4xf32> {train.binding = #train.binding<state @m>}) {
  %h = sched.offload %x : tensor<4xf32>
  %y = sched.fetch %h : tensor<4xf32>
  %z = sched.fetch %m : tensor<4xf32>
  return %h : tensor<4xf32>
}

// -----

func.func @read(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{makes a value in host memory, which a launch reads: only sched.fetch and the return may}}
  %h = sched.offload %x : tensor<4xf32>
  // expected-note @+1 {{read here}}
  %y = sched.library "a"(%h) {} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @here(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.library "a"(%x) {} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{reads a value that is not in host memory: expected the result of sched.offload or a state}}
  %z = sched.fetch %y : tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

func.func @twice(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  // expected-error @+1 {{makes a value in host memory, which a launch reads: only sched.fetch and the return may}}
  %h = sched.offload %x : tensor<4xf32>
  // expected-note @+1 {{read here}}
  %v = sched.view %h : tensor<4xf32> to tensor<2x2xf32>
  return %v : tensor<2x2xf32>
}
