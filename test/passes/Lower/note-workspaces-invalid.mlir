// RUN: not kedge-opt %s --kedge-note-workspaces 2>&1 | FileCheck %s --check-prefix=LACKS
// RUN: not kedge-opt %s --kedge-emit-gpu-kernels 2>&1 | FileCheck %s --check-prefix=DIFFERS

// Launches that CUDA lacks are all reported; a workspace that was planned and is not what the code needs is an error.
// LACKS: error: 'sched.library' op has no kernel for CUDA: NoSuchThing runs with --target cpu only
// LACKS: error: 'sched.library' op has no kernel for CUDA: NorThis runs with --target cpu only
// LACKS: error: 2 launches have no kernel for CUDA (above); compile with --target cpu
// DIFFERS: error: 'sched.cluster' op needs a workspace of {{[1-9][0-9]*}} bytes, planned were 64
module {
  func.func @step(%x: tensor<1048576xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = sched.cluster domain [1048576] reduced [0] (%x) maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> ()>] {
      ^bb0(%v: f32):
        %s = sched.reduce add %v : f32
        sched.yield %s : f32
    } {sched.workspace = 64 : i64} : (tensor<1048576xf32>) -> tensor<f32>
    %1 = sched.library "NoSuchThing" (%x) {} : (tensor<1048576xf32>) -> tensor<4xf32>
    %2 = sched.library "NorThis" (%x) {} : (tensor<1048576xf32>) -> tensor<4xf32>
    return %0, %1, %2 : tensor<f32>, tensor<4xf32>, tensor<4xf32>
  }
}
