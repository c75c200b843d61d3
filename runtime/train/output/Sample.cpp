#include "runtime/train/output/Sample.h"
#include "runtime/format/Convert.h"
#include "runtime/format/Philox.h"
#include "runtime/io/Error.h"
#include "runtime/io/Printable.h"
#include "runtime/train/output/OutputReader.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace kedge::rt {
namespace {

constexpr uint32_t kSampleId = 0x53414d50; // no op's: random numbers of their own

void storeToken(std::vector<char> &row, const InputSpec &input, int64_t place, int64_t value) {
  convert(row.data() + place * static_cast<int64_t>(dtypeSize(input.desc.type)), input.desc.type, 1, &value,
          DType::I64, 1, 1);
}

/// The likeliest tokens, likeliest first; of equal ones the first.
std::vector<uint32_t> likeliest(const float *logits, int64_t classes, int64_t count) {
  std::vector<uint32_t> order(static_cast<size_t>(classes));
  std::iota(order.begin(), order.end(), 0U);
  const auto end = order.begin() + static_cast<ptrdiff_t>(std::min(classes, count));
  std::partial_sort(order.begin(), end, order.end(), [&](uint32_t a, uint32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  order.erase(end, order.end());
  return order;
}

} // namespace

Sampler::Sampler(const Program &program, const SampleOptions &options)
    : program(program), options(options), tokenizer(options.tokenizer),
      input(tokenInput(program, "--sample")), length(input.desc.shape[1]) {
  checkEvaluation(program);
  findOutput();
  if (tokenizer.vocabularySize() > static_cast<uint64_t>(classes))
    fail("--sample: '{}' has {} tokens, the model's output '{}' has {}: it is another model's tokenizer",
         options.tokenizer, tokenizer.vocabularySize(), output, classes);
  addInputs();
  if (!isUtf8(options.prompt))
    fail("--sample {}: is not UTF-8", printable(options.prompt));
  TokenEncoder(tokenizer).encode(options.prompt, tokens);
  tokens.insert(tokens.begin(), tokenizer.around().before().begin(), tokenizer.around().before().end());
  if (tokens.empty())
    fail("--sample {}: is no token", options.prompt);
}

/// The scores of the next token at each place.
void Sampler::findOutput() {
  std::string others;
  for (const std::string &name : floatOutputs(program)) {
    const TensorDesc &desc = outputOf(program, functionWith(program, name), name)->desc;
    const bool fits =
        desc.shape.size() == 3 && desc.shape[0] == input.desc.shape[0] && desc.shape[1] == length;
    if (fits && (output.empty() || name == program.options.logits)) {
      output = name;
      classes = desc.shape[2];
    }
    others += fmt::format("{}'{}' {}", others.empty() ? "" : ", ", name, shapeText(desc.shape));
  }
  if (output.empty())
    fail("--sample: expected an output of [batch, length, tokens] for the input '{}' {}; the program has {}",
         input.name, shapeText(input.desc.shape), others.empty() ? "none" : others);
}

/// A row of each input. What is not tokens counts places, or lets all be seen.
void Sampler::addInputs() {
  for (const InputSpec &other : program.inputs) {
    if (other.labels)
      continue;
    const bool perToken = other.desc.shape == input.desc.shape;
    const bool places = other.name == "position_ids" && perToken,
               mask = other.name == "attention_mask" && perToken;
    if (&other != &input && !places && !mask)
      fail("--sample: nothing says what the input '{}' {} is, in addition to the tokens in '{}': expected "
           "position_ids or "
           "attention_mask of [batch, length]",
           other.name, shapeText(other.desc.shape), input.name);
    std::vector<char> &row = rows[other.name];
    row.resize(static_cast<size_t>(length) * dtypeSize(other.desc.type));
    for (int64_t place = 0; place < length; ++place)
      storeToken(row, other, place, mask ? 1 : places ? place : 0);
  }
}

/// The last tokens that fit, from the left; behind them what no earlier place sees.
void Sampler::fillWindow() {
  const int64_t count = std::min<int64_t>(length, static_cast<int64_t>(tokens.size()));
  const uint32_t *const first = tokens.data() + tokens.size() - static_cast<size_t>(count);
  for (int64_t place = 0; place < length; ++place)
    storeToken(rows[input.name], input, place, place < count ? first[place] : 0);
}

uint32_t Sampler::choose(const float *logits, uint64_t seed, uint64_t place) const {
  if (options.temperature == 0)
    return likeliest(logits, classes, 1)[0];
  const std::vector<uint32_t> order = likeliest(logits, classes, options.topK == 0 ? classes : options.topK);
  std::vector<double> weights;
  for (const uint32_t token : order)
    weights.push_back(std::exp((double{logits[token]} - logits[order[0]]) / options.temperature));
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  double left = uniform(randomBlock(seed, kSampleId, place, 0, 0)[0]) * all;
  size_t at = 0;
  while (at + 1 < order.size() && left >= weights[at])
    left -= weights[at++];
  return order[at];
}

std::optional<std::string> Sampler::run(Executor &executor, const RunScalars &scalars,
                                        const RunProgress &progress) {
  Dataset::Given given;
  for (const InputSpec &one : program.inputs)
    if (const auto row = rows.find(one.name); row != rows.end())
      given.emplace_back(one.name, rowsInMemory(row->second.data(), 1, one));
  const Dataset data(program, std::move(given), "--sample {}", /*labelsNeeded=*/false);
  for (int64_t made = 0; made < options.tokens; ++made) {
    fillWindow();
    const int64_t last = std::min<int64_t>(length, static_cast<int64_t>(tokens.size())) - 1;
    uint32_t token = 0;
    const int signal = predictRows(executor, data, scalars, progress, output, [&](const char *row, size_t) {
      const float *const logits = reinterpret_cast<const float *>(row) + last * classes;
      token = choose(logits, static_cast<uint64_t>(scalars.seed), static_cast<uint64_t>(made));
    });
    if (signal != 0)
      return std::nullopt;
    tokens.push_back(token);
    if (ends(token))
      break;
  }
  return tokenizer.decode(tokens);
}

} // namespace kedge::rt
