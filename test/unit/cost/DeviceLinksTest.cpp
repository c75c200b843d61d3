// Times of collectives over links of several levels, against numbers counted by hand.
#include "lib/Analysis/DeviceModel.h"
#include "lib/Support/Error.h"
#include "test/support/TempFolder.h"
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <numeric>

using namespace kedge::analysis;
using nlohmann::json;

namespace {

/// Machines of 4 ranks with 100 bytes a second, and a network of 10 a rank.
const LinkLevels kTwo{{"inside", 4, 100, 1, 0.5, 0.01}, {"network", 0, 20, 0.5, 1, 0.1}};

std::vector<int64_t> everyNth(int64_t ranks, int64_t stride) {
  std::vector<int64_t> members(static_cast<size_t>(ranks));
  for (int64_t i = 0; i < ranks; ++i)
    members[static_cast<size_t>(i)] = i * stride;
  return members;
}

double ring(const CollectiveWork &work) { return collectiveSeconds(work, kTwo, CollectiveAlgorithm::Ring); }
double tree(const CollectiveWork &work) { return collectiveSeconds(work, kTwo, CollectiveAlgorithm::Tree); }

TEST(DeviceLinks, AGroupWithinAMachineUsesItsLinksAlone) {
  // A gather of 400 bytes: 3 messages of 100 each.
  const CollectiveWork gather{everyNth(4, 1), 1, 300};
  EXPECT_DOUBLE_EQ(ring(gather), 0.5 + 3 * 0.01 + 3);
  EXPECT_DOUBLE_EQ(tree(gather), 0.5 + 2 * 0.01 + 3);
  EXPECT_DOUBLE_EQ(collectiveSeconds(gather, kTwo), tree(gather));
  EXPECT_EQ(collectiveSeconds({everyNth(1, 1), 1, 0}, kTwo), 0);
}

TEST(DeviceLinks, TheRanksOfAMachineShareWhatLeavesIt) {
  // 800 bytes over 8 ranks: 700 go around; 4 ranks of a machine pass them on together, with 40 a second.
  const CollectiveWork gather{everyNth(8, 1), 1, 700};
  EXPECT_DOUBLE_EQ(ring(gather), 1 + 7 * 0.1 + 700.0 / 40);
  // First the two machines, 100 bytes a rank; then 600 within each.
  EXPECT_DOUBLE_EQ(tree(gather), 1 + 0.1 + 2 * 0.01 + 100.0 / 10 + 600.0 / 100);
}

TEST(DeviceLinks, OneRankAMachineSendsAllOfItOverTheNetwork) {
  const CollectiveWork sum{everyNth(2, 4), 2, 200};
  EXPECT_DOUBLE_EQ(ring(sum), 1 + 2 * 0.1 + 200.0 / 10);
  EXPECT_DOUBLE_EQ(tree(sum), 1 + 2 * (0.1 + 100.0 / 10));
}

TEST(DeviceLinks, NoRankPassesOnWhatIsForAnother) {
  // 100 bytes for each of 8 ranks, oneself included: 3 are in the machine, 4 over the network.
  const CollectiveWork rows{everyNth(8, 1), 1, 700, true};
  EXPECT_DOUBLE_EQ(collectiveSeconds(rows, kTwo), 1 + 7 * 0.1 + 400.0 / 10);
  const CollectiveWork within{everyNth(4, 1), 1, 300, true};
  EXPECT_DOUBLE_EQ(collectiveSeconds(within, kTwo), 0.5 + 3 * 0.01 + 300.0 / 100);
}

TEST(DeviceLinks, OneLevelWithoutHopsIsTheDevicesOwnLink) {
  const DeviceModel plain = loadDevice("cpu"), levels = loadDevice("cpu+link=machine");
  EXPECT_DOUBLE_EQ(collectiveSeconds({everyNth(4, 1), 2, 6e9}, levels.links),
                   plain.linkSeconds + 6e9 / plain.linkBytesPerSecond);
}

TEST(DeviceLinks, FilesAreReadAndWrongFieldsNamed) {
  const auto messageOf = [](const json &links) -> std::string {
    try {
      linksFromJson(links, "l.json");
    } catch (const kedge::Error &error) {
      return error.what();
    }
    return "";
  };
  const json good = toJson(kTwo);
  EXPECT_EQ(toJson(linksFromJson(good, "l.json")), good);
  json bad = good;
  bad[1].erase("hop_seconds");
  EXPECT_EQ(messageOf(bad),
            "l.json: level 1: key 'hop_seconds' is missing (docs/guide/devices.md lists all)");
  bad = good, bad[0]["efficiency"] = 2;
  EXPECT_NE(messageOf(bad).find("'efficiency' is 2, expected a number above 0, at most 1"),
            std::string::npos);
  bad = good, bad[1]["ranks"] = 2;
  EXPECT_NE(messageOf(bad).find("level 1: 2 ranks, expected more than the 4"), std::string::npos);
  EXPECT_NE(messageOf(json::array()).find("at least one level"), std::string::npos);

  kedge::test::TempFolder folder;
  const std::string path = folder.path("mine.json").string();
  std::ofstream(path) << good;
  EXPECT_EQ(loadDevice("h100+link=" + path).links.size(), 2u);
  json device = toJson(loadDevice("h100"));
  EXPECT_FALSE(device.contains("links"));
  device["links"] = good;
  EXPECT_EQ(deviceFromJson(device, "d.json").links.back().name, "network");
  for (const char *name : {"dgx-a100", "dgx-h100", "pcie", "machine"})
    EXPECT_EQ(toJson(linksFromJson(toJson(loadLinks(name)), name)), toJson(loadLinks(name)));
  EXPECT_THROW(loadLinks("string"), kedge::Error);
}

} // namespace
