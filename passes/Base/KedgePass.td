// What every pass is derived from: MLIR's pass, with counters that are declared here and checked in C++.
#ifndef KEDGE_PASSES_BASE
#define KEDGE_PASSES_BASE
include "mlir/Pass/PassBase.td"

/// A counter of --kedge-statistics, as `addStatistic("name", n)` adds to it.
class Counter<string counter, string text> : Statistic<!subst(" ", "_", counter) # "_counter", counter, text>;

/// `base` is a template of passes/Base or of the phase; `arguments` are its first arguments, the counters follow.
class CountingPass<string name, string base, string arguments> : PassBase<name, ""> {
  let baseClass = base # "<" # arguments # !foldl("", statistics, names, each, names # ", \"" # each.name # "\"") # ">";
}

class KedgePass<string name, string op> : CountingPass<name, "::kedge::KedgePass", op>;
#endif
