// --predict: an output over all rows of the evaluation data, as an npy file.
#include "runtime/comm/Communicator.h"
#include "runtime/io/AtomicFile.h"
#include "runtime/io/Error.h"
#include "runtime/train/Evaluate.h"
#include "runtime/train/Signals.h"
#include "runtime/train/output/OutputReader.h"
#include <algorithm>

namespace kedge::rt {
namespace {

const char *functionThatPredicts(const Program &program, const std::string &name) {
  if (const char *function = functionWith(program, name))
    return function;
  std::string known;
  for (const char *function : {"predict", "eval"})
    if (const Function *found = program.function(function))
      for (const ArenaSlot &place : found->outputs)
        known += (known.empty() ? "'" : ", '") + place.name + "'";
  fail("--predict {}=...: the program has no such output; it has {}", name, known.empty() ? "none" : known);
}

bool hasRows(const Program &program, const TensorDesc &desc) {
  return !desc.shape.empty() && desc.shape[0] == program.options.batch;
}

TensorDesc predictedType(const TensorDesc &desc) {
  const bool half = desc.type == DType::F16 || desc.type == DType::BF16;
  return {half ? DType::F32 : desc.type, desc.shape};
}

/// An output without rows is one value a batch.
struct Predicted {
  TensorDesc each; ///< a row, or a batch's value
  bool byRow = true;
  size_t bytesOf(int64_t rows) const { return (byRow ? static_cast<size_t>(rows) : rows > 0) * each.bytes(); }
};

Predicted predictedOf(const Program &program, const std::string &name) {
  const TensorDesc &desc = outputOf(program, functionThatPredicts(program, name), name)->desc;
  if (hasRows(program, desc))
    return {predictedRows(program, name, 1)};
  return {predictedType(desc), false};
}

} // namespace

void checkPredictable(const Program &program, const std::string &name) {
  checkEvaluation(program);
  if (program.hasOutputs())
    functionThatPredicts(program, name);
}

TensorDesc predictedRows(const Program &program, const std::string &name, int64_t rows) {
  const TensorDesc &desc = outputOf(program, functionThatPredicts(program, name), name)->desc;
  if (!hasRows(program, desc))
    fail("--predict {}: its shape {} has no leading batch of {} rows", name, shapeText(desc.shape),
         program.options.batch);
  TensorDesc whole = predictedType(desc);
  whole.shape[0] = rows;
  return whole;
}

namespace {

/// Rows of all data; of an output without rows, a value for each batch.
TensorDesc writtenShape(const Program &program, const std::string &name, int64_t rows) {
  Predicted predicted = predictedOf(program, name);
  if (predicted.byRow)
    return predictedRows(program, name, rows);
  const int64_t batch = program.options.batch;
  predicted.each.shape.insert(predicted.each.shape.begin(), (rows + batch - 1) / batch);
  return predicted.each;
}

/// Of a pipeline, rank 0 has the outputs, and says which function makes this one.
const char *functionOfAll(const Executor &executor, const std::string &name) {
  const Program &program = executor.program();
  const char *function = program.hasOutputs() ? functionThatPredicts(program, name) : nullptr;
  if (!program.isPipelined())
    return function;
  char isEval = function && std::string_view(function) == "eval";
  executor.communicator()->broadcast(&isEval, 1);
  return isEval ? "eval" : "predict";
}

} // namespace

int predictRows(Executor &executor, const Dataset &data, const RunScalars &scalars,
                const RunProgress &progress, const std::string &name, const RowSink &sink) {
  const Program &program = executor.program();
  const char *function = functionOfAll(executor, name);
  data.expectLabelsOf(name);
  const bool reads = program.hasOutputs();
  const Predicted predicted = reads ? predictedOf(program, name) : Predicted{TensorDesc{DType::F32, {0}}};
  const EvaluationRounds rounds(executor, data);
  takeBuffersOfFirstRank(executor);
  std::optional<OutputReader> reader;
  if (reads)
    reader.emplace(executor, function, name, predicted.each.type);
  const ScalarWriter writer(program);
  std::vector<char> theirs;
  for (int64_t round = 0; round < rounds.count(); ++round) {
    if (const int64_t signal = maxOverRanks(executor.communicator(), caughtSignal()))
      return static_cast<int>(signal);
    data.fillMasked(executor, function, rounds.ownRows(round));
    StepPoint point;
    point.step = progress.step;
    point.optimizerSteps = progress.optimizerSteps;
    writer.write(executor, scalars, point);
    executor.run(function, reader ? &*reader : nullptr);
    const char *mine = reader ? reader->finish() : nullptr;
    const bool isFirst = !executor.communicator() || executor.communicator()->world().isFirst();
    if (isFirst)
      sink(mine, predicted.bytesOf(rounds.ownRows(round).count));
    for (int64_t place = 1; place < rounds.ranks().size; ++place) {
      theirs.resize(predicted.bytesOf(rounds.rowsOf(round, place).count));
      executor.communicator()->sendToFirst(executor.communicator()->rankOfRows(place), mine, theirs.data(),
                                           theirs.size());
      if (isFirst)
        sink(theirs.data(), theirs.size());
    }
  }
  return 0;
}

int predict(Executor &executor, const Dataset &data, const RunScalars &scalars, const RunProgress &progress,
            const std::string &name, const std::string &path) {
  const Communicator *ranks = executor.communicator();
  std::optional<AtomicFile> file;
  if (!ranks || ranks->world().isFirst()) {
    const TensorDesc whole = writtenShape(executor.program(), name, data.rows());
    file.emplace(path).write(npyHeader(whole.type, whole.shape));
  }
  const int signal = predictRows(executor, data, scalars, progress, name,
                                 [&](const char *rows, size_t bytes) { file->write(rows, bytes); });
  if (file && signal == 0)
    file->commit();
  return signal;
}

} // namespace kedge::rt
