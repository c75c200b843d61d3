// Imports an ONNX model as level 1: one canonical onnx op for each node, static shapes, weights as
// train.state symbols.
#pragma once
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Train/TrainAttrs.h"
#include "lib/Import/NodeImporter.h"
#include "lib/Model/Model.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseSet.h"
#include <map>
#include <optional>
#include <set>

namespace kedge::interpret {
class ConstantEvaluator;
} // namespace kedge::interpret

namespace kedge::importer {

struct ImportOptions {
  /// Sizes by input name (--shape). Dimensions of other inputs with the same symbol get the same size.
  std::map<std::string, std::vector<int64_t>> shapes;
  /// Role by initializer name: parameter, frozen, buffer or constant. Float
  /// initializers without an entry are parameters; all others are constants.
  std::map<std::string, train::Role> roles;
  /// Inputs that this program treats as constants; they do not become arguments.
  std::map<std::string, model::Tensor> fixedInputs;
  /// The device configuration whose annotations the module keeps as `dist.annotations`; empty: none.
  std::string configuration;
  /// Note all nodes there, whether anything is said of them or not.
  bool notesAllNodes = false;
  /// Leave onnx.unsupported ops in the module instead of throwing.
  bool keepUnsupported = false;
  /// Refuse sizes that leave all outputs without elements: nothing would train.
  bool needsElements = false;
};

/// Imports the model's graph. Throws kedge::Error with the first
/// error, or with all operators that are not supported in one message.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context, const model::Model &model,
                                              const ImportOptions &options = {});

struct ImportScope;

/// The same in steps. Allows a second graph (the algorithm of a TrainingInfoProto) that can use names of the
/// first.
class GraphImporter {
public:
  GraphImporter(mlir::MLIRContext &context, const model::Model &model, const ImportOptions &options);
  ~GraphImporter();

  /// Appends the nodes of a graph to @model. Its inputs and initializers become arguments,
  /// its outputs results. Names of graphs that were imported before are visible.
  void importGraph(const model::Graph &graph);
  /// Appends one iteration of training_info: all algorithms in order, after the main graph, which must be
  /// imported first. Each algorithm sees the updates of the algorithms before it. Updated variables become
  /// results bound to their states; outputs of algorithms become results bound as such. Initializations
  /// must be constant and become the first values of variables. Marks @model with `train.training_info`.
  void importTraining();
  /// Sets the function's type, folds constants, and removes unused ops.
  mlir::OwningOpRef<mlir::ModuleOp> finish();

  /// The value of a name in an imported graph; null if there is none.
  const ImportedValue *lookup(llvm::StringRef name) const;
  /// What could not be imported: one message for each operator or form of it, with all places where it
  /// occurs.
  std::vector<std::string> unsupported() const;
  std::vector<std::string> remarked() const { return messagesOf(remarks); }

private:
  friend class GraphNode;
  struct Argument {
    mlir::Value value;
    train::BindingAttr binding; // an input or a state
  };
  struct Result {
    mlir::Value value;
    train::BindingAttr binding; // an output, an algorithm's output or a state
  };

  void checkShapeNames();
  void initializeVariables(const model::TrainingInfo &info);
  void importAlgorithm(const model::TrainingInfo &info, bool first);
  void updateVariables(const model::TrainingInfo &info, const ImportScope &stage);
  /// The state that an initializer became; null if it became a constant.
  mlir::FlatSymbolRefAttr variable(llvm::StringRef initializer) const;
  /// A buffer that forward updates: a result bound to its state.
  void updateBuffer(const model::Node &node);
  void checkElements();
  void importInput(const model::ValueInfo &input);
  llvm::SmallVector<int64_t> inputShape(const model::ValueInfo &input);
  void bindSymbols(const model::Graph &graph);
  void importInitializers(const model::Graph &graph, ImportScope &scope);
  ImportedValue importInitializer(const model::Tensor &tensor);
  /// A constant: in the IR if it is small, otherwise a state of role constant.
  mlir::Value importConstant(const model::Tensor &tensor, mlir::Location loc);
  mlir::Value importState(const model::Tensor &tensor, train::Role role);
  /// Codes of less than a byte, or a part of a matrix in few bits; nullopt for what fits the IR, or trains.
  std::optional<ImportedValue> importPacked(const model::Tensor &tensor, mlir::Location loc);
  /// Gives the evaluator the integers and masks among the buffers that `value` follows from and that no step
  /// changes. Whether there are any that it did not have.
  bool bindMasks(mlir::Value value);
  /// The buffers that a step changes, by the exporter's record.
  bool isChanged(const std::string &name);
  void importNodes(const model::Graph &graph, ImportScope &scope);
  void importNode(const model::Node &node, ImportScope &scope);
  void importKnownNode(const model::Node &node, NodeImporter importer, ImportScope &scope,
                       mlir::Location loc);
  void markUnsupported(const model::Node &node, ImportScope &scope, mlir::Location loc);
  void report(std::string place, const std::string &why);
  /// What the import made of a node that says something else; one note for each `what`.
  void remark(std::string place, const std::string &what);
  mlir::Value unsupportedValue(mlir::Location loc, llvm::StringRef what);
  void removeUnusedStates();
  /// What the nodes say of the configuration, with sizes checked.
  void importAnnotations();

  mlir::MLIRContext &context;
  const model::Model &source;
  const ImportOptions &options;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Operation *function = nullptr; // func.func @model
  mlir::OpBuilder builder;
  PlaceListener places;
  std::unique_ptr<ImportScope> scope;
  std::unique_ptr<interpret::ConstantEvaluator> evaluator;
  llvm::DenseSet<mlir::Value> seenBehind;              // by bindMasks
  std::optional<std::set<std::string>> changedBuffers; // read when it is first asked for
  std::map<std::string, int64_t> symbols;              // sizes of symbolic dims
  llvm::StringMap<mlir::Operation *> states;           // ops by their symbols
  std::vector<Argument> arguments;
  std::vector<Result> results;
  llvm::StringMap<mlir::Value> updated; // variables of training_info after the algorithms imported so far
  struct Report {
    std::string why;
    std::vector<std::string> places;
  };
  static void add(std::vector<Report> &to, std::string place, const std::string &why);
  static std::vector<std::string> messagesOf(const std::vector<Report> &reports);
  std::vector<Report> reports, remarks;
};

/// Replaces values of at most `limit` elements that depend on no argument by onnx.Constant,
/// and removes pure ops without uses. Running it twice changes nothing more.
void foldConstants(mlir::Operation *function, int64_t limit = 1024);

} // namespace kedge::importer
