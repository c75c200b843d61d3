// The context of a node while its graph is imported.
#pragma once
#include "lib/Import/GraphImporter.h"
#include "lib/Import/ImportScope.h"
#include "lib/Interpret/ConstantEvaluator.h"

namespace kedge::importer {

class GraphNode : public NodeContext {
public:
  GraphNode(GraphImporter &importer, ImportScope &scope, const model::Node &node, mlir::Location loc)
      : NodeContext(node, importer.builder, loc), importer(importer), scope(scope) {}

  mlir::Value operand(size_t k) override;
  llvm::SmallVector<mlir::Value> sequence(size_t k) override;
  ImportedValue imported(size_t k) override { return named(node.input(k)); }
  std::optional<llvm::SmallVector<int64_t>> constantInts(size_t k, llvm::StringRef what) override;
  std::optional<llvm::SmallVector<double>> constantFloats(size_t k, llvm::StringRef what) override;
  using NodeContext::maybeConstantInts;
  std::optional<llvm::SmallVector<int64_t>> maybeConstantInts(mlir::Value value) override;
  bool isZero(size_t k) override;
  llvm::StringRef producer() const override;
  void remark(const std::string &what) override;
  mlir::Value constantTensor(const model::Tensor &tensor) override;
  using NodeContext::setResult;
  void setResult(size_t k, ImportedValue value) override;
  llvm::SmallVector<ImportedValue> importSubgraph(const model::Graph &graph,
                                                  llvm::ArrayRef<ImportedValue> inputs) override;

protected:
  [[noreturn]] void failWith(const std::string &message) override;

private:
  const ImportedValue &named(const std::string &name);
  const interpret::HostTensor &evaluate(size_t k, llvm::StringRef what);

  GraphImporter &importer;
  ImportScope &scope;
};

} // namespace kedge::importer
