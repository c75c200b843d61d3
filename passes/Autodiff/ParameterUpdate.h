// The update of one parameter: its states, the host's scalars, what is kept in a skipped step; and the rules.
#pragma once
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Train/Loss/LossScaleOps.h"
#include "passes/Autodiff/FunctionEditing.h"
#include "passes/Autodiff/OptionWords.h"

namespace kedge::autodiff {

/// What loss scaling brings into the function of the update; null values without it.
struct Scaler {
  mlir::Value skipped; ///< i1: a gradient of the step is not finite
  mlir::Value steps;   ///< updates done before
  train::AdamCorrectionsOp corrections;
  /// What updates compute once for all of them.
  llvm::StringMap<mlir::Value> shared;
};

/// Of gradients of matrices.
struct Projection {
  int64_t rank = 0, gap = 200; ///< updates from one projection to the next
  double scale = 1;
  ScaleType scaleType = ScaleType::Channel;
};

struct UpdateSettings {
  Optimizer optimizer = Optimizer::AdamW;
  double momentum = 0;
  bool nesterov = false;
  Moments moments = Moments::Fp32;
  double averageDecay = 0; ///< of the moving average of parameters; 0: none
  Caution caution = Caution::None;
  int64_t preconditionFrequency = 10; ///< updates from one refresh of a basis to the next
  int64_t longestSide = 10000;        ///< of a matrix that has a basis
  double shampooBeta = -1;            ///< of the preconditioner's mean; negative: beta2
  Projection projection = {};
};

class ParameterUpdate {
public:
  ParameterUpdate(BoundFunction &function, PlacedBuilder &builder, Trained &one, mlir::Value scale,
                  train::StateOp workingCopy, Scaler &scaler, const UpdateSettings &settings);

  BoundFunction &function;
  PlacedBuilder &builder;
  mlir::Location loc;
  train::StateOp state;
  mlir::Value param, gradient;
  mlir::Value scale; ///< of the gradient
  const UpdateSettings &settings;
  int64_t stateBytes = 0; ///< of what was made

  /// A value that the host writes before the step, f32; the decay as this parameter has it.
  mlir::Value scalar(llvm::StringRef name) const;
  /// The same in f64.
  mlir::Value exactScalar(llvm::StringRef name) const;
  /// The same of an i64.
  mlir::Value counter(llvm::StringRef name) const;
  /// Adam's step size and second correction: the host knows the step's number unless steps may be skipped.
  mlir::Value adamCorrection(llvm::StringRef which);
  /// Number of this update from 1, f32; null where the host knows it.
  mlir::Value countedStep();
  /// The value before the step of a state beside the parameter, made here; of the parameter's type unless
  /// another is given.
  mlir::Value makeState(train::Role role, llvm::StringRef suffix, mlir::Type type = {});
  /// A number of the run, f64, from this value on; the update that asks first makes it.
  mlir::Value makeRunState(llvm::StringRef name, double first = 0);
  /// What all updates share under this name, made by the first.
  mlir::Value shared(llvm::StringRef name, llvm::function_ref<mlir::Value()> make);
  /// The new value of a state that makeState or makeRunState gave.
  void keep(mlir::Value before, mlir::Value after);
  /// The parameter's new value, rounded into its working copy and taken into its average, too.
  void finish(mlir::Value value);
  /// `decay` and `lr_scale` of the parameter, as the optimizers' ops have them.
  llvm::SmallVector<mlir::NamedAttribute> attributes();
  double lrScale();
  /// What is built from here on belongs to this update.
  void enter();

private:
  void keepAverage(mlir::Value value);
  mlir::Value unlessSkipped(mlir::Value before, mlir::Value after);

  train::StateOp workingCopy;
  Scaler &scaler;
  llvm::DenseMap<mlir::Value, std::string> made;
};

using UpdateRule = void (*)(ParameterUpdate &);
UpdateRule updateRule(Optimizer optimizer);
/// A rule that looks at all parameters before it updates one.
using JointRule = void (*)(llvm::MutableArrayRef<ParameterUpdate>);
/// Null for rules of single parameters.
JointRule jointRule(Optimizer optimizer);

void updateAdam(ParameterUpdate &update);
void updateSGD(ParameterUpdate &update);
void updateLion(ParameterUpdate &update);
void updateRMSprop(ParameterUpdate &update);
void updateAdagrad(ParameterUpdate &update);
void updateAdafactor(ParameterUpdate &update);
void updateMuon(ParameterUpdate &update);
void updateAdam8bit(ParameterUpdate &update);
void updateAdopt(ParameterUpdate &update);
void updateScheduleFree(ParameterUpdate &update);
void updateNorMuon(ParameterUpdate &update);
void updateSoap(ParameterUpdate &update);
void updateGalore(ParameterUpdate &update);
void updateApollo(ParameterUpdate &update);
void updateProdigy(llvm::MutableArrayRef<ParameterUpdate> updates);

/// Values that the host writes before the step, f32.
llvm::SmallVector<mlir::Value> scalars(const ParameterUpdate &update, llvm::ArrayRef<llvm::StringRef> names);
/// Whether --moments int8 is for this parameter: small ones, and those of f64, keep their moments.
bool isCompanded(const ParameterUpdate &update);
/// Whether --moments int4 is for this parameter: torchao's choice, whole blocks and no small ones.
bool isOf4bits(const ParameterUpdate &update);
/// Adam on moments of 4 bits; `numbers` are the scalars behind the gradient in Adam's ops.
void updateAdam4bit(ParameterUpdate &update, bool decoupled, llvm::ArrayRef<mlir::Value> numbers);
/// `rule` on companded moments of these roles and suffixes; `numbers` are the scalars behind the gradient in
/// the rule's own op.
void updateCompanded(ParameterUpdate &update, train::CompandedRule rule,
                     llvm::ArrayRef<std::pair<train::Role, llvm::StringRef>> moments,
                     llvm::ArrayRef<mlir::Value> numbers);

} // namespace kedge::autodiff
