// Programs with several lengths of rows (kedge compile --shape 'INPUT=8x{128,512}'): a function for each.
#pragma once
#include "runtime/program/Program.h"
#include <string_view>

namespace kedge::rt {

/// Those that compute what `function` does, the shortest rows first: "step.128", "step.512", "step". The last
/// takes inputs as InputSpec says, and is the only one of a program of one length.
std::vector<const Function *> bucketsOf(const Program &program, const std::string &function);

/// "step" of "step.128".
std::string_view withoutLength(std::string_view function);

/// Whether rows have several lengths.
bool hasBuckets(const Program &program);

/// The shape of an input as `function` takes it; null if it does not take it.
const TensorDesc *inputOf(const Function &function, const InputSpec &input);

} // namespace kedge::rt
