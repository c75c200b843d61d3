// Functions in C11 that calls of library kernels become calls of.
#include "lib/Export/C/ConvolutionText.h"
#include "lib/Export/C/LibraryText.h"
#include "lib/Export/C/ProductText.h"
#include <fmt/format.h>

namespace kedge::exporter {
namespace {

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
static inline int64_t kedge_at_view(struct kedge_view v, int64_t b, int64_t h, int64_t t) {
  return v.offset + b * v.batch + h * v.head + t * v.row;
}
static inline float kedge_inner(const float *a, const float *b, int64_t n) {
  float sums[8] = {0};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int l = 0; l < 8; ++l)
      sums[l] = KEDGE_FMA(a[i + l], b[i + l], sums[l]);
  for (; i < n; ++i)
    sums[i % 8] = KEDGE_FMA(a[i], b[i], sums[i % 8]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}
/* Keys that query i sees lie in [first, end). */
static inline int64_t kedge_first(const struct kedge_attention *p, int64_t i) { return i > p->left ? i - p->left : 0; }
static inline int64_t kedge_end(const struct kedge_attention *p, int64_t i) {
  return p->right < p->keys - 1 - i ? (i + p->right < -1 ? 0 : i + p->right + 1) : p->keys;
}
/* The score before it is masked, and in `masked` as it is. */
static inline float kedge_score(const struct kedge_attention *p, const float *q, const float *k, const void *mask, int64_t b,
                                int64_t h, int64_t i, int64_t j, float *masked) {
  float score = p->scale * kedge_inner(q + kedge_at_view(p->q, b, h, i), k + kedge_at_view(p->k, b, h / p->group, j), p->depth);
  if (p->softcap > 0)
    score = p->softcap * tanhf(score / p->softcap);
  *masked = score;
  const int64_t at = b * p->mask.offset + h * p->mask.batch + i * p->mask.head + j * p->mask.row;
  if (p->mask_kind == 1 && !((const uint8_t *)mask)[at])
    *masked = -INFINITY;
  else if (p->mask_kind == 2)
    *masked += ((const float *)mask)[at];
  return score;
}
)";

constexpr char kAttentionForward[] =
    R"(static float kedge_scores[KEDGE_KEYS];
static void kedge_attention(const struct kedge_attention *p, const float *q, const float *k, const float *v, const void *mask,
                            const float *sinks, float *o, float *lse) {
  for (int64_t b = 0; b < p->batch; ++b)
    for (int64_t h = 0; h < p->heads; ++h)
      for (int64_t i = 0; i < p->queries; ++i, ++lse) {
        const int64_t begin = kedge_first(p, i), end = kedge_end(p, i);
        float top = sinks ? sinks[h] : -INFINITY, sum = 0;
        for (int64_t j = begin; j < end; ++j) {
          kedge_score(p, q, k, mask, b, h, i, j, &kedge_scores[j]);
          top = kedge_scores[j] > top ? kedge_scores[j] : top;
        }
        float *to = o + kedge_at_view(p->o, b, h, i);
        memset(to, 0, (size_t)p->value_depth * sizeof(float));
        *lse = top;
        if (top == -INFINITY)
          continue;
        for (int64_t j = begin; j < end; ++j) {
          const float weight = expf(kedge_scores[j] - top), *from = v + kedge_at_view(p->v, b, h / p->group, j);
          sum += weight;
          for (int64_t d = 0; d < p->value_depth; ++d)
            to[d] = KEDGE_FMA(weight, from[d], to[d]);
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
        const float *up = d_o + kedge_at_view(p->o, b, h, i), *from_q = q + kedge_at_view(p->q, b, h, i);
        const float delta = kedge_inner(up, o + kedge_at_view(p->o, b, h, i), p->value_depth);
        float *to_q = dq + kedge_at_view(p->q, b, h, i);
        const int64_t end = *lse == -INFINITY ? 0 : kedge_end(p, i);
        for (int64_t j = kedge_first(p, i); j < end; ++j) {
          float masked;
          const float score = kedge_score(p, q, k, mask, b, h, i, j, &masked), weight = expf(masked - *lse);
          if (weight == 0)
            continue;
          const int64_t at_k = kedge_at_view(p->k, b, h / p->group, j), at_v = kedge_at_view(p->v, b, h / p->group, j);
          float change = weight * (kedge_inner(up, v + at_v, p->value_depth) - delta);
          if (p->softcap > 0)
            change *= 1 - score / p->softcap * (score / p->softcap);
          change *= p->scale;
          for (int64_t d = 0; d < p->value_depth; ++d)
            dv[at_v + d] = KEDGE_FMA(weight, up[d], dv[at_v + d]);
          for (int64_t d = 0; d < p->depth; ++d) {
            dk[at_k + d] = KEDGE_FMA(change, from_q[d], dk[at_k + d]);
            to_q[d] = KEDGE_FMA(change, k[at_k + d], to_q[d]);
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

constexpr char kResize[] =
    R"(/* Along an axis: element i of the result is the sum of sources start[i] to start[i + 1], each with its weight;
   start 0: of element i alone. outside: elements that are `beyond`; 0: there are none. */
struct kedge_axis {
  const int32_t *start, *source;
  const float *weight;
  const uint8_t *outside;
  int64_t size, stride; /* elements of the result; between neighbours of the source */
};
static float kedge_weighted(const struct kedge_axis *axis, int rank, const int64_t *index, const float *from) {
  if (rank == 0)
    return *from;
  if (!axis->start)
    return kedge_weighted(axis + 1, rank - 1, index + 1, from + *index * axis->stride);
  float sum = 0;
  for (int32_t k = axis->start[*index]; k < axis->start[*index + 1]; ++k)
    sum += axis->weight[k] * kedge_weighted(axis + 1, rank - 1, index + 1, from + axis->source[k] * axis->stride);
  return sum;
}
static void kedge_resize(const struct kedge_axis *axes, int rank, int64_t count, float beyond, const float *from, float *to) {
  int64_t index[16] = {0};
  for (int64_t at = 0; at < count; ++at) {
    int is_outside = 0;
    for (int d = 0; d < rank; ++d)
      is_outside |= axes[d].outside && axes[d].outside[index[d]];
    to[at] = is_outside ? beyond : kedge_weighted(axes, rank, index, from);
    for (int d = rank - 1; d >= 0 && ++index[d] == axes[d].size; --d)
      index[d] = 0;
  }
}
)";

constexpr char kTuples[] = R"(/* `count` tuples of `depth` indices select slices of `slice` elements. */
struct kedge_tuples {
  int64_t count, depth, per_batch, slots_per_batch, slots, slice, sizes[8], strides[8];
  int is_wide;
};
/* The slice of tuple i; -1: there is none. */
static inline int64_t kedge_slot(const struct kedge_tuples *p, const void *indices, int64_t i) {
  int64_t slot = i / p->per_batch * p->slots_per_batch;
  for (int64_t d = 0; d < p->depth; ++d) {
    const int64_t at = i * p->depth + d,
                  index = p->is_wide ? ((const int64_t *)indices)[at] : ((const int32_t *)indices)[at],
                  place = index < 0 ? index + p->sizes[d] : index;
    if (place < 0 || place >= p->sizes[d])
      return -1;
    slot += place * p->strides[d];
  }
  return slot;
}
)";

constexpr char kGatherTuples[] =
    R"(static void kedge_gather_tuples(const struct kedge_tuples *p, const char *from, const void *indices, char *to, int64_t bytes) {
  for (int64_t i = 0; i < p->count; ++i) {
    const int64_t slot = kedge_slot(p, indices, i);
    if (slot < 0)
      memset(to + i * bytes, 0, (size_t)bytes);
    else
      memcpy(to + i * bytes, from + slot * bytes, (size_t)bytes);
  }
}
)";

constexpr char kGatherTuplesGradient[] =
    R"(static void kedge_gather_tuples_grad(const struct kedge_tuples *p, const float *dy, const void *indices, float *dx) {
  memset(dx, 0, (size_t)(p->slots * p->slice) * sizeof(float));
  for (int64_t i = 0; i < p->count; ++i) {
    const int64_t slot = kedge_slot(p, indices, i);
    for (int64_t j = 0; j < p->slice && slot >= 0; ++j)
      dx[slot * p->slice + j] += dy[i * p->slice + j];
  }
}
)";

struct Helper {
  const char *name, *text, *needs;
};
/// In the order of their definitions; none is needed by one before it.
const Helper kHelpers[] = {{"lanes", lanesText, ""},
                           {"sum", sumsText, "lanes"},
                           {"matmul", matmulText, "sum"},
                           {"conv", convText, "sum"},
                           {"conv_places", convPlacesText, "conv"},
                           {"conv_filters", convFiltersText, "conv"},
                           {"pool", kPool, ""},
                           {"max_pool", kMaxPool, "pool"},
                           {"average_pool", kAverage, "pool"},
                           {"attention", kAttention, ""},
                           {"attention_forward", kAttentionForward, "attention"},
                           {"attention_grad", kAttentionGradient, "attention"},
                           {"index", kGather, ""},
                           {"gather", kGatherRows, "index"},
                           {"gather_grad", kGatherGradient, "index"},
                           {"resize", kResize, ""},
                           {"tuples", kTuples, ""},
                           {"gather_tuples", kGatherTuples, "tuples"},
                           {"gather_tuples_grad", kGatherTuplesGradient, "tuples"}};

} // namespace

std::string helperText(const Helpers &helpers) {
  std::set<std::string> all = helpers.names;
  for (size_t at = std::size(kHelpers); at-- > 0;)
    if (all.contains(kHelpers[at].name))
      all.insert(kHelpers[at].needs);
  std::string text = fmaText;
  if (helpers.block)
    text += fmt::format("enum {{ KEDGE_BLOCK = {} }};\n", helpers.block);
  if (helpers.keys)
    text += fmt::format("enum {{ KEDGE_KEYS = {} }};\n", helpers.keys);
  for (const Helper &helper : kHelpers)
    if (all.contains(helper.name))
      text += helper.text;
  return text;
}

} // namespace kedge::exporter
