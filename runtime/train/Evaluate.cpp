#include "runtime/train/Evaluate.h"
#include "runtime/io/Error.h"
#include <algorithm>

namespace kedge::rt {

Evaluator::Evaluator(Executor &executor, const Dataset &data, const RunScalars &scalars)
    : executor(executor), program(executor.program()), data(data), scalars(scalars), writer(program),
      lossRows(program.result("eval", "loss_rows")), itemRows(program.result("eval", "item_rows")),
      lossSum(program.result("eval", "loss_sum")), items(program.result("eval", "items")) {
  if (!program.function("eval") || (!lossRows && !lossSum))
    fail("the program '{}' has no evaluation loss: leave out --eval-every, --eval-data and --eval-tokens",
         program.name);
  const int64_t batch = program.options.batch, rest = data.rows() % batch;
  if (!lossRows && !program.options.ignoreIndex && rest != 0)
    fail("evaluation: the loss of this model is one number a batch, so a last batch of {} of {} rows cannot "
         "be "
         "masked: give a multiple of {} rows, {} or {}",
         rest, batch, batch, data.rows() - rest, data.rows() - rest + batch);
}

double Evaluator::loss(const Progress &progress) {
  const int64_t batch = program.options.batch;
  Sums sums;
  for (int64_t first = 0; first < data.rows(); first += batch) {
    const int64_t valid = std::min(batch, data.rows() - first);
    data.fillMasked(executor, "eval", {first, valid});
    if (!lossRows && valid < batch)
      data.maskLabels(executor, "eval", valid, *program.options.ignoreIndex);
    StepPoint point;
    point.step = progress.step;
    point.optimizerSteps = progress.optimizerSteps;
    writer.write(executor, scalars, point);
    const int64_t weight = lossRows ? 0 : data.countLabels(executor, "eval", valid);
    executor.run("eval");
    if (lossRows)
      addRows(valid, sums);
    else
      addBatch(weight, sums);
  }
  return sums.items == 0 ? 0 : sums.loss / sums.items;
}

void Evaluator::addRows(int64_t valid, Sums &sums) const {
  const double share = program.options.itemsPerBatch / static_cast<double>(program.options.batch);
  for (int64_t row = 0; row < valid; ++row) {
    sums.loss += readResult(executor, *lossRows, row);
    sums.items += itemRows ? readResult(executor, *itemRows, row) : share;
  }
}

void Evaluator::addBatch(int64_t weight, Sums &sums) const {
  if (program.options.loss == LossKind::Items) {
    sums.loss += readResult(executor, *lossSum);
    sums.items += items ? readResult(executor, *items) : program.options.itemsPerBatch;
    return;
  }
  if (weight == 0)
    return;
  sums.loss += readResult(executor, *lossSum) * static_cast<double>(weight);
  sums.items += static_cast<double>(weight);
}

} // namespace kedge::rt
