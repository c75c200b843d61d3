// Programs are linked with the files of kernels that their launches name: the list of files says which has
// which.
#include "runtime/calls/KernelFiles.h"
#include "runtime/calls/LibraryKernel.h"
#include "runtime/cpu/Registration.h"
#include <gtest/gtest.h>
#include <map>

namespace kedge::rt {
namespace {

struct KernelFile {
  std::string name;
  void (*registers)();
  std::vector<std::string> kernels;
};

std::vector<KernelFile> allFiles() {
#define KEDGE_ROW(NAME, ...) {#NAME, kedge_register_##NAME, {__VA_ARGS__}},
  return {KEDGE_KERNEL_FILES(KEDGE_ROW)};
#undef KEDGE_ROW
}

/// Of each kernel what its entry in the registry holds alone: gone when the kernel was registered since.
using Marks = std::map<std::string, std::weak_ptr<int>>;

Marks markAll(const std::vector<KernelFile> &files) {
  Marks marks;
  for (const KernelFile &file : files)
    for (const std::string &kernel : file.kernels) {
      auto held = std::make_shared<int>();
      marks[kernel] = held;
      calls::registerKernel(
          kernel,
          [held](const calls::LibraryCall &, int) -> std::unique_ptr<calls::LibraryKernel> { return {}; });
    }
  return marks;
}

TEST(KernelFiles, EachHasTheKernelsOfItsRow) {
  const std::vector<KernelFile> files = allFiles();
  ASSERT_TRUE(calls::hasKernel("onnx.MatMul")); // fills the registry
  for (const KernelFile &one : files) {
    const Marks marks = markAll(files);
    one.registers();
    for (const KernelFile &file : files)
      for (const std::string &kernel : file.kernels)
        EXPECT_EQ(marks.at(kernel).expired(), file.name == one.name) << kernel << " by the file " << one.name;
    EXPECT_EQ(calls::registrationOf(one.kernels.front()), "kedge_register_" + one.name);
  }
  for (const KernelFile &file : files)
    file.registers();
}

} // namespace
} // namespace kedge::rt
