#include "lib/Export/C/LibraryText.h"
#include "lib/Support/Error.h"
#include "runtime/calls/BatchedMatmul.h"
#include "runtime/calls/ConvShape.h"
#include "runtime/calls/CopyPlans.h"
#include "runtime/calls/GatherIndex.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace kedge::exporter {
namespace {

namespace calls = rt::calls;
using rt::DType, rt::dtypeName, rt::dtypeSize, rt::Launch, rt::TensorDesc;

/// The order of a sum of products: blocks of even length, and chains of 64 in a block (runtime/cpu/gemm).
constexpr char kDot[] =
    R"(/* Adds to a sum of products, whose terms come in blocks, in each of them in chains of 64. */
struct kedge_sum {
  int64_t block, at; /* terms of a block; terms so far */
  float begin, value, partial, chain;
  int inChain, hasPartial, keeps;
};
static inline struct kedge_sum kedge_sum_of(int64_t block, int keeps, float begin) {
  struct kedge_sum s = {block, 0, begin, 0, 0, 0, 0, 0, keeps};
  return s;
}
static inline void kedge_end_block(struct kedge_sum *s) {
  float sum = s->hasPartial ? s->chain + s->partial : s->chain;
  if (s->at > s->block)
    sum = s->value + sum;
  else if (s->keeps)
    sum = sum + s->begin;
  s->value = sum, s->chain = 0, s->inChain = 0, s->hasPartial = 0;
}
static inline void kedge_add(struct kedge_sum *s, float a, float b) {
  if (s->at && s->at % s->block == 0)
    kedge_end_block(s);
  else if (s->inChain == 64) {
    s->partial = s->hasPartial ? s->partial + s->chain : s->chain;
    s->chain = 0, s->inChain = 0, s->hasPartial = 1;
  }
  s->chain = fmaf(a, b, s->chain);
  ++s->inChain, ++s->at;
}
static inline float kedge_total(struct kedge_sum *s) {
  if (s->at == 0)
    return s->keeps ? s->begin : 0;
  kedge_end_block(s);
  return s->value;
}
)";

constexpr char kMatmul[] =
    R"(/* y = a b + bias, or with factors alpha (a b) + beta c; places of elements by row and column. */
struct kedge_matmul {
  int64_t m, n, k, block, a_row, a_column, b_row, b_column, c_row, c_column;
  float alpha, beta;
  int has_c, is_bias; /* is_bias: c is a row that sums begin with */
};
static void kedge_matmul(const struct kedge_matmul *p, const float *a, const float *b, const float *c, float *y) {
  for (int64_t i = 0; i < p->m; ++i)
    for (int64_t j = 0; j < p->n; ++j) {
      struct kedge_sum s = kedge_sum_of(p->block, p->is_bias, p->is_bias ? c[j] : 0);
      for (int64_t q = 0; q < p->k; ++q)
        kedge_add(&s, a[i * p->a_row + q * p->a_column], b[q * p->b_row + j * p->b_column]);
      float value = kedge_total(&s);
      if (p->has_c && !p->is_bias)
        value = p->alpha * value + p->beta * c[i * p->c_row + j * p->c_column];
      else if (p->alpha != 1)
        value = p->alpha * value;
      y[i * p->n + j] = value;
    }
}
)";

constexpr char kConv[] =
    R"(/* Convolutions of up to three dimensions. kind 0: y = conv(x, w) + bias; 1: x = its gradient, from w and y
   (+ bias); 2: w = its gradient, from x and y. */
struct kedge_conv {
  int kind;
  int64_t block, batch, channels, filters, groups, in[3], out[3], kernel[3], stride[3], dilation[3], pad[3];
};
/* Element of the image that tap t meets at position o; -1: padding. */
static inline int64_t kedge_place(const struct kedge_conv *p, const int64_t o[3], const int64_t t[3]) {
  int64_t at = 0;
  for (int d = 0; d < 3; ++d) {
    const int64_t i = o[d] * p->stride[d] - p->pad[d] + t[d] * p->dilation[d];
    if (i < 0 || i >= p->in[d])
      return -1;
    at = at * p->in[d] + i;
  }
  return at;
}
/* Position whose tap t meets element i; -1: none. */
static inline int64_t kedge_position(const struct kedge_conv *p, const int64_t i[3], const int64_t t[3]) {
  int64_t at = 0;
  for (int d = 0; d < 3; ++d) {
    const int64_t o = i[d] + p->pad[d] - t[d] * p->dilation[d];
    if (o < 0 || o % p->stride[d] || o / p->stride[d] >= p->out[d])
      return -1;
    at = at * p->out[d] + o / p->stride[d];
  }
  return at;
}
static inline void kedge_split(int64_t at, const int64_t size[3], int64_t place[3]) {
  place[2] = at % size[2], place[1] = at / size[2] % size[1], place[0] = at / size[2] / size[1];
}
static inline int64_t kedge_count(const int64_t size[3]) { return size[0] * size[1] * size[2]; }
static void kedge_conv_places(const struct kedge_conv *p, const float *from, const float *w, const float *bias, float *to) {
  const int64_t c = p->channels / p->groups, f = p->filters / p->groups, taps = kedge_count(p->kernel);
  const int is_back = p->kind == 1;
  const int64_t rows = is_back ? c : f, terms = is_back ? f : c;
  const int64_t *space = is_back ? p->in : p->out, places = kedge_count(space),
                 sources = kedge_count(is_back ? p->out : p->in);
  for (int64_t job = 0; job < p->batch * p->groups; ++job)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t at = 0; at < places; ++at) {
        const int64_t group = job % p->groups;
        int64_t place[3], tap[3];
        kedge_split(at, space, place);
        struct kedge_sum s = kedge_sum_of(p->block, bias != 0, bias ? bias[group * rows + row] : 0);
        for (int64_t term = 0; term < terms; ++term)
          for (int64_t t = 0; t < taps; ++t) {
            kedge_split(t, p->kernel, tap);
            const int64_t source = is_back ? kedge_position(p, place, tap) : kedge_place(p, place, tap);
            const int64_t filter = is_back ? term : row, channel = is_back ? row : term;
            kedge_add(&s, w[((group * f + filter) * c + channel) * taps + t],
                      source < 0 ? 0 : from[(job * terms + term) * sources + source]);
          }
        to[(job * rows + row) * places + at] = kedge_total(&s);
      }
}
static void kedge_conv_filters(const struct kedge_conv *p, const float *x, const float *dy, float *dw) {
  const int64_t c = p->channels / p->groups, f = p->filters / p->groups, taps = kedge_count(p->kernel),
                in = kedge_count(p->in), out = kedge_count(p->out);
  for (int64_t filter = 0; filter < p->filters; ++filter)
    for (int64_t channel = 0; channel < c; ++channel)
      for (int64_t t = 0; t < taps; ++t) {
        int64_t place[3], tap[3];
        kedge_split(t, p->kernel, tap);
        struct kedge_sum s = kedge_sum_of(p->block, 0, 0);
        for (int64_t image = 0; image < p->batch; ++image)
          for (int64_t at = 0; at < out; ++at) {
            kedge_split(at, p->out, place);
            const int64_t source = kedge_place(p, place, tap);
            kedge_add(&s, dy[(image * p->filters + filter) * out + at],
                      source < 0 ? 0 : x[(image * p->channels + filter / f * c + channel) * in + source]);
          }
        dw[(filter * c + channel) * taps + t] = kedge_total(&s);
      }
}
)";

struct Helper {
  const char *name, *text, *needs;
};
/// In the order of their definitions.
constexpr Helper kCallHelpers[] = {{"sum", kDot, ""}, {"matmul", kMatmul, "sum"}, {"conv", kConv, "sum"}};

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
    if (call.name == "onnx.MatMul" || call.name == "onnx.Gemm")
      return multiplied();
    if (call.name == "onnx.Conv" || call.name == "onnx.ConvTranspose" ||
        call.name.starts_with("train.conv_grad"))
      return convolved();
    fail("--emit c: {} is not available yet in C, found it in '{}'", call.name, launch.loc);
  }

private:
  const std::string &in(size_t at) const { return address.at(at); }
  const std::string &out(size_t at) const { return address.at(launch.reads + at); }
  std::string floats(const std::string &place) const { return "(float *)(void *)" + place; }
  std::string constFloats(size_t at) const { return "(const float *)(const void *)" + in(at); }

  void expectFloats() const {
    for (const auto *list : {&call.inputs, &call.outputs})
      for (const TensorDesc &tensor : *list)
        if (tensor.type != DType::F32)
          fail("--emit c: {} of {} is not available yet, found it in '{}'", call.name, dtypeName(tensor.type),
               launch.loc);
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
    helpers.insert("conv");
    using Kind = calls::ConvRoles::Kind;
    const calls::ConvRoles roles = calls::convRolesOf(call);
    const calls::ConvShape c = calls::readConv(call, roles);
    const int64_t terms = roles.kind == Kind::Forward ? c.groupChannels() * c.taps()
                          : roles.kind == Kind::Data  ? c.groupFilters() * c.taps()
                                                      : c.batch * c.outSize();
    const auto three = [](const calls::Space &space) {
      return fmt::format("{{{}}}", fmt::join(space, ", "));
    };
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

std::string helperText(const std::set<std::string> &helpers) {
  std::set<std::string> all = helpers;
  for (const Helper &helper : kCallHelpers)
    if (all.contains(helper.name) && *helper.needs)
      all.insert(helper.needs);
  std::string text;
  for (const Helper &helper : kCallHelpers)
    if (all.contains(helper.name))
      text += helper.text;
  return text;
}

} // namespace kedge::exporter
