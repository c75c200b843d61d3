// Allocations that fail: an error, nothing half-written. Those of the driver's stand-in are not a program's
// own, so that the GPU's tests leave this file out.
#include "test/unit/runtime/RuntimeTest.h"
#include <filesystem>

namespace kedge::test {
namespace {

namespace fs = std::filesystem;

class RuntimeAllocations : public RuntimeTest {};

TEST_F(RuntimeAllocations, EveryOneMayFail) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "allocations are the sanitizer's own";
#endif
  writeLineData(10);
  const std::string command =
      "line --threads 1 --data x=x.npy --data labels=y.npy "
      "--steps 2 --log log.jsonl --checkpoint-dir ck --export-safetensors o.safetensors";
  int errors = 0;
  for (long every = 1; every < 100000; every += 1 + every / 5) {
    fs::remove_all(path("ck"));
    fs::remove(path("o.safetensors"));
    const RunResult result = run(command, "TINY_FAIL_ALLOCATION=" + std::to_string(every));
    ASSERT_TRUE(result.code == 0 || result.code == 1) << "allocation " << every << ": " << result.code << "\n"
                                                      << result.err;
    errors += result.code;
    for (const auto &entry : fs::recursive_directory_iterator(path("")))
      EXPECT_EQ(entry.path().filename().string().find(".tmp"), std::string::npos)
          << entry.path() << " of allocation " << every << ", code " << result.code << ": " << result.err;
    EXPECT_TRUE(result.code == 1 || fs::exists(path("o.safetensors"))) << every;
  }
  EXPECT_GT(errors, 20);
}

} // namespace
} // namespace kedge::test
