// @eval or @predict of one stage: forward passes of all micro-batches, without backward.
#pragma once
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Pipeline/StageProgram.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace kedge::pipeline {

/// Writes a stage's program of a function that trains nothing. Each stage passes on what it has made of a
/// micro-batch and takes the next, until the pipeline has drained. Outputs come together on the first stage,
/// a part for each micro-batch; losses are on the stage that makes them.
class ForwardProgram {
public:
  /// `training` knows which states change, and learns who holds the others.
  ForwardProgram(mlir::func::FuncOp function, StageProgram &training, StageOf of);
  /// The function in place of the one that it is made from, which is erased. `lossIsMean`: of a micro-batch.
  void write(bool lossIsMean);

private:
  using Key = std::pair<mlir::Value, int64_t>; ///< a value of a micro-batch

  int64_t placeOfOp(mlir::Operation *op) const;
  int64_t placeOfState(mlir::StringAttr state) const;
  void noteReaders();
  void noteReader(mlir::Value value, int64_t place);
  void sendStates();
  void runSlot(int64_t stage, int64_t micro);
  void copy(mlir::Operation *op, int64_t micro);
  mlir::Value valueOf(mlir::Value value, int64_t micro);
  mlir::Value argumentValue(mlir::BlockArgument argument, int64_t micro);
  mlir::Value rowsOf(mlir::BlockArgument input, int64_t micro);
  mlir::Value argumentOf(train::BindingAttr binding, mlir::Type type);
  mlir::Value number(int64_t value);
  mlir::Value transfer(mlir::Type type, int64_t from, int64_t to, llvm::function_ref<mlir::Value()> own);
  void noteMicro(mlir::Operation *transfer);
  void returnResults(bool lossIsMean);
  void returnOutput(mlir::OpOperand &output, train::BindingAttr binding);
  void returnRows(mlir::OpOperand &result, train::BindingAttr binding, bool isMean);
  mlir::Value ofAllMicros(mlir::Value value, bool isMean);
  void addResult(mlir::Value value, train::BindingAttr binding);

  mlir::func::FuncOp source, made;
  StageProgram &training;
  const StageOf of;
  PlacedBuilder builder;
  mlir::Value token;
  int64_t stages = 1; ///< of the model: a rank may have several
  int64_t rows = 0;   ///< of a micro-batch
  int64_t transfers = 0;
  int64_t microOfTransfer = -1; ///< -1: of none
  llvm::DenseMap<mlir::Value, llvm::SetVector<int64_t>> readers;
  llvm::MapVector<mlir::StringAttr, llvm::SetVector<int64_t>> statesRead; ///< elsewhere than they change
  llvm::DenseMap<mlir::StringAttr, mlir::Value> received;
  llvm::DenseMap<Key, mlir::Value> values;
};

} // namespace kedge::pipeline
