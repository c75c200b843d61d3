// How bad it is, what is said about a model or a compilation.
#pragma once
#include <string_view>

namespace kedge {

enum class Severity { Error, Warning, Note };
inline std::string_view severityName(Severity severity) {
  return severity == Severity::Error ? "error" : severity == Severity::Warning ? "warning" : "note";
}

} // namespace kedge
