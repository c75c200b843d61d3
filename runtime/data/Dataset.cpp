#include "runtime/data/Dataset.h"
#include "kedge/abi/LossNames.h"
#include "runtime/data/CopiedLabels.h"
#include "runtime/data/DefaultInputs.h"
#include "runtime/data/DocumentRows.h"
#include "runtime/data/Shuffle.h"
#include "runtime/format/Convert.h"
#include "runtime/io/MapGuard.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace kedge::rt {
namespace {

std::string inputNames(const Program &program) {
  std::string names;
  for (const InputSpec &input : program.inputs)
    names += (names.empty() ? "'" : ", '") + input.name + "'";
  return names;
}

/// Of the model's file, and not of the program: nothing that trains reads it.
bool isUnread(const Program &program, const std::string &name) {
  const std::vector<std::string> &known = program.options.fileInputs;
  return !program.input(name) && std::find(known.begin(), known.end(), name) != known.end();
}

const InputSpec &wantedInput(const Program &program, const std::string &name, const std::string &flag) {
  const InputSpec *input = program.input(name);
  if (!input)
    fail("{} {}=...: the program has no such input; it has {}", flag, name, inputNames(program));
  return *input;
}

bool takesInput(const Program &program, const std::string &function, const std::string &input) {
  const Function *found = program.function(function);
  return found && std::any_of(found->inputs.begin(), found->inputs.end(),
                              [&](const ArenaSlot &slot) { return slot.name == input; });
}

const TensorDesc *takenBy(const Program &program, const std::string &function, const InputSpec &input) {
  const Function *found = program.function(function);
  return found ? inputOf(*found, input) : nullptr;
}

constexpr const char *kDefault = "default"; // in place of a file

} // namespace

const InputSpec &tokenInput(const Program &program, const std::string &flag) {
  const InputSpec *found = nullptr;
  for (const InputSpec &input : program.inputs) {
    if (input.labels || isFloat(input.desc.type) || input.desc.shape.size() != 2 || !defaultOf(input).empty())
      continue;
    if (found)
      fail("{} FILE: both '{}' and '{}' could take tokens; say which: {} {}=FILE", flag, found->name,
           input.name, flag, found->name);
    found = &input;
  }
  if (!found)
    fail("{}: the program has no [batch, length] integer input; it has {}", flag, inputNames(program));
  return *found;
}

DataFiles trainingFiles(const Options &options) {
  return {"--data", options.data, options.tokens, options.documents, options.maskPrompt, options.shiftLabels};
}

DataFiles evaluationFiles(const Options &options) {
  return {"--eval-data",         options.evalData,   options.evalTokens,
          options.evalDocuments, options.maskPrompt, options.shiftLabels};
}

Dataset::Dataset(const Program &program, const DataFiles &files, bool labelsNeeded) : program(program) {
  for (const NamedFile &entry : files.data) {
    if (isUnread(program, entry.name)) {
      unread += fmt::format("{}'{}'", unread.empty() ? "" : ", ", entry.name);
      continue;
    }
    const InputSpec &input = wantedInput(program, entry.name, files.kind);
    std::unique_ptr<Source> source = openNpy(entry.file, input);
    if (input.labels && files.shiftLabels) {
      source = shiftLabels(std::move(source), input, ignoredLabel("--shift-labels"));
      shifted = true;
    }
    bind(input, std::move(source), entry.file);
  }
  bindTokens(files);
  check(files.kind, files.kind + " {}=FILE.npy", labelsNeeded);
}

Dataset::Dataset(const Program &program, Given given, const std::string &how, bool labelsNeeded)
    : program(program) {
  for (auto &[name, source] : given)
    bind(*program.input(name), std::move(source), "memory");
  check("rows", how, labelsNeeded);
}

/// The number of rows, and that every input has as many. `how`: to give an input, named {}.
void Dataset::check(const std::string &kind, const std::string &how, bool labelsNeeded) {
  const Bound *first = nullptr;
  for (const Bound &entry : sources) {
    labelled |= entry.input->labels;
    if (!entry.input->batched)
      continue;
    if (!first)
      first = &entry;
    else if (entry.source->rows() != first->source->rows())
      fail("{}: the files have different numbers of rows: '{}' {} ({}), '{}' {} ({}); each row of one needs "
           "its row of "
           "the other",
           kind, first->input->name, first->source->rows(), first->file, entry.input->name,
           entry.source->rows(), entry.file);
  }
  rowCount = first ? first->source->rows() : program.options.batch;
  if (rowCount % program.options.rowsTogether != 0)
    fail("{}: {} rows, expected a multiple of {}: --loss {} compares rows that follow each other", kind,
         rowCount, program.options.rowsTogether, program.options.lossName);
  bindDefaults();
  const char *predicts = program.function("predict") ? "predict" : "eval";
  for (const InputSpec &input : program.inputs)
    if (!bound(input) && (labelsNeeded || (!input.labels && takesInput(program, predicts, input.name))))
      fail("no data for the {} '{}': give {}", input.labels ? "labels" : "input", input.name,
           fmt::format(fmt::runtime(how), input.name));
  if (std::none_of(program.inputs.begin(), program.inputs.end(),
                   [](const InputSpec &input) { return input.labels; }))
    labelled = true;
  for (const InputSpec &input : program.inputs)
    labelled &= bound(input) || !takesInput(program, "eval", input.name);
}

void Dataset::expectLabelsOf(const std::string &output) const {
  if (output != abi::kRowLogs && output != abi::kTokenLogs)
    return;
  for (const InputSpec &input : program.inputs)
    if (input.labels && !bound(input) && takesInput(program, "predict", input.name))
      fail("--predict {}: it is of labels, and '{}' has no data", output, input.name);
}

/// The label of items that do not count. Throws if the program's loss has none; `flag` needs it.
int64_t Dataset::ignoredLabel(const char *flag) const {
  if (!program.options.ignoreIndex)
    fail("{}: the program's loss ({}) has no label that does not count; it needs --loss cross-entropy", flag,
         program.options.lossName);
  return *program.options.ignoreIndex;
}

void Dataset::bindTokens(const DataFiles &files) {
  const std::string flag = files.kind == "--data" ? "--tokens" : "--eval-tokens";
  for (const NamedFile &entry : files.tokens) {
    const InputSpec &input =
        entry.name.empty() ? tokenInput(program, flag) : wantedInput(program, entry.name, flag);
    PackedTokens packed{std::make_shared<TokenFile>(entry.file), nullptr, 0};
    packed.length = input.desc.shape.size() == 2 ? input.desc.shape[1] : 0;
    if (!files.documents.empty())
      packed.documents = std::make_shared<Documents>(files.documents, *packed.tokens);
    if (hasBuckets(program)) {
      bindRows(packed, input, entry.file, files);
      continue;
    }
    bind(input, openTokens(packed.tokens, input, 0), entry.file);
    for (const InputSpec &labels : program.inputs) {
      if (!labels.labels || bound(labels))
        continue;
      if (labels.desc.shape != input.desc.shape)
        fail("{}: the labels '{}' have another shape than '{}': next tokens do not fit; give --data "
             "{}=FILE.npy",
             flag, labels.name, input.name, labels.name);
      bind(labels, nextTokens(packed, labels, files), entry.file);
    }
    if (packed.documents)
      bindPacked(packed, files.documents);
  }
}

/// Each document is a row.
void Dataset::bindRows(const PackedTokens &packed, const InputSpec &input, const std::string &file,
                       const DataFiles &files) {
  const std::string eval = files.kind == "--data" ? "" : "eval-";
  if (!packed.documents)
    fail("--{0}tokens: the program has several lengths of rows, and rows that are cut from a token file are "
         "all of "
         "the longest; give --{0}documents, whose documents are rows of their own then",
         eval);
  const auto rows = std::make_shared<const DocumentRows>(packed);
  bind(input, tokensOfRows(rows, input), file);
  for (const InputSpec &other : program.inputs) {
    if (bound(other))
      continue;
    if (other.labels && other.desc.shape == input.desc.shape)
      bind(other, labelsOfRows(rows, other, ignoredLabel("--documents"), files.maskPrompt), file);
    else if (std::unique_ptr<Source> mask = maskOfRows(rows, other))
      bind(other, std::move(mask), files.documents);
  }
}

std::unique_ptr<Source> Dataset::nextTokens(const PackedTokens &packed, const InputSpec &labels,
                                            const DataFiles &files) const {
  if (!packed.documents)
    return openTokens(packed.tokens, labels, 1);
  return packedLabels(packed, labels, ignoredLabel("--documents"), files.maskPrompt);
}

void Dataset::bindPacked(const PackedTokens &packed, const std::string &file) {
  for (const InputSpec &input : program.inputs)
    if (!input.labels && !bound(input))
      if (std::unique_ptr<Source> source = packedInput(packed, input))
        bind(input, std::move(source), file);
}

void Dataset::bindDefaults() {
  for (const InputSpec &input : program.inputs) {
    const std::string_view value = defaultOf(input);
    if (value.empty() || bound(input))
      continue;
    bind(input, defaultRows(input, rowCount), kDefault);
    defaults += fmt::format("{}'{}' ({})", defaults.empty() ? "" : ", ", input.name, value);
  }
}

std::string Dataset::aboutInputs() const {
  std::string text =
      defaults.empty() ? "" : "without data, these inputs are the same in each row: " + defaults;
  if (!unread.empty())
    text += (text.empty() ? "" : "; ") +
            ("the trained part does not read these inputs, and their data are left out: " + unread);
  return text;
}

std::string Dataset::aboutLabels() const {
  if (!program.options.ignoreIndex)
    return ""; // a loss in the graph shifts labels itself
  for (const Bound &labels : sources)
    for (const Bound &tokens : sources)
      if (labels.input->labels && !tokens.input->labels)
        if (std::string text = aboutCopiedLabels({tokens.input, tokens.source.get(), tokens.file},
                                                 {labels.input, labels.source.get(), labels.file},
                                                 *program.options.ignoreIndex, shifted);
            !text.empty())
          return text;
  return "";
}

namespace {

constexpr int64_t kLookedAt = 16;     // rows
constexpr int64_t kFewestPixels = 64; // of a row: fewer numbers are a table's
constexpr double kBright = 128;       // of 255; counts and classes rarely get there

/// The largest of these rows, if all are whole numbers of a byte.
std::optional<double> largestByte(const Source &source, const InputSpec &input, size_t rowBytes) {
  std::vector<char> row(rowBytes);
  const int64_t elements = static_cast<int64_t>(rowBytes / dtypeSize(input.desc.type));
  double largest = 0;
  for (int64_t i = 0; i < std::min(kLookedAt, source.rows()); ++i) {
    source.read(i, row.data());
    for (int64_t element = 0; element < elements; ++element) {
      const double value = loadAsDouble(input.desc.type, row.data(), element);
      if (!(value >= 0 && value <= 255) || value != std::floor(value))
        return std::nullopt;
      largest = std::max(largest, value);
    }
  }
  return largest;
}

} // namespace

std::string Dataset::aboutPixels() const {
  for (const Bound &entry : sources) {
    const InputSpec &input = *entry.input;
    if (input.labels || !input.batched || !isFloat(input.desc.type) || input.desc.shape.size() < 2 ||
        static_cast<int64_t>(entry.rowBytes / dtypeSize(input.desc.type)) < kFewestPixels)
      continue;
    if (const auto largest = largestByte(*entry.source, input, entry.rowBytes);
        largest && *largest >= kBright)
      return fmt::format(
          "the input '{}' ({}) holds whole numbers up to {}, as pictures are stored, and takes "
          "them as they are; networks expect about -1 to 1: divide by 255",
          input.name, entry.file, *largest);
  }
  return "";
}

bool Dataset::bound(const InputSpec &input) const {
  return std::any_of(sources.begin(), sources.end(),
                     [&](const Bound &entry) { return entry.input == &input; });
}

void Dataset::bind(const InputSpec &input, std::unique_ptr<Source> source, const std::string &file) {
  if (bound(input))
    fail("the input '{}' is given twice", input.name);
  const size_t rows = input.batched ? static_cast<size_t>(input.desc.shape[0]) : 1;
  sources.push_back({&input, std::move(source), file, rows == 0 ? 0 : input.desc.bytes() / rows});
}

int64_t Dataset::sample(int64_t index) const {
  if (order)
    return order->at(index);
  const int64_t position = index % rowCount, together = program.options.rowsTogether;
  if (!shuffleSeed)
    return position;
  const int64_t group =
      permuted(position / together, rowCount / together, static_cast<uint64_t>(*shuffleSeed),
               static_cast<uint64_t>(index / rowCount));
  return group * together + position % together;
}

void Dataset::readRow(const Bound &entry, const TensorDesc &taken, int64_t row, char *destination) const {
  const TensorDesc &desc = entry.input->desc;
  if (taken.shape == desc.shape)
    return entry.source->read(row, destination);
  entry.source->read(row, whole.data());
  const auto inner = [&](const TensorDesc &of) {
    return std::span<const int64_t>(of.shape).subspan(entry.input->batched ? 1 : 0);
  };
  copyFront(whole.data(), inner(desc), destination, inner(taken), dtypeSize(desc.type));
}

template <typename RowOf>
void Dataset::fillRows(Executor &executor, const std::string &function, RowOf &&rowOf) const {
  for (const Bound &entry : sources) {
    const TensorDesc *taken = takenBy(program, function, *entry.input);
    if (!taken)
      continue;
    char *destination = executor.input(function, entry.input->name);
    const int64_t rows = entry.input->batched ? taken->shape[0] : 1;
    const size_t rowBytes = rows == 0 ? 0 : taken->bytes() / static_cast<size_t>(rows);
    for (int64_t i = 0; i < rows; ++i)
      readRow(entry, *taken, entry.input->batched ? rowOf(i) : 0,
              destination + static_cast<size_t>(i) * rowBytes);
  }
  for (const InputSpec &input : program.inputs)
    if (const TensorDesc *taken = takenBy(program, function, input); taken && !bound(input))
      std::memset(executor.input(function, input.name), 0, taken->bytes());
  failIfLost();
}

void Dataset::readLengths(int64_t batch) {
  const std::string function = program.function("step") ? "step" : "micro";
  if (!hasBuckets(program))
    return;
  for (const char *name : {"step", "micro", "eval"})
    buckets[name] = bucketsOf(program, name);
  std::vector<RowSource> all;
  for (const Bound &entry : sources) {
    all.push_back({entry.input, entry.source.get(), entry.file != kDefault});
    whole.resize(std::max(whole.size(), entry.rowBytes));
  }
  lengths = std::make_unique<RowLengths>(program, function, all);
  if (shuffleSeed)
    order = std::make_unique<LengthOrder>(*lengths,
                                          LengthOrder::Form{rowCount, program.options.rowsTogether,
                                                            static_cast<uint64_t>(*shuffleSeed), batch});
}

BatchLength Dataset::lengthOf(const std::string &function, int64_t first, int64_t count, bool inOrder) const {
  BatchLength batch{program.function(function)};
  if (!lengths)
    return batch;
  size_t bucket = 0;
  for (int64_t index = first; index < first + count; ++index) {
    const RowLength row = lengths->of(inOrder ? index : sample(index));
    bucket = std::max(bucket, row.bucket);
    batch.filled += row.places;
  }
  batch.function = buckets.at(function)[bucket];
  batch.rows = count;
  batch.places = lengths->placesIn(bucket);
  batch.room = count * batch.places;
  return batch;
}

void Dataset::checkIntegers(RowRange rows) const {
  std::vector<char> row;
  for (const Bound &entry : sources) {
    if (isFloat(entry.input->desc.type))
      continue;
    row.resize(entry.rowBytes);
    for (int64_t i = 0; i < (entry.input->batched ? rows.count : 1); ++i)
      entry.source->read(entry.input->batched ? sample(rows.at(i)) : 0, row.data());
  }
}

std::optional<Dataset::Position> Dataset::firstNonFinite(RowRange rows) const {
  std::vector<char> bytes;
  for (const Bound &entry : sources) {
    const DType type = entry.input->desc.type;
    if (!isFloat(type))
      continue;
    bytes.resize(entry.rowBytes);
    const int64_t elements = static_cast<int64_t>(entry.rowBytes / dtypeSize(type));
    for (int64_t i = 0; i < (entry.input->batched ? rows.count : 1); ++i) {
      const int64_t row = entry.input->batched ? sample(rows.at(i)) : 0;
      entry.source->read(row, bytes.data());
      for (int64_t element = 0; element < elements; ++element)
        if (!std::isfinite(loadAsDouble(type, bytes.data(), element)))
          return Position{entry.file, row, element, i * elements + element};
    }
  }
  return std::nullopt;
}

void Dataset::fill(Executor &executor, const std::string &function, RowRange rows) const {
  if (rows.count != program.options.batch)
    fail("a range of {} rows for a micro-batch of {}", rows.count, program.options.batch);
  fillRows(executor, function, [&](int64_t i) { return sample(rows.at(i)); });
}

void Dataset::fillMasked(Executor &executor, const std::string &function, RowRange valid) const {
  fillRows(executor, function,
           [&](int64_t i) { return valid.count == 0 ? 0 : valid.first + std::min(i, valid.count - 1); });
}

void Dataset::maskLabels(Executor &executor, const std::string &function, int64_t valid,
                         int64_t ignored) const {
  for (const Bound &entry : sources) {
    if (!entry.input->labels || !entry.input->batched || !takesInput(program, function, entry.input->name))
      continue;
    const int64_t rows = entry.input->desc.shape[0],
                  elements = takenBy(program, function, *entry.input)->elements();
    char *destination = executor.input(function, entry.input->name);
    for (int64_t i = elements / rows * valid; i < elements; ++i)
      convert(destination + i * static_cast<int64_t>(dtypeSize(entry.input->desc.type)),
              entry.input->desc.type, 1, &ignored, DType::I64, 1, 1);
  }
}

int64_t Dataset::countLabels(Executor &executor, const std::string &function, int64_t valid) const {
  for (const Bound &entry : sources) {
    const TensorDesc *taken = takenBy(program, function, *entry.input);
    const TensorDesc &desc = taken ? *taken : entry.input->desc;
    if (!entry.input->labels || !entry.input->batched || isFloat(desc.type) || !program.options.ignoreIndex ||
        !takesInput(program, function, entry.input->name))
      continue;
    const char *labels = executor.input(function, entry.input->name);
    int64_t count = 0;
    for (int64_t i = 0; i < desc.elements() / desc.shape[0] * valid; ++i)
      count += loadAsInt(desc.type, labels, i) != *program.options.ignoreIndex;
    return count;
  }
  return valid;
}

} // namespace kedge::rt
