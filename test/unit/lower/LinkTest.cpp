// The object of a program and the linker, up to a program that starts.
#include "lib/Link/Link.h"
#include "lib/Support/Error.h"
#include "passes/Lower/Codegen/Codegen.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace kedge;

namespace {

std::string contents(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return (std::stringstream() << file.rdbuf()).str();
}

class Link : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("kedge-link-test-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::filesystem::path folder;
  lower::KernelTarget target = lower::KernelTarget::host();
};

TEST_F(Link, ProgramsStartAndAreReproducible) {
  const std::string json = R"({"format": 77})", data(130, 'x');
  auto image = lower::emitProgramImage(json, data, {}, target);
  EXPECT_EQ(image, lower::emitProgramImage(json, data, {}, target));
  const std::string first = folder / "first", second = folder / "second", log = folder / "log";
  link::linkProgram({image}, first);
  link::linkProgram({image}, second);
  EXPECT_EQ(contents(first), contents(second));
  EXPECT_NE(std::system((first + " --steps 1 >" + log + " 2>&1").c_str()), 0);
  EXPECT_NE(contents(log).find("77"), std::string::npos) << contents(log);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3) << "temporary files are left";
}

TEST_F(Link, MissingKernelsAreNamed) {
  auto image = lower::emitProgramImage("{}", {}, {.kernels = {"k0_missing"}}, target);
  try {
    link::linkProgram({image}, folder / "program");
    FAIL() << "linked without a kernel";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("k0_missing"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "program"));
}

} // namespace
