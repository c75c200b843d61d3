#include "lib/Solver/Arena/ArenaProblem.h"
#include <algorithm>
#include <numeric>
#include <tuple>

namespace kedge::solver {
namespace {

/// Numbers of the sections of each point in time. The live set of a stretch of time is a largest one when
/// buffers start at its beginning and others end at its end; all other stretches are covered by such.
class Sections {
public:
  explicit Sections(const std::vector<Buffer> &buffers) {
    for (const Buffer &buffer : buffers) {
      times.push_back(buffer.lower);
      times.push_back(buffer.upper);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    std::vector<char> starts(times.size()), ends(times.size());
    for (const Buffer &buffer : buffers) {
      starts[indexOf(buffer.lower)] = 1;
      ends[indexOf(buffer.upper)] = 1;
    }
    before.assign(times.size(), 0);
    for (size_t i = 0; i + 1 < times.size(); ++i)
      before[i + 1] = before[i] + (starts[i] && ends[i + 1]);
  }

  ArenaItem item(const Buffer &buffer, int64_t unit) const {
    return {before[indexOf(buffer.lower)], before[indexOf(buffer.upper)] - 1, buffer.size / unit};
  }

private:
  size_t indexOf(int64_t time) const {
    return std::lower_bound(times.begin(), times.end(), time) - times.begin();
  }

  std::vector<int64_t> times;
  std::vector<int> before; ///< sections before each time
};

} // namespace

int64_t ArenaProblem::load() const {
  std::vector<int64_t> change(sections + 1);
  for (const ArenaItem &item : items) {
    change[item.first] += item.size;
    change[item.last + 1] -= item.size;
  }
  int64_t now = 0, most = 0;
  for (int64_t bytes : change)
    most = std::max(most, now += bytes);
  return most;
}

ArenaProblems makeArenaProblems(const std::vector<Buffer> &buffers) {
  std::vector<Buffer> alive;
  std::vector<size_t> indices;
  ArenaProblems problems;
  int64_t unit = 0;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].size > 0 && buffers[i].upper > buffers[i].lower) {
      alive.push_back(buffers[i]);
      indices.push_back(i);
      unit = std::gcd(unit, buffers[i].size);
    }
  if (alive.empty())
    return problems;
  problems.unit = unit;
  Sections sections(alive);
  std::vector<size_t> byStart(alive.size());
  std::iota(byStart.begin(), byStart.end(), 0);
  // Nothing depends on the order in which a caller lists its buffers.
  auto keyOf = [&](size_t i) { return std::tuple(alive[i].lower, alive[i].upper, alive[i].size); };
  std::stable_sort(byStart.begin(), byStart.end(), [&](size_t a, size_t b) { return keyOf(a) < keyOf(b); });
  int64_t end = 0;
  int shift = 0;
  for (size_t i : byStart) {
    ArenaItem item = sections.item(alive[i], unit);
    if (problems.parts.empty() || alive[i].lower >= end) {
      problems.parts.emplace_back();
      shift = item.first;
      end = alive[i].upper;
    }
    ArenaProblem &part = problems.parts.back();
    end = std::max(end, alive[i].upper);
    part.items.push_back({item.first - shift, item.last - shift, item.size});
    part.buffers.push_back(indices[i]);
    part.sections = std::max(part.sections, item.last - shift + 1);
  }
  return problems;
}

} // namespace kedge::solver
