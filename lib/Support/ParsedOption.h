// Values that users give as text, as options of passes: parsed where the option is, printed as they are
// given.
#pragma once
#include "mlir/Pass/PassOptions.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"
#include <concepts>
#include <exception>
#include <string>

namespace kedge {

/// `parse` throws an exception that quotes the text and says what was expected; `text` is what it reads
/// again.
template <typename Value>
concept IsParsed = requires(const Value &value, const std::string &text) {
  { Value::parse(text) } -> std::same_as<Value>;
  { value.text() } -> std::convertible_to<std::string>;
};

} // namespace kedge

namespace llvm::cl {

template <kedge::IsParsed Value> class parser<Value> : public basic_parser<Value> {
public:
  using basic_parser<Value>::basic_parser;

  bool parse(Option &option, StringRef, StringRef text, Value &value) try {
    value = Value::parse(text.str());
    return false;
  } catch (const std::exception &error) {
    return option.error(error.what());
  }
  static void print(raw_ostream &stream, const Value &value) {
    mlir::detail::pass_options::printOptionValue<parser<std::string>>(stream, std::string(value.text()));
  }
  StringRef getValueName() const override { return "text"; }
  void printOptionDiff(const Option &option, const Value &, const OptionValue<Value> &, size_t width) const {
    this->printOptionNoValue(option, width);
  }
};

} // namespace llvm::cl
