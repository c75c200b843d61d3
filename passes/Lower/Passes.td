// Level 4: clusters -> kernels.
#ifndef KEDGE_LOWER_PASSES
#define KEDGE_LOWER_PASSES
include "passes/Base/KedgePass.td"

def EmitKernels : KedgePass<"kedge-emit-kernels", "mlir::ModuleOp"> {
  let summary = "Emit a kernel for each distinct cluster";
  let description = [{
    Puts the kernels of the module's clusters into a module of their own at its end, in ops of arith, math, scf and vector
    with loads and stores of llvm. `compile` translates these to machine code. Clusters with the same domain, maps, types
    and body share a kernel. Notes on each cluster its kernel, iteration space and grain, for kedge-plan-memory.

    Example: `--kedge-emit-kernels=kernels-only=true`
    ```mlir
    func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {train.kind = #train.kind<step>} {
      %y = sched.cluster domain [64] reduced [] (%x) maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> (i)>] {
        ^bb0(%v: f32):
          %t = math.tanh %v : f32
          sched.yield %t : f32
      } : (tensor<64xf32>) -> tensor<64xf32>
      return %y : tensor<64xf32>
    }
    ```
    becomes
    ```mlir
    llvm.func @k0_64(%tensors: !llvm.ptr, %begin: i64, %end: i64) attributes {sched.grain = 1 ...iterations = 1 ...
      ...
      scf.for %i = %begin to %end step ...
        ...
        %x = llvm.load ... : !llvm.ptr -> vector<16xf32>
        ...
        %y = math.tanh %x : vector<16xf32>
        ...
        llvm.store %y, ... : vector<16xf32>, !llvm.ptr
    ```
  }];
  let statistics = [Counter<"clusters", "clusters that a kernel computes">, Counter<"kernels", "different kernels">];
  let options = [
    Option<"kernelsOnly", "kernels-only", "bool", "false",
           "Kernels instead of the module's contents; iterations and grain are on them">,
    Option<"lowerMath", "lower-math", "bool", "false",
           "Expand math ops to polynomials and calls of libm, as for machine code">
  ];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::arith::ArithDialect", "mlir::math::MathDialect",
                           "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"];
}

def ShareCode : KedgePass<"kedge-share-code", "mlir::ModuleOp"> {
  let summary = "One code for kernels that differ in numbers alone";
  let description = [{
    Runs on a module of kernels (`kedge-emit-kernels=kernels-only=true`), as the last step before machine code is made of
    them. Kernels that are equal but for 64-bit constants become calls of one private function; what differs is in a
    table, its last argument. Constants up to 16, divisors and sizes of stack memory stay what they are: code that knows
    them is faster. Kernels keep their names and compute the same bits.

    Example:
    ```mlir
    llvm.func @k0(%tensors: !llvm.ptr, %begin: i64, %end: i64) {
      %n = arith.constant 100 : i64
      %place = llvm.getelementptr %tensors[%n] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %zero = arith.constant 0.0 : f32
      llvm.store %zero, %place : f32, !llvm.ptr
      llvm.return
    }
    llvm.func @k1(%tensors: !llvm.ptr, %begin: i64, %end: i64) {
      %n = arith.constant 200 : i64
      %place = llvm.getelementptr %tensors[%n] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %zero = arith.constant 0.0 : f32
      llvm.store %zero, %place : f32, !llvm.ptr
      llvm.return
    }
    ```
    becomes
    ```mlir
    ...@k0_numbers(dense<100> : tensor<1xi64>)...
    llvm.func @k0(%tensors: !llvm.ptr, %begin: i64, %end: i64) {
      %own = llvm.mlir.addressof @k0_numbers : !llvm.ptr
      llvm.call @k0_shared(%tensors, %begin, %end, %own) : (!llvm.ptr, i64, i64, !llvm.ptr) -> ()
      llvm.return
    }
    llvm.func private @k0_shared(%tensors: !llvm.ptr, %begin: i64, %end: i64, %numbers: !llvm.ptr) ... {
      ...
      %n = llvm.load ...
      ...
      %place = llvm.getelementptr %tensors[%n] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      ...
    ```
  }];
  let statistics = [Counter<"kernels", "kernels that have no code of their own any more">,
                    Counter<"functions", "functions that they call">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::arith::ArithDialect"];
}

def EmitGpuKernels : KedgePass<"kedge-emit-gpu-kernels", "mlir::ModuleOp"> {
  let summary = "Emit GPU kernels for each distinct cluster and generated library call";
  let description = [{
    Puts one gpu.module with the kernels that `compile --target cuda` runs into a module at the end of this one. Notes on
    each launch its kernels and workspace, for kedge-plan-memory. A workspace that kedge-note-workspaces has noted must be
    the one that the code needs. Products, and convolutions that cuDNN supports, have no kernels: the runtime calls
    libraries for them; a train.fused_product has those of its epilogue, for libraries without an algorithm with it. With `arch` the kernels are compiled. PTX and, if ptxas is installed, the registers, shared memory
    and spills of each kernel are printed to standard output.

    Example: `--kedge-emit-gpu-kernels=kernels-only=true`
    ```mlir
    func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {train.kind = #train.kind<step>} {
      %y = sched.cluster domain [64] reduced [] (%x) maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> (i)>] {
        ^bb0(%v: f32):
          %t = math.tanh %v : f32
          sched.yield %t : f32
      } : (tensor<64xf32>) -> tensor<64xf32>
      return %y : tensor<64xf32>
    }
    ```
    becomes
    ```mlir
    gpu.module @kernels {
      gpu.func @k0_64(%x: ..., %y: ...) kernel attributes {known_block_size = array<i32: 256, 1, 1>, sched.grid = "1x1x1"} {
        %thread = gpu.thread_id x
        ...
        scf.if ...
          ...
          %from = llvm.getelementptr inbounds %x[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
          %value = llvm.load %from {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
          %result = math.tanh %value : vector<4xf32>
          %to = llvm.getelementptr inbounds %y[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
          llvm.store %result, %to {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
        }
        gpu.return
    ```
  }];
  let statistics = [Counter<"launches", "launches with a kernel">, Counter<"kernels", "different kernels">,
                    Counter<"workspace bytes", "largest workspace of a launch">];
  let options = [
    Option<"kernelsOnly", "kernels-only", "bool", "false",
           "Kernels instead of the module's contents; the grid of a launch is on them">,
    Option<"arch", "arch", "std::string", "\"\"", "Compile for this architecture, like sm_90; \"\": print the IR">,
    Option<"optLevel", "opt-level", "int", "3", "0 to 3, of LLVM and ptxas">,
    Option<"clustersOnly", "clusters-only", "bool", "false", "Leave library calls out">,
    Option<"convolutions", "convolutions", "kedge::lower::Convolutions", "kedge::lower::Convolutions::Auto",
           "What computes convolutions that cuDNN supports">,
    Option<"warpgroups", "warpgroups", "bool", "false", "Kernels of wgmma and the copy engine, for sm_90a">,
    Option<"statisticsOnly", "statistics-only", "bool", "false", "No PTX, only what ptxas says of each kernel">
  ];
  let dependentDialects = ["kedge::onnx::ONNXDialect", "kedge::train::TrainDialect",
                           "mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect", "mlir::arith::ArithDialect",
                           "mlir::gpu::GPUDialect", "mlir::math::MathDialect", "mlir::scf::SCFDialect",
                           "mlir::vector::VectorDialect"];
}

def NoteWorkspaces : KedgePass<"kedge-note-workspaces", "mlir::ModuleOp"> {
  let summary = "Make a schedule one for CUDA, whose launches know the bytes they need in addition to their operands";
  let description = [{
    Sets the module's `kedge.target`, and `sched.workspace` on each cluster and library call; recomputation and memory
    planning count these bytes. Emits no kernels: the GPU emitter only plans them. Reports all launches that have no kernel
    for CUDA. Results that kedge-insert-recompute computes alone contain no reduction, so they need no workspace.

    Example:
    ```mlir
    func.func @step(%x: tensor<1048576xf32>) -> tensor<f32> {
      %y = sched.cluster domain [1048576] reduced [0] (%x) maps [affine_map<(i) -> (i)>] -> [affine_map<(i) -> ()>] {
        ^bb0(%v: f32):
          %s = sched.reduce add %v : f32
          sched.yield %s : f32
      } : (tensor<1048576xf32>) -> tensor<f32>
      return %y : tensor<f32>
    }
    ```
    becomes, since blocks leave partial sums for a second kernel,
    ```mlir
    module attributes {kedge.target = "cuda"} {
      ...
      %y = sched.cluster ...
      ...
      } {sched.workspace = ... : i64} ...
    ```
  }];
  let statistics = [Counter<"launches with a workspace", "launches that need scratch memory">,
                    Counter<"largest workspace bytes", "of one launch">];
  let options = [
    Option<"convolutions", "convolutions", "kedge::lower::Convolutions", "kedge::lower::Convolutions::Auto",
           "What computes convolutions that cuDNN supports">
  ];
  let dependentDialects = ["kedge::onnx::ONNXDialect", "kedge::sched::SchedDialect", "kedge::train::TrainDialect",
                           "mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def GroupLaunches : KedgePass<"kedge-group-launches", "mlir::ModuleOp"> {
  let summary = "One GPU launch for updates that compute the same on tensors of any size, or for small launches of one kernel";
  let description = [{
    Needs level 4 with its gpu.module, before kedge-place-copies. A launch of a flat cluster has the attribute
    `flat = {function, elements}`: this function of the gpu.module computes the cluster's body for that many elements. All
    launches of one such function that write only states become one launch, at the place of the last. A launch takes part
    only if no launch between touches what it writes or writes what it reads. The kernel finds the tensors of a block in a table of element
    counts and offsets in the arena. Launches of one kernel with few blocks, such as those that add up partial sums, become one
    in the same way, a row of blocks each. The offsets stay as planned, so the results have the same bits, and
    kedge-check-memory accepts the module as before. Flat functions, and kernels that are no longer used, are erased.

    Example:
    ```mlir
    gpu.module @kernels {
      gpu.func @flat0(%p: !llvm.ptr<1>, %g: !llvm.ptr<1>, %n: !llvm.ptr<1>, %elements: i32, %first: i32) {
        gpu.return
      }
    }
    exec.arena 1024 persistent 1024 align 256
    train.state parameter @p0 tensor<8xf32>
    train.state parameter @p1 tensor<16xf32>
    train.state accumulator @g0 tensor<8xf32>
    train.state accumulator @g1 tensor<16xf32>
    exec.function @update {
      %p0 = exec.buffer "p0" at 0 size 32 live [-1, 2] tensor<8xf32> state @p0
      %p1 = exec.buffer "p1" at 256 size 64 live [-1, 2] tensor<16xf32> state @p1
      %g0 = exec.buffer "g0" at 512 size 32 live [-1, 2] tensor<8xf32> state @g0
      %g1 = exec.buffer "g1" at 768 size 64 live [-1, 2] tensor<16xf32> state @g1
      exec.launch "sgd" reads(%p0, %g0) writes(%p0) iterations 0 grain 1 stream 0
        types [tensor<8xf32>, tensor<8xf32>] -> [tensor<8xf32>] {flat = {function = "flat0", elements = 8} }
      exec.launch "sgd" reads(%p1, %g1) writes(%p1) iterations 0 grain 1 stream 0
        types [tensor<16xf32>, tensor<16xf32>] -> [tensor<16xf32>] {flat = {function = "flat0", elements = 16} }
    }
    ```
    becomes
    ```mlir
    gpu.module @kernels {
      ...
      gpu.func @group0_2_tensors(...) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    ...
    exec.function @update {
      ...
      exec.launch "group0_2_tensors" ...
    }
    ```
  }];
  let statistics = [Counter<"launches grouped", "launches that run in one kernel with others">,
                    Counter<"groups", "kernels of several launches">];
  let options = [Option<"beside", "beside", "int64_t", "0",
                        "Products that run at the same time as a group (kedge-place-side-launches), where so many follow">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect", "mlir::arith::ArithDialect",
                           "mlir::gpu::GPUDialect", "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"];
}

def LaunchDependents : KedgePass<"kedge-launch-dependents", "mlir::ModuleOp"> {
  let summary = "GPU kernels may start while the one before them ends, and wait for it themselves";
  let description = [{
    For sm_90 and later, where a launch with the attribute of programmatic serialization is started early. Puts
    griddepcontrol in front of all that a kernel does: the wait for the kernels before it, then the leave for the one behind
    it to start. Its blocks come when all blocks of this one have started, and do nothing before this one is done. Without
    the attribute at a launch, both do nothing.

    Example:
    ```mlir
    gpu.module @kernels {
      gpu.func @k0(%x: !llvm.ptr<1>) kernel {
        %zero = arith.constant 0.0 : f32
        llvm.store %zero, %x : f32, !llvm.ptr<1>
        gpu.return
      }
    }
    ```
    becomes
    ```mlir
    gpu.module @kernels {
      gpu.func @k0(%x: !llvm.ptr<1>) kernel {
        nvvm.griddepcontrol wait
        nvvm.griddepcontrol launch_dependents
        ...
        llvm.store ...
    ```
  }];
  let statistics = [Counter<"kernels", "kernels that wait for those before them">];
  let dependentDialects = ["mlir::NVVM::NVVMDialect"];
}
#endif
