#include "lib/Lint/Repair/Vocabulary.h"
#include "lib/Lint/Classify.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace kedge::lint {
using model::Node;
using model::Tensor;

namespace {

const std::set<std::string> kUnary = {"Cast",    "Identity", "Dropout",  "Softmax", "LogSoftmax",
                                      "Tanh",    "Neg",      "Exp",      "Log",     "Sqrt",
                                      "Sigmoid", "Clip",     "Softplus", "Relu",    "Abs",
                                      "IsNaN",   "IsInf",    "Not",      "Squeeze", "Unsqueeze"};
const std::set<std::string> kElementwise = {"Add", "Sub",   "Mul",     "Div",  "Pow", "Max", "Min",
                                            "Sum", "Where", "Greater", "Less", "And", "Or",  "Equal"};
/// What a walk from a loss back to the head's product may pass.
const std::set<std::string> kAfterHead = {"Reshape",
                                          "Flatten",
                                          "Transpose",
                                          "Slice",
                                          "Gather",
                                          "GatherND",
                                          "GatherElements",
                                          "ReduceMean",
                                          "ReduceSum",
                                          "ReduceMax",
                                          "ReduceLogSumExp",
                                          "SoftmaxCrossEntropyLoss",
                                          "NegativeLogLikelihoodLoss",
                                          "Expand"};
/// What leaves numbers of tokens as they are.
const std::set<std::string> kSameTokens = {"Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Clip"};

bool readsTable(const Node &node) { return node.is("Gather") && node.attrInt("axis", 0) == 0; }

std::optional<std::vector<int64_t>> numbersIn(const Tensor *tensor) {
  return tensor && model::isInteger(tensor->dtype) && tensor->numElements() < 64
             ? std::optional(tensor->ints())
             : std::nullopt;
}

} // namespace

VocabularySize VocabularySize::parse(const std::string &text) {
  const size_t equals = text.rfind('=');
  VocabularySize size;
  if (equals != std::string::npos)
    size.tables = text.substr(0, equals);
  const std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
  if (!number.empty() && number.size() < 10 && number.find_first_not_of("0123456789") == std::string::npos)
    size.rows = std::stoll(number);
  if (size.rows < 1 || equals == 0)
    fail("'{}': expected a number of rows from 1, as 50304, or REGEX=N for the tables of these names", text);
  return size;
}

VocabularyAxis::VocabularyAxis(const model::Model &model, const VocabularySize &wanted)
    : model(model), wanted(wanted) {
  for (size_t n = 0; n < model.graph.nodes.size(); ++n)
    for (const std::string &output : model.graph.nodes[n].outputs)
      makers[output] = n;
  const std::vector<Table> all = tables();
  if (all.empty())
    fail("{}: --resize-vocab {}: the model looks up no rows of a table", model.path, wanted.text());
  wanted.tables.empty() ? chooseByHead(all) : chooseByName(all);
  for (const Node *product : lastProducts())
    if (const auto head = headOf(*product, length)) {
      found[head->first] = head->second;
      set(head->first, 1 - head->second);
    }
  for (size_t n = 0; n < model.graph.nodes.size(); ++n)
    walk(n);
}

std::optional<size_t> VocabularyAxis::axisOf(const std::string &value) const {
  const auto at = axes.find(value);
  return at == axes.end() ? std::nullopt : std::optional(at->second);
}

void VocabularyAxis::set(const std::string &value, std::optional<size_t> fromEnd) {
  if (!value.empty() && fromEnd)
    axes[value] = *fromEnd;
}

void VocabularyAxis::refuse(const Node &node, const std::string &why) const {
  fail("{}: --resize-vocab {}: {} {}: not available yet", model.path, wanted.text(), node.describe(), why);
}

const Node *VocabularyAxis::maker(const std::string &value) const {
  const auto at = makers.find(value);
  return at == makers.end() ? nullptr : &model.graph.nodes[at->second];
}

std::vector<VocabularyAxis::Table> VocabularyAxis::tables() const {
  std::vector<Table> all;
  for (const Node &node : model.graph.nodes)
    if (const Tensor *table = readsTable(node) ? model.graph.findInitializer(node.input(0)) : nullptr;
        table && model::isFloat(table->dtype) && table->dims.size() == 2)
      all.push_back({table->name, table->dims[0], &node});
  return all;
}

void VocabularyAxis::choose(const Table &table) {
  if (length != 0 && table.rows != length)
    fail("{}: --resize-vocab {}: tables of {} and of {} rows are meant; name tables of one length",
         model.path, wanted.text(), length, table.rows);
  length = table.rows;
  found[table.name] = 0;
  axes[table.name] = 1;
}

void VocabularyAxis::cannotTell(const std::vector<Table> &all, const std::string &why) const {
  std::set<std::string> names;
  for (const Table &table : all)
    names.insert(fmt::format("'{}' ({} rows)", table.name, table.rows));
  fail("{}: --resize-vocab {}: {}: {}; name the vocabulary's, as --resize-vocab '{}={}'", model.path,
       wanted.text(), why, fmt::join(names, ", "), all.front().name, wanted.rows);
}

void VocabularyAxis::chooseByName(const std::vector<Table> &all) {
  const auto matches = patternsOf({wanted.tables}, "--resize-vocab").front();
  std::vector<std::string> names;
  for (const Table &table : all) {
    names.push_back(table.name);
    if (matches(table.name))
      choose(table);
  }
  if (found.empty())
    fail("{}: --resize-vocab '{}' matches no table that rows are looked up in{}", model.path, wanted.text(),
         similarNames(wanted.tables, names));
}

/// The tables with as many rows as a head has outputs.
void VocabularyAxis::chooseByHead(const std::vector<Table> &all) {
  std::vector<Table> fitting;
  std::set<int64_t> sizes;
  for (const Node *product : lastProducts())
    for (const Table &table : all)
      if (headOf(*product, table.rows)) {
        fitting.push_back(table);
        sizes.insert(table.rows);
      }
  if (sizes.empty())
    return chooseByInput(all);
  if (sizes.size() > 1)
    cannotTell(fitting, "heads have the lengths of several tables");
  if (std::any_of(all.begin(), all.end(), [&](const Table &table) {
        return table.rows > *sizes.begin() && isFromInput(table.reader->input(1));
      })) // as of a classifier with as many classes as there are types of tokens
    cannotTell(all, "the table with as many rows as a head has outputs is not the largest");
  for (const Table &table : fitting)
    choose(table);
}

/// Without a head: the only table that numbers of an input are looked up in.
void VocabularyAxis::chooseByInput(const std::vector<Table> &all) {
  std::vector<Table> fitting;
  for (const Table &table : all)
    if (isFromInput(table.reader->input(1)) &&
        std::none_of(fitting.begin(), fitting.end(), [&](auto &other) { return other.name == table.name; }))
      fitting.push_back(table);
  if (fitting.size() != 1)
    cannotTell(all,
               "no product has as many outputs as a table has rows, and more than one table may be meant");
  choose(fitting.front());
}

bool VocabularyAxis::isFromInput(const std::string &value) const {
  const Node *node = maker(value);
  if (!node)
    return model.graph.findInput(value) && !model.graph.findInitializer(value);
  return kSameTokens.contains(node->opType) && isFromInput(node->input(0));
}

/// From the outputs back to the first products.
std::vector<const Node *> VocabularyAxis::lastProducts() const {
  std::vector<const Node *> products;
  std::vector<std::string> open;
  for (const model::ValueInfo &output : model.graph.outputs)
    open.push_back(output.name);
  std::set<std::string> seen;
  while (!open.empty()) {
    const std::string value = open.back();
    open.pop_back();
    const Node *node = seen.insert(value).second ? maker(value) : nullptr;
    if (!node)
      continue;
    if (node->is("MatMul") || node->is("Gemm"))
      products.push_back(node);
    else if (kElementwise.contains(node->opType))
      open.insert(open.end(), node->inputs.begin(), node->inputs.end());
    else if (kUnary.contains(node->opType) || kAfterHead.contains(node->opType))
      open.push_back(node->input(0));
  }
  return products;
}

std::optional<std::pair<std::string, size_t>> VocabularyAxis::headOf(const Node &product,
                                                                     int64_t outputs) const {
  std::string name = product.input(1);
  bool transposed = product.is("Gemm") && product.attrInt("transB", 0) != 0;
  for (const Node *node = maker(name); node; node = maker(name)) {
    if (node->is("Transpose"))
      transposed = !transposed;
    else if (!node->is("Cast") && !node->is("Identity"))
      return std::nullopt;
    name = node->input(0);
  }
  const Tensor *weight = model.graph.findInitializer(name);
  const size_t axis = transposed ? 0 : 1;
  if (!weight || weight->dims.size() != 2 || weight->dims[axis] != outputs)
    return std::nullopt;
  return std::pair(name, axis);
}

/// Values that the graph computes from the vocabulary's length itself (Shape) follow by themselves.
void VocabularyAxis::walk(size_t n) {
  const Node &node = model.graph.nodes[n];
  if (node.is("MatMul") || node.is("Gemm"))
    return walkProduct(node);
  if (kElementwise.contains(node.opType))
    return walkElementwise(node);
  if (node.is("OneHot") && node.attrInt("axis", -1) == -1 && noteLength(n, 1))
    return set(node.output(0), 0);
  const auto axis = axisOf(node.input(0));
  if (!axis || readsTable(node))
    return;
  if (node.is("Transpose")) {
    const std::vector<int64_t> order = node.attrInts("perm", {1, 0});
    for (size_t k = 0; k < order.size(); ++k)
      if (order[k] == static_cast<int64_t>(order.size() - 1 - *axis))
        set(node.output(0), order.size() - 1 - k);
  } else if (node.is("Reshape")) {
    walkReshape(n);
  } else if (node.is("SoftmaxCrossEntropyLoss")) {
    set(node.output(1), axis);
  } else if (kUnary.contains(node.opType) || node.is("Flatten") || node.is("Gather")) {
    set(node.output(0), axis);
  } else if (node.is("Slice") || node.is("Expand")) {
    noteLength(n, node.is("Slice") ? 2 : 1);
    set(node.output(0), axis);
  }
}

void VocabularyAxis::walkProduct(const Node &node) {
  const bool isGemm = node.is("Gemm");
  auto turned = [&](size_t operand, const char *attribute) {
    const auto axis = axisOf(node.input(operand));
    return axis && isGemm && node.attrInt(attribute, 0) ? std::optional(1 - *axis) : axis;
  };
  const auto left = turned(0, "transA"), right = turned(1, "transB");
  const bool sumsLeft = left == size_t{0}, sumsRight = right == size_t{1};
  if (sumsLeft != sumsRight)
    refuse(node, "sums over the vocabulary");
  if (sumsLeft)
    return;
  const auto axis = right ? right : left;
  set(node.output(0), axis);
  if (axis && isGemm)
    widen(node, node.input(2), *axis);
}

void VocabularyAxis::walkElementwise(const Node &node) {
  std::optional<size_t> axis;
  for (const std::string &input : node.inputs)
    if (const auto own = axisOf(input))
      axis = own;
  if (!axis)
    return;
  for (const std::string &input : node.inputs)
    widen(node, input, *axis);
  set(node.output(0), axis);
}

/// A bias of a head has the vocabulary's length, too.
void VocabularyAxis::widen(const Node &node, const std::string &operand, size_t fromEnd) {
  if (operand.empty() || axisOf(operand))
    return;
  const Node *made = maker(operand);
  const Tensor *tensor =
      made && made->is("Constant") ? made->attrTensorIf("value") : model.graph.findInitializer(operand);
  if (!tensor || tensor->dims.size() <= fromEnd || tensor->dims[tensor->dims.size() - 1 - fromEnd] != length)
    return;
  if (made || !model::isFloat(tensor->dtype) || !(node.is("Add") || node.is("Sub") || node.is("Gemm")))
    refuse(node, fmt::format("reads {}, a constant of the vocabulary's length", tensor->describe()));
  found[operand] = tensor->dims.size() - 1 - fromEnd;
  set(operand, fromEnd);
}

void VocabularyAxis::walkReshape(size_t n) {
  const Node &node = model.graph.nodes[n];
  const size_t before = written.size();
  const size_t fromEnd = *axisOf(node.input(0));
  if (noteLength(n, 1) && written[before].node == n) {
    const Tensor *shape = model.graph.findInitializer(node.input(1));
    const Node *made = maker(node.input(1));
    const size_t rank =
        static_cast<size_t>(shape ? shape->numElements() : model::constantValue(*made).numElements());
    return set(node.output(0), rank - 1 - written[before].element);
  }
  set(node.output(0), fromEnd);
}

/// Where the operand's numbers have the vocabulary's length, the last of them is noted.
bool VocabularyAxis::noteLength(size_t n, size_t operand) {
  const Node &node = model.graph.nodes[n];
  const std::string &name = node.input(operand);
  const Node *made = maker(name);
  if (made && made->is("Concat")) {
    for (size_t k = made->inputs.size(); k-- > 0;)
      if (noteLength(makers.at(name), k))
        return true;
    return false;
  }
  if (made && kSameTokens.contains(made->opType))
    return noteLength(makers.at(name), 0);
  std::optional<Tensor> constant;
  if (made && made->is("Constant"))
    constant = model::constantValue(*made);
  const auto numbers = numbersIn(constant ? &*constant : model.graph.findInitializer(name));
  if (!numbers)
    return false;
  const auto last = std::find(numbers->rbegin(), numbers->rend(), length);
  if (last == numbers->rend())
    return false;
  written.push_back({n, operand, static_cast<size_t>(numbers->rend() - last) - 1});
  return true;
}

} // namespace kedge::lint
