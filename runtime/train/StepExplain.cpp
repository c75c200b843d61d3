// Why a step is not finite: it runs again, and every value is looked at.
#include "runtime/comm/AgreedError.h"
#include "runtime/io/Error.h"
#include "runtime/train/FiniteStates.h"
#include "runtime/train/Step.h"
#include <cmath>

namespace kedge::rt {
namespace {

std::string describe(const NonFinite &found) {
  return fmt::format("{}, element {} of {}", found.value, found.element, found.what);
}

} // namespace

/// A value that was there before the first launch may be a file's: then its place there is told.
void StepRunner::nameData(std::optional<NonFinite> &found, RowRange rows) {
  if (!found || found->launch >= 0)
    return;
  const std::optional<Dataset::Position> place = data.firstNonFinite(rows);
  foundInData = place && place->inBatch == found->element;
  if (foundInData)
    found->what +=
        fmt::format(", which is row {}, element {} of {}", place->row, place->element, place->file);
}

std::string StepRunner::remedy() const {
  const std::string help =
      epsilonHelp(scalars, program) + "; a lower --lr, a longer --warmup or --clip-norm may help";
  return canSkipUpdates(program) ? help + "; --on-nan continue skips such a step" : help;
}

void StepRunner::failWith(const std::string &head, const std::optional<NonFinite> &found,
                          const std::string &nothing, const std::string &help) {
  const std::string tail = foundInData ? "; correct the data" : help;
  const std::string unknown = runsAgain() ? nothing : "stages do not run again to find the first such value";
  Communicator *ranks = executor.communicator();
  if (!ranks)
    throw NotFinite(head + ": " +
                    (found ? "the first value that is not finite is " + describe(*found) : unknown) + tail);
  std::optional<Word> word;
  if (found)
    word = {found->launch, fmt::format("is, on rank {}, ", ranks->world().rank) + describe(*found)};
  failWithAgreedError(ranks, head + ": the first value that is not finite ", word, tail);
  failWithAgreedError(ranks, head + ": ", Word{0, unknown}, tail);
  fail("{}", head);
}

/// Stages of a pipeline cannot run again up to a value: one that stops leaves others waiting.
bool StepRunner::runsAgain() const { return program.mesh.sizeOf(Mesh::kPipeline) == 1; }

std::optional<NonFinite> StepRunner::findInLoss(const RunProgress &progress, int64_t micro) {
  if (!runsAgain())
    return std::nullopt;
  stagedRow.reset();
  length = lengthOf(progress, micro);
  data.fill(executor, length.function->name, rowsOf(progress, micro));
  writer.write(executor, scalars, pointOf(progress, micro));
  std::optional<NonFinite> found = executor.firstNonFinite(length.function->name, length.function->lossReady);
  nameData(found, rowsOf(progress, micro));
  return found;
}

void StepRunner::explainLoss(const RunProgress &progress, int64_t micro, double value) {
  const std::string head = fmt::format("the loss of step {} is not finite ({})", progress.step, value);
  const std::optional<NonFinite> found = findInLoss(progress, micro);
  failWith(head, found, "no value before it is", remedy());
}

/// No scale helps against what is in a file. Ranks agree: all of them have the same sum.
void StepRunner::refuseData(const RunProgress &progress, int64_t micro) {
  const std::optional<Dataset::Position> place = data.firstNonFinite(rowsOf(progress, micro));
  std::optional<Word> word;
  if (place)
    word = {0,
            fmt::format("row {}, element {} of {} is not finite", place->row, place->element, place->file)};
  failWithAgreedError(executor.communicator(),
                      fmt::format("the loss of step {} is not finite: ", progress.step), word,
                      "; correct the data");
}

/// All micro-batches run again, on all ranks alike. Accumulators then hold what they held.
NonFiniteGradients StepRunner::findAgain(const RunProgress &progress) {
  NonFiniteGradients first;
  int launches = 0;
  const auto take = [&](std::optional<NonFinite> &kept, const std::optional<NonFinite> &found) {
    if (kept || !found)
      return;
    kept = found;
    kept->launch += launches;
  };
  for (int64_t micro = 0; micro < program.options.accumulate; ++micro) {
    length = lengthOf(progress, micro);
    data.fill(executor, length.function->name, rowsOf(progress, micro));
    writer.write(executor, scalars, pointOf(progress, micro));
    NonFiniteGradients found = executor.nonFiniteGradients(length.function->name);
    if (!first.value)
      nameData(found.value, rowsOf(progress, micro));
    take(first.value, found.value);
    take(first.gradient, found.gradient);
    launches += static_cast<int>(length.function->launches.size());
  }
  if (const Function *update = program.function("update"); update && forward == "micro")
    take(first.gradient, executor.nonFiniteGradient(*update, -1));
  return first;
}

/// `ofSquaresAlone`: the step's norm is infinite, which its gradients need not be.
std::optional<NonFinite> StepRunner::findInGradients(const RunProgress &progress, bool ofSquaresAlone) {
  if (!runsAgain())
    return std::nullopt;
  stagedRow.reset();
  NonFiniteGradients found = findAgain(progress);
  if (!found.gradient && ofSquaresAlone)
    found.value.reset(); // of squares, which infinity is no fault of
  if (!found.value)
    found.value = found.gradient;
  else if (found.gradient)
    found.value->what += "; " + found.gradient->what + " is the first that it reaches";
  return found.value;
}

void StepRunner::explainGradients(const RunProgress &progress, double norm) {
  const bool held = canSkipUpdates(program);
  const std::optional<NonFinite> found = findInGradients(progress, std::isinf(norm));
  const char *nothing = !held ? "when it ran again after its updates, all of them were"
                        : std::isinf(norm)
                            ? "every one of them is, and the sum of their squares is beyond fp32"
                            : "when it ran again, all of them were";
  const char *again = found && !held ? ", run again with the weights that it had updated" : "";
  failWith(
      fmt::format("the gradients of step {} are not finite (grad_norm {}){}", progress.step, norm, again),
      found, nothing, remedy());
}

void StepRunner::explainOverflow(const RunProgress &progress, const StepResult &result,
                                 const std::string &head, const std::string &help) {
  const std::optional<NonFinite> found = result.lossOverflow
                                             ? findInLoss(progress, *result.lossOverflow)
                                             : findInGradients(progress, /*ofSquaresAlone=*/false);
  failWith(head, found, "when it ran again, every value was", help);
}

} // namespace kedge::rt
