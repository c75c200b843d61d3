// Tables of sines and cosines, by their values.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::lint {

/// Which formula a table of positions equals to rounding: "interleaved", "halves", "two axes", ...; nullopt
/// for others, and where the values cannot be read. Axes of length 1 in front do not count.
std::optional<std::string> sineFormula(const model::Tensor &);

} // namespace kedge::lint
