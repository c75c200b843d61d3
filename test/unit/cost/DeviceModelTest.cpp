#include "lib/Analysis/DeviceModel.h"
#include "lib/Support/Error.h"
#include "test/support/TempFolder.h"
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace kedge::analysis;
using nlohmann::json;

namespace {

std::string messageOf(const std::function<void()> &action) {
  try {
    action();
  } catch (const kedge::Error &error) {
    return error.what();
  }
  return "";
}

std::string messageOf(const json &device) {
  return messageOf([&] { deviceFromJson(device, "d.json"); });
}

TEST(DeviceModel, KnownDevicesSurviveTheFileFormat) {
  for (const char *name : {"h100", "h200", "a100", "rtx4090", "cpu"}) {
    DeviceModel device = loadDevice(name);
    EXPECT_EQ(device.name, name);
    json text = toJson(device);
    EXPECT_EQ(toJson(deviceFromJson(json::parse(text.dump()), "d.json")), text) << name;
  }
  EXPECT_EQ(toJson(thisMachine()), toJson(thisMachine()));
}

TEST(DeviceModel, UnknownDevicesAreToldWhatIsKnown) {
  std::string message = messageOf([] { loadDevice("h1000"); });
  EXPECT_NE(message.find("h1000"), std::string::npos);
  EXPECT_NE(message.find("h100, h200, a100, rtx4090, cpu"), std::string::npos) << message;
}

TEST(DeviceModel, FilesAreReadByName) {
  kedge::test::TempFolder folder;
  std::string path = folder.path("mine.json").string();
  json mine = toJson(loadDevice("a100"));
  mine["name"] = "mine", mine["memory_bytes"] = 12345;
  std::ofstream(path) << mine;
  EXPECT_EQ(loadDevice(path).memoryBytes, 12345);
  std::ofstream(path) << "[1, 2";
  EXPECT_NE(messageOf([&] { loadDevice(path); }).find("mine.json"), std::string::npos);
  EXPECT_NE(messageOf([] { loadDevice("./none.json"); }).find("cannot be read"), std::string::npos);
}

TEST(DeviceModel, WrongFieldsAreNamed) {
  const json good = toJson(loadDevice("a100"));
  for (const auto &[key, value] : good.items()) {
    json bad = good;
    bad.erase(key);
    if (key == "narrow_attention_efficiency") // came later than files of users
      EXPECT_EQ(deviceFromJson(bad, "d.json").narrowAttentionEfficiency,
                good["attention_efficiency"].get<double>());
    else if (key == "disk_bytes_per_second")
      EXPECT_EQ(deviceFromJson(bad, "d.json").diskBytesPerSecond, DeviceModel().diskBytesPerSecond);
    else
      EXPECT_NE(messageOf(bad).find("'" + key + "' is missing"), std::string::npos) << messageOf(bad);
    bad = good;
    bad[key] = key == "name" ? json(3) : json(-1);
    EXPECT_NE(messageOf(bad).find("'" + key + "' is"), std::string::npos) << messageOf(bad);
  }
  json bad = good;
  bad["flops"] = 3;
  EXPECT_NE(messageOf(bad).find("unknown key 'flops'"), std::string::npos);
  bad = good;
  bad["matmul_efficiency"] = 1.5;
  EXPECT_NE(messageOf(bad).find("at most 1"), std::string::npos);
  bad = good;
  bad["memory_bytes"] = 1e300;
  EXPECT_NE(messageOf(bad).find("2^63"), std::string::npos);
  bad = good;
  bad["fp32_flops"] = "fast";
  EXPECT_NE(messageOf(bad).find("'fp32_flops' is \"fast\""), std::string::npos);
  EXPECT_NE(messageOf(json::array()).find("object"), std::string::npos);
}

} // namespace
