#include "lib/Export/C/LibraryText.h"
#include "lib/Support/Error.h"
#include "runtime/calls/AttentionShape.h"
#include "runtime/calls/BatchedMatmul.h"
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/CopyPlans.h"
#include "runtime/calls/IndexTuples.h"
#include "runtime/calls/PoolShape.h"
#include "runtime/calls/ResizeTables.h"
#include "runtime/calls/Types.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace kedge::exporter {
namespace {

namespace calls = rt::calls;
using rt::DType, rt::dtypeName, rt::dtypeSize, rt::Launch, rt::TensorDesc;

class CallWriter {
public:
  CallWriter(const Launch &launch, const std::vector<std::string> &address, Helpers &helpers)
      : launch(launch), call{launch.library, launch.attrs, launch.inputs, launch.outputs}, address(address),
        helpers(helpers) {}

  std::string write() {
    if (const auto copies = calls::planCopies(call))
      return copied(*copies);
    if (call.name == "train.slice_grad")
      return fmt::format("  memset({}, 0, {});\n", out(0), call.outputs[0].bytes()) + copied({putBack()});
    if (call.name == "onnx.MatMul" || call.name == "onnx.Gemm")
      return multiplied();
    if (call.name == "onnx.Conv" || call.name == "onnx.ConvTranspose" || call.name.starts_with("train.conv_"))
      return convolved();
    if ((call.name == "onnx.MaxPool" && call.outputs.size() == 1) || call.name == "train.max_pool_grad")
      return pooled();
    if (call.name == "onnx.AveragePool" || call.name == "train.average_pool_grad")
      return averaged();
    if (call.name == "train.attention" || call.name == "train.attention_grad")
      return attended();
    if (call.name == "onnx.Gather" || call.name == "train.gather_grad")
      return gathered();
    if (call.name == "onnx.GatherND" || call.name == "train.gather_nd_grad")
      return gatheredByTuples();
    if (call.name == "onnx.Resize" || call.name == "train.resize_grad")
      return resized();
    if (call.name == "onnx.CumSum")
      return summedAlong();
    fail("--emit c and web: {} is not available yet in C, found it in '{}'", call.name, launch.loc);
  }

private:
  const std::string &in(size_t at) const { return address.at(at); }
  const std::string &out(size_t at) const { return address.at(launch.reads + at); }
  std::string floats(const std::string &place) const { return "(float *)(void *)" + place; }
  std::string constFloats(size_t at) const { return "(const float *)(const void *)" + in(at); }

  void expectFloats() const {
    for (const auto *list : {&call.inputs, &call.outputs})
      std::for_each(list->begin(), list->end(), [&](const TensorDesc &tensor) { expectFloat(tensor); });
  }
  void expectFloat(const TensorDesc &tensor) const {
    if (tensor.type != DType::F32)
      fail("--emit c and web: {} of {} is not available yet, found it in '{}'", call.name,
           dtypeName(tensor.type), launch.loc);
  }

  /// Terms of a block of a sum of products; the panel has room for it.
  int64_t blockOf(int64_t terms) {
    constexpr int64_t most = 512, unit = 4;
    const int64_t parts = std::max<int64_t>(1, (terms + most - 1) / most);
    const int64_t block = std::max(unit, ((terms + parts - 1) / parts + unit - 1) / unit * unit);
    helpers.block = std::max(helpers.block, block);
    return block;
  }

  /// From a slice to its places in the whole.
  calls::CopyPlan putBack() const {
    const TensorDesc &slice = call.inputs[0], &whole = call.outputs[0];
    const calls::Shape wholeSteps = calls::rowMajorStrides(whole.shape),
                       sliceSteps = calls::rowMajorStrides(slice.shape);
    calls::CopyPlan plan;
    for (const auto &[d, range] : llvm::enumerate(calls::readRanges(call, whole, slice))) {
      plan.to += range.start * wholeSteps[d];
      plan.dims.push_back({range.size, sliceSteps[d], range.step * wholeSteps[d]});
    }
    return plan;
  }

  /// Loops around runs of bytes that follow each other on both sides.
  std::string copied(const std::vector<calls::CopyPlan> &plans) {
    std::string text;
    for (const calls::CopyPlan &plan : plans) {
      const auto size = static_cast<int64_t>(dtypeSize(call.inputs[plan.input].type));
      std::vector<calls::CopyDim> dims = plan.dims;
      int64_t run = size;
      if (!dims.empty() && dims.back().src == 1 && dims.back().dst == 1) {
        run *= dims.back().size;
        dims.pop_back();
      }
      std::string loops, from = fmt::format("{} + {}", in(plan.input), plan.from * size),
                         to = fmt::format("{} + {}", out(plan.output), plan.to * size);
      for (size_t d = 0; d < dims.size(); ++d) {
        loops += fmt::format("for (int64_t i{0} = 0; i{0} < {1}; ++i{0}) ", d, dims[d].size);
        from += fmt::format(" + i{} * {}", d, dims[d].src * size);
        to += fmt::format(" + i{} * {}", d, dims[d].dst * size);
      }
      text += fmt::format("  {}memmove({}, {}, {});\n", loops, to, from, run);
    }
    return text;
  }

  std::string multiplied() {
    if (launch.attrs.contains("quantized") || call.inputs.size() > 3 || calls::hasPaddedRows(call))
      fail("--emit c and web: products of weights in few bits are not available yet, found one in '{}'",
           launch.loc);
    expectFloats();
    helpers.names.insert("matmul");
    const bool isGemm = call.name == "onnx.Gemm";
    const calls::BatchedMatmul p = isGemm ? calls::readGemm(call) : calls::readMatMul(call);
    const calls::Addend addend = isGemm ? calls::readGemmAddend(call, p) : calls::Addend();
    const bool hasC = addend.index >= 0, isBias = addend.isPlain() && addend.isBias();
    std::string text =
        fmt::format("  {{ static const struct kedge_matmul p = {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, "
                    "{:a}f, {:a}f, {:d}, {:d}}};\n",
                    p.m, p.n, p.k, blockOf(p.k), p.transA ? 1 : p.k, p.transA ? p.m : 1, p.transB ? 1 : p.n,
                    p.transB ? p.k : 1, addend.rowStride, addend.columnStride,
                    static_cast<float>(addend.alpha), static_cast<float>(addend.beta), hasC, isBias);
    for (int64_t batch = 0; batch < p.batches(); ++batch)
      text += fmt::format("    kedge_matmul(&p, {} + {}, {} + {}, {}, {} + {});\n", constFloats(0),
                          p.offsetA(batch), constFloats(1), p.offsetB(batch),
                          hasC ? constFloats(static_cast<size_t>(addend.index)) : "0", floats(out(0)),
                          batch * p.m * p.n);
    return text + "  }\n";
  }

  std::string convolved() {
    expectFloats();
    using Kind = calls::ConvRoles::Kind;
    const calls::ConvRoles roles = calls::convRolesOf(call);
    helpers.names.insert(roles.kind == Kind::Filter ? "conv_filters" : "conv_places");
    const calls::ConvShape c = calls::readConv(call, roles);
    const int64_t terms = roles.kind == Kind::Forward ? c.groupChannels() * c.taps()
                          : roles.kind == Kind::Data  ? c.groupFilters() * c.taps()
                                                      : c.batch * c.outSize();
    std::string text = fmt::format(
        "  {{ static const struct kedge_conv p = {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}};\n",
        static_cast<int>(roles.kind), blockOf(terms), c.batch, c.channels, c.filters, c.groups, three(c.in),
        three(c.out), three(c.kernel), three(c.stride), three(c.dilation), three(c.pad));
    const auto operand = [&](int at) { return constFloats(static_cast<size_t>(at)); };
    if (roles.kind == Kind::Filter)
      return text + fmt::format("    kedge_conv_filters(&p, {}, {}, {}); }}\n", operand(roles.image),
                                operand(roles.result), floats(out(0)));
    const std::string bias = roles.bias && call.inputs.size() > 2 ? constFloats(2) : "0";
    return text + fmt::format("    kedge_conv_places(&p, {}, {}, {}, {}); }}\n",
                              operand(roles.kind == Kind::Forward ? roles.image : roles.result),
                              operand(roles.filter), bias, floats(out(0)));
  }

  static std::string three(const calls::Space &space) {
    return fmt::format("{{{}}}", fmt::join(space, ", "));
  }

  /// The gradient reads dY and X.
  std::string pooled() {
    expectFloats();
    helpers.names.insert("max_pool");
    const bool isGradient = call.name == "train.max_pool_grad";
    const size_t x = isGradient ? 1 : 0;
    const calls::PoolShape p =
        calls::readPool(call, call.inputs[x], isGradient ? call.inputs[0] : call.outputs[0]);
    return fmt::format("  {{ static const struct kedge_pool p = {{{}, {}, {}, {}, {}, {}, {}}};\n"
                       "    kedge_max_pool(&p, {}, {}, {}); }}\n",
                       p.planes, three(p.in), three(p.out), three(p.kernel), three(p.stride),
                       three(p.dilation), three(p.pad), constFloats(x), isGradient ? constFloats(0) : "0",
                       floats(out(0)));
  }

  std::string averaged() {
    expectFloats();
    helpers.names.insert("average_pool");
    const bool isGradient = call.name == "train.average_pool_grad";
    const calls::PoolShape p = calls::readPool(call, isGradient ? call.outputs[0] : call.inputs[0],
                                               isGradient ? call.inputs[0] : call.outputs[0]);
    return fmt::format("  {{ static const struct kedge_pool p = {{{}, {}, {}, {}, {}, {}, {}}};\n"
                       "    static const int64_t ends[3] = {};\n"
                       "    kedge_average_pool(&p, ends, {:d}, {:d}, {}, {}); }}\n",
                       p.planes, three(p.in), three(p.out), three(p.kernel), three(p.stride),
                       three(p.dilation), three(p.pad), three(p.padEnd),
                       calls::boolAttr(call, "count_include_pad", false), isGradient, constFloats(0),
                       floats(out(0)));
  }

  static std::string four(const calls::HeadView &view) {
    return fmt::format("{{{}, {}, {}, {}}}", view.offset, view.batch, view.head, view.row);
  }

  std::string attended() {
    const bool isGradient = call.name == "train.attention_grad",
               isPacked = calls::boolAttr(call, "packed", false);
    const size_t first = isGradient ? 1 : 0, ofO = isGradient ? (isPacked ? 2 : 4) : 0;
    const calls::AttentionShape s =
        calls::readAttention(call, first, isGradient ? call.inputs.at(ofO) : call.outputs.at(0),
                             first + (isPacked ? 1 : 3) + (isGradient ? 2 : 0));
    if (s.drops() || s.documents >= 0 || s.places >= 0)
      fail("--emit c and web: attention with {} is not available yet, found it in '{}'",
           s.drops()          ? "dropout"
           : s.documents >= 0 ? "documents"
                              : "queries at places of their own",
           launch.loc);
    for (const TensorDesc &tensor : call.outputs)
      expectFloat(tensor);
    helpers.names.insert(isGradient ? "attention_grad" : "attention_forward");
    helpers.keys = std::max(helpers.keys, s.keys);
    const int kind = s.mask.index < 0 ? 0 : s.mask.type == DType::Bool ? 1 : 2;
    const std::string text =
        fmt::format("  {{ static const struct kedge_attention p = {{{}, {}, {}, {}, {}, {}, {}, {}, {}, "
                    "{:a}f, {:a}f, {}, {}, {}, {}, "
                    "{{{}, {}, {}, {}}}, {}}};\n",
                    s.batch, s.queryHeads, s.group(), s.queries, s.keys, s.depth, s.valueDepth, s.left,
                    s.right, static_cast<float>(s.scale), static_cast<float>(s.softcap), four(s.q), four(s.k),
                    four(s.v), four(s.o), s.mask.batch, s.mask.head, s.mask.query, s.mask.key, kind);
    const auto operand = [&](size_t at) { return constFloats(isPacked ? first : first + at); };
    const std::string mask = kind ? in(static_cast<size_t>(s.mask.index)) : "0";
    if (!isGradient)
      return text + fmt::format("    kedge_attention(&p, {}, {}, {}, {}, {}, {}, {}); }}\n", operand(0),
                                operand(1), operand(2), mask,
                                s.sinks < 0 ? "0" : constFloats(static_cast<size_t>(s.sinks)), floats(out(0)),
                                floats(out(1)));
    std::string zeros;
    for (size_t at = 0; at < call.outputs.size(); ++at)
      zeros += fmt::format("    memset({}, 0, {});\n", out(at), call.outputs[at].bytes());
    const auto result = [&](size_t at) { return floats(out(isPacked ? 0 : at)); };
    return text + zeros +
           fmt::format("    kedge_attention_grad(&p, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}); }}\n",
                       constFloats(0), operand(0), operand(1), operand(2), constFloats(ofO),
                       constFloats(ofO + 1), mask, result(0), result(1), result(2));
  }

  std::string gathered() {
    const bool isGradient = call.name == "train.gather_grad";
    helpers.names.insert(isGradient ? "gather_grad" : "gather");
    const TensorDesc &whole = isGradient ? call.outputs[0] : call.inputs[0], &indices = call.inputs[1];
    if (isGradient)
      expectFloat(whole);
    const int64_t axis = calls::normalAxis(call, calls::intAttr(call, "axis", 0), whole.shape.size());
    const calls::AxisView view = calls::viewAlong(whole.shape, axis);
    int64_t padding = -1;
    if (calls::hasAttr(call, "padding_idx"))
      padding = (calls::intAttr(call, "padding_idx", 0) + view.size) % view.size;
    const std::string text =
        fmt::format("  {{ static const struct kedge_gather p = {{{}, {}, {}, {}, {}, {:d}}};\n", view.outer,
                    view.size, view.inner, indices.elements(), padding, indices.type == DType::I64);
    if (isGradient)
      return text + fmt::format("    kedge_gather_grad(&p, {}, {}, {}); }}\n", constFloats(0), in(1),
                                floats(out(0)));
    return text + fmt::format("    kedge_gather(&p, {}, {}, {}, {}); }}\n", in(0), in(1), out(0),
                              view.inner * static_cast<int64_t>(dtypeSize(whole.type)));
  }

  std::string gatheredByTuples() {
    const bool isGradient = call.name == "train.gather_nd_grad";
    const TensorDesc &whole = isGradient ? call.outputs[0] : call.inputs[0], &indices = call.inputs[1];
    if (isGradient)
      expectFloat(whole);
    const calls::IndexTuples p =
        calls::readTuples(call, whole, indices, isGradient ? call.inputs[0] : call.outputs[0],
                          calls::intAttr(call, "batch_dims", 0));
    constexpr int64_t mostDepth = 8;
    if (p.depth > mostDepth)
      fail("--emit c and web: {} with tuples of {} indices is not available yet, found it in '{}'", call.name,
           p.depth, launch.loc);
    helpers.names.insert(isGradient ? "gather_tuples_grad" : "gather_tuples");
    const std::string text = fmt::format(
        "  {{ static const struct kedge_tuples p = {{{}, {}, {}, {}, {}, {}, {{{}}}, {{{}}}, {:d}}};\n",
        p.count, p.depth, p.perBatch, p.slotsPerBatch, p.slots, p.sliceElements, fmt::join(p.sizes, ", "),
        fmt::join(p.strides, ", "), p.wide);
    if (isGradient)
      return text + fmt::format("    kedge_gather_tuples_grad(&p, {}, {}, {}); }}\n", constFloats(0), in(1),
                                floats(out(0)));
    return text + fmt::format("    kedge_gather_tuples(&p, {}, {}, {}, {}); }}\n", in(0), in(1), out(0),
                              p.sliceElements * static_cast<int64_t>(dtypeSize(whole.type)));
  }

  /// The tables of an axis, and a word for each; an axis that stays as it is has none.
  static std::string tablesOf(const calls::AxisTable &table, size_t axis, int64_t stride,
                              std::string &words) {
    bool isSame = table.size() == static_cast<int64_t>(table.sources.size());
    for (int64_t i = 0; isSame && i < table.size(); ++i)
      isSame = table.sources[i] == i && table.weights[i] == 1 && !table.outside[i];
    const bool hasOutside =
        std::any_of(table.outside.begin(), table.outside.end(), [](uint8_t o) { return o; });
    words += fmt::format("{{{}, {}, {}, {}, {}, {}}}, ", isSame ? "0" : fmt::format("start{}", axis),
                         isSame ? "0" : fmt::format("source{}", axis),
                         isSame ? "0" : fmt::format("weight{}", axis),
                         hasOutside ? fmt::format("outside{}", axis) : "0", table.size(), stride);
    std::string text;
    if (hasOutside)
      text += fmt::format("    static const uint8_t outside{}[] = {{{}}};\n", axis,
                          fmt::join(table.outside, ", "));
    if (isSame)
      return text;
    std::vector<std::string> weights;
    for (const double weight : table.weights)
      weights.push_back(fmt::format("{:a}f", static_cast<float>(weight)));
    // The 0 at the end: there may be no others.
    return text + fmt::format("    static const int32_t start{0}[] = {{{1}}}, source{0}[] = {{{2}{3}0}};\n"
                              "    static const float weight{0}[] = {{{4}{3}0}};\n",
                              axis, fmt::join(table.start, ", "), fmt::join(table.sources, ", "),
                              weights.empty() ? "" : ", ", fmt::join(weights, ", "));
  }

  /// The gradient has the tables of the transposed map.
  std::string resized() {
    expectFloats();
    const bool isGradient = call.name == "train.resize_grad";
    const TensorDesc &from = call.inputs[0], &to = call.outputs[0];
    std::vector<calls::AxisTable> tables =
        isGradient ? calls::readResize(call, to, from) : calls::readResize(call, from, to);
    constexpr size_t mostRank = 16;
    if (tables.size() > mostRank)
      fail("--emit c and web: {} of rank {} is not available yet, found it in '{}'", call.name, tables.size(),
           launch.loc);
    helpers.names.insert("resize");
    const calls::Shape strides = calls::rowMajorStrides(from.shape);
    std::string text = "  {\n", words;
    for (const auto &[d, table] : llvm::enumerate(tables))
      text += tablesOf(isGradient ? calls::transpose(table, to.shape[d]) : table, d, strides[d], words);
    const double beyond = isGradient ? 0 : calls::floatAttr(call, "extrapolation_value", 0);
    return text + fmt::format("    static const struct kedge_axis axes[] = {{{}}};\n"
                              "    kedge_resize(axes, {}, {}, {:a}f, {}, {}); }}\n",
                              words, tables.size(), to.elements(), static_cast<float>(beyond), constFloats(0),
                              floats(out(0)));
  }

  /// Whole numbers wrap.
  std::string summedAlong() const {
    const TensorDesc &x = call.inputs[0];
    const char *type = x.type == DType::F32   ? "float"
                       : x.type == DType::I64 ? "uint64_t"
                       : x.type == DType::I32 ? "uint32_t"
                                              : nullptr;
    if (!type)
      fail("--emit c and web: {} of {} is not available yet, found it in '{}'", call.name, dtypeName(x.type),
           launch.loc);
    const calls::AxisView view =
        calls::viewAlong(x.shape, calls::normalAxis(call, calls::intAttr(call, "axis", 0), x.shape.size()));
    const bool isExclusive = calls::boolAttr(call, "exclusive", false),
               isReverse = calls::boolAttr(call, "reverse", false);
    return fmt::format("  for (int64_t o = 0; o < {0}; ++o) for (int64_t j = 0; j < {2}; ++j) {{\n"
                       "    {3} sum = 0;\n    for (int64_t i = 0; i < {1}; ++i) {{\n"
                       "      const int64_t at = (o * {1} + {4}) * {2} + j;\n"
                       "      const {3} value = ((const {3} *)(const void *){5})[at];\n"
                       "      (({3} *)(void *){6})[at] = {7};\n      sum += value;\n    }}\n  }}\n",
                       view.outer, view.size, view.inner, type,
                       isReverse ? fmt::format("{} - i", view.size - 1) : "i", in(0), out(0),
                       isExclusive ? "sum" : "sum + value");
  }

  const Launch &launch;
  const calls::LibraryCall call;
  const std::vector<std::string> &address;
  Helpers &helpers;
};

} // namespace

std::string libraryText(const Launch &launch, const std::vector<std::string> &address, Helpers &helpers) {
  return CallWriter(launch, address, helpers).write();
}

} // namespace kedge::exporter
