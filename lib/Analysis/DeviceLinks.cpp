// KnownLinks links. Rates are those of data sheets, in one direction; docs/guide/devices.md has the table.
#include "lib/Analysis/DeviceLinks.h"
#include "lib/Support/Error.h"
#include "runtime/io/JsonSize.h"
#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace kedge::analysis {
namespace {

constexpr double kGigabyte = 1e9;

/// What data sheets do not tell, as in DeviceModel.cpp: 80 % of a link for large collectives, 20 microseconds
/// for each, and per message 2 microseconds in a machine, 5 between machines.
LinkLevel inMachine(const char *name, int64_t ranks, double bytesPerSecond) {
  return {name, ranks, bytesPerSecond, 0.8, 2e-5, 2e-6};
}
LinkLevel network(const char *name, double bytesPerSecond) {
  return {name, 0, bytesPerSecond, 0.8, 3e-5, 5e-6};
}

struct KnownLinks {
  const char *name;
  LinkLevels (*make)();
};
const KnownLinks kKnownLinks[] = {
    // 8 GPUs over NVLink 3; an adapter of InfiniBand HDR, 200 Gb/s, for each.
    {"dgx-a100",
     [] { return LinkLevels{inMachine("nvlink", 8, 300 * kGigabyte), network("hdr", 25 * kGigabyte)}; }},
    // 8 GPUs over NVLink 4; an adapter of InfiniBand NDR, 400 Gb/s, for each.
    {"dgx-h100",
     [] { return LinkLevels{inMachine("nvlink", 8, 450 * kGigabyte), network("ndr", 50 * kGigabyte)}; }},
    // 8 GPUs on PCIe 4.0 x16 that share one Ethernet adapter of 100 Gb/s.
    {"pcie",
     [] {
       return LinkLevels{inMachine("pcie", 8, 32 * kGigabyte), network("ethernet", 12.5 / 8 * kGigabyte)};
     }},
    // Processes of one machine over shared memory, as DeviceModel.cpp's `cpu` has them.
    {"machine", [] { return LinkLevels{{"memory", 0, 2 * kGigabyte, 1, 4e-5, 0}}; }},
};

struct LevelField {
  const char *key;
  double LinkLevel::*value;
  bool positive;
};
const LevelField kLevelFields[] = {{"bytes_per_second", &LinkLevel::bytesPerSecond, true},
                                   {"efficiency", &LinkLevel::efficiency, true},
                                   {"seconds", &LinkLevel::seconds, false},
                                   {"hop_seconds", &LinkLevel::hopSeconds, false}};

const nlohmann::json &keyOfLevel(const nlohmann::json &level, const char *key, const std::string &where) {
  const auto found = level.find(key);
  if (found == level.end())
    fail("{}: key '{}' is missing (docs/guide/devices.md lists all)", where, key);
  return *found;
}

double numberOfLevel(const nlohmann::json &level, const LevelField &field, const std::string &where) {
  const nlohmann::json &value = keyOfLevel(level, field.key, where);
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  const bool share = field.value == &LinkLevel::efficiency;
  if (!std::isfinite(number) || number < 0 || (field.positive && number == 0) || (share && number > 1))
    fail("{}: '{}' is {}, expected {}", where, field.key, value.dump(),
         share            ? "a number above 0, at most 1"
         : field.positive ? "a number above 0"
                          : "a number, 0 or more");
  return number;
}

LinkLevel levelFromJson(const nlohmann::json &json, const std::string &where) {
  if (!json.is_object())
    fail("{}: found {}, expected an object", where, json.dump());
  for (const auto &[key, value] : json.items())
    if (key != "name" && key != "ranks" &&
        std::none_of(std::begin(kLevelFields), std::end(kLevelFields),
                     [&, &given = key](const LevelField &field) { return given == field.key; }))
      fail("{}: unknown key '{}' (docs/guide/devices.md lists all)", where, key);
  const nlohmann::json &name = keyOfLevel(json, "name", where), &ranks = keyOfLevel(json, "ranks", where);
  if (!name.is_string())
    fail("{}: 'name' is {}, expected a string", where, name.dump());
  if (!ranks.is_number_integer() || ranks.get<int64_t>() < 0)
    fail("{}: 'ranks' is {}, expected a whole number, 0 for any number", where, ranks.dump());
  LinkLevel level;
  level.name = name;
  level.ranks = ranks;
  for (const LevelField &field : kLevelFields)
    level.*field.value = numberOfLevel(json, field, where);
  return level;
}

/// How many of the group are in a unit of each level; 1 before the first. Ranks beyond the last level's count
/// are taken as if it had room for them.
std::vector<double> membersPerUnit(const CollectiveWork &work, const LinkLevels &levels) {
  std::vector<double> members{1};
  for (const LinkLevel &level : levels) {
    const bool last = &level == &levels.back() || level.ranks == 0;
    const auto inside =
        last ? work.members.end() : std::lower_bound(work.members.begin(), work.members.end(), level.ranks);
    members.push_back(std::max(members.back(), static_cast<double>(inside - work.members.begin())));
  }
  return members;
}

} // namespace

double collectiveSeconds(const CollectiveWork &work, const LinkLevels &levels,
                         CollectiveAlgorithm algorithm) {
  const std::vector<double> members = membersPerUnit(work, levels);
  const double all = members.back(), rounds = work.rounds;
  if (all <= 1)
    return 0;
  const double wholeBytes = work.ringBytes / rounds * all / (all - 1);
  double start = 0, hop = 0, hops = 0, slowest = 0, sum = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    const LinkLevel &level = levels[i];
    const double below = members[i], within = members[i + 1] / below;
    if (within <= 1)
      continue;
    start = std::max(start, level.seconds);
    hop = std::max(hop, level.hopSeconds);
    hops += std::ceil(std::log2(within)) * level.hopSeconds;
    // Each rank of a unit passes a share of what leaves it.
    const double sent = algorithm == CollectiveAlgorithm::ToEach ? wholeBytes * (members[i + 1] - below) / all
                                                                 : work.ringBytes / below;
    slowest = std::max(slowest, sent / level.rate());
    sum += wholeBytes * (within - 1) / members[i + 1] / level.rate();
  }
  return algorithm != CollectiveAlgorithm::Tree ? start + rounds * (all - 1) * hop + slowest
                                                : start + rounds * (hops + sum);
}

double collectiveSeconds(const CollectiveWork &work, const LinkLevels &levels) {
  if (work.toEach)
    return collectiveSeconds(work, levels, CollectiveAlgorithm::ToEach);
  return std::min(collectiveSeconds(work, levels, CollectiveAlgorithm::Ring),
                  collectiveSeconds(work, levels, CollectiveAlgorithm::Tree));
}

LinkLevels loadLinks(const std::string &nameOrFile) {
  std::string names;
  for (const KnownLinks &known : kKnownLinks) {
    if (nameOrFile == known.name)
      return known.make();
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  if (!nameOrFile.ends_with(".json") && nameOrFile.find('/') == std::string::npos)
    fail("--link {}: unknown; expected {} or a file NAME.json", nameOrFile, names);
  rt::expectJsonFile(nameOrFile);
  std::ifstream file(nameOrFile);
  if (!file)
    fail("--link {}: the file cannot be read", nameOrFile);
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (json.is_discarded())
    fail("--link {}: expected a JSON list of levels (docs/guide/devices.md), found something else",
         nameOrFile);
  return linksFromJson(json, "--link " + nameOrFile);
}

nlohmann::json toJson(const LinkLevels &levels) {
  nlohmann::json list = nlohmann::json::array();
  for (const LinkLevel &level : levels) {
    list.push_back({{"name", level.name}, {"ranks", level.ranks}});
    for (const LevelField &field : kLevelFields)
      list.back()[field.key] = level.*field.value;
  }
  return list;
}

LinkLevels linksFromJson(const nlohmann::json &json, const std::string &where) {
  if (!json.is_array() || json.empty())
    fail("{}: expected a list of at least one level, from the innermost (docs/guide/devices.md)", where);
  LinkLevels levels;
  for (const nlohmann::json &entry : json) {
    const std::string place = fmt::format("{}: level {}", where, levels.size());
    LinkLevel level = levelFromJson(entry, place);
    if (!levels.empty() &&
        (levels.back().ranks == 0 || (level.ranks != 0 && level.ranks <= levels.back().ranks)))
      fail(
          "{}: {} ranks, expected more than the {} of the level before it (0: any number, in the last level)",
          place, level.ranks, levels.back().ranks);
    levels.push_back(std::move(level));
  }
  return levels;
}

} // namespace kedge::analysis
