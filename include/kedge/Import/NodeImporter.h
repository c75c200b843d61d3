// How one ONNX node becomes level-1 ops: a function per operator, in a registry by domain and name.
#pragma once
#include "kedge/Model/Model.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"
#include <fmt/format.h>
#include <memory>

namespace kedge {

/// What QuantizeLinear made a tensor from: a DequantizeLinear of it trains through (Build/Quantize.cpp).
struct Quantised {
  mlir::Value source;    // x
  mlir::Value rounded;   // before it was clipped to [low, high]
  mlir::Value scale, zero; // the operands; zero may be null
  double low, high;
};

/// What a value name of the graph stands for: a tensor, or (for the sequence ops, which never reach the IR)
/// a list of tensors.
struct ImportedValue {
  mlir::Value tensor;
  std::optional<llvm::SmallVector<mlir::Value>> sequence = std::nullopt;
  /// The file's element type where it is a narrow one (kedge/Model/NarrowTypes.h): the tensor has its codes, in i8 or ui8.
  model::DType narrow = model::DType::Undefined;
  std::shared_ptr<const Quantised> quantised = nullptr;
};

/// The node at hand and what import knows around it. Implemented by the graph importer.
class NodeContext {
public:
  virtual ~NodeContext() = default;
  const model::Node &node;
  mlir::OpBuilder &builder;
  mlir::Location loc;

  NodeContext(const model::Node &node, mlir::OpBuilder &builder, mlir::Location loc)
      : node(node), builder(builder), loc(loc) {}

  int64_t opset() const { return node.opset; }
  size_t operandCount() const { return node.inputs.size(); }
  bool has(size_t k) const { return node.hasInput(k); }
  /// Null when the operand is omitted; an error when it is a sequence.
  virtual mlir::Value operand(size_t k) = 0;
  /// An error when operand k is omitted.
  mlir::Value require(size_t k);
  llvm::SmallVector<mlir::Value> operands();
  virtual llvm::SmallVector<mlir::Value> sequence(size_t k) = 0;
  /// Operand k as it is, tensor or sequence.
  virtual ImportedValue imported(size_t k) = 0;
  /// Values of an operand that must be known at compile time (shapes, axes, pads, ratios): folds whatever
  /// leads to it. `what` names it in the error. An omitted operand yields nullopt.
  virtual std::optional<llvm::SmallVector<int64_t>> constantInts(size_t k, llvm::StringRef what) = 0;
  virtual std::optional<llvm::SmallVector<double>> constantFloats(size_t k, llvm::StringRef what) = 0;
  /// The same, but nullopt also when the value is not a constant.
  std::optional<llvm::SmallVector<int64_t>> maybeConstantInts(size_t k);
  virtual std::optional<llvm::SmallVector<int64_t>> maybeConstantInts(mlir::Value value) = 0;

  /// The element type of an operand whose tensor has codes; Undefined for all other operands.
  model::DType narrowType(size_t k) { return has(k) ? imported(k).narrow : model::DType::Undefined; }

  void setResult(size_t k, mlir::Value value) { setResult(k, ImportedValue{value}); }
  virtual void setResult(size_t k, ImportedValue value) = 0;
  /// Imports a subgraph here, with these values for its inputs; returns its outputs.
  virtual llvm::SmallVector<ImportedValue> importSubgraph(const model::Graph &graph,
                                                          llvm::ArrayRef<ImportedValue> inputs) = 0;
  void setResults(mlir::ValueRange values);

  /// MLIR element type; an error for types that tensors cannot have here (strings, complex).
  mlir::Type elementType(model::DType type);
  mlir::DenseI64ArrayAttr ints(llvm::ArrayRef<int64_t> values) { return builder.getDenseI64ArrayAttr(values); }
  /// In the IR when small, a `train.state` of role constant otherwise.
  virtual mlir::Value constantTensor(const model::Tensor &tensor);
  mlir::Value constantInts1d(llvm::ArrayRef<int64_t> values);

  /// Throws kedge::Error: file, node, module, then the message.
  template <typename... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args &&...args) {
    failWith(fmt::format(format, std::forward<Args>(args)...));
    llvm_unreachable("failWith throws");
  }
  /// The operator (or this form of it: types, attributes) is not supported. Reported with all others.
  [[noreturn]] void unsupported(const std::string &why);

protected:
  [[noreturn]] virtual void failWith(const std::string &message) = 0;
};

/// Thrown by NodeContext::unsupported; the graph importer turns the node into onnx.unsupported.
struct UnsupportedNode {
  std::string why;
};

using NodeImporter = void (*)(NodeContext &);

class NodeImporters {
public:
  /// All of them; made once.
  static const NodeImporters &get();
  void add(llvm::StringRef opType, NodeImporter importer, llvm::StringRef domain = "");
  NodeImporter find(llvm::StringRef domain, llvm::StringRef opType) const;
  llvm::SmallVector<std::string> names() const;
  /// What happens to operands of narrow types: most operators cannot compute with them.
  enum class Narrow { Refused, Read, Moved };
  static Narrow narrowOperands(llvm::StringRef opType);

private:
  llvm::StringMap<NodeImporter> importers;
};

// One function a family, in lib/Import/Build/<Family>.cpp.
void registerCoreImporters(NodeImporters &);
void registerSequenceImporters(NodeImporters &);
void registerMathImporters(NodeImporters &);
void registerReductionImporters(NodeImporters &);
void registerMovementImporters(NodeImporters &);
void registerNeuralNetworkImporters(NodeImporters &);
void registerCompositeImporters(NodeImporters &);
void registerNarrowImporters(NodeImporters &);
void registerRandomImporters(NodeImporters &);
void registerSignalImporters(NodeImporters &);
void registerStateImporters(NodeImporters &);
void registerRegionImporters(NodeImporters &);

} // namespace kedge
