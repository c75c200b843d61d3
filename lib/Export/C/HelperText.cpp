// Functions in C11 that calls of library kernels become calls of.
#include "lib/Export/C/LibraryText.h"

namespace kedge::exporter {
namespace {

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
static inline void kedge_split(int64_t at, const int64_t size[3], int64_t place[3]) {
  place[2] = at % size[2], place[1] = at / size[2] % size[1], place[0] = at / size[2] / size[1];
}
static inline int64_t kedge_count(const int64_t size[3]) { return size[0] * size[1] * size[2]; }
)";

constexpr char kPool[] = R"(/* Windows over planes of up to three dimensions. */
struct kedge_pool {
  int64_t planes, in[3], out[3], kernel[3], stride[3], dilation[3], pad[3];
};
)";

constexpr char kMaxPool[] =
    R"(/* The first largest element of window o in a plane; -1: the window is empty. NaN is larger than all. */
static inline int64_t kedge_largest(const struct kedge_pool *p, const float *x, int64_t o0, int64_t o1, int64_t o2) {
  int64_t best = -1;
  for (int64_t d = 0; d < p->kernel[0]; ++d)
    for (int64_t h = 0; h < p->kernel[1]; ++h)
      for (int64_t w = 0; w < p->kernel[2]; ++w) {
        const int64_t z = o0 * p->stride[0] - p->pad[0] + d * p->dilation[0],
                      y = o1 * p->stride[1] - p->pad[1] + h * p->dilation[1],
                      c = o2 * p->stride[2] - p->pad[2] + w * p->dilation[2];
        if (z < 0 || z >= p->in[0] || y < 0 || y >= p->in[1] || c < 0 || c >= p->in[2])
          continue;
        const int64_t at = (z * p->in[1] + y) * p->in[2] + c;
        if (best < 0 || x[at] > x[best] || (x[at] != x[at] && x[best] == x[best]))
          best = at;
      }
  return best;
}
/* y = the largest elements of x, or with dy: dx = their gradient. */
static void kedge_max_pool(const struct kedge_pool *p, const float *x, const float *dy, float *to) {
  const int64_t in = p->in[0] * p->in[1] * p->in[2], out = p->out[0] * p->out[1] * p->out[2];
  for (int64_t plane = 0; plane < p->planes; ++plane, x += in, to += dy ? in : out) {
    if (dy)
      memset(to, 0, (size_t)in * sizeof(float));
    for (int64_t o = 0; o < out; ++o) {
      const int64_t best =
          kedge_largest(p, x, o / p->out[2] / p->out[1], o / p->out[2] % p->out[1], o % p->out[2]);
      if (!dy)
        to[o] = best < 0 ? -INFINITY : x[best];
      else if (best >= 0)
        to[best] += dy[plane * out + o];
    }
  }
}
)";

constexpr char kGather[] =
    R"(/* Slices of `inner` along an axis of `size`, `count` indices for each of `outer`. */
struct kedge_gather {
  int64_t outer, size, inner, count, padding;
  int is_wide;
};
/* In [0, size); -1: there is none. */
static inline int64_t kedge_index(const struct kedge_gather *p, const void *indices, int64_t at) {
  const int64_t index = p->is_wide ? ((const int64_t *)indices)[at] : ((const int32_t *)indices)[at];
  const int64_t place = index < 0 ? index + p->size : index;
  return place >= 0 && place < p->size ? place : -1;
}
)";

constexpr char kGatherRows[] =
    R"(static void kedge_gather(const struct kedge_gather *p, const char *from, const void *indices, char *to,
                         int64_t bytes) {
  for (int64_t row = 0; row < p->outer * p->count; ++row) {
    const int64_t place = kedge_index(p, indices, row % p->count);
    if (place < 0)
      memset(to + row * bytes, 0, (size_t)bytes);
    else
      memcpy(to + row * bytes, from + (row / p->count * p->size + place) * bytes, (size_t)bytes);
  }
}
)";

constexpr char kGatherGradient[] =
    R"(/* Rows of dy are added in their order; those of the index `padding` are left out. */
static void kedge_gather_grad(const struct kedge_gather *p, const float *dy, const void *indices, float *dx) {
  memset(dx, 0, (size_t)(p->outer * p->size * p->inner) * sizeof(float));
  for (int64_t row = 0; row < p->outer * p->count; ++row) {
    const int64_t place = kedge_index(p, indices, row % p->count);
    if (place < 0 || place == p->padding)
      continue;
    float *to = dx + (row / p->count * p->size + place) * p->inner;
    for (int64_t j = 0; j < p->inner; ++j)
      to[j] += dy[row * p->inner + j];
  }
}
)";

constexpr char kConvPlaces[] =
    R"(/* Position whose tap t meets element i; -1: none. */
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
)";

constexpr char kConvFilters[] =
    R"(static void kedge_conv_filters(const struct kedge_conv *p, const float *x, const float *dy, float *dw) {
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

constexpr char kAttention[] = R"(/* Place of element (b, h, t, d): offset + b batch + h head + t row + d. */
struct kedge_view {
  int64_t offset, batch, head, row;
};
struct kedge_attention {
  int64_t batch, heads, group, queries, keys, depth, value_depth, left, right;
  float scale, softcap;
  struct kedge_view q, k, v, o, mask; /* mask: strides of batch, head, query and key */
  int mask_kind;                      /* 0: none, 1: bytes that are 0 where a key is hidden, 2: floats to be added */
};
static inline int64_t kedge_at(struct kedge_view v, int64_t b, int64_t h, int64_t t) {
  return v.offset + b * v.batch + h * v.head + t * v.row;
}
static inline float kedge_inner(const float *a, const float *b, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum = fmaf(a[i], b[i], sum);
  return sum;
}
/* The score before it is masked, and in `masked` as it is. */
static inline float kedge_score(const struct kedge_attention *p, const float *q, const float *k, const void *mask, int64_t b,
                                int64_t h, int64_t i, int64_t j, float *masked) {
  float score = p->scale * kedge_inner(q + kedge_at(p->q, b, h, i), k + kedge_at(p->k, b, h / p->group, j), p->depth);
  if (p->softcap > 0)
    score = p->softcap * tanhf(score / p->softcap);
  *masked = score;
  const int64_t at = b * p->mask.offset + h * p->mask.batch + i * p->mask.head + j * p->mask.row;
  if (i - j > p->left || j - i > p->right || (p->mask_kind == 1 && !((const uint8_t *)mask)[at]))
    *masked = -INFINITY;
  else if (p->mask_kind == 2)
    *masked += ((const float *)mask)[at];
  return score;
}
)";

constexpr char kAttentionForward[] =
    R"(static void kedge_attention(const struct kedge_attention *p, const float *q, const float *k, const float *v, const void *mask,
                            const float *sinks, float *o, float *lse) {
  for (int64_t b = 0; b < p->batch; ++b)
    for (int64_t h = 0; h < p->heads; ++h)
      for (int64_t i = 0; i < p->queries; ++i, ++lse) {
        float top = sinks ? sinks[h] : -INFINITY, sum = 0, score;
        for (int64_t j = 0; j < p->keys; ++j) {
          kedge_score(p, q, k, mask, b, h, i, j, &score);
          top = score > top ? score : top;
        }
        float *to = o + kedge_at(p->o, b, h, i);
        memset(to, 0, (size_t)p->value_depth * sizeof(float));
        *lse = top;
        if (top == -INFINITY)
          continue;
        for (int64_t j = 0; j < p->keys; ++j) {
          kedge_score(p, q, k, mask, b, h, i, j, &score);
          const float weight = expf(score - top), *from = v + kedge_at(p->v, b, h / p->group, j);
          sum += weight;
          for (int64_t d = 0; d < p->value_depth; ++d)
            to[d] = fmaf(weight, from[d], to[d]);
        }
        sum += sinks ? expf(sinks[h] - top) : 0;
        for (int64_t d = 0; d < p->value_depth; ++d)
          to[d] /= sum;
        *lse += logf(sum);
      }
}
)";

constexpr char kAttentionGradient[] =
    R"(/* dq, dk and dv are zero at first. */
static void kedge_attention_grad(const struct kedge_attention *p, const float *d_o, const float *q, const float *k, const float *v,
                                 const float *o, const float *lse, const void *mask, float *dq, float *dk, float *dv) {
  for (int64_t b = 0; b < p->batch; ++b)
    for (int64_t h = 0; h < p->heads; ++h)
      for (int64_t i = 0; i < p->queries; ++i, ++lse) {
        const float *up = d_o + kedge_at(p->o, b, h, i), *from_q = q + kedge_at(p->q, b, h, i);
        const float delta = kedge_inner(up, o + kedge_at(p->o, b, h, i), p->value_depth);
        float *to_q = dq + kedge_at(p->q, b, h, i);
        for (int64_t j = 0; j < p->keys && *lse != -INFINITY; ++j) {
          float masked;
          const float score = kedge_score(p, q, k, mask, b, h, i, j, &masked), weight = expf(masked - *lse);
          if (weight == 0)
            continue;
          const int64_t at_k = kedge_at(p->k, b, h / p->group, j), at_v = kedge_at(p->v, b, h / p->group, j);
          float change = weight * (kedge_inner(up, v + at_v, p->value_depth) - delta);
          if (p->softcap > 0)
            change *= 1 - score / p->softcap * (score / p->softcap);
          change *= p->scale;
          for (int64_t d = 0; d < p->value_depth; ++d)
            dv[at_v + d] = fmaf(weight, up[d], dv[at_v + d]);
          for (int64_t d = 0; d < p->depth; ++d) {
            dk[at_k + d] = fmaf(change, from_q[d], dk[at_k + d]);
            to_q[d] = fmaf(change, k[at_k + d], to_q[d]);
          }
        }
      }
}
)";

constexpr char kAverage[] =
    R"(/* y = averages of x, or with `is_gradient`: dx = their gradient, x is dy then. ends: padding behind. */
static void kedge_average_pool(const struct kedge_pool *p, const int64_t ends[3], int counts_padding, int is_gradient,
                               const float *x, float *to) {
  const int64_t in = p->in[0] * p->in[1] * p->in[2], out = p->out[0] * p->out[1] * p->out[2],
                taps = p->kernel[0] * p->kernel[1] * p->kernel[2];
  if (is_gradient)
    memset(to, 0, (size_t)(p->planes * in) * sizeof(float));
  for (int64_t window = 0; window < p->planes * out; ++window) {
    const int64_t plane = window / out, o = window % out,
                  place[3] = {o / p->out[2] / p->out[1], o / p->out[2] % p->out[1], o % p->out[2]};
    float sum = 0, count = 0;
    for (int pass = 0; pass <= is_gradient; ++pass)
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t t[3] = {tap / p->kernel[2] / p->kernel[1], tap / p->kernel[2] % p->kernel[1], tap % p->kernel[2]};
        int64_t at = 0;
        int is_inside = 1, is_counted = 1;
        for (int d = 0; d < 3; ++d) {
          const int64_t i = place[d] * p->stride[d] - p->pad[d] + t[d] * p->dilation[d];
          is_inside &= i >= 0 && i < p->in[d];
          is_counted &= i >= -p->pad[d] && i < p->in[d] + ends[d];
          at = at * p->in[d] + i;
        }
        if (pass == 0)
          count += counts_padding ? is_counted : is_inside;
        if (is_inside && pass == 1)
          to[plane * in + at] += x[window] / count;
        else if (is_inside && !is_gradient)
          sum += x[plane * in + at];
      }
    if (!is_gradient)
      to[window] = sum / count;
  }
}
)";

struct Helper {
  const char *name, *text, *needs;
};
/// In the order of their definitions; none is needed by one before it.
constexpr Helper kHelpers[] = {{"sum", kDot, ""},
                               {"matmul", kMatmul, "sum"},
                               {"conv", kConv, "sum"},
                               {"conv_places", kConvPlaces, "conv"},
                               {"conv_filters", kConvFilters, "conv"},
                               {"pool", kPool, ""},
                               {"max_pool", kMaxPool, "pool"},
                               {"average_pool", kAverage, "pool"},
                               {"attention", kAttention, ""},
                               {"attention_forward", kAttentionForward, "attention"},
                               {"attention_grad", kAttentionGradient, "attention"},
                               {"index", kGather, ""},
                               {"gather", kGatherRows, "index"},
                               {"gather_grad", kGatherGradient, "index"}};

} // namespace

std::string helperText(const std::set<std::string> &helpers) {
  std::set<std::string> all = helpers;
  for (size_t at = std::size(kHelpers); at-- > 0;)
    if (all.contains(kHelpers[at].name))
      all.insert(kHelpers[at].needs);
  std::string text;
  for (const Helper &helper : kHelpers)
    if (all.contains(helper.name))
      text += helper.text;
  return text;
}

} // namespace kedge::exporter
