// RUN: not kedge-opt %s --kedge-add-loss=kind=absolute 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not kedge-opt %s --kedge-add-loss 2>&1 | FileCheck %s --check-prefix=SEVERAL
// RUN: not kedge-opt %s --kedge-add-loss=logits=z 2>&1 | FileCheck %s --check-prefix=LOGITS
// RUN: not kedge-opt %s --kedge-add-loss="kind=none loss-output=z" 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not kedge-opt %s --kedge-add-loss="kind=none loss-output=a" 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not kedge-opt %s --kedge-add-loss="logits=a class-axis=2" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not kedge-opt %s --kedge-add-loss="logits=a" 2>&1 | FileCheck %s --check-prefix=CLASSES
// RUN: not kedge-opt %s --kedge-add-loss="logits=a kind=mse labels=x" 2>&1 | FileCheck %s --check-prefix=VALUES
// RUN: not kedge-opt %s --kedge-add-loss="logits=a labels=n class-weights=1/2" 2>&1 | FileCheck %s --check-prefix=WEIGHTS
// RUN: not kedge-opt %s --kedge-add-loss="logits=a labels=n class-weights=1/2/three/4/5" 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not kedge-opt %s --kedge-add-loss="logits=a kind=bce-with-logits labels=n pos-weight=1/2" 2>&1 | FileCheck %s --check-prefix=POSITIVE
// RUN: not kedge-opt %s --kedge-add-loss="logits=a kind=bce-with-logits labels=n pos-weight=1//2" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not kedge-opt %s --kedge-add-loss="logits=a kind=mse labels=n sample-weights=x" 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not kedge-opt %s --kedge-add-loss="kind=focal:beta=2" 2>&1 | FileCheck %s --check-prefix=PARAMETER
// RUN: not kedge-opt %s --kedge-add-loss="kind=quantile:q=1.5" 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not kedge-opt %s --kedge-add-loss="kind=a=mse*-1" 2>&1 | FileCheck %s --check-prefix=WEIGHT
// RUN: not kedge-opt %s --kedge-add-loss="kind=a=mse,none" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not kedge-opt %s --kedge-add-loss="kind=a=triplet" 2>&1 | FileCheck %s --check-prefix=TRIPLES
// RUN: not kedge-opt %s --kedge-add-loss="kind=a=ctc" 2>&1 | FileCheck %s --check-prefix=STEPS
// RUN: not kedge-opt %s --kedge-add-loss="kind=a=cross-entropy,a=mse labels=n accumulate=2" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: kedge-opt %s --kedge-add-loss="kind=a=cross-entropy,b=mse accumulate=2" 2>&1 | FileCheck %s --check-prefix=COUNTED
// RUN: not kedge-opt %s --kedge-set-mesh=parts=2 --kedge-add-loss="kind=a=cross-entropy,b=mse accumulate=2" 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: not kedge-opt %s --kedge-add-loss="kind=a=cross-entropy,c=mse labels=n" 2>&1 | FileCheck %s --check-prefix=THIRD
// RUN: not kedge-opt %s --kedge-add-loss="kind=a=contrastive sample-weights=w" 2>&1 | FileCheck %s --check-prefix=PAIRS
// RUN: not kedge-opt %s --kedge-add-loss="kind=a=dpo labels=n" 2>&1 | FileCheck %s --check-prefix=ROWSOFTOKENS
// RUN: not kedge-opt %s --kedge-add-loss="kind=a=reward" 2>&1 | FileCheck %s --check-prefix=SCORES
// RUN: not kedge-opt %s --kedge-add-loss="kind=a=kl class-axis=2" 2>&1 | FileCheck %s --check-prefix=TEACHER

// KIND: for the --kind option: 'absolute': expected none, cross-entropy, mse, bce-with-logits
// PARAMETER: 'beta=2': is no parameter of focal; expected key=value, its parameters and their defaults: alpha=0.25, gamma=2
// RANGE: 'q=1.5': q of quantile is a number from 0 to 1
// WEIGHT: 'a=mse*-1': expected a weight of 0 or more after the *
// NONE: none says that the graph computes the loss: there are no others then
// TRIPLES: error: --loss a=triplet: a batch has 2 rows, expected a multiple of 3
// STEPS: error: --loss a=ctc: the output is {{.*}}, expected [rows, steps, classes]
// BOTH: error: the labels input 'n' is 'tensor<2xi64>', expected 'tensor<2x5xf32>' for --loss a=mse
// COUNTED: remark: several losses with --accumulate 2: each mean is over the items of a micro-batch that count (not over the step's), and micro-batches are averaged, as PyTorch's accumulation does
// PARTS: error: several losses of which one has items that may not count (ignored labels, weights) are not available yet with --same-bits: each part has a mean of its own
// THIRD: error: the model has no output 'c' (--loss); its outputs are 'a', 'b'
// PAIRS: error: --loss a=contrastive: rows that are compared with each other have no weights of their own
// ROWSOFTOKENS: error: --loss a=dpo: the output is 'tensor<2x5xf32>' with classes along axis 1, expected [rows, tokens, vocabulary]
// SCORES: error: --loss a=reward: the output is 'tensor<2x5xf32>', expected one score a row
// TEACHER: error: --loss a=kl: --class-axis is out of range for the output 'tensor<2x5xf32>'
// SEVERAL: error: the model has 2 float outputs ('a' [{{.*}}], 'b' [{{.*}}]): name the one that the loss reads, most likely --logits a
// LOGITS: error: the model has no output 'z' (--logits); its outputs are 'a', 'b'
// OUTPUT: error: the model has no float output '{{[za]}}' of one element to take as the loss; its outputs are 'a', 'b' (--loss-output NAME, or --loss KIND to compute one)
// AXIS: error: --class-axis 2 is out of range for logits 'tensor<2x5xf32>'
// The labels that the model has are more than the logits ask for, and of another type.
// CLASSES: error: the labels input 'labels' is 'tensor<3xf32>', expected 'tensor<2xi64>' for --loss cross-entropy
// VALUES: error: the labels input 'x' is 'tensor<3x5xf32>', expected 'tensor<2x5xf32>' for --loss mse
// WEIGHTS: error: --class-weights has 2 numbers, expected one for each of the 5 classes of the logits 'tensor<2x5xf32>'
// WORD: error: --class-weights has 'three', expected numbers joined by /
// EMPTY: error: --pos-weight has '', expected numbers joined by /
// POSITIVE: error: --pos-weight has 2 numbers, expected 1, or 5 for the logits 'tensor<2x5xf32>'
// ROWS: error: the input 'x' is 'tensor<3x5xf32>', expected 'tensor<2xf32>' for --sample-weights
func.func @model(%x: tensor<3x5xf32> {train.binding = #train.binding<input "x">}, %labels: tensor<3xf32> {train.binding = #train.binding<input "labels">})
    -> (tensor<2x5xf32> {train.binding = #train.binding<output "a">}, tensor<3x5xf32> {train.binding = #train.binding<output "b">}) attributes {train.kind = #train.kind<model>} {
  %a = onnx.Slice %x {starts = array<i64: 0, 0>, ends = array<i64: 2, 5>, steps = array<i64: 1, 1>}
      : (tensor<3x5xf32>) -> tensor<2x5xf32>
  return %a, %x : tensor<2x5xf32>, tensor<3x5xf32>
}
