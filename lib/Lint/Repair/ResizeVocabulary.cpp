// --resize-vocab: tables and heads with another number of tokens.
#include "lib/Lint/Lint.h"
#include "lib/Lint/Repair/Repair.h"
#include "lib/Lint/Repair/Vocabulary.h"
#include "lib/Support/Error.h"
#include <fmt/ranges.h>

namespace kedge::lint {
using model::Node;
using model::Tensor;

namespace {

class Resizing {
public:
  Resizing(model::Model &model, const VocabularySize &wanted)
      : model(model), wanted(wanted), vocabulary(model, wanted) {}

  std::vector<std::string> run() {
    if (wanted.rows == vocabulary.size())
      return {};
    checkPadding();
    std::vector<std::string> names;
    for (const auto &[name, axis] : vocabulary.tensors()) {
      resize(*model.graph.initializers.find(name), axis);
      names.push_back(name);
    }
    for (std::vector<model::ValueInfo> *list : {&model.graph.inputs, &model.graph.outputs})
      for (model::ValueInfo &info : *list)
        declare(info);
    for (model::ValueInfo &info : model.graph.valueInfos)
      declare(info);
    for (const VocabularyAxis::Length &length : vocabulary.lengths())
      rewrite(length);
    const int64_t lost = vocabulary.size() - wanted.rows;
    return {fmt::format("{} given {} tokens in the place of {}{}: {}",
                        countOf(names.size(), "tensor", "tensors"), wanted.rows, vocabulary.size(),
                        lost > 0 ? fmt::format(", the last {} are left out", lost) : std::string(),
                        fmt::join(names, ", "))};
  }

private:
  void resize(Tensor &tensor, size_t axis) {
    if (tensor.fewBits)
      fail("{}: --resize-vocab {}: {} is in few bits in the file: not available yet", model.path,
           wanted.text(), tensor.describe());
    tensor.resized = rt::Resized{axis, vocabulary.size()};
    tensor.dims[axis] = wanted.rows;
  }

  /// A row that gets no gradient is looked for by its number.
  void checkPadding() const {
    for (const Node &node : model.graph.nodes)
      if (const auto row = paddingIndex(node);
          row && *row >= wanted.rows && vocabulary.tensors().contains(node.input(0)))
        fail("{}: --resize-vocab {}: row {} of '{}' is its padding_idx and would be lost; keep at least {} "
             "rows",
             model.path, wanted.text(), *row, node.input(0), *row + 1);
  }

  void declare(model::ValueInfo &info) const {
    const auto fromEnd = vocabulary.axisOf(info.name);
    if (!fromEnd || !info.hasShape || info.dims.size() <= *fromEnd)
      return;
    model::Dim &dim = info.dims[info.dims.size() - 1 - *fromEnd];
    if (dim.isValue() && dim.value == vocabulary.size())
      dim = model::Dim::of(wanted.rows);
  }

  /// Others may read the same constant.
  void rewrite(const VocabularyAxis::Length &length) {
    Node &node = model.graph.nodes[length.node];
    const std::string old = node.input(length.operand);
    GraphEditor editor(model.graph);
    const Tensor *initializer = model.graph.findInitializer(old);
    const Tensor before = initializer ? *initializer : constantMade(old);
    std::vector<int64_t> numbers = before.ints();
    numbers[length.element] = wanted.rows;
    const std::string name = editor.fresh(old + "_resized");
    node.inputs[length.operand] = name;
    if (before.dtype != model::ElementType::Int64)
      fail("{}: --resize-vocab {}: {} has the vocabulary's length in {}: not available yet", model.path,
           wanted.text(), before.describe(), model::dtypeName(before.dtype));
    model.graph.initializers.push_back(Tensor::makeInts(name, before.dims, numbers));
    if (initializer)
      editor.removeTensor(old);
  }

  Tensor constantMade(const std::string &value) const {
    for (const Node &node : model.graph.nodes)
      if (node.output(0) == value)
        return model::constantValue(node);
    fail("{}: '{}' is no constant", model.path, value);
  }

  model::Model &model;
  const VocabularySize &wanted;
  const VocabularyAxis vocabulary;
};

} // namespace

std::vector<std::string> resizeVocabulary(model::Model &model, const VocabularySize &wanted) {
  return Resizing(model, wanted).run();
}

} // namespace kedge::lint
