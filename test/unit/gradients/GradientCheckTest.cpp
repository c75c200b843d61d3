// KEDGE_GRADIENT_CASE=norm runs only functions whose file or name holds that word.
#include "ElementwiseCases.h"
#include "GradientCheck.h"
#include "kedge/Dialect/Registration.h"
#include "kedge/Interfaces/DifferentiableOpInterface.h"
#include "mlir/Parser/Parser.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

namespace fs = std::filesystem;
using namespace mlir;

namespace {
class Gradients : public testing::Test {
protected:
  static MLIRContext &context() {
    static DialectRegistry registry = [] {
      DialectRegistry made;
      kedge::registerDialects(made);
      return made;
    }();
    static MLIRContext made(registry, MLIRContext::Threading::DISABLED);
    made.loadAllAvailableDialects();
    return made;
  }

  static std::string wanted() {
    const char *word = std::getenv("KEDGE_GRADIENT_CASE");
    return word ? word : "";
  }

  void check(ModuleOp module, const std::string &file) {
    for (auto function : module.getOps<func::FuncOp>()) {
      std::string name = file + ":" + function.getName().str();
      if (name.find(wanted()) == std::string::npos)
        continue;
      ++checked;
      EXPECT_EQ(kedge::test::checkGradients(function, covered), "") << name;
    }
  }

  static std::set<std::string> covered; // ops whose gradient a case has compared
  static int checked;
};

std::set<std::string> Gradients::covered;
int Gradients::checked = 0;
} // namespace

TEST_F(Gradients, OfCaseFilesEqualCentralDifferences) {
  std::vector<fs::path> files;
  for (const auto &entry : fs::directory_iterator(KEDGE_GRADIENT_CASES))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path &file : files) {
    auto module = parseSourceFile<ModuleOp>(file.string(), &context());
    ASSERT_TRUE(module) << file;
    check(*module, file.stem().string());
  }
}

TEST_F(Gradients, OfElementwiseOpsEqualCentralDifferences) {
  for (const kedge::test::ElementwiseCase &entry : kedge::test::elementwiseCases()) {
    std::string text = kedge::test::functionText(entry);
    auto module = parseSourceString<ModuleOp>(text, &context());
    ASSERT_TRUE(module) << text;
    check(*module, "elementwise");
  }
}

/// Runs last: what can be differentiated has a case above.
TEST_F(Gradients, OfEveryOpAreCompared) {
  std::printf("%d functions checked, gradients of %zu ops\n", checked, covered.size());
  if (!wanted().empty())
    GTEST_SKIP() << "only some cases ran";
  for (RegisteredOperationName op : context().getRegisteredOperations())
    // The step makes onnx.Dropout train.dropout, or its operand, before anything runs.
    if (op.hasInterface<kedge::DifferentiableOpInterface>() && op.getStringRef() != "onnx.Dropout")
      EXPECT_TRUE(covered.count(op.getStringRef().str()))
          << op.getStringRef().str() << " has a gradient, but no case in test/unit/gradients compares it";
}
