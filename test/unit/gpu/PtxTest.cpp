// The interpreter of PTX: what it finds in kernels that are wrong.
#include "lib/Support/Error.h"
#include "test/support/PtxInterpreter.h"
#include <gtest/gtest.h>

namespace kedge::test {
namespace {

/// A kernel of 64 threads with a pointer in %rd1, four times the thread's number in %rd2 and the address of
/// its word of shared memory in %r2.
std::string kernelOf(const std::string &body) {
  return ".visible .entry k(\n .param .u64 .ptr .global .align 16 k_param_0\n)\n.maxntid 64, 1, 1\n{\n"
         " .reg .b32 %r<9>;\n .reg .b64 %rd<9>;\n .shared .align 16 .b8 area[1024];\n"
         " ld.param.b64 %rd1, [k_param_0];\n mov.u32 %r1, %tid.x;\n mul.wide.u32 %rd2, %r1, 4;\n"
         " shl.b32 %r3, %r1, 2;\n mov.b32 %r4, area;\n add.s32 %r2, %r4, %r3;\n" +
         body + "\n ret;\n\n}\n";
}

/// All that is found in a launch over 64 words.
std::string findingsOf(const std::string &body, std::array<int64_t, 3> grid = {1, 1, 1}) {
  PtxProgram program(kernelOf(body));
  PtxInterpreter interpreter(program, 1);
  alignas(16) static int32_t words[64];
  for (int i = 0; i < 64; ++i)
    words[i] = i;
  char *bytes = reinterpret_cast<char *>(words);
  interpreter.run({"k", grid, {64, 1, 1}, {bytes}, {{bytes, sizeof words}}, 4});
  std::string text;
  for (const auto &[finding, times] : interpreter.findings())
    text += finding + "; ";
  return text;
}

const std::string kOwn = "add.s64 %rd3, %rd1, %rd2;\n", kNext = "ld.shared.b32 %r5, [%r2+4];\n",
                  kStore = "st.shared.b32 [%r2], %r1;\n",
                  kCopy = kOwn + "and.b32 %r6, %r2, 65520;\n cp.async.ca.shared.global [%r2], [%rd3], 4;\n";

TEST(Ptx, RacesInABlock) {
  EXPECT_EQ(findingsOf(kStore + "bar.sync 0;\n" + kNext), "");
  EXPECT_NE(findingsOf(kStore + kNext).find("another thread"), std::string::npos);
  EXPECT_NE(findingsOf(kStore + "bar.sync 0;\n" + kNext + kStore).find("another thread"), std::string::npos);
}

TEST(Ptx, RacesBetweenBlocks) {
  EXPECT_EQ(findingsOf(kOwn + "st.global.b32 [%rd3], %r1;"), "");
  EXPECT_NE(
      findingsOf(kOwn + "st.global.b32 [%rd3], %r1;", {2, 1, 1}).find("writes what another thread writes"),
      std::string::npos);
}

TEST(Ptx, CopiesThatNobodyWaitsFor) {
  EXPECT_EQ(findingsOf(kCopy + "cp.async.commit_group;\n cp.async.wait_group 0;\n bar.sync 0;\n" + kNext),
            "");
  EXPECT_NE(findingsOf(kCopy + "cp.async.commit_group;").find("ends before its copies"), std::string::npos);
  EXPECT_NE(findingsOf(kCopy + "ld.shared.b32 %r5, [%r2];\n cp.async.commit_group;\n cp.async.wait_group 0;")
                .find("reads what a copy is on its way to"),
            std::string::npos);
}

TEST(Ptx, AddressesAndLimits) {
  EXPECT_NE(findingsOf("ld.global.b32 %r5, [%rd1+256];").find("outside of operands"), std::string::npos);
  EXPECT_NE(findingsOf("ld.global.b32 %r5, [%rd1+2];").find("not aligned"), std::string::npos);
  EXPECT_NE(findingsOf("ld.shared.b32 %r5, [%r2+1024];").find("outside of shared memory"), std::string::npos);
  EXPECT_NE(findingsOf("", {1, 65536, 1}).find("no GPU takes a grid"), std::string::npos);
}

TEST(Ptx, ThreadsThatMeetElsewhere) {
  const std::string half = "setp.lt.u32 %p1, %r1, 33;\n @%p1 bra $L1;\n ret;\n$L1:\n";
  EXPECT_NE(findingsOf(half + "bar.sync 0;").find("wait for each other in different places"),
            std::string::npos);
}

TEST(Ptx, UnknownInstructionsAreErrors) {
  EXPECT_THROW(PtxProgram(kernelOf("sin.approx.f32 %r5, %r6;")), Error);
}

} // namespace
} // namespace kedge::test
