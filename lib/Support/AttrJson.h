// Attributes as JSON for launch tables and reports.
#pragma once
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <nlohmann/json.hpp>

namespace kedge {

/// Integers, floats, strings, booleans, units, dense arrays, arrays, dictionaries. Any other attribute
/// becomes its text.
nlohmann::json toJson(mlir::Attribute attribute);
/// The runtime's name of an element type ("f32", "u8", "bool"...); empty if it has none.
std::string dtypeName(mlir::Type element);
/// {"dtype": ..., "shape": [...]} of a ranked tensor type.
nlohmann::json tensorDescription(mlir::Type type);

} // namespace kedge
