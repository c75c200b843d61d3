// Builds the model::Graph of level 1: names, constants, nodes.
#pragma once
#include "kedge/Dialect/Train/StateOps.h"
#include "lib/Model/Model.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include <set>

namespace kedge::exporter {

class OnnxWriter {
public:
  using Attributes = std::vector<model::Attribute>;
  using Names = std::vector<std::string>;

  explicit OnnxWriter(mlir::ModuleOp module);

  model::Graph take() { return std::move(graph); }
  int64_t opset() const { return newest; }
  /// Operators newer than 21 raise the file's opset.
  void needOpset(int64_t version) { newest = std::max(newest, version); }

  std::string nameOf(mlir::Value value) const { return names.at(value); }
  /// Operands by their place in the op's definition; "" where one is absent.
  Names operands(mlir::Operation *op) const;
  /// One node whose outputs are the op's results, or the first `count` of them.
  void node(mlir::Operation *op, const std::string &type, Names inputs, Attributes attributes = {},
            unsigned count = ~0u);
  /// A node of one new value.
  std::string value(const std::string &type, Names inputs, Attributes attributes = {});
  /// The same as the op's first result.
  void result(mlir::Operation *op, const std::string &type, Names inputs, Attributes attributes = {});

  std::string ints(llvm::ArrayRef<int64_t> values);
  std::string intScalar(int64_t value);
  /// A scalar of a float (or integer) type.
  std::string number(mlir::Type element, double value);
  std::string constant(mlir::ElementsAttr elements);
  void unsupported(mlir::Operation *op, const std::string &why = "");

private:
  void inputs();
  void states();
  void body();
  void outputs();
  std::string fresh(const std::string &stem);
  void add(model::Tensor tensor);

  mlir::ModuleOp module;
  mlir::func::FuncOp function;
  model::Graph graph;
  llvm::DenseMap<mlir::Value, std::string> names;
  std::set<std::string> taken, missing;
  mlir::Operation *current = nullptr;
  int64_t newest = 21;
};

/// ONNX's number of an element type; throws kedge::Error when it has none.
model::ElementType onnxType(mlir::Type element);
/// The op's own attributes, but those in `without`, as ONNX's.
OnnxWriter::Attributes attributesOf(mlir::Operation *op, const std::set<std::string> &without = {});
/// Appends the nodes of an op; calls writer.unsupported() when it has no ONNX form.
void writeOp(OnnxWriter &writer, mlir::Operation *op);
/// The same for ops of the train dialect and norms; false when `op` is none of them.
bool writeComposite(OnnxWriter &writer, mlir::Operation *op);

} // namespace kedge::exporter
