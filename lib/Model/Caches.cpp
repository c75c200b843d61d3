// Decoders with a cache of keys and values, as they train: nothing is behind, and nothing is kept for later.
#include "lib/Model/ModelCheck.h"
#include "lib/Model/Specialize.h"
#include "lib/Model/ValueNames.h"
#include <algorithm>
#include <fmt/format.h>

namespace kedge::model {
namespace {

/// "past_key_values.0.key", "past_0", "past_states.0.conv_state".
bool isPastName(const std::string &name) { return name.starts_with("past_") || name.starts_with("past."); }
bool isPresentName(const std::string &name) { return name.starts_with("present"); }

/// Where an operator takes the keys and values of a cache; nothing for others.
std::vector<size_t> cacheOperands(const Node &node) {
  const bool isOwn = node.domain == "com.microsoft";
  if (isOwn && node.opType == "GroupQueryAttention")
    return {3, 4};
  if (isOwn && node.opType == "MultiHeadAttention")
    return {6, 7};
  if (isOwn && node.opType == "Attention")
    return {4};
  return node.is("Attention") ? std::vector<size_t>{4, 5} : std::vector<size_t>();
}

/// Outputs of the same operators that only a cache keeps.
std::vector<size_t> cacheOutputs(const Node &node) {
  return cacheOperands(node).empty() ? std::vector<size_t>() : std::vector<size_t>{1, 2};
}

bool startsWithPast(const std::string &symbol) { return symbol.starts_with("past"); }

/// The part of "past_sequence_length + sequence_length" that is not behind; the symbol itself where it is no
/// sum of two.
std::string withoutPast(const std::string &symbol) {
  const size_t plus = symbol.find(" + ");
  if (plus == std::string::npos || symbol.find(" + ", plus + 1) != std::string::npos)
    return symbol;
  const std::string first = symbol.substr(0, plus), second = symbol.substr(plus + 3);
  return startsWithPast(first) ? second : startsWithPast(second) ? first : symbol;
}

class CacheRemoval {
public:
  CacheRemoval(Model &model, const std::map<std::string, std::vector<int64_t>> &shapes)
      : model(model), shapes(shapes) {}

  std::vector<std::string> run() {
    findCaches();
    if (caches.empty())
      return {};
    dropOutputs();
    const std::vector<std::string> names = namesOf(caches);
    for (const ValueInfo &cache : caches)
      replace(cache);
    model.graph.nodes.insert(model.graph.nodes.begin(), std::make_move_iterator(made.begin()),
                             std::make_move_iterator(made.end()));
    settleLengths();
    if (model.graph.findInput("use_cache_branch")) // of a decoder that is two in one
      fixInput(model, "use_cache_branch", "false");
    return {fmt::format("the model's cache is empty, as in training: {} input{} ({}, ...) and {} output{} "
                        "are left out; --no-cache=off keeps them",
                        names.size(), names.size() == 1 ? "" : "s", names.front(), dropped,
                        dropped == 1 ? "" : "s")};
  }

private:
  static std::vector<std::string> namesOf(const std::vector<ValueInfo> &values) {
    std::vector<std::string> names;
    for (const ValueInfo &value : values)
      names.push_back(value.name);
    return names;
  }

  /// Keys and values grow along an axis; a state has its sizes.
  static bool grows(const ValueInfo &input) {
    return input.name.find("state") != std::string::npos ||
           std::any_of(input.dims.begin() + (input.dims.empty() ? 0 : 1), input.dims.end(),
                       [](const Dim &dim) { return !dim.isValue(); });
  }

  /// A cache that --shape gives a length is one that the user wants.
  bool isWanted(const ValueInfo &input) const {
    const auto given = shapes.find(input.name);
    return given != shapes.end() &&
           std::find(given->second.begin(), given->second.end(), 0) == given->second.end();
  }

  void findCaches() {
    std::set<std::string> taken;
    for (const Node &node : model.graph.nodes)
      for (size_t k : cacheOperands(node))
        taken.insert(node.input(k));
    for (const ValueInfo &input : model.graph.inputs)
      if (input.kind == ValueInfo::Kind::Tensor && isFloat(input.dtype) &&
          !model.graph.findInitializer(input.name) && (isPastName(input.name) || taken.count(input.name)) &&
          grows(input) && !isWanted(input))
        caches.push_back(input);
  }

  void dropOutputs() {
    std::set<std::string> kept;
    for (const Node &node : model.graph.nodes)
      for (size_t k : cacheOutputs(node))
        kept.insert(node.output(k));
    dropped = std::erase_if(model.graph.outputs, [&](const ValueInfo &output) {
      return isPresentName(output.name) || kept.count(output.name);
    });
  }

  /// The input that a symbol can be read of, and its axis.
  std::optional<std::pair<std::string, int64_t>> placeOf(const std::string &symbol) const {
    for (const ValueInfo *input : model.graph.feeds())
      for (size_t axis = 0; axis < input->dims.size(); ++axis)
        if (input->dims[axis].symbol == symbol && !symbol.empty() && !isCache(input->name))
          return std::pair(input->name, static_cast<int64_t>(axis));
    return std::nullopt;
  }

  /// The first axis of what has one.
  std::optional<std::pair<std::string, int64_t>> batch() const {
    for (const ValueInfo *input : model.graph.feeds())
      if (!input->dims.empty() && !isCache(input->name))
        return std::pair(input->name, int64_t(0));
    return std::nullopt;
  }

  bool isCache(const std::string &name) const {
    return std::any_of(caches.begin(), caches.end(),
                       [&](const ValueInfo &cache) { return cache.name == name; });
  }

  Node &add(const std::string &op, std::vector<std::string> inputs, std::string output,
            std::vector<Attribute> attributes) {
    Node node;
    node.opType = op;
    node.name = output;
    node.inputs = std::move(inputs);
    node.outputs = {std::move(output)};
    node.attributes = std::move(attributes);
    node.opset = newestOpset;
    made.push_back(std::move(node));
    return made.back();
  }

  /// The size along an axis: a number, what another input has there, or 0 for what grows with the past.
  std::string sizeOf(const ValueInfo &cache, size_t axis) {
    const Dim &dim = cache.dims[axis];
    const std::string name = fmt::format("{}/size{}", cache.name, axis);
    const auto given = shapes.find(cache.name);
    auto place = dim.kind == Dim::Kind::Symbol ? placeOf(dim.symbol) : std::nullopt;
    if (!place && !dim.isValue() && axis == 0)
      place = batch();
    if (place) {
      add("Shape", {place->first}, name,
          {Attribute::makeInt("start", place->second), Attribute::makeInt("end", place->second + 1)});
      return name;
    }
    const int64_t size = dim.isValue()                                          ? dim.value
                         : given != shapes.end() && axis < given->second.size() ? given->second[axis]
                                                                                : 0;
    add("Constant", {}, name, {Attribute::makeTensor("value", Tensor::makeInts("", {1}, {size}))});
    return name;
  }

  /// A cache without elements, or a state of zeros, in the place of the input.
  void replace(const ValueInfo &cache) {
    std::vector<std::string> sizes;
    for (size_t axis = 0; axis < cache.dims.size(); ++axis)
      sizes.push_back(sizeOf(cache, axis));
    const std::string shape = cache.name + "/shape";
    if (sizes.empty())
      add("Constant", {}, shape, {Attribute::makeInts("value_ints", {})});
    else
      add("Concat", sizes, shape, {Attribute::makeInt("axis", 0)});
    const std::vector<uint8_t> zero(dtypeBits(cache.dtype) / 8);
    add("ConstantOfShape", {shape}, cache.name,
        {Attribute::makeTensor("value", Tensor::make("", cache.dtype, {1}, zero))});
    std::erase_if(model.graph.inputs, [&](const ValueInfo &input) { return input.name == cache.name; });
  }

  /// Masks are as long as the tokens now.
  void settleLengths() {
    const std::string sequence = sequenceSymbol();
    std::set<std::string> own;
    for (const ValueInfo &input : model.graph.inputs)
      for (const Dim &dim : input.dims)
        if (!isMask(input))
          own.insert(dim.symbol);
    for (ValueInfo &input : model.graph.inputs)
      for (Dim &dim : input.dims) {
        if (dim.kind != Dim::Kind::Symbol)
          continue;
        dim.symbol = withoutPast(dim.symbol);
        if (isMask(input) && !sequence.empty() && !own.count(dim.symbol) && &dim != &input.dims.front())
          dim.symbol = sequence;
      }
  }

  static bool isMask(const ValueInfo &input) { return input.name.find("mask") != std::string::npos; }

  /// The axis after the batch of what a decoder reads.
  std::string sequenceSymbol() const {
    for (const char *name : {"input_ids", "inputs_embeds", "decoder_input_ids", "tokens"})
      if (const ValueInfo *input = model.graph.findInput(name); input && input->dims.size() >= 2)
        return input->dims[1].symbol;
    return "";
  }

  Model &model;
  const std::map<std::string, std::vector<int64_t>> &shapes;
  std::vector<ValueInfo> caches;
  std::vector<Node> made;
  size_t dropped = 0;
};

} // namespace

std::vector<std::string> removeCaches(Model &model,
                                      const std::map<std::string, std::vector<int64_t>> &shapes) {
  return CacheRemoval(model, shapes).run();
}

} // namespace kedge::model
