// Counters of our own passes for --kedge-statistics (Debian's libMLIR is built without pass statistics).
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace kedge {

/// Adds `count` to a counter of a pass; safe from several threads.
void addStatistic(const std::string &pass, const std::string &counter, int64_t count);
/// pass -> counter -> value, since the process began.
std::map<std::string, std::map<std::string, int64_t>> allStatistics();
/// One line for each counter: value, pass, counter.
std::string formatStatistics();

} // namespace kedge
