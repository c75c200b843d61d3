// What kedge-note-updates leaves for kedge-check-updates.
#pragma once

namespace kedge::levels {

/// On the module: the symbols of the states that a step has to update.
inline constexpr char updatesName[] = "train.updates";

} // namespace kedge::levels
