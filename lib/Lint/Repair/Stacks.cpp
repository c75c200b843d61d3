#include "lib/Lint/Repair/Stacks.h"
#include "lib/Lint/Repair/Repair.h"
#include "lib/Lint/Traced.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace kedge::lint {
using model::Graph;
using model::Tensor;

namespace {

/// "permute_3" -> "permute".
std::string withoutNumber(const std::string &name) {
  const size_t end = name.find_last_not_of("0123456789");
  const bool isNumbered = end != std::string::npos && end > 0 && end + 1 < name.size() && name[end] == '_';
  return isNumbered ? name.substr(0, end) : name;
}

bool exchangesAxes(const std::string &name) {
  static const std::set<std::string> names = {"t", "transpose", "permute", "numpy_t", "swapaxes"};
  return names.count(name) != 0;
}

/// A whole number that the file still has.
std::optional<int64_t> numberOf(const Graph &graph, const std::string &name) {
  const Tensor *tensor = graph.findInitializer(name);
  if (!tensor || tensor->dtype != model::ElementType::Int64 || tensor->numElements() != 1)
    return std::nullopt;
  return tensor->ints().front();
}

struct FoundSlice {
  std::string source;
  int64_t index = 0;
  StackedSlice slice;
};

/// A tensor that was folded from a parameter, select and its index, and perhaps an exchange of two axes.
std::optional<FoundSlice> sliceIn(const Tensor &tensor, const Graph &graph, const Signature &signature) {
  const std::vector<std::string> from = parseStringList(metadataOf(tensor, graph, key::foldedFrom));
  const std::string own = withoutNumber(tensor.name);
  const bool transposed = exchangesAxes(own) && tensor.dims.size() == 2;
  if (!model::isFloat(tensor.dtype) || from.size() != (transposed ? 3 : 2) ||
      (own != "select" && !transposed))
    return std::nullopt;
  FoundSlice found{"", -1, {tensor.name, transposed}};
  bool isSelected = !transposed;
  for (const std::string &name : from)
    if (const SignatureEntry *entry = signature.byTarget(name);
        entry && entry->kind == SignatureKind::Parameter)
      found.source = name;
    else if (withoutNumber(name) == "select")
      isSelected = true;
    else
      found.index = numberOf(graph, name).value_or(-1);
  return isSelected && !found.source.empty() && found.index >= 0 ? std::optional(found) : std::nullopt;
}

bool isAlike(const Tensor &one, const Tensor &other) {
  return one.dims == other.dims && one.dtype == other.dtype;
}

} // namespace

std::vector<ParameterStack> findStacks(const Graph &graph, const Signature &signature) {
  std::map<std::string, std::map<int64_t, StackedSlice>> bySource;
  std::set<std::string> broken;
  for (const Tensor &tensor : graph.initializers)
    if (const std::optional<FoundSlice> found = sliceIn(tensor, graph, signature);
        found && !bySource[found->source].emplace(found->index, found->slice).second)
      broken.insert(found->source); // the same one twice, in two forms
  std::vector<ParameterStack> stacks;
  for (const auto &[source, slices] : bySource) {
    ParameterStack stack{signature.byTarget(source)->placeholder, {}};
    const Tensor *first = graph.findInitializer(slices.begin()->second.tensor);
    for (const auto &[index, slice] : slices)
      if (index == static_cast<int64_t>(stack.slices.size()) &&
          slice.transposed == slices.begin()->second.transposed &&
          isAlike(*graph.findInitializer(slice.tensor), *first))
        stack.slices.push_back(slice);
    if (slices.size() > 1 && stack.slices.size() == slices.size() && !broken.count(source) &&
        !graph.findInitializer(source))
      stacks.push_back(std::move(stack));
  }
  return stacks;
}

/// The parameter again, [slices, ...].
static Tensor stacked(const ParameterStack &stack, const std::vector<const Tensor *> &slices,
                      std::string name) {
  std::vector<uint8_t> all;
  std::vector<int64_t> dims;
  for (size_t k = 0; k < slices.size(); ++k) {
    const Tensor slice = stack.slices[k].transposed ? transposed(*slices[k], "") : *slices[k];
    const model::Bytes bytes = slice.bytes();
    all.insert(all.end(), bytes.data, bytes.data + bytes.size);
    dims = slice.dims;
  }
  dims.insert(dims.begin(), static_cast<int64_t>(slices.size()));
  return Tensor::make(std::move(name), slices.front()->dtype, dims, std::move(all));
}

std::vector<std::string> unstack(Graph &graph, const std::vector<ParameterStack> &stacks,
                                 const Signature &signature, const Uses &uses, GraphEditor &edit) {
  std::vector<std::string> done;
  for (const ParameterStack &stack : stacks) {
    const std::string name = signature.nameOf(stack.placeholder);
    std::vector<const Tensor *> slices;
    for (const StackedSlice &slice : stack.slices)
      slices.push_back(graph.findInitializer(slice.tensor));
    if (edit.isTaken(name) || std::count(slices.begin(), slices.end(), nullptr) != 0)
      continue;
    const model::Node &reader = graph.nodes[uses.of(stack.slices.front().tensor).front().node];
    edit.addTensor(stacked(stack, slices, name), stack.placeholder);
    const auto count = static_cast<int64_t>(stack.slices.size());
    const std::string sizes = edit.fresh(name + "/sizes"), axis = edit.fresh(name + "/axis");
    edit.addTensor(Tensor::makeInts(sizes, {count}, std::vector<int64_t>(stack.slices.size(), 1)));
    edit.addTensor(Tensor::makeInts(axis, {1}, {0}));
    model::Node split = makeNode("Split", {name, sizes}, edit.fresh(name + "/0"));
    for (size_t k = 1; k < stack.slices.size(); ++k)
      split.outputs.push_back(edit.fresh(fmt::format("{}/{}", name, k)));
    split.set(model::Attribute::makeInt("axis", 0));
    const std::vector<std::string> parts = split.outputs;
    edit.addFront(std::move(split), reader);
    for (size_t k = 0; k < stack.slices.size(); ++k) {
      const auto &[tensor, isTransposed] = stack.slices[k];
      graph.initializers.eraseIf([&](const Tensor &old) { return old.name == tensor; });
      const std::string slice = isTransposed ? edit.fresh(parts[k] + "/slice") : tensor;
      edit.addFront(makeNode("Squeeze", {parts[k], axis}, slice), reader);
      if (isTransposed) {
        model::Node turned = makeNode("Transpose", {slice}, tensor);
        turned.set(model::Attribute::makeInts("perm", {1, 0}));
        edit.addFront(std::move(turned), reader);
      }
    }
    done.push_back(name);
  }
  return done;
}

} // namespace kedge::lint
