#include "lib/Model/Schema.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <sstream>
#include <unordered_map>

namespace kedge::model {
namespace {

using Kind = Attribute::Kind;
using Count = SchemaOperand::Count;

constexpr std::pair<char, Kind> kKinds[] = {
    {'f', Kind::Float},     {'i', Kind::Int},       {'s', Kind::String},       {'t', Kind::Tensor},
    {'g', Kind::Graph},     {'F', Kind::Floats},    {'I', Kind::Ints},         {'S', Kind::Strings},
    {'T', Kind::Tensors},   {'G', Kind::Graphs},    {'p', Kind::SparseTensor}, {'P', Kind::SparseTensors},
    {'y', Kind::TypeProto}, {'Y', Kind::TypeProtos}};

constexpr std::pair<char, ElementType> kTypes[] = {
    {'f', ElementType::Float},        {'B', ElementType::UInt8},
    {'b', ElementType::Int8},         {'W', ElementType::UInt16},
    {'w', ElementType::Int16},        {'i', ElementType::Int32},
    {'l', ElementType::Int64},        {'s', ElementType::String},
    {'?', ElementType::Bool},         {'h', ElementType::Float16},
    {'d', ElementType::Double},       {'I', ElementType::UInt32},
    {'L', ElementType::UInt64},       {'c', ElementType::Complex64},
    {'C', ElementType::Complex128},   {'g', ElementType::BFloat16},
    {'1', ElementType::Float8E4M3FN}, {'2', ElementType::Float8E4M3FNUZ},
    {'3', ElementType::Float8E5M2},   {'4', ElementType::Float8E5M2FNUZ},
    {'5', ElementType::UInt4},        {'6', ElementType::Int4},
    {'7', ElementType::Float4E2M1},   {'8', ElementType::Float8E8M0},
    {'9', ElementType::UInt2},        {'0', ElementType::Int2}};

template <typename Value, size_t Size>
Value meaning(const std::pair<char, Value> (&table)[Size], char letter) {
  for (const auto &[known, value] : table)
    if (known == letter)
      return value;
  fail("the table of schemas has the letter '{}', which means nothing", letter);
}

std::vector<std::string> words(const std::string &text, char between) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, between);)
    if (between != ' ' || !word.empty())
      found.push_back(word);
  return found;
}

std::string trimmed(const std::string &text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

SchemaOperand readOperand(std::string text) {
  SchemaOperand operand;
  if (text.back() == '~') {
    operand.mayDiffer = true;
    text.pop_back();
  }
  const char end = text.back();
  operand.count = end == '?'   ? Count::Optional
                  : end == '*' ? Count::Any
                  : end == '+' ? Count::AtLeastOne
                               : Count::One;
  if (operand.count != Count::One)
    text.pop_back();
  operand.types = text;
  return operand;
}

std::vector<SchemaOperand> readOperands(const std::string &text) {
  std::vector<SchemaOperand> operands;
  for (const std::string &word : words(text, ' '))
    operands.push_back(readOperand(word));
  return operands;
}

void readSignature(const std::string &text, Schema &schema) {
  const size_t arrow = text.find('>');
  schema.inputs = readOperands(text.substr(0, arrow));
  schema.outputs = readOperands(text.substr(arrow + 1));
}

void readAttributes(const std::string &text, Schema &schema) {
  schema.attributes.clear();
  for (const std::string &word : words(text, ' ')) {
    const size_t colon = word.find(':');
    schema.attributes.push_back(
        {word.substr(0, colon), meaning(kKinds, word[colon + 1]), word.back() == '!'});
  }
}

void readTypes(const std::string &text, Schema &schema) {
  schema.types.clear();
  for (const std::string &word : words(text, ' ')) {
    const size_t equals = word.find('=');
    if (word.substr(equals + 1) != "any")
      for (char letter : word.substr(equals + 1))
        schema.types[word.substr(0, equals)].push_back(meaning(kTypes, letter));
  }
}

/// What is written as = is that of the schema before.
Schema readPart(const std::string &text, Schema schema) {
  const std::string part = trimmed(text);
  const size_t space = part.find(' ');
  schema.since = std::stoll(part.substr(0, space));
  std::vector<std::string> fields = words(part.substr(space), '/');
  fields.resize(3);
  constexpr void (*readers[])(const std::string &, Schema &) = {readSignature, readAttributes, readTypes};
  for (size_t k = 0; k < fields.size(); ++k)
    if (const std::string field = trimmed(fields[k]); field != "=")
      readers[k](field, schema);
  return schema;
}

using Table = std::unordered_map<std::string, std::vector<Schema>>;

const Table &table() {
  static const Table all = [] {
    Table read;
    for (const std::string &line : words(schemaTable, '\n')) {
      if (line.empty())
        continue;
      const size_t space = line.find(' ');
      std::vector<Schema> &schemas = read[line.substr(0, space)];
      for (const std::string &part : words(line.substr(space), ';'))
        schemas.push_back(readPart(part, schemas.empty() ? Schema() : schemas.back()));
    }
    return read;
  }();
  return all;
}

std::string howMany(const std::vector<SchemaOperand> &operands) {
  const auto required = std::count_if(operands.begin(), operands.end(), [](const SchemaOperand &operand) {
    return operand.count == Count::One || operand.count == Count::AtLeastOne;
  });
  if (!operands.empty() && operands.back().isVariadic())
    return fmt::format("{} or more", required);
  const auto all = static_cast<ptrdiff_t>(operands.size());
  return required == all ? fmt::format("{}", all) : fmt::format("{} to {}", required, all);
}

/// The number of inputs that a node has to name.
size_t leastOf(const std::vector<SchemaOperand> &operands) {
  size_t least = 0;
  for (size_t k = 0; k < operands.size(); ++k)
    if (operands[k].count == Count::One || (operands[k].count == Count::AtLeastOne && operands.size() == 1))
      least = k + 1;
  return least;
}

bool isRequired(const SchemaOperand &operand) { return operand.count == Count::One || operand.isVariadic(); }

void checkInputs(const Model &model, const Node &node, const Schema &schema) {
  const size_t count = std::max(node.inputs.size(), leastOf(schema.inputs));
  for (size_t k = 0; k < count; ++k) {
    const SchemaOperand *operand = Schema::at(schema.inputs, k);
    if (!operand && node.hasInput(k))
      fail("{}: {} has {} inputs; {} of opset {} takes {}. Export the model again", model.path,
           node.describe(), k + 1, node.opType, node.opset, howMany(schema.inputs));
    if (operand && isRequired(*operand) && !node.hasInput(k))
      fail("{}: {}: input {} is missing; {} of opset {} takes {}. Export the model again", model.path,
           node.describe(), k, node.opType, node.opset, howMany(schema.inputs));
  }
}

void checkOutputs(const Model &model, const Node &node, const Schema &schema) {
  const size_t count = node.outputs.size();
  bool tooMany = false;
  for (size_t k = 0; k < count; ++k)
    tooMany |= node.hasOutput(k) && !Schema::at(schema.outputs, k);
  if (tooMany || (count == 0 && leastOf(schema.outputs) > 0))
    fail("{}: {} has {} outputs; {} of opset {} makes {}. Export the model again", model.path,
         node.describe(), count, node.opType, node.opset, howMany(schema.outputs));
}

/// "; opsets 7 to 8 have it", where another opset has the attribute.
std::string whereElse(const Node &node, const std::string &attribute) {
  const std::vector<Schema> &all = schemasOf(node.opType);
  for (size_t k = 0; k < all.size(); ++k)
    for (const SchemaAttribute &known : all[k].attributes)
      if (known.name == attribute)
        return all[k].since > node.opset ? fmt::format("; it is new in opset {}", all[k].since)
                                         : fmt::format("; opset {} has it", all[k].since);
  return "";
}

void checkAttributes(const Model &model, const Node &node, const Schema &schema) {
  for (const Attribute &given : node.attributes) {
    const auto known = std::find_if(schema.attributes.begin(), schema.attributes.end(),
                                    [&](const SchemaAttribute &one) { return one.name == given.name; });
    if (known == schema.attributes.end())
      fail("{}: {}: {} of opset {} has no attribute '{}'{}. Export the model again", model.path,
           node.describe(), node.opType, node.opset, given.name, whereElse(node, given.name));
    if (given.kind != known->kind && given.kind != Kind::Undefined && given.refAttrName.empty())
      fail("{}: {}: attribute '{}' is of kind {}; {} of opset {} has {}. Export the model again", model.path,
           node.describe(), given.name, attributeKindName(given.kind), node.opType, node.opset,
           attributeKindName(known->kind));
  }
  for (const SchemaAttribute &known : schema.attributes)
    if (known.isRequired && !node.has(known.name))
      fail("{}: {}: attribute '{}' is missing; {} of opset {} needs it. Export the model again", model.path,
           node.describe(), known.name, node.opType, node.opset);
}

} // namespace

const SchemaOperand *Schema::at(const std::vector<SchemaOperand> &operands, size_t k) {
  if (k < operands.size())
    return &operands[k];
  return !operands.empty() && operands.back().isVariadic() ? &operands.back() : nullptr;
}

const std::vector<Schema> &schemasOf(const std::string &opType) {
  static const std::vector<Schema> none;
  const auto found = table().find(opType);
  return found == table().end() ? none : found->second;
}

const Schema *schemaOf(const Node &node) {
  if (!node.domain.empty())
    return nullptr;
  const Schema *found = nullptr;
  for (const Schema &schema : schemasOf(node.opType)) // from the oldest
    found = schema.since <= node.opset ? &schema : found;
  return found;
}

void checkSignature(const Model &model, const Node &node) {
  const Schema *schema = schemaOf(node);
  if (!schema)
    return;
  checkInputs(model, node, *schema);
  checkOutputs(model, node, *schema);
  checkAttributes(model, node, *schema);
}

namespace {
/// What torch's exporter writes though the operator cannot take it, and what to do.
const char *remedyFor(const Node &node, size_t operand) {
  const bool takesLabels = node.is("SoftmaxCrossEntropyLoss") || node.is("NegativeLogLikelihoodLoss");
  return takesLabels && operand == 1 ? "Probabilities are no labels: write cross_entropy(x, p) as -(p * "
                                       "x.log_softmax(1)).sum(1).mean()"
                                     : "Export the model again";
}
} // namespace

void checkTypes(const Model &model, const Node &node, const std::function<ElementType(size_t)> &typeOf) {
  const Schema *schema = schemaOf(node);
  if (!schema)
    return;
  std::map<std::string, size_t> firstOf; // by the name of the types
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    const SchemaOperand *operand = node.hasInput(k) ? Schema::at(schema->inputs, k) : nullptr;
    const ElementType type = operand ? typeOf(k) : ElementType::Undefined;
    const auto takes = operand ? schema->types.find(operand->types) : schema->types.end();
    if (type == ElementType::Undefined || takes == schema->types.end())
      continue;
    if (std::find(takes->second.begin(), takes->second.end(), type) == takes->second.end()) {
      std::vector<std::string_view> names;
      for (ElementType one : takes->second)
        names.push_back(dtypeName(one));
      fail("{}: {}: input {} ('{}') is of type {}; {} of opset {} takes {} there. {}", model.path,
           node.describe(), k, node.input(k), dtypeName(type), node.opType, node.opset,
           fmt::join(names, ", "), remedyFor(node, k));
    }
    const auto [first, isNew] = firstOf.try_emplace(operand->types, k);
    if (!isNew && !operand->mayDiffer && typeOf(first->second) != type)
      fail("{}: {}: inputs {} ('{}') and {} ('{}') are of types {} and {}; {} of opset {} takes tensors of "
           "one "
           "type there. Export the model again",
           model.path, node.describe(), first->second, node.input(first->second), k, node.input(k),
           dtypeName(typeOf(first->second)), dtypeName(type), node.opType, node.opset);
  }
}

} // namespace kedge::model
