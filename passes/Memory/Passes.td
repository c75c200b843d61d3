// Level 3 -> level 4: where every byte lies, and for how long.
#ifndef KEDGE_MEMORY_PASSES
#define KEDGE_MEMORY_PASSES
include "passes/Base/KedgePass.td"

def BindResults : KedgePass<"kedge-bind-results", "mlir::func::FuncOp"> {
  let summary = "Make every returned value one that can be computed where it belongs";
  let description = [{
    New state is written over old state; results and outputs have places of their own. If a value cannot be computed
    directly there (the old value is read later, a value has two destinations, an argument is returned), inserts a copy
    before the return.

    Example:
    ```mlir
    func.func @step(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}) -> (tensor<4xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
      return %x : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @step(%x: ...) -> (tensor<4xf32> ...) attributes {train.kind = #train.kind<step>} {
      %y = sched.cluster domain [4] reduced [](%x) maps ... {
      ^bb0(%v: f32):
        sched.yield %v : f32
      } {kedge.place = #forward_returned} : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let statistics = [Counter<"copies inserted", "results that must be copied to their state">];
  let dependentDialects = ["kedge::KedgeDialect", "kedge::sched::SchedDialect"];
}

def ShowMemory : KedgePass<"kedge-show-memory", "mlir::ModuleOp"> {
  let summary = "Print the launches of a schedule with the bytes of their results and how long they are needed";
  let description = [{
    Writes to standard error and changes nothing. Behind each launch's number come the transient bytes that live while it
    runs, and for each result its bytes and the launches from the first that needs the place to the last; a result that
    is written over an input has that input's place. What lives is what kedge-plan-memory will place: it asks the same
    code. The comments are MLIR's, so that the lines are IR. Needs kedge-bind-results.

    Example: `--kedge-show-memory="threads=2"`
    ```mlir
    func.func @step(%x: tensor<512xi64> {train.binding = #train.binding<input "x">}) -> (tensor<512xi64> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
      %y = sched.library "onnx.Gather"(%x, %x) {axis = 0 : i64} : (tensor<512xi64>, tensor<512xi64>) -> tensor<512xi64>
      return %y : tensor<512xi64>
    }
    ```
    becomes
    ```mlir
    func.func @step(%x: ...) -> (tensor<512xi64> ...) attributes {train.kind = #train.kind<step>} {
      %y = sched.library "onnx.Gather"(%x, %x) {axis = 0 : i64} : (tensor<512xi64>, tensor<512xi64>) -> tensor<512xi64>
      return %y : tensor<512xi64>
    }
    ```
  }];
  let statistics = [Counter<"launches shown", "launches with their live bytes">];
  let options = [
    Option<"threads", "threads", "int", "0", "threads that library workspaces are sized for (0: this machine's cores)">,
  ];
}

def PlanMemory : KedgePass<"kedge-plan-memory", "mlir::ModuleOp"> {
  let summary = "Give every value its bytes in one arena";
  let description = [{
    Replaces each scheduled function by an `exec.function`: buffers with offsets and lifetimes, then launches.
    State, scalars, results and constants are in the persistent region. The transient region has the size that the largest
    function needs. Values in host memory (states with `sched.host`, results of sched.offload) are in an arena of their
    own, the exec.host_arena; without such values there is none. An elementwise cluster writes over an input of equal size
    that is not read later. Needs kedge-bind-results.

    Example: `--kedge-plan-memory=threads=2`
    ```mlir
    train.state parameter @w tensor<16xf32>
    func.func @step(%x: tensor<16xf32> {train.binding = #train.binding<input "x">}, %w: tensor<16xf32> {train.binding = #train.binding<state @w>})
        -> (tensor<16xf32> {train.binding = #train.binding<state @w>}) attributes {train.kind = #train.kind<step>} {
      %new = sched.cluster domain [16] reduced [] (%x, %w)
               maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>] -> [affine_map<(i) -> (i)>] {
        ^bb0(%a: f32, %b: f32):
          %c = arith.addf %a, %b : f32
          sched.yield %c : f32
      } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
      return %new : tensor<16xf32>
    }
    ```
    becomes
    ```mlir
    exec.arena 128 persistent 64 align 64 ...
    exec.function @step kind <step> {
      %x = exec.buffer "x" at 64 size 64 live[-1, 0] tensor<16xf32> ...
      %w = exec.buffer "w" at 0 size 64 live[-1, 1] tensor<16xf32> ...
      exec.launch "cluster" reads(%x, %w) writes(%w) ...
    }
    ```
  }];
  let statistics = [Counter<"arena bytes", "all that a program allocates on the device">,
                    Counter<"persistent bytes", "states and what survives a step">,
                    Counter<"host bytes", "pinned host memory for offloaded values">,
                    Counter<"buffers reused in place", "results that take an operand's bytes">,
                    Counter<"bytes over the largest live set", "what packing wastes">,
                    Counter<"buffers with room for collectives", "reserved from the collective's start to its wait">,
                    Counter<"buffers with room for side launches", "reserved while kernels may run at the same time as products">,
                    Counter<"buffers with room for copies", "reserved for a copy to or from the host">];
  let options = [Option<"threads", "threads", "int", "0", "threads that library workspaces are sized for (0: this machine's cores)">,
                 Option<"side", "side", "bool", "false", "time for kernels beside products, where memory has room">];
  let dependentDialects = ["kedge::exec::ExecDialect"];
}

def PlaceSideLaunches : KedgePass<"kedge-place-side-launches", "mlir::ModuleOp"> {
  let summary = "Give kernels that nothing waits for at once a GPU's stream of least priority";
  let description = [{
    Needs the plan of kedge-plan-memory and keeps it. Runs before kedge-place-copies, which places the waits.

    In the functions of a step, a generated kernel goes to stream 5 if no later product needs its results, and at least
    `beside` products, convolutions or attentions follow on stream 0 before the first launch that touches a byte
    that it writes, or writes one that it touches: updates of parameters, sums of partial sums, sums of biases' gradients
    and of squares. A GPU runs such a kernel where a product leaves multiprocessors idle. Calls of libraries stay: they
    have workspaces outside of the plan. No launch moves in the list, so a runtime without streams does as before.

    Example:
    ```mlir
    exec.arena 256 persistent 64 align 64
    train.state parameter @w tensor<16xf32>
    exec.function @step kind #train.kind<step> {
      %w = exec.buffer "w" at 0 size 64 live [-1, 3] tensor<16xf32> state @w
      %g = exec.buffer "g" at 64 size 64 live [0, 1] tensor<16xf32>
      %x = exec.buffer "x" at 128 size 64 live [0, 2] tensor<16xf32>
      %y = exec.buffer "y" at 192 size 64 live [2, 3] tensor<16xf32> binds [#train.binding<output "y">]
      exec.launch "gradient" reads() writes(%g, %x) iterations 1 grain 1 stream 0 types [] -> [tensor<16xf32>, tensor<16xf32>]
      exec.launch "update" reads(%w, %g) writes(%w) iterations 1 grain 1 stream 0 types [tensor<16xf32>, tensor<16xf32>] -> [tensor<16xf32>]
      exec.launch library "onnx.MatMul" reads(%x) writes(%y) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
    }
    ```
    becomes
    ```mlir
    exec.function @step kind <step> {
      ...
      exec.launch "gradient" ... stream 0 ...
      exec.launch "update" ... stream 5 ...
      exec.launch library "onnx.MatMul" ... stream 0 ...
    }
    ```
  }];
  let options = [Option<"beside", "beside", "int64_t", "1", "products that may run at the same time, at least">];
  let statistics = [Counter<"launches moved", "kernels on the stream of least priority">];
  let dependentDialects = ["kedge::exec::ExecDialect"];
}

def PlaceCopies : KedgePass<"kedge-place-copies", "mlir::ModuleOp"> {
  let summary = "Let copies between the arenas and collectives run at the same time as the launches, in the slack that the plan leaves";
  let description = [{
    Needs the plan of kedge-plan-memory and keeps it: no buffer moves and no arena grows.

    A copy from host memory runs on stream 1. It moves up in the list until just after its destination's bytes become free
    and its source is written, but never before a copy that is needed earlier. A copy to host memory runs on stream 2, after
    the launch that writes its source. Collectives run on stream 3, sends and receives on stream 4; all of them keep their
    order, over both streams; a gather of states moves up like a copy from host memory.

    Then each launch waits for the latest launch of another stream that touches the same bytes, unless that is known to be
    done. So the first launch that reuses the source's bytes, or reads the copy, waits for a copy to host memory. The bytes
    that a copy touches count as live until then. Kernels of stream 5 (kedge-place-side-launches) are waited for in the same
    way. Without copies, collectives and such kernels nothing changes.

    Example:
    ```mlir
    exec.arena 192 persistent 0 align 64
    exec.host_arena 64 persistent 64 align 64
    train.state moment1 @m tensor<16xf32>
    exec.function @step {
      %m = exec.buffer "m" in host at 0 size 64 live [-1, 3] tensor<16xf32> state @m
      %a = exec.buffer "a" at 0 size 64 live [0, 2] tensor<16xf32>
      %h = exec.buffer "m" at 64 size 64 live [1, 2] tensor<16xf32>
      %y = exec.buffer "y" at 128 size 64 live [2, 3] tensor<16xf32> binds [#train.binding<output "y">]
      exec.launch "k0" reads() writes(%a) iterations 1 grain 1 stream 0 types [] -> [tensor<16xf32>]
      exec.copy %m to %h stream 0 tensor<16xf32>
      exec.launch "k1" reads(%a, %h) writes(%y) iterations 1 grain 1 stream 0
        types [tensor<16xf32>, tensor<16xf32>] -> [tensor<16xf32>]
    }
    ```
    becomes
    ```mlir
    exec.function @step {
      ...
      %h = exec.buffer "m" at 64 size 64 live[0, 2] ...
      ...
      exec.copy %m to %h stream 1 records 0 tensor<16xf32>
      exec.launch "k0" reads() writes(%a) ... stream 0 ...
      exec.launch "k1" reads(%a, %h) writes(%y) ... stream 0 waits [0] ...
    }
    ```
  }];
  let statistics = [Counter<"copies started earlier", "copies that moved forward">,
                    Counter<"launches that they passed", "launches that these copies now overlap">,
                    Counter<"waits", "waits for copies">];
  let dependentDialects = ["kedge::exec::ExecDialect"];
}

def CheckMemory : KedgePass<"kedge-check-memory", "mlir::ModuleOp"> {
  let summary = "Prove from the exec IR alone that no two live buffers share a byte";
  let description = [{
    Uses no knowledge of kernels. Derives each buffer's lifetime from the launches that read and write it, and compares it
    with the declared one. Checks that buffers live at the same time are disjoint and inside their arena, that nothing is
    read before it is written, that byte ranges are aligned, and that only copies touch host memory. If two launches
    touch the same bytes and one of them writes, checks that a stream or events order them.

    Example:
    ```mlir
    // b lies behind a while both live, c takes a's bytes.
    exec.arena 128 persistent 0 align 64
    exec.function @step {
      %a = exec.buffer "a" at 0 size 64 live [0, 1] tensor<16xf32>
      %b = exec.buffer "b" at 64 size 64 live [1, 2] tensor<16xf32>
      %c = exec.buffer "c" at 0 size 64 live [2, 3] tensor<16xf32> binds [#train.binding<output "c">]
      exec.launch "k0" reads() writes(%a) iterations 1 grain 1 stream 0 types [] -> [tensor<16xf32>]
      exec.launch "k1" reads(%a) writes(%b) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
      exec.launch "k2" reads(%b) writes(%c) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
    }

    // -----

    exec.arena 128 persistent 0 align 64
    exec.function @step {
      %a = exec.buffer "a" at 0 size 64 live [0, 1] tensor<16xf32>
      // expected-error @+1 {{shares bytes with live buffer 'a'}}
      %b = exec.buffer "b" at 0 size 64 live [1, 2] tensor<16xf32> binds [#train.binding<output "b">]
      exec.launch "k0" reads() writes(%a) iterations 1 grain 1 stream 0 types [] -> [tensor<16xf32>]
      exec.launch "k1" reads(%a) writes(%b) iterations 1 grain 1 stream 0 types [tensor<16xf32>] -> [tensor<16xf32>]
    }
    ```
  }];
  let statistics = [Counter<"pairs compared", "pairs of accesses to overlapping bytes">];
}
#endif
