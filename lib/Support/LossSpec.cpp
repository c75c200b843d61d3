#include "lib/Support/LossSpec.h"
#include "lib/Support/Error.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/ranges.h>
#include <numeric>

namespace kedge {
namespace {

constexpr double kMost = 1e6;

// Of several losses.
const LossParameter kBeta = {"beta", 0.1, 1e-9, kMost, "how strongly rows are told apart"},
                    kStored = {"stored",
                               0,
                               0,
                               1,
                               "1: an input ref_logps has the reference, where adapters would give it, too",
                               true},
                    kBound = {"epsilon", 0.2, 0, kMost,
                              "how far a probability may move in a step, relatively"},
                    kKl = {"beta", 0, 0, kMost, "weight of the divergence from the input ref_logps; 0: none"},
                    kTemperature = {"temperature", 1, 1e-6, kMost, "what logits are divided by"},
                    kByRow = {"by_row", 0, 0, 1, "1: the input advantages has one number a row", true};

LossParameter upperBound(double value) {
  return {"epsilon_high", value, -1, kMost, "the same upwards; below 0: as epsilon"};
}

/// A loss with its parameters. A new loss adds a row here, its word and what it reads in LossFunction.h, and
/// its formula in passes/Autodiff/Losses.
struct LossFacts {
  LossFunction function;
  std::vector<LossParameter> parameters;
};

const std::vector<LossFacts> &allFacts() {
  using enum LossFunction;
  static const std::vector<LossFacts> all = {
      {None, {}},
      {CrossEntropy, {}},
      {Mse, {}},
      {BceWithLogits, {}},
      {Focal,
       {{"alpha", 0.25, -1, 1, "weight of positive labels, 1 - alpha that of negative ones; below 0: none"},
        {"gamma", 2, 0, 100, "power of the error that each element is weighted by"}}},
      {Dice, {{"smooth", 1e-5, 0, kMost, "added to both parts of the quotient"}}},
      {Huber, {{"delta", 1, 1e-6, kMost, "the error that is linear from"}}},
      {SmoothL1, {{"beta", 1, 0, kMost, "the error that is linear from; 0: everywhere"}}},
      {Quantile, {{"q", 0.5, 0, 1, "the share of labels below the output"}}},
      {Poly, {{"epsilon", 1, -kMost, kMost, "weight of 1 - p of the label"}}},
      {Contrastive,
       {{"temperature", 0.05, 1e-6, kMost, "what similarities are divided by"},
        {"symmetric", 0, 0, 1, "1: the mean of both directions", true},
        {"normalize", 1, 0, 1, "0: products of rows as they are; 1: of rows of length 1", true}}},
      {Triplet,
       {{"margin", 1, 0, kMost, "how much nearer"},
        {"swap", 0, 0, 1, "1: the nearer distance of the negative to either", true}}},
      {Ctc,
       {{"blank", 0, 0, kMost, "the class between labels", true},
        {"length", 0, 0, kMost, "labels of a row, at most; needed where the graph has no such input", true},
        {"lengths", 0, 0, 1, "1: an input input_lengths says how many steps of a row count", true},
        {"zero_infinity", 0, 0, 1, "1: rows that cannot be aligned have loss 0", true}}},
      {Dpo,
       {kBeta, {"label_smoothing", 0, 0, 0.5, "the share of pairs that are the wrong way round"}, kStored}},
      {Ipo, {kBeta, kStored}},
      {Orpo, {kBeta}},
      {Simpo,
       {kBeta,
        {"gamma", 0.5, -kMost, kMost, "by how much the chosen row is to be ahead"},
        {"label_smoothing", 0, 0, 0.5, "the share of pairs that are the wrong way round"}}},
      {Kto,
       {kBeta,
        {"desirable", 1, 0, kMost, "weight of good rows"},
        {"undesirable", 1, 0, kMost, "weight of the others"},
        kStored}},
      {Reward, {{"center", 0, 0, kMost, "weight of the squared sum of both scores"}}},
      {Grpo, {kBound, upperBound(-1), kKl, kByRow, kStored}},
      {PpoClip, {kBound, upperBound(-1), kKl, kByRow, kStored}},
      {Dapo, {kBound, upperBound(0.28), kKl, kByRow, kStored}},
      {Kl, {kTemperature}},
      {ReverseKl, {kTemperature}},
      {Js, {{"beta", 0.5, 1e-6, 1 - 1e-6, "the teacher's share of the mixture"}, kTemperature}}};
  return all;
}

const LossFacts &factsOf(LossFunction function) { return allFacts()[static_cast<size_t>(function)]; }

LossFunction nameRead(const std::string &text, const LossSpec::ReadName &readName) {
  if (readName)
    return readName(text);
  const std::optional<LossFunction> named = valueNamed<LossFunction>(text);
  if (!named)
    fail("'{}': expected {}", text, fmt::join(wordsOf<LossFunction>(), ", "));
  return *named;
}

bool readNumber(std::string_view text, double &number) {
  const char *end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end && std::isfinite(number);
}

std::string listOf(const std::vector<LossParameter> &parameters) {
  std::vector<std::string> words;
  words.reserve(parameters.size());
  for (const LossParameter &parameter : parameters)
    words.push_back(fmt::format("{}={}", parameter.name, parameter.value));
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

void giveParameter(LossTerm &term, const std::string &text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::vector<LossParameter> &known = parametersOf(term.function);
  const auto parameter =
      std::find_if(known.begin(), known.end(), [&](const LossParameter &one) { return name == one.name; });
  if (equals == std::string::npos || parameter == known.end())
    fail("'{}': is no parameter of {}; expected key=value, its parameters and their defaults: {}", text,
         wordOf(term.function), listOf(known));
  double number = 0;
  if (!readNumber(std::string_view(text).substr(equals + 1), number) || number < parameter->low ||
      number > parameter->high || (parameter->isWhole && number != std::round(number)))
    fail("'{}': {} of {} is {}a number from {} to {}: {}", text, name, wordOf(term.function),
         parameter->isWhole ? "a whole number, " : "", parameter->low, parameter->high, parameter->meaning);
  term.given.emplace_back(name, number);
}

std::vector<std::string> split(const std::string &text, char at) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, at);
  return {parts.begin(), parts.end()};
}

/// Whether a piece between commas goes on with the parameters of the term before it.
bool goesOn(const LossTerm &term, const std::string &piece) {
  const std::string name = piece.substr(0, piece.find('='));
  const std::vector<LossParameter> &known = parametersOf(term.function);
  return piece.find('=') != std::string::npos && piece.find(':') == std::string::npos &&
         std::any_of(known.begin(), known.end(), [&](const LossParameter &one) { return name == one.name; });
}

/// Cuts "*WEIGHT" off.
void takeWeight(LossTerm &term, std::string &piece) {
  const size_t star = piece.rfind('*');
  if (star == std::string::npos)
    return;
  if (!readNumber(std::string_view(piece).substr(star + 1), term.weight) || term.weight < 0)
    fail("'{}': expected a weight of 0 or more after the *, as in 'mask=dice*0.5'", piece);
  piece.resize(star);
}

LossTerm termOf(std::string piece, const LossSpec::ReadName &readName) {
  LossTerm term;
  takeWeight(term, piece);
  const size_t colon = piece.find(':');
  std::string name = piece.substr(0, colon);
  if (const size_t equals = name.rfind('='); equals != std::string::npos) {
    term.outputs = split(name.substr(0, equals), '+');
    if (std::find(term.outputs.begin(), term.outputs.end(), "") != term.outputs.end())
      fail("'{}': expected the name of an output before the =", piece);
    name.erase(0, equals + 1);
  }
  term.function = nameRead(name, readName);
  if (colon != std::string::npos)
    giveParameter(term, piece.substr(colon + 1));
  return term;
}

} // namespace

const std::vector<LossParameter> &parametersOf(LossFunction loss) { return factsOf(loss).parameters; }

double LossTerm::parameter(std::string_view name) const {
  for (const auto &[key, value] : given)
    if (key == name)
      return value;
  for (const LossParameter &one : parametersOf(function))
    if (name == one.name)
      return one.value;
  return 0;
}

bool LossTerm::readsReference() const {
  using enum LossFunction;
  const bool always = function == Dpo || function == Ipo || function == Kto,
             punishes =
                 (function == Grpo || function == PpoClip || function == Dapo) && parameter("beta") != 0;
  return (always || punishes) && parameter("stored") == 0;
}

int64_t LossTerm::rowsTogether() const {
  using enum LossFunction;
  switch (function) {
  case Contrastive:
    return outputs.size() > 1 ? 1 : 2;
  case Triplet:
    return outputs.size() > 1 ? 1 : 3;
  case Dpo:
  case Ipo:
  case Orpo:
  case Simpo:
  case Reward:
    return 2;
  default:
    return 1;
  }
}

std::string LossTerm::text() const {
  std::string text = outputs.empty() ? "" : fmt::format("{}=", fmt::join(outputs, "+"));
  text += wordOf(function);
  char before = ':';
  for (const auto &[key, value] : given) {
    text += fmt::format("{}{}={}", before, key, value);
    before = ',';
  }
  return weight == 1 ? text : fmt::format("{}*{}", text, weight);
}

bool LossSpec::any(bool (*holds)(LossFunction)) const {
  return std::any_of(terms.begin(), terms.end(), [&](const LossTerm &term) { return holds(term.function); });
}

bool LossSpec::namesOutputs() const {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const LossTerm &term) { return term.outputs != terms.front().outputs; });
}

std::optional<std::string> LossSpec::onlyOutput() const {
  if (terms.size() != 1 || terms.front().outputs.size() != 1)
    return std::nullopt;
  return terms.front().outputs.front();
}

int64_t LossSpec::rowsTogether() const {
  int64_t rows = 1;
  for (const LossTerm &term : terms)
    rows = std::lcm(rows, term.rowsTogether());
  return rows;
}

std::optional<double> LossSpec::beta() const {
  if (terms.size() != 1 || !comparesRows(terms.front().function))
    return std::nullopt;
  return terms.front().parameter("beta");
}

std::string LossSpec::name() const { return terms.size() == 1 ? wordOf(terms.front().function) : text(); }

std::string LossSpec::text() const {
  std::vector<std::string> words;
  words.reserve(terms.size());
  for (const LossTerm &term : terms)
    words.push_back(term.text());
  return fmt::format("{}", fmt::join(words, ","));
}

LossSpec LossSpec::parse(const std::string &text, const ReadName &readName) {
  LossSpec spec;
  spec.terms.clear();
  for (std::string piece : split(text, ',')) {
    if (spec.terms.empty() || !goesOn(spec.terms.back(), piece)) {
      spec.terms.push_back(termOf(piece, readName));
      continue;
    }
    takeWeight(spec.terms.back(), piece);
    giveParameter(spec.terms.back(), piece);
  }
  if (spec.terms.size() > 1 && spec.any([](LossFunction loss) { return loss == LossFunction::None; }))
    fail("'{}': none says that the graph computes the loss: there are no others then", text);
  return spec;
}

static LossOutput readLossOutput(const std::string &item, const std::string &text) {
  const size_t equals = item.rfind('=');
  LossOutput output{item.substr(0, equals), 1};
  if (equals != std::string::npos) {
    const char *begin = item.data() + equals + 1, *end = item.data() + item.size();
    const auto [rest, error] = std::from_chars(begin, end, output.weight);
    if (error != std::errc() || rest != end || !std::isfinite(output.weight))
      fail("'{}': '{}' is no weight; expected NAME=NUMBER", text, std::string(begin, end));
  }
  if (output.name.empty())
    fail("'{}': expected names of outputs, each with =WEIGHT where it is not 1, joined by commas", text);
  return output;
}

bool LossOutputs::has(std::string_view name) const {
  return std::any_of(all.begin(), all.end(), [&](const LossOutput &output) { return output.name == name; });
}

std::vector<std::string> LossOutputs::names() const {
  std::vector<std::string> found;
  for (const LossOutput &output : all)
    found.push_back(output.name);
  return found;
}

std::string LossOutputs::text() const {
  std::string joined;
  for (const LossOutput &output : all) {
    joined += (joined.empty() ? "" : ",") + output.name;
    if (output.weight != 1)
      joined += fmt::format("={}", output.weight);
  }
  return joined;
}

LossOutputs LossOutputs::parse(const std::string &text) {
  LossOutputs outputs;
  for (size_t begin = 0; !text.empty() && begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    LossOutput output = readLossOutput(text.substr(begin, end - begin), text);
    if (outputs.has(output.name))
      fail("'{}': '{}' is there twice", text, output.name);
    outputs.all.push_back(std::move(output));
    begin = end + 1;
  }
  return outputs;
}

} // namespace kedge
