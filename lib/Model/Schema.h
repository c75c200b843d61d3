// What the operators of ONNX's default domain take, by opset.
#pragma once
#include "lib/Model/Model.h"
#include <functional>

namespace kedge::model {

extern const char *const schemaTable; // SchemaTable.cpp explains its form

/// An input or an output.
struct SchemaOperand {
  enum class Count : uint8_t { One, Optional, Any, AtLeastOne } count = Count::One;
  std::string types;      ///< name of a set of types; operands with the same name have the same type
  bool mayDiffer = false; ///< of a variadic one: its values differ in type

  bool isVariadic() const { return count == Count::Any || count == Count::AtLeastOne; }
};

struct SchemaAttribute {
  std::string name;
  Attribute::Kind kind = Attribute::Kind::Undefined;
  bool isRequired = false;
};

struct Schema {
  int64_t since = 0;
  std::vector<SchemaOperand> inputs, outputs;
  std::vector<SchemaAttribute> attributes;
  std::map<std::string, std::vector<ElementType>> types; ///< what is not in it is not checked

  /// The operand at place k of a node; null beyond the last.
  static const SchemaOperand *at(const std::vector<SchemaOperand> &operands, size_t k);
};

/// Null for operators of other domains and names that are none of the table.
const Schema *schemaOf(const Node &);
/// All of an operator, by opset; empty for a name that the table does not have.
const std::vector<Schema> &schemasOf(const std::string &opType);

/// Throws where a node's inputs, outputs or attributes are not those of its operator: their number, which may
/// be left out, names and kinds.
void checkSignature(const Model &, const Node &);
/// Throws where the type of an input is none that the operator takes, or where two that must be alike differ.
/// `typeOf` gives Undefined where it does not know.
void checkTypes(const Model &, const Node &, const std::function<ElementType(size_t)> &typeOf);

} // namespace kedge::model
