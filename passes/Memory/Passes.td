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
  let dependentDialects = ["kedge::KedgeDialect", "kedge::sched::SchedDialect"];
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

def PlaceCopies : Pass<"kedge-place-copies", "mlir::ModuleOp"> {
  let summary = "Let copies between the arenas run beside the launches, in the slack that the plan leaves";
  let description = [{
    Needs the plan of kedge-plan-memory and keeps it: no byte moves, no arena grows. A copy from host memory goes up in
    the list to where its destination's bytes become free and its source is written, never before a copy that is needed
    earlier; it is put on stream 1. A copy to host memory stays behind the launch that writes its source, on stream 2.
    Then every launch waits for the latest launch of another stream that touches the same bytes, unless it is known to be
    done already: a copy to host memory is thus waited for by the first launch that uses its source's bytes again or
    reads the copy. What a copy touches counts as live until then. Without copies nothing changes.
    Statistics: copies started earlier, launches that they passed, waits.
  }];
  let dependentDialects = ["kedge::exec::ExecDialect"];
}

def CheckMemory : Pass<"kedge-check-memory", "mlir::ModuleOp"> {
  let summary = "Prove from the exec IR alone that no two live buffers share a byte";
  let description = [{
    Knows no kernel: derives each buffer's lifetime from the launches that read and write it, compares it with
    the declared one, and checks that buffers that live at once are disjoint and inside their arena, that
    nothing is read before it is written, that every byte range is aligned, and that only copies touch host memory.
    Where launches have streams: that every two launches that touch the same bytes, one of them writing, are ordered by a
    stream or by events. Statistic: pairs compared.
  }];
}
#endif
