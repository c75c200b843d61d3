// KEDGE_CUDA_BLOCKS=1: a generated kernel that leaves its operand is seen, where the arena hides it.
#include "runtime/cuda/CudaDevice.h"
#include "test/support/ScopedVariable.h"
#include "test/unit/cuda/CudaProgram.h"

namespace kedge::test {
namespace {

using nlohmann::json;

/// y = x, and one element more when the test wants it.
bool writesBeyond = false;
void copyKernel(char *const *operands, int64_t, int64_t) {
  auto *y = reinterpret_cast<float *>(operands[1]);
  for (int i = 0; i < 6; ++i)
    y[i] = reinterpret_cast<const float *>(operands[0])[i];
  if (writesBeyond)
    y[6] = 7;
}

/// Runs it once on the GPU device; the figures of its memory report.
json run(const json &grid = {1, 1, 1}, const json &block = {1, 1, 1}) {
  const json x = {{"name", "x"}, {"dtype", "f32"}, {"shape", {6}}, {"offset", 0}};
  const json y = {{"name", "y"}, {"dtype", "f32"}, {"shape", {6}}, {"offset", 256}};
  const json buffers = {
      {{"id", 0}, {"offset", 0}, {"bytes", 24}, {"first", -1}, {"last", 1}, {"name", "x"}},
      {{"id", 1}, {"offset", 256}, {"bytes", 24}, {"first", 0}, {"last", 1}, {"name", "y"}}};
  const json kernel = {{"name", "copy_six"}, {"grid", grid}, {"block", block}, {"operands", {0, 1}}};
  const json launch = {{"kernel", "copy_six"}, {"args", {0, 256}},    {"reads", 1},
                       {"outputs", {y}},       {"kernels", {kernel}}, {"loc", "the.copy"}};
  const json function = {{"inputs", {x}}, {"outputs", {y}}, {"buffers", buffers}, {"launches", {launch}}};
  const json program = {
      {"format", 1},
      {"name", "blocks"},
      {"target", {{"kind", "cuda"}, {"arch", "sm_90"}, {"ptx", {{"offset", 0}, {"length", 2}}}}},
      {"arena", {{"bytes", 1024}, {"persistent_bytes", 0}, {"align", 256}}},
      {"inputs", {x}},
      {"functions", {{"f", function}}}};
  const std::string text = program.dump();
  rt::ProgramImage image;
  image.json = text;
  image.data = reinterpret_cast<const unsigned char *>("//");
  image.dataSize = 2;
  image.device = rt::cuda::makeCudaDevice;
  const rt::Program parsed = rt::parseProgram(text);
  rt::Executor executor(parsed, image, 1);
  for (int i = 0; i < 6; ++i)
    reinterpret_cast<float *>(executor.input("f", "x"))[i] = static_cast<float>(i + 1);
  executor.run("f");
  const auto *values = reinterpret_cast<const float *>(executor.output("f", "y"));
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(values[i], static_cast<float>(i + 1));
  return executor.device().memoryFigures();
}

class CudaBlocks : public ::testing::Test {
protected:
  void SetUp() override {
    expectSameOnBoth(
        callProgram("onnx.MatMul", "f32", {{3, 5}, {5, 7}}, {3, 7}, json::object())); // opens the stand-ins
    writesBeyond = false;
  }
};

TEST_F(CudaBlocks, OperandsOfTheirOwnGiveTheSameNumbers) {
  EXPECT_FALSE(run().contains("own_blocks"));
  const ScopedVariable blocks("KEDGE_CUDA_BLOCKS", "1");
  EXPECT_EQ(run().at("own_blocks"), json({{"launches", 1}, {"others", 0}}));
}

TEST_F(CudaBlocks, AWriteBeyondAnOperandIsOneBeyondAnAllocation) {
  writesBeyond = true;
  run(); // in the arena nobody sees it
  const ScopedVariable blocks("KEDGE_CUDA_BLOCKS", "1");
  EXPECT_DEATH(run(), "bytes beside an allocation of 24 bytes were written");
}

TEST_F(CudaBlocks, LaunchesThatNoGpuTakesAreRefused) {
  for (const auto &[grid, block] : {std::pair<json, json>{{1, 65536, 1}, {1, 1, 1}},
                                    {{1, 1, 1}, {2048, 1, 1}},
                                    {{1, 1, 1}, {32, 64, 1}},
                                    {{1, 1, 65536}, {1, 1, 1}},
                                    {{0, 1, 1}, {1, 1, 1}}})
    EXPECT_THROW(run(grid, block), rt::RuntimeError) << grid << block;
  run({1, 65535, 1}, {32, 32, 1});
}

} // namespace

/// What the driver's stand-in runs for a kernel of this process.
extern "C" __attribute__((visibility("default"))) KedgeKernel kedge_stub_kernel(const char *name,
                                                                                int *operands) {
  *operands = 2;
  return std::string(name) == "copy_six" ? copyKernel : nullptr;
}

} // namespace kedge::test
