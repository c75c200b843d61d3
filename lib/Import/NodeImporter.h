// How one ONNX node becomes level-1 ops: one function for each operator, registered by domain and name.
#pragma once
#include "lib/Model/Model.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"
#include <fmt/format.h>
#include <memory>

namespace kedge::importer {

/// Records the input of a QuantizeLinear, so that gradients can pass through its DequantizeLinear
/// (Build/Quantize.cpp).
struct Quantised {
  mlir::Value source;      // x
  mlir::Value rounded;     // rounded, but not yet clipped to [low, high]
  mlir::Value scale, zero; // the operands; zero may be null
  double low, high;
};

/// What a name in the graph stands for: a tensor or, for the
/// sequence ops, a list of tensors. Lists never reach the IR.
struct ImportedValue {
  mlir::Value tensor;
  std::optional<llvm::SmallVector<mlir::Value>> sequence = std::nullopt;
  /// The file's element type if it is a narrow one (lib/Model/NarrowTypes.h). The tensor then holds codes, in
  /// i8 or ui8.
  model::ElementType narrow = model::ElementType::Undefined;
  std::shared_ptr<const Quantised> quantised = nullptr;
  /// A part of a matrix in few bits (model::FewBits) that is a state: of the codes and zero points it is the
  /// packed bytes, of which the tensor is unpacked.
  mlir::Value packed = nullptr;
};

/// The node that is being imported and its context. Implemented by the graph importer.
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
  /// Null if the operand is omitted; an error if it is a sequence.
  virtual mlir::Value operand(size_t k) = 0;
  /// An error when operand k is omitted.
  mlir::Value require(size_t k);
  llvm::SmallVector<mlir::Value> operands();
  virtual llvm::SmallVector<mlir::Value> sequence(size_t k) = 0;
  /// Operand k as it is, tensor or sequence.
  virtual ImportedValue imported(size_t k) = 0;
  /// The values of an operand that must be known at compile time (shapes, axes, pads, ratios). Folds
  /// the ops that compute it. `what` describes it in the error. nullopt for an omitted operand.
  virtual std::optional<llvm::SmallVector<int64_t>> constantInts(size_t k, llvm::StringRef what) = 0;
  virtual std::optional<llvm::SmallVector<double>> constantFloats(size_t k, llvm::StringRef what) = 0;
  /// The same, but nullopt instead of an error for a value that is not constant.
  std::optional<llvm::SmallVector<int64_t>> maybeConstantInts(size_t k);
  virtual std::optional<llvm::SmallVector<int64_t>> maybeConstantInts(mlir::Value value) = 0;
  /// Whether operand k is known at compile time, does not train, and holds nothing but zeros.
  virtual bool isZero(size_t k) = 0;
  /// The program that wrote the file.
  virtual llvm::StringRef producer() const = 0;
  /// What is made of a node that says something else: a note, one for all nodes with the same text.
  virtual void remark(const std::string &what) = 0;

  /// The element type of an operand that holds codes; Undefined for any other operand.
  model::ElementType narrowType(size_t k) {
    return has(k) ? imported(k).narrow : model::ElementType::Undefined;
  }

  void setResult(size_t k, mlir::Value value) { setResult(k, ImportedValue{value}); }
  virtual void setResult(size_t k, ImportedValue value) = 0;
  /// Imports a subgraph with these values for its inputs, and returns its outputs.
  virtual llvm::SmallVector<ImportedValue> importSubgraph(const model::Graph &graph,
                                                          llvm::ArrayRef<ImportedValue> inputs) = 0;
  void setResults(mlir::ValueRange values);

  /// MLIR element type; an error for types that tensors cannot have here (strings, complex).
  mlir::Type elementType(model::ElementType type);
  mlir::DenseI64ArrayAttr ints(llvm::ArrayRef<int64_t> values) {
    return builder.getDenseI64ArrayAttr(values);
  }
  /// In the IR if it is small, otherwise a `train.state` of role constant.
  virtual mlir::Value constantTensor(const model::Tensor &tensor);
  mlir::Value constantInts1d(llvm::ArrayRef<int64_t> values);

  /// Throws kedge::Error with file, node, module and the message.
  template <typename... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args &&...args) {
    failWith(fmt::format(format, std::forward<Args>(args)...));
    llvm_unreachable("failWith throws");
  }
  /// An attribute that is one of an enumeration's words.
  template <typename Enum> Enum word(const char *attribute, Enum otherwise) {
    const std::string text = node.attrString(attribute, stringifyEnum(otherwise).str());
    std::string known;
    for (uint32_t k = 0; !stringifyEnum(static_cast<Enum>(k)).empty(); ++k) {
      if (stringifyEnum(static_cast<Enum>(k)) == text)
        return static_cast<Enum>(k);
      known += (k ? ", " : "") + stringifyEnum(static_cast<Enum>(k)).str();
    }
    fail("{} '{}' is none of {}", attribute, text, known);
  }
  /// Reports that the operator, or this form of it (types, attributes), is not supported. All reports are
  /// shown together.
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
  /// How an operator treats operands of narrow types. Most cannot compute with them.
  enum class Narrow { Refused, Read, Moved };
  static Narrow narrowOperands(llvm::StringRef opType);

private:
  llvm::StringMap<NodeImporter> importers;
};

// One function for each family of operators, in lib/Import/Build/<Family>.cpp.
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

} // namespace kedge::importer
