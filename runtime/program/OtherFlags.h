// Options as other tools call them.
#pragma once
#include <string>
#include <string_view>

namespace kedge::rt {

/// What an option of another tool is here.
struct OtherFlag {
  const char *name; ///< there, as "batch-size"
  const char *flag; ///< here, as "shape"
  const char *how;  ///< and how it is given
};

/// "--shape" of "shape", "-o" of "o".
std::string dashed(std::string_view name);
/// Null if no other tool is known to have it. `flag` begins with dashes; case and underscores do not count.
const OtherFlag *otherFlag(const std::string &flag);
/// Whether kedge compile has this option, and programs do not.
bool isCompilers(const std::string &flag);

} // namespace kedge::rt
