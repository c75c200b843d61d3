// Library kernels as statements in C11.
#pragma once
#include "runtime/program/Program.h"
#include <set>
#include <string>

namespace kedge::exporter {

/// Statements that make the call of `launch`, whose arguments `address` gives as `char *`. Functions that
/// they need are added to `helpers` (helperText). Sums are in the order of the processor's kernels for
/// products, which multiply and add at once (fma). Throws kedge::Error for a call that has no form in C here.
std::string libraryText(const rt::Launch &launch, const std::vector<std::string> &address,
                        std::set<std::string> &helpers);

/// The functions of that name, with those that they call.
std::string helperText(const std::set<std::string> &helpers);

} // namespace kedge::exporter
