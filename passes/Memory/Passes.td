// Level 3 -> level 4: where every byte lies, and for how long.
#ifndef KEDGE_MEMORY_PASSES
#define KEDGE_MEMORY_PASSES
include "mlir/Pass/PassBase.td"

def BindResults : Pass<"kedge-bind-results", "mlir::func::FuncOp"> {
  let summary = "Make every returned value one that can be computed where it belongs";
  let description = [{
    New state is written over old state, results and outputs to places of their own. Where that cannot be done
    in place (the old value is read later, one value has two destinations, an argument is returned), inserts a
    copy before the return. Statistic: copies inserted.
  }];
  let dependentDialects = ["kedge::sched::SchedDialect"];
}

def PlanMemory : Pass<"kedge-plan-memory", "mlir::ModuleOp"> {
  let summary = "Give every value its bytes in one arena";
  let description = [{
    Replaces each scheduled function by an `exec.function`: buffers with offsets and lifetimes, then launches.
    State, scalars, results and constants lie in the persistent region; the transient region is as large as
    the largest function needs. Values in host memory (states with `sched.host`, results of sched.offload) lie in an
    arena of their own, the exec.host_arena, which is there when there are any. An elementwise cluster writes over an input of equal size that dies in it.
    Needs kedge-bind-results. Statistics: arena bytes, persistent bytes, host bytes,
    buffers reused in place.
  }];
  let options = [Option<"threads", "threads", "int", "0", "threads that library workspaces are sized for (0: this machine's cores)">];
  let dependentDialects = ["kedge::exec::ExecDialect"];
}

def CheckMemory : Pass<"kedge-check-memory", "mlir::ModuleOp"> {
  let summary = "Prove from the exec IR alone that no two live buffers share a byte";
  let description = [{
    Knows no kernel: derives each buffer's lifetime from the launches that read and write it, compares it with
    the declared one, and checks that buffers that live at once are disjoint and inside their arena, that
    nothing is read before it is written, that every byte range is aligned, and that only copies touch host memory. Statistic: pairs compared.
  }];
}
#endif
