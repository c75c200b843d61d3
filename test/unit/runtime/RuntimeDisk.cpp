// States in files: order of copies, what their threads say when a file fails, what is left in the folder.
#include "runtime/exec/DiskCopies.h"
#include "runtime/io/Error.h"
#include "test/unit/runtime/RuntimeTest.h"
#include <fcntl.h>
#include <filesystem>
#include <numeric>
#include <unistd.h>

namespace kedge::test {
namespace {

namespace fs = std::filesystem;
using rt::DiskCopies;
using rt::DiskCopy;
using rt::StateFile;

constexpr uint64_t kBytes = 3 * StateFile::kBlock, kStaging = 4 * StateFile::kBlock;

class RuntimeDisk : public RuntimeTest {
protected:
  std::string folder() { return fs::path(path("disk")).string(); }
  void SetUp() override {
    RuntimeTest::SetUp();
    fs::create_directories(folder());
  }
  /// What the body throws.
  template <typename Body> static std::string refusal(Body body) {
    try {
      body();
    } catch (const rt::RuntimeError &error) {
      return error.what();
    }
    return "nothing was thrown";
  }
};

/// The descriptor of the file that was made last and has no name.
int descriptorOf(const std::string &folder) {
  for (const fs::directory_entry &entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry.path(), gone).string();
    if (target.find(folder) == 0 && target.find("(deleted)") != std::string::npos)
      return std::stoi(entry.path().filename().string());
  }
  return -1;
}

TEST_F(RuntimeDisk, IsZeroAtFirstAndLeavesNoName) {
  const StateFile file(folder(), "test", kBytes);
  EXPECT_TRUE(fs::is_empty(folder()));
  std::vector<char> values(5000, 1);
  const rt::BlockMemory staging = rt::allocateBlocks(kStaging);
  DiskCopy{&file, StateFile::kBlock, values.data(), values.size(), false}.run(staging.get(), kStaging / 2);
  EXPECT_EQ(values, std::vector<char>(5000, 0));
}

TEST_F(RuntimeDisk, CopiesWaitForThoseOfTheOtherDirection) {
  const StateFile file(folder(), "test", 64 * kBytes);
  constexpr size_t kStates = 64, kSize = 9001; // no multiple of a block, above one stage
  std::vector<std::vector<char>> values(kStates, std::vector<char>(kSize)), back = values;
  for (size_t i = 0; i < kStates; ++i)
    std::iota(values[i].begin(), values[i].end(), static_cast<char>(i));
  std::vector<rt::TimeSpan> spans(2 * kStates);
  DiskCopies copies(2 * kStates, kStaging);
  for (size_t i = 0; i < kStates; ++i) {
    const auto written =
        copies.start({&file, i * kBytes, values[i].data(), kSize, true}, copies.latest(false), spans[2 * i]);
    copies.start({&file, i * kBytes, back[i].data(), kSize, false}, written, spans[2 * i + 1]);
  }
  copies.waitForAll();
  EXPECT_EQ(back, values);
  for (size_t i = 0; i < kStates; ++i) {
    EXPECT_LE(spans[2 * i].end, spans[2 * i + 1].begin);
    if (i > 0) {
      EXPECT_LE(spans[2 * i - 1].end, spans[2 * i].begin);
    }
  }
}

TEST_F(RuntimeDisk, AFileThatEndsEarlySaysSoWhereItIsWaitedFor) {
  const StateFile file(folder(), "test", kBytes);
  ASSERT_EQ(ftruncate(descriptorOf(folder()), StateFile::kBlock), 0);
  std::vector<char> values(kBytes);
  rt::TimeSpan span;
  DiskCopies copies(4, kStaging);
  copies.start({&file, 0, values.data(), kBytes, false}, 0, span);
  const std::string message = refusal([&] { copies.waitForAll(); });
  for (const char *part :
       {"of the file for offloaded states in '", "disk' cannot be read: the file ends before them",
        "its checkpoints are whole", "--offload-dir DIR, and go on with --resume"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

/// The file would have its length again, with zeros for what it lost.
TEST_F(RuntimeDisk, AFileThatEndsEarlyIsNotWrittenTo) {
  const StateFile file(folder(), "test", kBytes);
  ASSERT_EQ(ftruncate(descriptorOf(folder()), StateFile::kBlock), 0);
  const rt::BlockMemory staging = rt::allocateBlocks(kStaging);
  std::vector<char> values(StateFile::kBlock, 1);
  const std::string message = refusal([&] {
    DiskCopy{&file, 2 * StateFile::kBlock, values.data(), values.size(), true}.run(staging.get(),
                                                                                   kStaging / 2);
  });
  EXPECT_NE(message.find("cannot be written: the file ends before them"), std::string::npos) << message;
}

TEST_F(RuntimeDisk, NoRoomIsSaidAtTheStart) {
  const std::string full = refusal([&] { StateFile(folder(), "test", uint64_t(1) << 60); });
  for (const char *part : {"the file for offloaded states in '", "cannot be given its size: ",
                           "it needs 1152921504606846976 bytes (1073741824.00 GiB), and its file system has ",
                           " bytes free: make room, or give another directory with --offload-dir DIR"})
    EXPECT_NE(full.find(part), std::string::npos) << full;
  EXPECT_TRUE(fs::is_empty(folder()));
  const std::string missing = refusal([&] { StateFile(folder() + "/none", "test", kBytes); });
  EXPECT_NE(missing.find("none' cannot be made: No such file or directory"), std::string::npos) << missing;
}

} // namespace
} // namespace kedge::test
