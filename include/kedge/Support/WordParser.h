// Enumerations with words (Words.h) as options of passes: what is no word is told with all that are.
#pragma once
#include "kedge/Support/Words.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace kedge {

template <typename Enum>
concept HasWords = requires { Words<Enum>::list; };

/// "fp32, bf16, int8"
template <HasWords Enum> const std::string &listOfWords() {
  static const std::string text = llvm::join(wordsOf<Enum>(), ", ");
  return text;
}

} // namespace kedge

namespace llvm::cl {

template <kedge::HasWords Enum> class parser<Enum> : public basic_parser<Enum> {
public:
  using basic_parser<Enum>::basic_parser;

  bool parse(Option &option, StringRef, StringRef text, Enum &value) {
    if (const std::optional<Enum> named = kedge::valueNamed<Enum>(text)) {
      value = *named;
      return false;
    }
    return option.error("'" + text + "': expected " + kedge::listOfWords<Enum>());
  }
  static void print(raw_ostream &stream, Enum value) { stream << kedge::wordOf(value); }
  StringRef getValueName() const override { return kedge::listOfWords<Enum>(); }
  void printOptionDiff(const Option &option, Enum, const OptionValue<Enum> &, size_t width) const {
    this->printOptionNoValue(option, width);
  }
};

} // namespace llvm::cl
