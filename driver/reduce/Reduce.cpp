#include "driver/reduce/Reduce.h"
#include "driver/reduce/CommandRuns.h"
#include "driver/reduce/ModelPart.h"
#include "kedge/InitAllDialects.h"
#include "lib/Export/Onnx/OnnxGraph.h"
#include "lib/Import/GraphImporter.h"
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include <algorithm>
#include <filesystem>

using namespace mlir;

namespace kedge::driver {
namespace {

class Reducer {
public:
  explicit Reducer(const ReduceQuestion &question)
      : question(question), context(MLIRContext::Threading::DISABLED),
        silence(&context, [](Diagnostic &) { return success(); }), model(model::loadModel(question.model)),
        shapes(question.shapes), candidate(question.output + ".candidate.onnx") {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
  ~Reducer() {
    std::error_code ignored;
    std::filesystem::remove(candidate, ignored);
  }

  ReducedModel run() {
    checkFails();
    module = import();
    if (opsOfModel(*module).empty() || !failsAlike(*module))
      fail("{}: the command fails with this file, and no longer when kedge has read and written it; keep the "
           "file, or "
           "reduce a phase of --save-ir with kedge-reduce",
           question.model);
    shrinkShapes();
    const size_t before = countNodes(KeptOps(opsOfModel(*module).size(), true));
    const KeptOps kept = removeNodes();
    return {before, countNodes(kept), runs, wanted.how()};
  }

private:
  void checkFails() {
    if (question.command.find("{}") == std::string::npos)
      fail("--command '{}': expected {{}} in the place of the model", question.command);
    wanted = runCommand(question.command, question.model, folder);
    if (wanted.code == 0)
      fail("--command: does not fail with {}, its exit code is 0", question.model);
    if (question.expect.empty() && !wanted.isSignal())
      fail("--command: ends with exit code {}, as it may for many reasons; give --expect TEXT, of the "
           "message that the "
           "smaller model is to end with. It says:\n{}",
           wanted.code, wanted.text);
    if (wanted.text.find(question.expect) == std::string::npos)
      fail("--expect '{}': is not in what the command says:\n{}", question.expect, wanted.text);
  }

  OwningOpRef<ModuleOp> import() {
    importer::ImportOptions options;
    options.shapes = shapes;
    return importer::importModel(context, model, options);
  }

  /// Whether the command fails with this module as it does with the model; if so, it is the output from now
  /// on.
  bool failsAlike(ModuleOp part) {
    if (failed(verify(part)))
      return false;
    try {
      writeText(candidate, exporter::onnxModel(part));
    } catch (const Error &) {
      return false; // a part that ONNX has no form for
    }
    const ToolEnding ending = runCommand(question.command, candidate, folder);
    runs += 1;
    if (ending.code != wanted.code || ending.text.find(question.expect) == std::string::npos)
      return false;
    std::filesystem::rename(candidate, question.output);
    return true;
  }

  /// Each dimension of `shapes` becomes 1, or a half of itself, as long as the failure stays.
  void shrinkShapes() {
    for (auto &[name, sizes] : shapes)
      for (int64_t &size : sizes)
        while (size > 1 && (trySize(size, 1) || trySize(size, size / 2)))
          continue;
  }

  bool trySize(int64_t &size, int64_t smaller) {
    const int64_t before = size;
    size = smaller;
    try {
      if (OwningOpRef<ModuleOp> read = import(); failsAlike(*read)) {
        module = std::move(read);
        return true;
      }
      size = before;
    } catch (const Error &) {
      size = before; // the model does not take this size
    }
    return false;
  }

  KeptOps removeNodes() {
    const size_t count = opsOfModel(*module).size();
    KeptOps kept(count, true);
    for (size_t length = std::max<size_t>(count / 2, 1);; length = std::max<size_t>(length / 2, 1)) {
      bool isSmaller = false;
      for (size_t end = count; end > 0; end -= std::min(end, length))
        isSmaller |= tryWithout(kept, end - std::min(end, length), end);
      if (length == 1 && !isSmaller)
        return kept;
    }
  }

  bool tryWithout(KeptOps &kept, size_t begin, size_t end) {
    KeptOps fewer = kept;
    std::fill(fewer.begin() + static_cast<std::ptrdiff_t>(begin),
              fewer.begin() + static_cast<std::ptrdiff_t>(end), false);
    if (fewer == kept || std::find(fewer.begin(), fewer.end(), true) == fewer.end())
      return false;
    OwningOpRef<ModuleOp> part = partOf(*module, fewer);
    if (!failsAlike(*part))
      return false;
    kept = std::move(fewer);
    return true;
  }

  size_t countNodes(const KeptOps &kept) {
    const std::vector<Operation *> ops = opsOfModel(*module);
    size_t count = 0;
    for (size_t i = 0; i < ops.size(); ++i)
      count += kept[i] && !ops[i]->hasTrait<OpTrait::ConstantLike>();
    return count;
  }

  const ReduceQuestion &question;
  MLIRContext context;
  ScopedDiagnosticHandler silence;
  model::Model model;
  std::map<std::string, std::vector<int64_t>> shapes;
  std::string candidate;
  const TemporaryFolder folder{"kedge-reduce"};
  OwningOpRef<ModuleOp> module;
  ToolEnding wanted;
  size_t runs = 0;
};

} // namespace

ReducedModel reduce(const ReduceQuestion &question) { return Reducer(question).run(); }

} // namespace kedge::driver
