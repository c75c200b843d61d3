// What a name of the user's stands for in a plan.
#pragma once
#include "kedge/Dialect/Train/StateOps.h"
#include "lib/Model/Model.h"
#include "lib/Support/Error.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace kedge::driver {

/// One function's entry of `sched.prices`, and one of its values.
struct PlannedValue {
  std::string function;
  mlir::DictionaryAttr facts;

  int64_t number() const { return facts.getAs<mlir::IntegerAttr>("number").getInt(); }
  /// "step#31"
  std::string id() const { return function + "#" + std::to_string(number()); }
};

/// Of `sched.prices`; none of null.
std::vector<PlannedValue> plannedValues(mlir::ArrayAttr prices);

/// What a parameter or another state is, in a few words.
std::string meaningOf(mlir::Operation *state);

struct Named {
  enum class Kind { Value, State, Module, Backward } kind = Kind::Value;
  std::string meaning;              ///< what the name is, in a sentence
  std::vector<std::string> values;  ///< ids
  std::vector<std::string> related; ///< ids of values of the same node in the backward part
  std::string state;                ///< symbol
};

struct UnknownName : Error {
  using Error::Error;
};

/// In a module with `sched.prices`. Throws UnknownName where nothing has that name.
Named resolveName(const std::string &name, mlir::ModuleOp module, const model::Model &model);

} // namespace kedge::driver
