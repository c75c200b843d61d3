// Inputs that have a value where no data are given: masks that hide nothing, positions that count.
#pragma once
#include "runtime/data/Source.h"
#include <string_view>

namespace kedge::rt {

/// What an input without data holds, for a note: "1", "0, 1, 2, ...", "0"; empty: it has no default. Told by
/// its name, type and number of dimensions.
std::string_view defaultOf(const InputSpec &input);
/// So many rows of it.
std::unique_ptr<Source> defaultRows(const InputSpec &input, int64_t rows);

} // namespace kedge::rt
