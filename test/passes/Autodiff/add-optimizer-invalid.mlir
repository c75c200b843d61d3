// RUN: not kedge-opt %s --kedge-add-optimizer=optimizer=lion 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not kedge-opt %s --kedge-add-optimizer 2>&1 | FileCheck %s --check-prefix=STEP

// KIND: error: unknown optimizer 'lion': expected adamw, adam or sgd
// STEP: error: has neither @step nor @micro
func.func @model() attributes {train.kind = #train.kind<model>} {
  return
}
