// plan --compare: the same model under each way to save memory, in each of several precisions, and in each
// ZeRO stage.
#pragma once
#include "driver/options/CompileOptions.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

/// One object a policy (none, full, sqrt, attention, offload, and auto at the budget, if there is one): name,
/// precision, peak_bytes, overhead (share of the step's predicted time), fits, step_seconds. Plans the model
/// once for each.
nlohmann::json comparePolicies(const CompileOptions &options);

/// The same for each of `options.precisions`, which names the row, with everything else as given.
nlohmann::json comparePrecisions(const CompileOptions &options);

/// Whether the plan is of more than one rank: its rows also have zero, communication_bytes,
/// communication_seconds, and the rows below are worth making.
bool severalRanks(const CompileOptions &options);

/// With adapters: training all parameters, adapters over the weights as they are, and over those in few bits.
nlohmann::json compareTuning(const CompileOptions &options);
/// The same for each ZeRO stage, with everything else as given.
nlohmann::json compareStages(const CompileOptions &options);

/// Of a pipeline: the same for each schedule that cuts the model, with its bubble.
nlohmann::json compareSchedules(const CompileOptions &options);

/// One saving after the other, each on top of those before: fp32 with nothing saved, everything in blocks
/// computed again, 16 bits (the first such precision that was asked for, else bf16), stage 2, stage 3 with
/// optimizer and parameters in host memory.
nlohmann::json compareSteps(const CompileOptions &options);

/// The rows of compareSteps for `options` (on one rank those of comparePolicies), then that of what --auto
/// has chosen, with its lower_bound; `report` is the choice's plan.
nlohmann::json compareWithAuto(const CompileOptions &options, const CompileOptions &chosen,
                               const nlohmann::json &report);

/// How many rows are to come is shown to who waits for them. Call it before the first of the functions above.
void expectRows(const CompileOptions &options);

/// The same as a table; `what` heads the column of names. `budgeted`: with the least bytes that each row can
/// do with.
std::string compareText(const char *what, const nlohmann::json &rows, bool budgeted);

/// What to know when reading the tables.
std::string compareNote(const CompileOptions &options);

} // namespace kedge::driver
