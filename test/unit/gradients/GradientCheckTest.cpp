// KEDGE_GRADIENT_CASE=norm runs only functions whose file or name holds that word.
#include "GradientCheck.h"
#include "kedge/Dialect/Registration.h"
#include "mlir/Parser/Parser.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

namespace fs = std::filesystem;

TEST(Gradients, EqualCentralDifferences) {
  std::string wanted = std::getenv("KEDGE_GRADIENT_CASE") ? std::getenv("KEDGE_GRADIENT_CASE") : "";
  std::vector<fs::path> files;
  for (const auto &entry : fs::directory_iterator(KEDGE_GRADIENT_CASES))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  mlir::DialectRegistry registry;
  kedge::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  int checked = 0;
  for (const fs::path &file : files) {
    auto module = mlir::parseSourceFile<mlir::ModuleOp>(file.string(), &context);
    ASSERT_TRUE(module) << file;
    for (auto function : module->getOps<mlir::func::FuncOp>()) {
      std::string name = file.stem().string() + ":" + function.getName().str();
      if (name.find(wanted) == std::string::npos)
        continue;
      ++checked;
      std::string difference = kedge::test::checkGradients(function);
      EXPECT_EQ(difference, "") << name;
    }
  }
  std::printf("%d functions checked\n", checked);
}
