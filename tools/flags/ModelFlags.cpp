#include "tools/flags/ModelFlags.h"
#include "lib/Support/Error.h"
#include "tools/flags/Flags.h"
#include "tools/flags/ShapeFlags.h"
#include <charconv>
#include <filesystem>
#include <fmt/ranges.h>

namespace kedge::tool {

static std::pair<std::string, std::string> parseValue(const std::string &text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    fail("--value {}: expected INPUT=16000", text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

static std::pair<std::string, int64_t> parsePaddingRow(const std::string &text) {
  const size_t equals = text.rfind('=');
  int64_t row = -1;
  const char *end = text.data() + text.size();
  if (equals == std::string::npos || equals == 0 ||
      std::from_chars(text.data() + equals + 1, end, row).ptr != end || row < 0)
    fail("--padding-row {}: expected REGEX=N, N a row from 0, as in 'word_embeddings=0'", text);
  if (const std::string wrong = wrongPattern(text.substr(0, equals)); !wrong.empty())
    fail("--padding-row {}", wrong);
  return {text.substr(0, equals), row};
}

/// Names are understood however they are written.
static LossSpec lossGiven(const std::string &text) {
  return LossSpec::parse(text, [](std::string word) {
    if (const std::string wrong = rt::wrongWord(word, wordsOf<LossFunction>()); !wrong.empty())
      fail("--loss: {}{}", wrong,
           wrong.find("did you mean") == std::string::npos ? "; --help lists the options" : "");
    return valueOf<LossFunction>(word);
  });
}

void addModelOptions(CLI::App &command, ModelOptions &options) {
  const char *group = "Model";
  command.add_option("MODEL", options.model, "the ONNX file")->required();
  command
      .add_option_function<std::vector<std::string>>(
          "--shape", [&options](const std::vector<std::string> &texts) { parseShapes(texts, options); },
          "INPUT=8x1024 ...: shape of an input, per rank and micro-batch; one for each input. Sizes in {}, "
          "as "
          "in INPUT=8x{128,512}, are buckets of one program: each step takes the smallest that its rows need")
      ->group(group)
      ->allow_extra_args(false);
  command
      .add_option_function<std::vector<std::string>>(
          "--value",
          [&options](const std::vector<std::string> &texts) {
            for (const std::string &text : texts)
              options.values.insert_or_assign(parseValue(text).first, parseValue(text).second);
          },
          "INPUT=16000 or INPUT=1,4,4: an input whose value is known when compiling")
      ->group(group)
      ->allow_extra_args(false);
  command
      .add_flag(
          "--no-cache", options.noCache,
          "a decoder's cache (past_key_values, present) is empty, as in training, which is the default where "
          "names or operators tell it; --no-cache=off: caches stay inputs and outputs")
      ->group(group);
  command
      .add_flag(
          "--documents", options.documents,
          "attention sees no other document of a row; an input 'document_borders' says where they begin, "
          "which the program's --documents fills")
      ->group(group);
  constexpr double kAny = 0x1p63; // a whole number that fits 64 bits
  Flags flags(command, group);
  Flags loss(command, "Loss");
  loss.parsed(
      "--loss", options.loss, lossGiven,
      "the loss (default: cross-entropy, where it fits), with its parameters as NAME:key=value,..., or "
      "several as OUT=NAME*WEIGHT,...; " +
          fmt::format("{}", fmt::join(wordsOf<LossFunction>(), ", ")));
  loss.add("--logits", options.logits, "output that the loss reads; default: the only float output");
  loss.add("--labels", options.labels, "input that holds the labels; made when the graph has none")
      ->capture_default_str();
  loss.number("--class-axis", options.classAxis, {-64, 63},
              "axis of the classes; default: the last up to rank 3, else 1");
  loss.number("--ignore-index", options.ignoreIndex, {-kAny, kAny}, "label of items that do not count")
      ->capture_default_str();
  loss.number("--label-smoothing", options.labelSmoothing, {0, 1},
              "share of the loss that is spread over all classes");
  loss.add("--class-weights", options.classWeights, "FILE.npy: weight of each class (cross-entropy)");
  loss.add("--pos-weight", options.posWeight,
           "FILE.npy: weight of positive labels, one number or one for each element of the last axis "
           "(bce-with-logits)");
  loss.add("--sample-weights", options.sampleWeights,
           "input of a weight for each row; made when the graph has none");
  loss.parsed(
      "--loss-output", options.lossOutput, LossOutputs::parse,
      "NAME,NAME=WEIGHT,...: outputs that are the loss, when the graph computes it; with --loss they are "
      "added to it");
  flags.patterns("--train", options.train,
                 "REGEX: constants, buffers and frozen tensors of these names train, too");
  flags.patterns("--train-only", options.trainOnly,
                 "REGEX: of the parameters, those of these names train; all others are frozen");
  flags.patterns("--freeze", options.freeze, "REGEX: do not train the tensors of these names");
  command
      .add_flag("--train-mode", options.trainMode,
                "put Dropout and BatchNormalization into training mode; --train-mode=REGEX: those of these "
                "modules alone; --train-mode=off: train the file as it is. Default: as the file was "
                "exported")
      ->check(wrongPattern)
      ->group(group);
  flags.patterns("--tie", options.tie,
                 "REGEX: keep the parameters of these names one tensor, where the file does not tell "
                 "whether the model ties them");
  command
      .add_flag(
          "--repair", options.repair,
          "undo what the exporter did to the parameters, by their values where the file does not say it; "
          "--repair=off: nothing. Default: what the file's own record decides")
      ->check(CLI::IsMember({"true", "off"}))
      ->group(group);
  command
      .add_option_function<std::vector<std::string>>(
          "--padding-row",
          [&options](const std::vector<std::string> &texts) {
            for (const std::string &text : texts)
              options.paddingRows.insert_or_assign(parsePaddingRow(text).first, parsePaddingRow(text).second);
          },
          "REGEX=N: row N of the tables of these names gets no gradient where it is looked up, as "
          "padding_idx")
      ->group(group)
      ->allow_extra_args(false);
  flags.parsed("--resize-vocab", options.vocabulary, lint::VocabularySize::parse,
               "N or REGEX=N: the vocabulary's table, its head and the head's bias have N tokens; new ones "
               "begin as the mean of the old, the last old ones go where N is smaller");
  command
      .add_flag("--strict", options.strict,
                "take no guess on whether a tensor is a parameter: --train or --freeze says so")
      ->group(group);
  command.add_option("--allow", options.allow, "CODE: accept this error of lint")
      ->group(group)
      ->allow_extra_args(false)
      ->delimiter(',');
  Flags(command, "Extensions")
      .list("--load-pass-plugin", options.plugins,
            "FILE.so: dialects, ops and passes of others (docs/extending)")
      ->check(CLI::ExistingFile);
  Flags(command, "Ranks")
      .numbers("--ranks", options.ranks, {1, 1e6}, "N[,M...]: numbers of ranks that the program can run on");
}

std::vector<std::string> repeatShape(int argc, char **argv) {
  const std::string shape = "--shape", mode = "--train-mode";
  std::vector<std::string> words;
  bool belongs = false; // the word before was a shape
  for (int at = 1; at < argc; ++at) {
    const std::string word = argv[at];
    const bool first = at > 1 && argv[at - 1] == shape;
    const bool another = belongs && !first && word[0] != '-' && word.find('=') != std::string::npos;
    if (another)
      words.push_back(shape);
    if (at > 1 && argv[at - 1] == mode && word[0] != '-' && !std::filesystem::is_regular_file(word)) {
      words.back() += "=" + word; // an expression; a file is the model
      continue;
    }
    belongs = first || another;
    words.push_back(word);
  }
  return words;
}

} // namespace kedge::tool
