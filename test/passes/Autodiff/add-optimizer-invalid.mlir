// RUN: not kedge-opt %s --kedge-add-optimizer=optimizer=lamb 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not kedge-opt %s --kedge-add-optimizer 2>&1 | FileCheck %s --check-prefix=STEP

// KIND: for the --optimizer option: 'lamb': expected adamw, adam, sgd, lion, adafactor, muon, rmsprop, adagrad, adamw8bit, adam8bit, adopt, schedule-free-adamw, normuon, prodigy, soap, galore, apollo
// STEP: error: has neither @step nor @micro
func.func @model() attributes {train.kind = #train.kind<model>} {
  return
}
