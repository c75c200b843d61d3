// Subcommands of kedge-bench.
#pragma once
#include <CLI/CLI.hpp>

namespace kedge::bench {

/// Assigns places in an arena to the buffers of a CSV file.
void addArenaCommand(CLI::App &app);
/// Plans recomputation for a graph under a byte budget.
void addRematCommand(CLI::App &app);
/// Chooses strategies for instances of the IOPDDL contest.
void addShardCommand(CLI::App &app);
/// Measures this machine with the project's own kernels and writes a device file.
void addCalibrateCommand(CLI::App &app);
/// Compiles a language model, trains some steps on random tokens, prints one line of JSON.
void addStepCommand(CLI::App &app);

/// Times the matrix products of compiled programs on a GPU and writes the table of algorithms.
void addTuneCommand(CLI::App &app);

} // namespace kedge::bench
