#include "lib/Support/Statistics.h"
#include <fmt/format.h>
#include <mutex>

namespace {
struct Table {
  std::mutex mutex;
  std::map<std::string, std::map<std::string, int64_t>> counters;
};
Table &table() {
  static Table instance;
  return instance;
}
} // namespace

void kedge::addStatistic(const std::string &pass, const std::string &counter, int64_t count) {
  std::lock_guard lock(table().mutex);
  table().counters[pass][counter] += count;
}

std::map<std::string, std::map<std::string, int64_t>> kedge::allStatistics() {
  std::lock_guard lock(table().mutex);
  return table().counters;
}

std::string kedge::formatStatistics() {
  std::string text;
  for (const auto &[pass, counters] : allStatistics())
    for (const auto &[counter, value] : counters)
      text += fmt::format("{:>14}  {}  {}\n", value, pass, counter);
  return text;
}
