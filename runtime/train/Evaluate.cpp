#include "runtime/train/Evaluate.h"
#include "runtime/comm/Communicator.h"
#include "runtime/io/Error.h"
#include "runtime/train/Signals.h"
#include "runtime/train/checkpoint/WholeStates.h"
#include <algorithm>
#include <cstring>

namespace kedge::rt {

EvaluationRounds::EvaluationRounds(const Executor &executor, const Dataset &data)
    : batch(executor.program().options.batch), rows(data.rows()) {
  if (const Communicator *communicator = executor.communicator())
    world = communicator->rowPlace();
  const int64_t batches = (rows + batch - 1) / batch;
  rounds = (batches + world.size - 1) / world.size;
}

RowRange EvaluationRounds::rowsOf(int64_t round, int64_t rank) const {
  const int64_t first = std::min(rows, (round * world.size + rank) * batch);
  return {first, std::min(batch, rows - first)};
}

void checkEvaluation(const Program &program) {
  const std::vector<std::string> &draws = program.options.drawsInEvaluation;
  if (!draws.empty())
    fail("evaluation: {} random numbers of the model are no Dropout's ('{}'{}), and nothing shows whether "
         "model.eval() switches them "
         "off: compile with --allow random-evaluation to draw them here, too, or leave evaluation and "
         "--predict out",
         draws.size(), draws.front(), draws.size() > 1 ? " and others" : "");
}

/// Its first rank has those that count; rank 0 passes them on.
static void takeFromStage(Executor &executor, const State &state) {
  Communicator &ranks = *executor.communicator();
  std::vector<char> whole;
  gatherOnFirst(ranks, *state.shard, state.desc.type, executor.read(state), whole);
  whole.resize(TensorDesc{state.desc.type, state.shard->shape}.bytes());
  ranks.broadcast(whole.data(), whole.size());
  executor.write(state, [&](char *bytes) {
    std::memcpy(bytes, whole.data(), std::min<size_t>(whole.size(), state.desc.bytes()));
  });
}

void takeBuffersOfFirstRank(Executor &executor) {
  Communicator *communicator = executor.communicator();
  if (!communicator)
    return;
  for (const State &state : executor.program().states)
    if (state.role == StateRole::Buffer && !state.shard)
      executor.write(state, [&](char *bytes) { communicator->broadcast(bytes, state.desc.bytes()); });
    else if (state.role == StateRole::Buffer && state.shard->isWholeOnStages())
      takeFromStage(executor, state);
}

/// Of a pipeline, one stage has the loss.
static bool isOnSomeStage(const Executor &executor, bool here) {
  return executor.program().isPipelined() ? maxOverRanks(executor.communicator(), here) > 0 : here;
}

Evaluator::Evaluator(Executor &executor, const Dataset &data, const RunScalars &scalars)
    : executor(executor), program(executor.program()), data(data), scalars(scalars), writer(program),
      lossRows(program.result("eval", "loss_rows")), itemRows(program.result("eval", "item_rows")),
      lossSum(program.result("eval", "loss_sum")), items(program.result("eval", "items")) {
  const bool here = lossRows || lossSum;
  if (!program.function("eval") || !isOnSomeStage(executor, here))
    fail("the program '{}' has no evaluation loss: leave out --eval-every, --eval-data and --eval-tokens",
         program.name);
  checkEvaluation(program);
  const int64_t batch = program.options.batch, rest = data.rows() % batch;
  if (here && !lossRows && program.options.ignoreIndex && program.options.joinedMicroBatches > 1)
    fail("evaluation: the loss of this model is one number a micro-batch, whose labels may not count: not "
         "available yet for a program of a pipeline with several; compile with --accumulate 1, or for one "
         "rank");
  if (here && !lossRows && !program.options.ignoreIndex && rest != 0)
    fail("evaluation: the loss of this model is one number a batch, so a last batch of {} of {} rows cannot "
         "be "
         "masked: give a multiple of {} rows, {} or {}",
         rest, batch, batch, data.rows() - rest, data.rows() - rest + batch);
}

std::optional<double> Evaluator::loss(const RunProgress &progress) {
  const int64_t batch = program.options.batch;
  const EvaluationRounds rounds(executor, data);
  takeBuffersOfFirstRank(executor);
  Sums sums;
  signal = 0;
  if (metrics)
    metrics->begin();
  for (int64_t round = 0; round < rounds.count(); ++round) {
    // All ranks leave in the same round: with partitioned parameters each run of @eval is one of all ranks.
    signal = static_cast<int>(maxOverRanks(executor.communicator(), caughtSignal()));
    if (signal != 0)
      return std::nullopt;
    const RowRange rows = rounds.ownRows(round);
    const int64_t valid = rows.count;
    const std::string &function = functionFor(rounds, round);
    data.fillMasked(executor, function, rows);
    if (!lossRows && valid < batch && program.options.ignoreIndex)
      data.maskLabels(executor, function, valid, *program.options.ignoreIndex);
    StepPoint point;
    point.step = progress.step;
    point.optimizerSteps = progress.optimizerSteps;
    writer.write(executor, scalars, point);
    const int64_t weight = lossRows ? 0 : data.countLabels(executor, function, valid);
    run(function, rows);
    if (valid == 0 || (!lossRows && !lossSum)) // another stage counts
      continue;
    if (lossRows)
      addRows(valid, sums);
    else
      addBatch(weight, sums);
  }
  double both[] = {sums.loss, sums.items};
  sumOverRanks(executor.communicator(), both, 2);
  const double loss = both[1] == 0 ? 0 : both[0] / both[1];
  if (metrics)
    measured = metrics->values(loss, executor.communicator());
  return loss;
}

/// Of the length that the round's rows need. Metrics read outputs of the longest.
const std::string &Evaluator::functionFor(const EvaluationRounds &rounds, int64_t round) const {
  const int64_t first = rounds.rowsOf(round, 0).first;
  int64_t count = 0;
  for (int64_t rank = 0; rank < rounds.ranks().size; ++rank)
    count += rounds.rowsOf(round, rank).count;
  const BatchLength length = data.lengthOf("eval", first, count, /*inOrder=*/true);
  return metrics ? program.function("eval")->name : length.function->name;
}

/// Logits of @predict take a run of their own, behind that of the loss.
void Evaluator::run(const std::string &evaluates, const RowRange &rows) {
  const char *function = metrics ? metrics->function() : nullptr;
  if (!function) {
    executor.run(evaluates);
    return;
  }
  const bool together = std::strcmp(function, "eval") == 0;
  if (metrics->reader())
    metrics->takeLabels(executor);
  executor.run("eval", together ? metrics->reader() : nullptr);
  if (!together) {
    data.fillMasked(executor, function, rows);
    executor.run(function, metrics->reader());
  }
  if (metrics->reader())
    metrics->add(rows.count);
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
