#include "lib/Export/C/LibraryText.h"
#include "lib/Support/Error.h"
#include "runtime/calls/AttentionShape.h"
#include "runtime/calls/BatchedMatmul.h"
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/CopyPlans.h"
#include "runtime/calls/PoolShape.h"
#include "runtime/calls/Types.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace kedge::exporter {
namespace {

namespace calls = rt::calls;
using rt::DType, rt::dtypeName, rt::dtypeSize, rt::Launch, rt::TensorDesc;

int64_t blockOf(int64_t terms) {
  constexpr int64_t most = 512, unit = 4;
  const int64_t parts = std::max<int64_t>(1, (terms + most - 1) / most);
  return std::max(unit, ((terms + parts - 1) / parts + unit - 1) / unit * unit);
}

class CallWriter {
public:
  CallWriter(const Launch &launch, const std::vector<std::string> &address, std::set<std::string> &helpers)
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
    fail("--emit c: {} is not available yet in C, found it in '{}'", call.name, launch.loc);
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
      fail("--emit c: {} of {} is not available yet, found it in '{}'", call.name, dtypeName(tensor.type),
           launch.loc);
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
      fail("--emit c: products of weights in few bits are not available yet, found one in '{}'", launch.loc);
    expectFloats();
    helpers.insert("matmul");
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
    helpers.insert(roles.kind == Kind::Filter ? "conv_filters" : "conv_places");
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
    helpers.insert("max_pool");
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
    helpers.insert("average_pool");
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
      fail("--emit c: attention with {} is not available yet, found it in '{}'",
           s.drops()          ? "dropout"
           : s.documents >= 0 ? "documents"
                              : "queries at places of their own",
           launch.loc);
    for (const TensorDesc &tensor : call.outputs)
      expectFloat(tensor);
    helpers.insert(isGradient ? "attention_grad" : "attention_forward");
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
    helpers.insert(isGradient ? "gather_grad" : "gather");
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

  const Launch &launch;
  const calls::LibraryCall call;
  const std::vector<std::string> &address;
  std::set<std::string> &helpers;
};

} // namespace

std::string libraryText(const Launch &launch, const std::vector<std::string> &address,
                        std::set<std::string> &helpers) {
  return CallWriter(launch, address, helpers).write();
}

} // namespace kedge::exporter
