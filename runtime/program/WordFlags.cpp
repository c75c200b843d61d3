#include "runtime/program/WordFlags.h"
#include "runtime/format/NearMisses.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>

namespace kedge::rt {
namespace {

/// What other tools call a word, without its case, dashes and underscores.
struct OtherName {
  const char *name, *word;
};

constexpr OtherName kOtherNames[] = {{"ce", "cross-entropy"},
                                     {"crossentropyloss", "cross-entropy"},
                                     {"nll", "cross-entropy"},
                                     {"nllloss", "cross-entropy"},
                                     {"sparsecategoricalcrossentropy", "cross-entropy"},
                                     {"categoricalcrossentropy", "cross-entropy"},
                                     {"softmax", "cross-entropy"},
                                     {"mseloss", "mse"},
                                     {"meansquarederror", "mse"},
                                     {"l2", "mse"},
                                     {"bce", "bce-with-logits"},
                                     {"bcewithlogitsloss", "bce-with-logits"},
                                     {"bceloss", "bce-with-logits"},
                                     {"binarycrossentropy", "bce-with-logits"},
                                     {"adamwtorch", "adamw"},
                                     {"adamwtorchfused", "adamw"},
                                     {"adamw8bitbnb", "adamw8bit"},
                                     {"pagedadamw8bit", "adamw8bit"},
                                     {"momentum", "sgd"},
                                     {"float32", "fp32"},
                                     {"float", "fp32"},
                                     {"f32", "fp32"},
                                     {"bfloat16", "bf16"},
                                     {"float16", "fp16"},
                                     {"half", "fp16"},
                                     {"f16", "fp16"},
                                     {"float8", "fp8"},
                                     {"e4m3", "fp8"},
                                     {"none", "constant"},
                                     {"cosineannealing", "cosine"},
                                     {"cosineannealinglr", "cosine"},
                                     {"warmupstabledecay", "wsd"},
                                     {"linearlr", "linear"}};

std::string plain(const std::string &word) {
  std::string text;
  for (const char c : word)
    if (c != '-' && c != '_')
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string meantBy(const std::string &word, const std::vector<std::string> &words) {
  for (const OtherName &other : kOtherNames)
    if (plain(word) == other.name && std::find(words.begin(), words.end(), other.word) != words.end())
      return other.word;
  std::vector<std::string> lower;
  for (const std::string &one : words)
    lower.push_back(plain(one));
  const auto found = std::find(lower.begin(), lower.end(), closestName(plain(word), lower));
  return found == lower.end() ? "" : words[static_cast<size_t>(found - lower.begin())];
}

} // namespace

std::string wrongWord(std::string &word, const std::vector<std::string> &words) {
  std::string wrong = CLI::IsMember(words, plain)(word);
  if (wrong.empty())
    return wrong;
  const std::string meant = meantBy(word, words);
  return meant.empty() ? wrong : fmt::format("{}; did you mean '{}'?", wrong, meant);
}

CLI::Option *checkWord(CLI::Option *option, const std::vector<std::string> &words) {
  CLI::Validator known = CLI::IsMember(words);
  known.operation([words](std::string &word) { return wrongWord(word, words); });
  return option->transform(known);
}

} // namespace kedge::rt
