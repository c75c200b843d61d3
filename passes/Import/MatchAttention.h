// Reads dropout(softmax(scale Q K^T + mask)) V from primitives.
#pragma once
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "llvm/ADT/SmallVector.h"

namespace kedge::raise {

/// An operand of attention: [B, H, T, D], or [B, T, H, D] when `bthd`, without numbers that scaled it.
struct AttentionOperand {
  mlir::Value value;
  bool bthd = false;
  double scale = 1.0;
  int64_t repeats = 1; ///< heads of the product for each head of `value`

  int64_t heads() const;
  /// "bhtd" or "bthd".
  train::AttentionLayout layout() const {
    return bthd ? train::AttentionLayout::BTHD : train::AttentionLayout::BHTD;
  }
};

struct AttentionMatch {
  struct Mask {
    mlir::Value value;
    bool isBool;  ///< true: visible; otherwise added
    bool inverse; ///< of a bool: true hides
  };
  AttentionOperand q, k, v;
  double scale = 1.0, softcap = 0.0;
  train::Visible visible;
  mlir::Value documents, sinks;
  bool outputBthd = false;
  llvm::SmallVector<Mask> masks;
  /// Dropout of the probabilities in training; 0: none.
  float dropoutRatio = 0.0f;
  int64_t dropoutId = 0;
};

/// An attention that the model has as one op: what lies around its operands.
bool matchAttention(train::AttentionOp root, AttentionMatch &match);
/// `root` is the product of probabilities and values; false when it is no attention over rank 4.
bool matchAttention(onnx::MatMulOp root, AttentionMatch &match);

} // namespace kedge::raise
