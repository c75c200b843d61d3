#include "test/unit/runtime/tiny/Tiny.h"
#include <cmath>
#include <cstring>
#include <utility>

namespace kedge::tiny {
namespace {

template <typename T> T *as(char *const *args, int index) { return reinterpret_cast<T *>(args[index]); }

// x, w, b -> y; iterations: rows.
void lineForward(char *const *args, int64_t begin, int64_t end) {
  if (begin == 0)
    markAllocations();
  const float *x = as<float>(args, 0), *w = as<float>(args, 1), *b = as<float>(args, 2);
  float *y = as<float>(args, 3);
  for (int64_t i = begin; i < end; ++i)
    for (int o = 0; o < 2; ++o) {
      float sum = b[o];
      for (int k = 0; k < 3; ++k)
        sum += x[i * 3 + k] * w[o * 3 + k];
      y[i * 2 + o] = sum;
    }
}

// y, labels, nominal_items -> dy; iterations: elements.
void lineLossGrad(char *const *args, int64_t begin, int64_t end) {
  const float *y = as<float>(args, 0), *labels = as<float>(args, 1);
  const double nominal = *as<double>(args, 2);
  float *dy = as<float>(args, 3);
  for (int64_t i = begin; i < end; ++i)
    dy[i] = static_cast<float>(2 * (y[i] - labels[i]) / nominal);
}

// y, labels -> loss of each row; iterations: rows.
void lineLossRows(char *const *args, int64_t begin, int64_t end) {
  const float *y = as<float>(args, 0), *labels = as<float>(args, 1);
  float *rows = as<float>(args, 2);
  for (int64_t i = begin; i < end; ++i) {
    rows[i] = 0;
    for (int o = 0; o < 2; ++o) {
      const float d = y[i * 2 + o] - labels[i * 2 + o];
      rows[i] += d * d;
    }
  }
}

// rows, batch -> their sum. One iteration.
void sumRows(char *const *args, int64_t, int64_t) {
  const float *rows = as<float>(args, 0);
  float sum = 0;
  for (int64_t i = 0; i < *as<int64_t>(args, 1); ++i)
    sum += rows[i];
  *as<float>(args, 2) = sum;
}

// rows, batch -> their mean over elements. One iteration.
void meanRows(char *const *args, int64_t begin, int64_t end) {
  sumRows(args, begin, end);
  *as<float>(args, 2) /= static_cast<float>(2 * *as<int64_t>(args, 1));
}

// dy, x, batch, micro -> gw, gb (overwritten for micro-batch 0, added to otherwise). One iteration.
void lineBackward(char *const *args, int64_t, int64_t) {
  const float *dy = as<float>(args, 0), *x = as<float>(args, 1);
  const int64_t batch = *as<int64_t>(args, 2), micro = *as<int64_t>(args, 3);
  float *gw = as<float>(args, 4), *gb = as<float>(args, 5);
  for (int o = 0; o < 2; ++o) {
    for (int k = 0; k < 3; ++k) {
      float sum = 0;
      for (int64_t i = 0; i < batch; ++i)
        sum += dy[i * 2 + o] * x[i * 3 + k];
      gw[o * 3 + k] = micro == 0 ? sum : gw[o * 3 + k] + sum;
    }
    float sum = 0;
    for (int64_t i = 0; i < batch; ++i)
      sum += dy[i * 2 + o];
    gb[o] = micro == 0 ? sum : gb[o] + sum;
  }
}

// gw, gb, lr, momentum, weight_decay -> w, b, momentum of w, momentum of b, grad_norm (in place). One
// iteration.
void lineUpdate(char *const *args, int64_t, int64_t) {
  const float *gradients[2] = {as<float>(args, 0), as<float>(args, 1)};
  const float lr = *as<float>(args, 2), momentum = *as<float>(args, 3), decay = *as<float>(args, 4);
  float *values[2] = {as<float>(args, 5), as<float>(args, 6)};
  float *buffers[2] = {as<float>(args, 7), as<float>(args, 8)};
  double norm = 0;
  for (int p = 0; p < 2; ++p)
    for (int i = 0; i < (p == 0 ? 6 : 2); ++i) {
      norm += static_cast<double>(gradients[p][i]) * gradients[p][i];
      buffers[p][i] = momentum * buffers[p][i] + gradients[p][i] + decay * values[p][i];
      values[p][i] -= lr * buffers[p][i];
    }
  *as<float>(args, 9) = static_cast<float>(std::sqrt(norm));
}

// gw, gb, lr, momentum, weight_decay, elements of the part -> w, b, momentum of w, momentum of b (in place),
// a norm that nobody reads. One iteration.
void rankUpdate(char *const *args, int64_t, int64_t) {
  const float *gradients[2] = {as<float>(args, 0), as<float>(args, 1)};
  const float lr = *as<float>(args, 2), momentum = *as<float>(args, 3), decay = *as<float>(args, 4);
  const int64_t sizes[2] = {*as<int64_t>(args, 5), 2};
  float *values[2] = {as<float>(args, 6), as<float>(args, 7)};
  float *buffers[2] = {as<float>(args, 8), as<float>(args, 9)};
  for (int p = 0; p < 2; ++p)
    for (int64_t i = 0; i < sizes[p]; ++i) {
      buffers[p][i] = momentum * buffers[p][i] + gradients[p][i] + decay * values[p][i];
      values[p][i] -= lr * buffers[p][i];
    }
}

// Parts of [2, 3] in a row, which element each has (base 8; 7: padding), elements of all -> [2, 3]. One
// iteration.
void joinBoxes(char *const *args, int64_t, int64_t) {
  int64_t places = *as<int64_t>(args, 1);
  for (int64_t k = 0; k < *as<int64_t>(args, 2); ++k, places /= 8)
    if (places % 8 != 7)
      as<float>(args, 3)[places % 8] = as<float>(args, 0)[k];
}

// The same backwards.
void cutBoxes(char *const *args, int64_t, int64_t) {
  int64_t places = *as<int64_t>(args, 1);
  for (int64_t k = 0; k < *as<int64_t>(args, 2); ++k, places /= 8)
    as<float>(args, 3)[k] = places % 8 == 7 ? 0 : as<float>(args, 0)[places % 8];
}

/// Negative log-likelihood of `label` under row `id` of the table; p: softmax, when not null.
float bigramLoss(const float *table, int64_t id, int64_t label, float *p) {
  float sum = 0;
  for (int k = 0; k < 8; ++k)
    sum += std::exp(table[id * 8 + k]);
  for (int k = 0; p && k < 8; ++k)
    p[k] = std::exp(table[id * 8 + k]) / sum;
  return std::log(sum) - table[id * 8 + label];
}

// ids, labels, table, batch -> loss_sum, items, gradient of the table. One iteration.
void bigramStep(char *const *args, int64_t, int64_t) {
  const int64_t *ids = as<int64_t>(args, 0), *labels = as<int64_t>(args, 1);
  const float *table = as<float>(args, 2);
  const int64_t positions = 4 * *as<int64_t>(args, 3);
  float *gradient = as<float>(args, 6);
  double loss = 0, items = 0;
  std::memset(gradient, 0, 64 * sizeof(float));
  for (int64_t i = 0; i < positions; ++i) {
    if (labels[i] == -100)
      continue;
    float p[8];
    loss += bigramLoss(table, ids[i], labels[i], p);
    items += 1;
    for (int k = 0; k < 8; ++k)
      gradient[ids[i] * 8 + k] += p[k] - (k == labels[i] ? 1.0f : 0.0f);
  }
  for (int k = 0; k < 64; ++k)
    gradient[k] = items > 0 ? gradient[k] / static_cast<float>(items) : 0;
  *as<double>(args, 4) = loss;
  *as<float>(args, 5) = static_cast<float>(items);
}

// gradient, lr -> table. Iterations: elements.
void bigramUpdate(char *const *args, int64_t begin, int64_t end) {
  for (int64_t k = begin; k < end; ++k)
    as<float>(args, 2)[k] -= *as<float>(args, 1) * as<float>(args, 0)[k];
}

// ids, labels, table -> loss_rows, item_rows. Iterations: rows.
void bigramEval(char *const *args, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    float loss = 0, items = 0;
    for (int64_t i = row * 4; i < row * 4 + 4; ++i)
      if (as<int64_t>(args, 1)[i] != -100) {
        loss += bigramLoss(as<float>(args, 2), as<int64_t>(args, 0)[i], as<int64_t>(args, 1)[i], nullptr);
        items += 1;
      }
    as<float>(args, 3)[row] = loss;
    as<float>(args, 4)[row] = items;
  }
}

constexpr std::pair<const char *, KedgeKernel> kKernels[] = {
    {"line_forward", lineForward}, {"line_loss_grad", lineLossGrad}, {"line_loss_rows", lineLossRows},
    {"sum_rows", sumRows},         {"mean_rows", meanRows},          {"line_backward", lineBackward},
    {"line_update", lineUpdate},   {"bigram_step", bigramStep},      {"bigram_update", bigramUpdate},
    {"bigram_eval", bigramEval},   {"rank_update", rankUpdate},      {"join_boxes", joinBoxes},
    {"cut_boxes", cutBoxes}};

} // namespace

KedgeKernel kernelByName(const std::string &name) {
  for (const auto &[known, kernel] : kKernels)
    if (name == known)
      return kernel;
  return nullptr;
}

} // namespace kedge::tiny
