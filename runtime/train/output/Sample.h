// --sample: text that the trained model goes on with.
#pragma once
#include "runtime/data/Dataset.h"
#include "runtime/text/Tokenizer.h"
#include "runtime/train/Evaluate.h"

namespace kedge::rt {

class Sampler {
public:
  /// Reads the tokenizer. Throws if the program has no input of tokens with a float output of [batch, length,
  /// tokens], has other inputs, or knows fewer tokens than the tokenizer.
  Sampler(const Program &program, const SampleOptions &options);

  /// The prompt with what follows it. Runs the model for each token, on the last ones that fit; ends early
  /// with a special token. Nothing if a signal came.
  std::optional<std::string> run(Executor &executor, const RunScalars &scalars, const RunProgress &progress);

private:
  void findOutput();
  void addInputs();
  void fillWindow();
  uint32_t choose(const float *logits, uint64_t seed, uint64_t place) const;
  bool ends(uint32_t token) const { return tokenizer.isSpecial(token); }

  const Program &program;
  const SampleOptions &options;
  Tokenizer tokenizer;
  const InputSpec &input;
  std::string output;
  int64_t length, classes = 0;
  std::vector<uint32_t> tokens;
  std::map<std::string, std::vector<char>> rows; ///< one of each input
};

} // namespace kedge::rt
