// The interpreter of PTX: what it finds in kernels that are wrong, and that it finds nothing in ours.
#include "lib/Support/Error.h"
#include "test/support/PtxInterpreter.h"
#include "test/unit/gpu/LibraryCase.h"
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

/// Attention of one head, which reads ahead by cp.async. Query i sees keys up to i + offset.
struct Attention {
  std::string type;
  int64_t depth, valueDepth, queries, keys, offset = 0;

  std::string tensor(int64_t rows, int64_t width) const {
    return "tensor<1x" + std::to_string(rows) + "x1x" + std::to_string(width) + "x" + type + ">";
  }
  std::string call(bool backward) const {
    const std::string
        q = tensor(queries, depth),
        k = tensor(keys, depth), v = tensor(keys, valueDepth), o = tensor(queries, valueDepth),
        sums = "tensor<1x1x" + std::to_string(queries) + "xf32>",
        attrs = "{scale = 0.1 : f64, softcap = 0.0 : f64, q_layout = \"bthd\", "
                "k_layout = \"bthd\", v_layout = \"bthd\", o_layout = \"bthd\", visible = {right = " +
                std::to_string(offset) + " : i64}} : (";
    return backward ? "train.attention_grad " + attrs + o + ", " + q + ", " + k + ", " + v + ", " + o + ", " +
                          sums + ") -> (" + q + ", " + k + ", " + v + ")"
                    : "train.attention " + attrs + q + ", " + k + ", " + v + ") -> (" + o + ", " + sums + ")";
  }
};

/// Where a result takes an operand's place.
TEST(Ptx, ReadsOfWhatAnotherThreadReplaces) {
  const auto run = [](const std::string &use) {
    // Each thread reads its word and, of the second half, another's; then it writes its own.
    PtxProgram program(
        kernelOf(kOwn +
                 "and.b32 %r6, %r1, 31;\n mul.wide.u32 %rd4, %r6, 4;\n add.s64 %rd5, %rd1, %rd4;\n"
                 "ld.global.b32 %r7, [%rd5];\n" +
                 use + "st.global.b32 [%rd3], %r8;\n"));
    PtxInterpreter interpreter(program, 1);
    alignas(16) static int32_t words[64];
    char *bytes = reinterpret_cast<char *>(words);
    interpreter.run({"k", {1, 1, 1}, {64, 1, 1}, {bytes}, {{bytes, sizeof words}, {bytes, sizeof words}}});
    return std::pair(interpreter.findings().size(), interpreter.launchesThatDrop());
  };
  EXPECT_EQ(run("setp.lt.u32 %p1, %r1, 32;\n selp.b32 %r8, %r7, 5, %p1;\n"),
            std::pair(size_t(0), int64_t(1)));
  EXPECT_EQ(run("add.s32 %r8, %r7, 1;\n"), std::pair(size_t(1), int64_t(1)));
}

/// More keys than queries, which leaves blocks of keys that no query sees, and fewer.
TEST(Ptx, AttentionOfAllWidths) {
  for (const auto &[attention, arch] : {std::pair{Attention{"bf16", 64, 64, 32, 96}, "sm_90"},
                                        {Attention{"f16", 128, 128, 32, 160}, "sm_80"},
                                        {Attention{"bf16", 96, 96, 48, 32}, "sm_100"}})
    for (bool backward : {false, true}) {
      const double unit = attention.type == "bf16" ? 0x1p-7 : 0x1p-10;
      expectSameAsCpu(attention.call(backward), {0, 0, 1e-4 + (backward ? 4 : 1) * unit}, arch);
    }
}

/// Each barrier, and each wait for copies, that a kernel comes to is needed. A block of queries sees no key;
/// registers hold narrow queries.
TEST(Ptx, BarriersAndWaitsAreMissed) {
  std::vector<std::string> calls = {
      "onnx.Conv {} : (tensor<1x6x12x12xf32>, tensor<40x6x3x3xf32>) -> tensor<1x40x10x10xf32>",
      "train.gather_grad {axis = 0 : i64} : (tensor<1x600x8xf32>, tensor<1x600xi64>) -> tensor<600x8xf32>"};
  for (const Attention &attention :
       {Attention{"bf16", 64, 32, 272, 160, -130}, Attention{"f16", 32, 16, 272, 160, -130}})
    for (bool backward : {false, true})
      calls.push_back(attention.call(backward));
  for (const std::string &call : calls) {
    const Removals removals = removalsOf(call, "sm_90");
    EXPECT_GT(removals.tried, 1) << call;
    for (const std::string &one : removals.unnoticed)
      ADD_FAILURE() << one << "\n" << call;
  }
}

/// A kernel of 128 threads with four barriers' words in shared memory behind 2048 bytes of rows.
std::string hopperFindingsOf(const std::string &body) {
  std::string text =
      ".visible .entry k(\n .param .u64 .ptr .global .align 16 k_param_0\n)\n.maxntid 128, 1, 1\n{\n"
      " .reg .b32 %r<99>;\n .reg .b64 %rd<9>;\n .reg .pred %p<9>;\n"
      " .shared .align 1024 .b8 rows[2048];\n .shared .align 16 .b8 words[32];\n"
      " ld.param.b64 %rd1, [k_param_0];\n mov.u32 %r1, %tid.x;\n mov.b32 %r2, rows;\n"
      " mov.b32 %r3, words;\n setp.ne.u32 %p1, %r1, 0;\n mov.b32 %r4, 0;\n" +
      body + "\n ret;\n\n}\n";
  PtxProgram program(text);
  PtxInterpreter interpreter(program, 1);
  alignas(16) static uint16_t numbers[16 * 64];
  PtxLaunch launch{"k", {1, 1, 1}, {128, 1, 1}, {}, {{reinterpret_cast<char *>(numbers), sizeof numbers}}};
  launch.addMap(reinterpret_cast<char *>(numbers), {64, 16}, {128}, {64, 16});
  interpreter.run(launch);
  std::string found;
  for (const auto &[finding, times] : interpreter.findings())
    found += finding + "; ";
  return found;
}

const std::string
    kMake = "@%p1 bra $L1;\n mbarrier.init.shared::cta.b64 [%r3], 1;\n fence.proxy.async.shared::cta;\n"
            "$L1:\n bar.sync 0;\n",
    kBring = "@%p1 bra $L2;\n fence.proxy.tensormap::generic.acquire.sys [%rd1], 128;\n"
             "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 2048;\n"
             "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], "
             "[%rd1, {%r4, %r4}], [%r3];\n$L2:\n",
    kAwait = "$L3:\n mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], %r4;\n @!%p2 bra $L3;\n",
    // Rows as the right operand, 16 deep and 8 wide.
    kMultiply = "mov.b64 %rd2, 0x4000004000010000;\n cvt.u64.u32 %rd3, %r2;\n shr.u64 %rd3, %rd3, 4;\n"
                "or.b64 %rd2, %rd2, %rd3;\n mov.pred %p3, 0;\n mov.b32 %r10, 0;\n"
                "wgmma.fence.sync.aligned;\n"
                "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r20, %r21, %r22, %r23}, "
                "{%r10, %r10, %r10, %r10}, %rd2, %p3, 1, 1, 0;\n wgmma.commit_group.sync.aligned;\n",
    kAwaitProducts = "wgmma.wait_group.sync.aligned 0;\n", kUse = "add.rn.f32 %r30, %r20, %r21;\n";

std::string without(std::string text, const std::string &part) {
  return text.erase(text.find(part), part.size());
}

TEST(Ptx, BoxesAndProductsOfWarpgroups) {
  const std::string whole = kMake + kBring + kAwait + kMultiply + kAwaitProducts + kUse;
  EXPECT_EQ(hopperFindingsOf(whole), "");
  const auto finds = [](const std::string &body, const char *what) {
    EXPECT_NE(hopperFindingsOf(body).find(what), std::string::npos) << hopperFindingsOf(body);
  };
  finds(without(whole, kAwait), "a copy is on its way to");
  finds(without(whole, kAwaitProducts), "uses registers of a product that is not waited for");
  finds(without(without(whole, kAwaitProducts), kUse), "ends before its products are waited for");
  finds(without(whole, "wgmma.fence.sync.aligned;\n"), "changed since wgmma.fence");
  finds(without(whole, "fence.proxy.async.shared::cta;\n"), "without fence.proxy.async");
  finds(without(whole, "fence.proxy.tensormap::generic.acquire.sys [%rd1], 128;\n"),
        "without fence.proxy.tensormap");
  finds(without(whole, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 2048;\n"), "wait for each other");
  // Stored by threads: what products read of it needs the fence.
  const std::string store = "st.shared.b32 [%r2], %r1;\n";
  finds(kMake + "@%p1 bra $L4;\n" + store + "$L4:\n bar.sync 0;\n" + kMultiply + kAwaitProducts,
        "reads what threads stored, without fence.proxy.async");
  finds(kMake + kBring + kAwait + kMultiply + "@%p1 bra $L4;\n" + store + "$L4:\n" + kAwaitProducts,
        "writes what a product reads");
}

/// Blocks of queries that see no key, heads that are no multiple of 64. Each wait, arrival and fence is
/// needed, where stages are used again.
TEST(Ptx, AttentionOfWarpgroups) {
  const Attention plain{"bf16", 64, 64, 144, 330, 150}, deep{"f16", 128, 128, 40, 140, 100};
  for (const Attention &attention :
       {plain, deep, Attention{"bf16", 64, 64, 272, 200, -130}, Attention{"bf16", 24, 72, 33, 80, 50}})
    expectSameAsCpu(attention.call(false), {0, 0, 1e-4 + (attention.type == "bf16" ? 0x1p-7 : 0x1p-10)},
                    "sm_90a");
  for (const Attention &attention : {plain, deep}) {
    const Removals removals = removalsOf(attention.call(false), "sm_90a");
    EXPECT_GT(removals.tried, 30);
    for (const std::string &one : removals.unnoticed)
      ADD_FAILURE() << one;
    EXPECT_LE(spillsOf(attention.call(false), "sm_90a"), 0);
  }
}

} // namespace
} // namespace kedge::test
