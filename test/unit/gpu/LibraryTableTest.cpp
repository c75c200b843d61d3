#include "passes/Lower/Gpu/LibraryKernels.h"
#include "test/unit/gpu/LibraryCase.h"
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <sstream>

using namespace kedge::test;
using namespace kedge::lower::gpu;

TEST(GpuTable, DocumentListsEveryKernel) {
  std::stringstream text;
  text << std::ifstream(KEDGE_SOURCE_DIR "/docs/library-kernels.md").rdbuf();
  std::string section = text.str().substr(text.str().find("## On CUDA"));
  section = section.substr(0, section.find("\n- "));
  std::vector<std::string> listed, generated;
  std::regex name("`((?:onnx|train)\\.\\w+)`");
  for (std::sregex_iterator found(section.begin(), section.end(), name), end; found != end; ++found)
    listed.push_back((*found)[1]);
  for (llvm::StringRef kernel : generatedKernels())
    generated.push_back(kernel.str());
  EXPECT_EQ(listed, generated) << "docs/library-kernels.md, section On CUDA";
  EXPECT_TRUE(std::is_sorted(generated.begin(), generated.end()));
}

namespace {
void expectError(const std::string &call, const std::string &what, const std::string &remedy) {
  std::string message = emitterErrorOf(call);
  EXPECT_NE(message.find(what), std::string::npos) << "message: " << message;
  EXPECT_NE(message.find(remedy), std::string::npos) << "message: " << message;
}

std::string attentionOf(const std::string &row) {
  return "train.attention {} : (" + row + ", " + row + ", " + row + ") -> (" + row + ", tensor<1x1x4xf32>)";
}
} // namespace

TEST(GpuTable, MissingKernelsAreNamedWithARemedy) {
  expectError("onnx.GridSample {} : (tensor<1x1x4x4xf32>, tensor<1x2x2x2xf32>) -> tensor<1x1x2x2xf32>",
              "onnx.GridSample", "--target cpu");
  expectError("onnx.Hardmax {axis = 0 : i64} : (tensor<4xi32>) -> tensor<4xi32>", "onnx.Hardmax",
              "cast before it");
  expectError(attentionOf("tensor<1x1x4x8xf64>"), "train.attention", "--target cpu");
  expectError(attentionOf("tensor<1x1x4x512xf32>"), "depth 512", "up to 256");
}

TEST(GpuTable, KernelsAssemble) {
  // Constant data, shared memory, shuffles, traps.
  for (std::string call :
       {"train.resize_grad {mode = \"cubic\", scales = array<f32: 1.5, 0.5>} : (tensor<6x3xf32>) -> "
        "tensor<4x6xf32>",
        "onnx.Transpose {perm = array<i64: 1, 0>} : (tensor<37x45xf32>) -> tensor<45x37xf32>",
        "train.gather_grad {axis = 0 : i64} : (tensor<8192x768xf32>, tensor<8192xi64>) -> "
        "tensor<50257x768xf32>",
        "train.gather_grad {axis = 0 : i64} : (tensor<8192x768xbf16>, tensor<8192xi64>) -> "
        "tensor<50257x768xbf16>"})
    for (std::string arch : {"sm_80", "sm_90", "sm_100"})
      EXPECT_LE(spillsOf(call, arch), 0) << arch << " " << call;
}
