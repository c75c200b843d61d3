// The @step of one stage, as it is written: values by micro-batch, transfers beside what makes and reads
// them.
#pragma once
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Pipeline/StageParts.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace kedge::pipeline {

/// Whose program it is, of what: places along the axis `pipeline`. A rank may have several of the model's
/// stages.
struct StageOf {
  int64_t stage = 0, stages = 1, microBatches = 1;
};

/// Writes ops of @micro and @update into the @step of one stage. Every stage's program is written by the same
/// calls, in the same order: each knows what the others send, so that transfers have the same numbers on all
/// of them.
class StageProgram {
public:
  StageProgram(mlir::func::FuncOp micro, mlir::func::FuncOp update, const StageParts &parts, StageOf of);

  /// The states that several stages read, from those that update them.
  void sendStates();
  /// The ops of a slot, on its rank.
  void run(const Slot &slot);
  /// What the slot's ops made, to the ranks that read it.
  void sendMade(const Slot &slot);
  /// These values of @micro are alike in all micro-batches: there is one of each. On a rank with all stages.
  void share(llvm::DenseSet<mlir::Value> values);
  /// An op of @micro for one micro-batch, any of them if its results are shared.
  void run(mlir::Operation *op, int64_t micro) { write(op, micro); }
  /// The op's result, from all micro-batches.
  void join(train::SumMicrosOp sum);
  void update();
  /// The function, with its results; @micro and @update are as before.
  mlir::func::FuncOp finish();

  /// The stages that keep a state from step to step: the one that updates it, or all that read what nobody
  /// updates.
  llvm::SmallVector<int64_t> stagesHolding(mlir::StringAttr state) const;
  void addHolder(mlir::StringAttr state, int64_t stage) { holders[state].insert(stage); }
  bool isUpdated(mlir::StringAttr state) const { return updated.contains(state); }

  int64_t sends = 0, receives = 0;

private:
  using Key = std::pair<mlir::Value, int64_t>; ///< a value of a micro-batch

  mlir::Value argumentOf(llvm::StringRef name, train::BindingKind kind, mlir::Type type);
  int64_t stageOf(mlir::Operation *op) const;
  void noteUpdated(mlir::func::FuncOp function);
  void noteReaders(mlir::func::FuncOp function);
  void noteReader(mlir::Value value, int64_t stage);
  train::StateOp stateOf(mlir::StringAttr symbol) const;
  int64_t stageOfState(mlir::StringAttr state) const;
  bool hasRole(mlir::StringAttr state, train::Role role) const;
  bool isAccumulator(mlir::StringAttr state) const { return hasRole(state, train::Role::Accumulator); }
  bool isOwn(mlir::StringAttr state) const;

  void write(mlir::Operation *op, int64_t micro);
  bool writeAccumulation(mlir::Operation *op, int64_t micro);
  void joinParts(mlir::StringAttr state, int64_t part, mlir::Location loc);
  int64_t roundsOfPart() const { return of.microBatches / rowParts; }
  int64_t firstRowOf(int64_t micro, int64_t ranks) const;
  void noteOldStates(int64_t stage, int64_t micro);
  void noteNewStates(mlir::Operation *op, int64_t micro);
  mlir::Value valueOf(mlir::Value value, int64_t micro);
  mlir::Value argumentValue(mlir::BlockArgument argument, int64_t micro);
  mlir::Value stateValue(mlir::StringAttr state, mlir::Type type);
  mlir::Value rowsOf(mlir::Value input, int64_t micro);
  mlir::Value number(int64_t value);
  void transferResults(mlir::Operation *op, int64_t micro);
  void transfer(Key key, int64_t from, int64_t to);
  mlir::Value transfer(mlir::Type type, int64_t from, int64_t to, llvm::function_ref<mlir::Value()> own);
  void noteMicroOfValues(mlir::Operation *op, int64_t micro);
  void noteMicro(mlir::Operation *transfer);
  void makeItemScale();
  void returnSum(llvm::StringRef name, bool isMean);
  mlir::Value sumOfMicros(mlir::Value value);
  void returnStates(mlir::func::FuncOp function, int64_t micro);
  void addResult(mlir::Value value, train::BindingAttr binding);
  mlir::Value resultOf(mlir::func::FuncOp function, llvm::StringRef name) const;

  mlir::func::FuncOp microFunction, updateFunction, step;
  const StageParts &parts;
  const StageOf of;
  PlacedBuilder builder;
  mlir::Value token;
  int64_t rows = 0; ///< of a micro-batch
  /// Of the rank's rows, whose sums are a tree (--same-bits); the micro-batches of a part follow each other.
  /// 1: sums are in the order of micro-batches.
  int64_t rowParts = 1;
  bool inParts = false;
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::Value>>
      halves; ///< sums of parts that wait, by state
  int64_t transfers = 0;
  int64_t microOfTransfer = -1;                                             ///< -1: of none
  llvm::DenseMap<mlir::Value, llvm::SetVector<int64_t>> readers;            ///< stages, by value
  llvm::MapVector<mlir::StringAttr, llvm::SetVector<int64_t>> stateReaders; ///< stages beside the state's own
  llvm::DenseMap<mlir::StringAttr, llvm::SetVector<int64_t>> holders;       ///< of states that nobody updates
  llvm::DenseMap<mlir::StringAttr, train::StateOp> states;
  llvm::SetVector<mlir::StringAttr> updated;
  llvm::DenseSet<mlir::StringAttr> changing;               ///< by @micro
  llvm::DenseMap<mlir::StringAttr, mlir::Value> current;   ///< a state's value, or what is added up so far
  llvm::DenseMap<mlir::Value, mlir::StringAttr> newStates; ///< what @micro returns as a state
  llvm::DenseSet<mlir::Value> shared;                      ///< by all micro-batches
  llvm::DenseMap<Key, mlir::Value> values;
};

} // namespace kedge::pipeline
