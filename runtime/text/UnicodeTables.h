// Tables of characters, as text that Unicode.cpp reads once.
#pragma once

namespace kedge::rt {

extern const char *const propertyRuns;
extern const char *const lowercaseRuns;
extern const char *const decompositionWords;
extern const char *const combiningRuns;

} // namespace kedge::rt
