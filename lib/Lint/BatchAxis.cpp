#include "lib/Lint/BatchAxis.h"
#include "lib/Lint/OperatorFacts.h"
#include <algorithm>
#include <set>

namespace kedge::lint {
using model::Graph;
using model::Node;

namespace {
constexpr int64_t unknown = -1; // depends on the batch, but nobody can tell along which axis

class Tracker {
public:
  explicit Tracker(const Graph &graph) {
    const auto note = [&](const auto &infos) {
      for (const model::ValueInfo &info : infos)
        if (info.hasShape)
          shapes[info.name] = info.dims;
    };
    note(graph.inputs);
    note(graph.outputs);
    note(graph.valueInfos);
    for (const model::Tensor &tensor : graph.initializers) {
      constants[tensor.name] = &tensor;
      std::vector<model::Dim> &dims = shapes[tensor.name];
      dims.clear();
      for (int64_t d : tensor.dims)
        dims.push_back(model::Dim::of(d));
    }
    for (const model::ValueInfo &input : graph.inputs)
      if (!graph.findInitializer(input.name) && (!input.hasShape || !input.dims.empty()))
        axes[input.name] = 0;
    for (const Node &node : graph.nodes)
      visit(node);
  }

  std::map<std::string, int64_t> known() const {
    std::map<std::string, int64_t> result;
    for (const auto &[name, axis] : axes)
      if (axis != unknown)
        result.emplace(name, axis);
    return result;
  }

private:
  std::optional<int64_t> rank(const std::string &name) const {
    auto found = shapes.find(name);
    return found == shapes.end() ? std::nullopt : std::optional<int64_t>(found->second.size());
  }
  const int64_t *axis(const std::string &name) const {
    auto found = axes.find(name);
    return found == axes.end() ? nullptr : &found->second;
  }

  std::optional<std::vector<int64_t>> ints(const Node &node, size_t operand, const char *attribute) const {
    if (node.has(attribute))
      return node.attrInts(attribute);
    if (!node.hasInput(operand))
      return std::nullopt;
    auto found = constants.find(node.input(operand));
    if (found == constants.end() || !model::isInteger(found->second->dtype))
      return std::nullopt;
    return found->second->ints();
  }

  void visit(const Node &node) {
    if (node.is("Constant")) {
      if (const model::Tensor *value = node.attrTensorIf("value"))
        constants[node.output(0)] = value;
      return;
    }
    std::optional<int64_t> result = transfer(node);
    if (result)
      for (const std::string &output : node.outputs)
        if (!output.empty())
          axes[output] = *result;
  }

  /// Nullopt: the result does not depend on the batch.
  std::optional<int64_t> transfer(const Node &node) const {
    if (node.is("Shape") || node.is("Size") || node.is("ConstantOfShape") || node.is("Range"))
      return std::nullopt;
    bool depends =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](const std::string &n) { return axis(n); });
    if (!depends)
      return std::nullopt;
    const int64_t *first = axis(node.input(0));
    if (node.is("Gather"))
      return gather(node);
    if (isElementwise(node))
      return aligned(node, rank(node.output(0)));
    if (!first || *first == unknown)
      return unknown;
    if (node.is("Transpose"))
      return transpose(node, *first);
    if (node.is("Unsqueeze") || node.is("Squeeze"))
      return squeeze(node, *first);
    if (node.is("Reshape") || node.is("Flatten"))
      return reshape(node, *first);
    if (node.opType.starts_with("Reduce") || node.is("ArgMax") || node.is("ArgMin"))
      return reduce(node, *first);
    if (node.is("Gemm"))
      return node.attrInt("transA", 0) == 0 && *first == 0 ? 0 : unknown;
    if (node.is("Expand")) {
      std::optional<int64_t> in = rank(node.input(0)), out = rank(node.output(0));
      return in && out ? *first + *out - *in : *first;
    }
    return keepsAxis(node) ? *first : unknown;
  }

  static bool isElementwise(const Node &node) {
    static const std::set<std::string> ops = {
        "Add",      "Sub",   "Mul",    "Div",    "Pow",         "Max",
        "Min",      "Where", "Sum",    "Mean",   "Equal",       "Less",
        "Greater",  "And",   "Or",     "Xor",    "LessOrEqual", "GreaterOrEqual",
        "Mod",      "PRelu", "MatMul", "Concat", "CastLike",    "BitwiseAnd",
        "BitwiseOr"};
    return node.domain.empty() && ops.count(node.opType);
  }

  /// Operators whose result has the batch where the first operand has it.
  static bool keepsAxis(const Node &node) {
    static const std::set<std::string> moves = {
        "GatherND", "ScatterND", "Einsum", "Loop",         "If",           "Scan",     "TopK",  "NonZero",
        "LSTM",     "GRU",       "RNN",    "DepthToSpace", "SpaceToDepth", "Compress", "OneHot"};
    return !moves.count(node.opType) || node.is("TopK");
  }

  /// Broadcasting aligns axes from the right; products do so before their last two axes. An operand whose
  /// axis is unknown has to fit the others.
  std::optional<int64_t> aligned(const Node &node, std::optional<int64_t> outRank) const {
    std::optional<int64_t> result;
    for (const std::string &name : node.inputs) {
      const int64_t *own = axis(name);
      if (!own || *own == unknown)
        continue;
      std::optional<int64_t> in = rank(name);
      int64_t place = outRank && in ? *own + *outRank - *in : *own;
      if (result && *result != place)
        return unknown;
      result = place;
    }
    return result.value_or(unknown);
  }

  std::optional<int64_t> gather(const Node &node) const {
    const int64_t *data = axis(node.input(0)), *indices = axis(node.input(1));
    int64_t along = node.attrInt("axis", 0);
    std::optional<int64_t> dataRank = rank(node.input(0)), indexRank = rank(node.input(1));
    if (along < 0)
      along = dataRank ? along + *dataRank : unknown;
    if (along == unknown || (data && indices))
      return unknown;
    if (indices)
      return *indices == unknown ? unknown : along + *indices;
    if (*data == unknown || *data == along)
      return unknown;
    if (*data < along)
      return *data;
    return indexRank ? *data + *indexRank - 1 : unknown;
  }

  static std::optional<int64_t> transpose(const Node &node, int64_t axis) {
    std::optional<std::vector<int64_t>> perm = node.attrIntsIf("perm");
    if (!perm)
      return unknown;
    auto found = std::find(perm->begin(), perm->end(), axis);
    return found == perm->end() ? unknown : found - perm->begin();
  }

  std::optional<int64_t> squeeze(const Node &node, int64_t axis) const {
    std::optional<std::vector<int64_t>> list = ints(node, 1, "axes");
    bool adds = node.is("Unsqueeze");
    std::optional<int64_t> full = rank(adds ? node.output(0) : node.input(0));
    if (!list)
      return adds ? unknown : axis;
    for (int64_t &a : *list) {
      if (a < 0 && !full)
        return axis == 0 ? 0 : unknown; // trailing axes are counted from the end: the first stays first
      a += a < 0 ? *full : 0;
    }
    std::sort(list->begin(), list->end());
    if (adds) {
      for (int64_t a : *list)
        axis += a <= axis;
      return axis;
    }
    if (std::count(list->begin(), list->end(), axis))
      return unknown;
    return axis - std::count_if(list->begin(), list->end(), [&](int64_t a) { return a < axis; });
  }

  /// A leading axis stays outermost whatever it is merged with; others only where all before them stays.
  std::optional<int64_t> reshape(const Node &node, int64_t axis) const {
    if (axis == 0)
      return 0;
    auto in = shapes.find(node.input(0)), out = shapes.find(node.output(0));
    if (in == shapes.end() || out == shapes.end())
      return unknown;
    for (int64_t d = 0; d <= axis; ++d)
      if (d >= static_cast<int64_t>(out->second.size()) || d >= static_cast<int64_t>(in->second.size()) ||
          out->second[d].kind == model::Dim::Kind::Unknown || !(in->second[d] == out->second[d]))
        return unknown;
    return axis;
  }

  std::optional<int64_t> reduce(const Node &node, int64_t axis) const {
    bool arg = node.is("ArgMax") || node.is("ArgMin");
    std::optional<std::vector<int64_t>> list =
        arg ? std::vector<int64_t>{node.attrInt("axis", 0)} : ints(node, 1, "axes");
    std::optional<int64_t> in = rank(node.input(0));
    if (!list)
      return unknown;
    int64_t before = 0;
    for (int64_t a : *list) {
      if (a < 0 && !in)
        continue; // counted from the end: behind the batch unless it is the only axis
      a += a < 0 ? *in : 0;
      if (a == axis)
        return unknown;
      before += a < axis;
    }
    return node.attrBool("keepdims", true) ? axis : axis - before;
  }

  std::map<std::string, std::vector<model::Dim>> shapes;
  std::map<std::string, const model::Tensor *> constants;
  std::map<std::string, int64_t> axes;
};
} // namespace

std::map<std::string, int64_t> batchAxes(const Graph &graph) { return Tracker(graph).known(); }

} // namespace kedge::lint
