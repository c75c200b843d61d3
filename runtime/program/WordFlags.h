// Options that take one of a few words.
#pragma once
#include <string>
#include <vector>

namespace CLI {
class Option;
} // namespace CLI

namespace kedge::rt {

/// Makes `option` take these words alone, however they are written (CrossEntropy is cross-entropy), and say
/// of others what was probably meant.
CLI::Option *checkWord(CLI::Option *option, const std::vector<std::string> &words);

/// What is wrong with a word that is to be one of `words`; empty: nothing. `word` becomes the one it is.
std::string wrongWord(std::string &word, const std::vector<std::string> &words);

} // namespace kedge::rt
