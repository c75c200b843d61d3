// An ONNX model as level 1: one canonical onnx op a node, static shapes, weights as train.state symbols.
#pragma once
#include "kedge/Dialect/Train/TrainAttrs.h"
#include "kedge/Model/Model.h"
#include "kedge/Import/NodeImporter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <map>

namespace kedge {

struct ImportOptions {
  /// Dims by input name (--shape). Dimensions with the same symbol in other inputs follow.
  std::map<std::string, std::vector<int64_t>> shapes;
  /// Role by initializer name: parameter, frozen, buffer or constant. Float initializers that it does not
  /// name are parameters, all others constants.
  std::map<std::string, train::Role> roles;
  /// Inputs that are constants of this program: no argument is made for them.
  std::map<std::string, model::Tensor> fixedInputs;
  /// Leave onnx.unsupported ops in the module instead of throwing.
  bool keepUnsupported = false;
};

/// Imports the model's graph. Throws kedge::Error: for the first error, or for all operators that are not
/// supported together.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context, const model::Model &model,
                                              const ImportOptions &options = {});

struct ImportScope;

/// The same in steps, for a second graph (a TrainingInfoProto's algorithm) in the scope of the first.
class GraphImporter {
public:
  GraphImporter(mlir::MLIRContext &context, const model::Model &model, const ImportOptions &options);
  ~GraphImporter();

  /// Appends a graph's nodes to @model; its inputs and initializers become arguments, its outputs results.
  /// Names of graphs imported before are visible.
  void importGraph(const model::Graph &graph);
  /// Appends one iteration of training_info: each algorithm in order, behind the main graph (imported before)
  /// as it is after the updates of those before it. Updated variables become results that are their states,
  /// outputs of algorithms results bound as such; initializations, which must be constant, become
  /// the variables' first values. Marks @model with `train.training_info`.
  void importTraining();
  /// Sets the function's type, folds constants, removes what nobody uses.
  mlir::OwningOpRef<mlir::ModuleOp> finish();

  /// What a name of an imported graph stands for; null when there is none.
  const ImportedValue *lookup(llvm::StringRef name) const;
  /// What could not be imported: one message an operator or form of it, with the places it occurs at.
  std::vector<std::string> unsupported() const;

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
  /// The state that an initializer is; null when it is a constant.
  mlir::FlatSymbolRefAttr variable(llvm::StringRef initializer) const;
  void importInput(const model::ValueInfo &input);
  llvm::SmallVector<int64_t> inputShape(const model::ValueInfo &input);
  void bindSymbols(const model::Graph &graph);
  void importInitializers(const model::Graph &graph, ImportScope &scope);
  ImportedValue importInitializer(const model::Tensor &tensor);
  /// A constant: in the IR when small, a state of role constant otherwise.
  mlir::Value importConstant(const model::Tensor &tensor, mlir::Location loc);
  mlir::Value importState(const model::Tensor &tensor, train::Role role);
  void importNodes(const model::Graph &graph, ImportScope &scope);
  void importNode(const model::Node &node, ImportScope &scope);
  void importKnownNode(const model::Node &node, NodeImporter importer, ImportScope &scope, mlir::Location loc);
  void markUnsupported(const model::Node &node, ImportScope &scope, mlir::Location loc);
  void report(std::string place, const std::string &why);
  mlir::Value unsupportedValue(mlir::Location loc, llvm::StringRef what);
  void removeUnusedStates();

  mlir::MLIRContext &context;
  const model::Model &source;
  const ImportOptions &options;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Operation *function = nullptr; // func.func @model
  mlir::OpBuilder builder;
  std::unique_ptr<ImportScope> scope;
  std::unique_ptr<class ConstantEvaluator> evaluator;
  std::map<std::string, int64_t> symbols; // sizes of symbolic dims
  std::vector<Argument> arguments;
  std::vector<Result> results;
  llvm::StringMap<mlir::Value> updated; // variables of training_info after the algorithms imported so far
  struct Report {
    std::string why;
    std::vector<std::string> places;
  };
  std::vector<Report> reports;
};

/// Replaces values of at most `limit` elements that hang on no argument by onnx.Constant, and removes pure
/// ops that nobody uses. Idempotent.
void foldConstants(mlir::Operation *function, int64_t limit = 1024);

} // namespace kedge
