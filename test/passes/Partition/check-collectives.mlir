// RUN: kedge-opt %s --kedge-check-collectives --split-input-file --verify-diagnostics

// One program for all ranks.
module attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
  func.func @step(%a: tensor<2xf32>) -> tensor<4xf32> {
    %w = sched.library "dist.all_gather"(%a) {ranks = 2 : i64} {collective} : (tensor<2xf32>) -> tensor<4xf32>
    return %w : tensor<4xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
  func.func @step(%a: tensor<2xf32>) -> tensor<4xf32> {
    // expected-error @+1 {{(dist.all_gather) is over 3 ranks along 'data', the module's mesh has 2}}
    %w = sched.library "dist.all_gather"(%a) {ranks = 3 : i64} {collective} : (tensor<2xf32>) -> tensor<4xf32>
    return %w : tensor<4xf32>
  }
}

// -----

// A schedule a rank: the same but for what each computes.
module {
  module @rank0 attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
    exec.arena 128 persistent 0 align 64
    exec.function @step {
      %a = exec.buffer "a" at 0 size 64 live [-1, 1] tensor<16xf32>
      exec.launch "k" reads(%a) writes(%a) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
      exec.launch library "dist.all_reduce" reads(%a) writes(%a) iterations 0 grain 1 stream 3 types [tensor<16xf32>] -> [tensor<16xf32>] with {kind = "sum", ranks = 2 : i64} {collective}
    }
  }
  module @rank1 attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
    exec.arena 128 persistent 0 align 64
    exec.function @step {
      %a = exec.buffer "a" at 0 size 64 live [-1, 1] tensor<16xf32>
      exec.launch library "dist.all_reduce" reads(%a) writes(%a) iterations 0 grain 1 stream 3 types [tensor<16xf32>] -> [tensor<16xf32>] with {kind = "sum", ranks = 2 : i64} {collective}
    }
  }
}

// -----

// Another kind of the same size; the first that differs is named.
module {
  module @rank0 attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
    func.func @step(%a: tensor<f32>) -> tensor<f32> {
      %0 = sched.library "dist.all_reduce"(%a) {kind = "sum", ranks = 2 : i64} {collective} : (tensor<f32>) -> tensor<f32>
      // expected-error @+1 {{collective 1 of @step on @rank0 is dist.all_reduce {kind = "sum", ranks = 2 : i64} (tensor<f32>, tensor<f32>), on @rank1 it is dist.all_reduce {kind = "max", ranks = 2 : i64} (tensor<f32>, tensor<f32>): the ranks would wait for each other}}
      %1 = sched.library "dist.all_reduce"(%0) {kind = "sum", ranks = 2 : i64} {collective} : (tensor<f32>) -> tensor<f32>
      return %1 : tensor<f32>
    }
  }
  module @rank1 attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
    func.func @step(%a: tensor<f32>) -> tensor<f32> {
      %0 = sched.library "dist.all_reduce"(%a) {kind = "sum", ranks = 2 : i64} {collective} : (tensor<f32>) -> tensor<f32>
      // expected-note @+1 {{the other one is here}}
      %1 = sched.library "dist.all_reduce"(%0) {kind = "max", ranks = 2 : i64} {collective} : (tensor<f32>) -> tensor<f32>
      return %1 : tensor<f32>
    }
  }
}

// -----

// One fewer on a rank.
module {
  module @rank0 attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
    func.func @step(%a: tensor<f32>) -> tensor<f32> {
      // expected-error @+1 {{collective 0 of @step on @rank0 is dist.all_reduce {kind = "sum", ranks = 2 : i64} (tensor<f32>, tensor<f32>), on @rank1 it is none}}
      %0 = sched.library "dist.all_reduce"(%a) {kind = "sum", ranks = 2 : i64} {collective} : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
  }
  module @rank1 attributes {dist.mesh = #dist.mesh<["data"] = [2]>} {
    func.func @step(%a: tensor<f32>) -> tensor<f32> {
      return %a : tensor<f32>
    }
  }
}

// -----

// A mesh of two axes, one program for all: nothing to compare.
module attributes {dist.mesh = #dist.mesh<["replica", "data"] = [2, 2]>} {
  func.func @step(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = sched.library "dist.reduce_scatter"(%a) {axis = "data", ranks = 2 : i64} {collective} : (tensor<4xf32>) -> tensor<2xf32>
    %1 = sched.library "dist.all_reduce"(%0) {axis = "replica", kind = "sum", ranks = 2 : i64} {collective} : (tensor<2xf32>) -> tensor<2xf32>
    %2 = sched.library "dist.all_gather"(%1) {axis = "data", ranks = 2 : i64} {collective} : (tensor<2xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
