// RUN: not kedge-opt %s --kedge-split-functions 2>&1 | FileCheck %s --check-prefix=MODEL
// RUN: sed 's/@main()/@model() attributes {train.kind = #train.kind<model>}/' %s | not kedge-opt --kedge-split-functions=accumulate=0 2>&1 | FileCheck %s --check-prefix=COUNT

// MODEL: error: has no function @model to make the functions of a run from
// COUNT: error: accumulates 0 micro-batches a step, expected 1 or more
func.func @main() {
  return
}
