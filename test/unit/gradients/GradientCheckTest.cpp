// KEDGE_GRADIENT_CASE=norm runs only functions whose file or name holds that word.
#include "test/unit/gradients/GradientCheck.h"
#include "kedge/InitAllDialects.h"
#include "kedge/Interfaces/DifferentiableOpInterface.h"
#include "mlir/Parser/Parser.h"
#include "test/unit/gradients/ElementwiseCases.h"
#include "test/unit/gradients/NarrowGradients.h"
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

  using Visit = std::function<void(func::FuncOp, const std::string &name)>;

  static void visit(ModuleOp module, const std::string &file, const Visit &visitor) {
    for (auto function : module.getOps<func::FuncOp>())
      if (std::string name = file + ":" + function.getName().str(); name.find(wanted()) != std::string::npos)
        visitor(function, name);
  }

  static void visitFiles(const Visit &visitor) {
    std::vector<fs::path> files;
    for (const auto &entry : fs::directory_iterator(KEDGE_GRADIENT_CASES))
      files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path &file : files) {
      auto module = parseSourceFile<ModuleOp>(file.string(), &context());
      ASSERT_TRUE(module) << file;
      visit(*module, file.stem().string(), visitor);
    }
  }

  static void visitElementwise(const Visit &visitor) {
    for (const kedge::test::ElementwiseCase &entry : kedge::test::elementwiseCases()) {
      std::string text = kedge::test::functionText(entry);
      auto module = parseSourceString<ModuleOp>(text, &context());
      ASSERT_TRUE(module) << text;
      visit(*module, "elementwise", visitor);
    }
  }

  static void check(func::FuncOp function, const std::string &name) {
    ++checked;
    EXPECT_EQ(kedge::test::checkGradients(function, covered), "") << name;
  }

  static std::set<std::string> covered; // ops whose gradient a case has compared
  static int checked;
};

std::set<std::string> Gradients::covered;
int Gradients::checked = 0;
} // namespace

TEST_F(Gradients, OfCaseFilesEqualCentralDifferences) { visitFiles(check); }

TEST_F(Gradients, OfElementwiseOpsEqualCentralDifferences) { visitElementwise(check); }

/// Runs last: what can be differentiated has a case above.
TEST_F(Gradients, OfEveryOpAreCompared) {
  std::printf("%d functions checked, gradients of %zu ops\n", checked, covered.size());
  if (!wanted().empty())
    GTEST_SKIP() << "only some cases ran";
  for (RegisteredOperationName op : context().getRegisteredOperations())
    // train.straight_through has the gradient of another value by design: test/golden/quantised.test compares
    // it, and test/journeys/qat.test those of fake quantisation. The step makes onnx.Dropout train.dropout,
    // or its operand, before anything runs. The gradient of a collective is of several ranks:
    // test/ranks/matrix.test compares it, by BatchNormalization over all of them; that of train.sum_micros is
    // of several micro-batches, see test/golden/convnet.test.
    if (op.hasInterface<kedge::DifferentiableOpInterface>() && op.getStringRef() != "onnx.Dropout" &&
        op.getStringRef() != "train.straight_through" && op.getStringRef() != "train.fake_quantize" &&
        op.getStringRef() != "train.moving_range" && op.getStringRef() != "train.range_scale" &&
        op.getStringRef() != "train.sum_micros" && op.getDialectNamespace() != "dist") {
      EXPECT_TRUE(covered.count(op.getStringRef().str()))
          << op.getStringRef().str() << " has a gradient, but no case in test/unit/gradients compares it";
    }
}

/// Runs last but for what follows: each of them is compared in 16 bits, too.
TEST_F(Gradients, InSixteenBitsAreWithinTheFormatsRounding) {
  std::set<std::string> compared;
  for (const char *type : {"bf16", "fp16"}) {
    auto narrow = [&](func::FuncOp function, const std::string &name) {
      kedge::test::NarrowGap gap = kedge::test::gapOfNarrowGradients(function, type);
      EXPECT_EQ(gap.problem, "") << name << " in " << type;
      EXPECT_LE(gap.roundings, kedge::test::allowedRoundings(name)) << name << " in " << type;
      compared.insert(gap.ops.begin(), gap.ops.end());
    };
    visitFiles(narrow);
    visitElementwise(narrow);
  }
  for (const std::string &op : covered)
    EXPECT_TRUE(compared.count(op)) << op << ": no case in 16 bits";
}
