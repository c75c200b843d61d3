// Convolutions as products of panels: the sums of sumsText (ProductText.h).
#include "lib/Export/C/ConvolutionText.h"

namespace kedge::exporter {

const char convText[] =
    R"(/* Convolutions of up to three dimensions. kind 0: y = conv(x, w) + bias; 1: x = its gradient, from w and y
   (+ bias); 2: w = its gradient, from x and y. */
struct kedge_conv {
  int kind;
  int64_t block, batch, channels, filters, groups, in[3], out[3], kernel[3], stride[3], dilation[3], pad[3];
};
static inline void kedge_split(int64_t at, const int64_t size[3], int64_t place[3]) {
  place[2] = at % size[2], place[1] = at / size[2] % size[1], place[0] = at / size[2] / size[1];
}
static inline int64_t kedge_count(const int64_t size[3]) { return size[0] * size[1] * size[2]; }
static inline int64_t kedge_flat(const int64_t place[3], const int64_t size[3]) {
  return (place[0] * size[1] + place[1]) * size[2] + place[2];
}
/* Element that tap t meets, counted in `size`, where tap 0 meets `first` (is_back: times the stride); -1: none. */
static inline int64_t kedge_met(const struct kedge_conv *p, const int64_t first[3], const int64_t t[3], const int64_t size[3],
                                int is_back) {
  int64_t at[3];
  for (int d = 0; d < 3; ++d) {
    at[d] = is_back ? first[d] - t[d] * p->dilation[d] : first[d] + t[d] * p->dilation[d];
    if (is_back && p->stride[d] != 1) {
      if (at[d] < 0 || at[d] % p->stride[d])
        return -1;
      at[d] /= p->stride[d];
    }
    if (at[d] < 0 || at[d] >= size[d])
      return -1;
  }
  return kedge_flat(at, size);
}
/* Whether all taps meet an element. */
static inline int kedge_is_inside(const struct kedge_conv *p, const int64_t first[3], const int64_t size[3], int is_back) {
  for (int d = 0; d < 3; ++d) {
    const int64_t reach = (p->kernel[d] - 1) * p->dilation[d], low = is_back ? first[d] - reach : first[d];
    if ((is_back && p->stride[d] != 1) || low < 0 || low + reach >= size[d])
      return 0;
  }
  return 1;
}
static inline void kedge_next(int64_t place[3], const int64_t size[3]) {
  for (int d = 2; d >= 0 && ++place[d] == size[d]; --d)
    place[d] = 0;
}
)";

const char convPlacesText[] =
    R"(/* The columns of a panel are places, one after the other. */
struct kedge_places {
  int64_t first[KEDGE_COLUMNS][3], flat[KEDGE_COLUMNS];
  int columns, is_inside, is_run;
};
static struct kedge_places kedge_places_of(const struct kedge_conv *p, const int64_t space[3], const int64_t source[3],
                                           int64_t at, int columns, int is_back) {
  struct kedge_places to = {.columns = columns, .is_inside = 1, .is_run = columns == KEDGE_COLUMNS};
  int64_t place[3];
  kedge_split(at, space, place);
  for (int l = 0; l < columns; ++l, kedge_next(place, space)) {
    for (int d = 0; d < 3; ++d)
      to.first[l][d] = is_back ? place[d] + p->pad[d] : place[d] * p->stride[d] - p->pad[d];
    to.flat[l] = kedge_flat(to.first[l], source);
    to.is_inside &= kedge_is_inside(p, to.first[l], source, is_back);
    to.is_run &= to.flat[l] == to.flat[0] + l;
  }
  return to;
}
/* A row of the panel: what tap t of each place meets. */
static inline void kedge_pack(const struct kedge_conv *p, const struct kedge_places *places, const int64_t t[3],
                              const int64_t source[3], const float *from, int is_back, float to[KEDGE_COLUMNS]) {
  const int64_t step[3] = {t[0] * p->dilation[0], t[1] * p->dilation[1], t[2] * p->dilation[2]},
                flat = kedge_flat(step, source), shift = is_back ? -flat : flat;
  if (places->is_inside && places->is_run) {
    memcpy(to, from + places->flat[0] + shift, KEDGE_COLUMNS * sizeof(float));
    return;
  }
  for (int l = 0; l < KEDGE_COLUMNS; ++l) {
    int64_t met = -1;
    if (l < places->columns)
      met = places->is_inside ? places->flat[l] + shift : kedge_met(p, places->first[l], t, source, is_back);
    to[l] = met < 0 ? 0 : from[met];
  }
}
static void kedge_conv_places(const struct kedge_conv *p, const float *from, const float *w, const float *bias, float *to) {
  const int64_t c = p->channels / p->groups, f = p->filters / p->groups, taps = kedge_count(p->kernel);
  const int is_back = p->kind == 1;
  const int64_t rows = is_back ? c : f, terms = (is_back ? f : c) * taps;
  const int64_t *space = is_back ? p->in : p->out, *source = is_back ? p->out : p->in;
  const int64_t places = kedge_count(space), sources = kedge_count(source);
  for (int64_t job = 0; job < p->batch * p->groups; ++job, to += rows * places, from += terms / taps * sources) {
    const float *factors = w + job % p->groups * f * c * taps;
    for (int64_t row = 0; row < rows && bias; ++row)
      for (int64_t at = 0; at < places; ++at)
        to[row * places + at] = bias[job % p->groups * rows + row];
    for (int64_t begin = 0; begin < terms; begin += p->block) {
      const int64_t count = terms - begin < p->block ? terms - begin : p->block;
      for (int64_t q = 0; q < count; ++q)
        kedge_at[q] = (ptrdiff_t)(is_back ? (begin + q) / taps * c * taps + (begin + q) % taps : begin + q);
      for (int64_t at = 0; at < places; at += KEDGE_COLUMNS) {
        const struct kedge_places tile =
            kedge_places_of(p, space, source, at, places - at < KEDGE_COLUMNS ? (int)(places - at) : KEDGE_COLUMNS, is_back);
        int64_t tap[3], term = begin / taps;
        kedge_split(begin % taps, p->kernel, tap);
        for (int64_t q = 0; q < count; ++q) {
          kedge_pack(p, &tile, tap, source, from + term * sources, is_back, kedge_panel[q].column);
          kedge_next(tap, p->kernel);
          term += tap[0] + tap[1] + tap[2] == 0;
        }
        kedge_columns(factors, is_back ? taps : terms, rows, count, to + at, places, tile.columns, bias || begin);
      }
    }
  }
}
)";

const char convFiltersText[] =
    R"(/* The columns of a panel are weights of a filter: a channel's plane and a tap each. */
static void kedge_pack_filters(const struct kedge_conv *p, const float *x, int64_t weight, int columns, int64_t begin,
                               int64_t count) {
  const int64_t taps = kedge_count(p->kernel), in = kedge_count(p->in), out = kedge_count(p->out);
  int64_t tap[KEDGE_COLUMNS][3], met[KEDGE_COLUMNS], flat[KEDGE_COLUMNS], plane[KEDGE_COLUMNS], place[3];
  for (int l = 0; l < columns; ++l) {
    kedge_split((weight + l) % taps, p->kernel, tap[l]);
    const int64_t step[3] = {tap[l][0] * p->dilation[0], tap[l][1] * p->dilation[1], tap[l][2] * p->dilation[2]};
    plane[l] = (weight + l) / taps * in, flat[l] = plane[l] + kedge_flat(step, p->in);
  }
  kedge_split(begin % out, p->out, place);
  x += begin / out * p->channels * in;
  for (int64_t q = 0; q < count; ++q) {
    int64_t first[3];
    for (int d = 0; d < 3; ++d)
      first[d] = place[d] * p->stride[d] - p->pad[d];
    const int64_t shift = kedge_flat(first, p->in);
    if (kedge_is_inside(p, first, p->in, 0))
      for (int l = 0; l < KEDGE_COLUMNS; ++l)
        kedge_panel[q].column[l] = l < columns ? x[flat[l] + shift] : 0;
    else
      for (int l = 0; l < KEDGE_COLUMNS; ++l) {
        met[l] = l < columns ? kedge_met(p, first, tap[l], p->in, 0) : -1;
        kedge_panel[q].column[l] = met[l] < 0 ? 0 : x[plane[l] + met[l]];
      }
    kedge_next(place, p->out);
    x += place[0] + place[1] + place[2] == 0 ? p->channels * in : 0;
  }
}
static void kedge_conv_filters(const struct kedge_conv *p, const float *x, const float *dy, float *dw) {
  const int64_t c = p->channels / p->groups, f = p->filters / p->groups, in = kedge_count(p->in), out = kedge_count(p->out),
                weights = c * kedge_count(p->kernel), terms = p->batch * out;
  for (int64_t begin = 0; begin < terms; begin += p->block) {
    const int64_t count = terms - begin < p->block ? terms - begin : p->block;
    for (int64_t q = 0; q < count; ++q)
      kedge_at[q] = (ptrdiff_t)((begin + q) / out * p->filters * out + (begin + q) % out);
    for (int64_t group = 0; group < p->groups; ++group)
      for (int64_t at = 0; at < weights; at += KEDGE_COLUMNS) {
        const int columns = weights - at < KEDGE_COLUMNS ? (int)(weights - at) : KEDGE_COLUMNS;
        kedge_pack_filters(p, x + group * c * in, at, columns, begin, count);
        kedge_columns(dy + group * f * out, out, f, count, dw + group * f * weights + at, weights, columns, begin != 0);
      }
  }
}
)";

} // namespace kedge::exporter
