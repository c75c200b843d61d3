// Which keys the queries of an attention see by their places: a fact instead of a mask of T x T.
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"
#include <optional>

namespace kedge::train {

/// Query i sees key j when i - left <= j <= i + right; a number that is missing is no bound.
struct Visible {
  std::optional<int64_t> left, right;

  static Visible causal(int64_t right = 0) { return {std::nullopt, right}; }
  /// nullopt unless it is a dictionary of `left` and `right` that leaves a key to see.
  static std::optional<Visible> from(mlir::Attribute attribute);
  /// Null if all keys are seen.
  mlir::DictionaryAttr attribute(mlir::MLIRContext *context) const;

  bool isAll() const { return !left && !right; }
  bool sees(int64_t query, int64_t key) const {
    return (!left || key >= query - *left) && (!right || key <= query + *right);
  }
  /// Whether one of so many queries sees none of so many keys.
  bool leavesNone(int64_t queries, int64_t keys) const;
  /// What both let see.
  Visible operator&(const Visible &other) const;
  bool operator==(const Visible &) const = default;
};

/// `sees(causal, left = 511)`; nothing if all keys are seen.
mlir::ParseResult parseSees(mlir::OpAsmParser &parser, mlir::DictionaryAttr &visible);
void printSees(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::DictionaryAttr visible);

} // namespace kedge::train
