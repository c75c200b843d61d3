// A real number as an option of a pass: printed with as many digits as its bits need. MLIR prints seven
// digits of a double.
#pragma once
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace kedge {

struct ExactDouble {
  double value = 0;

  ExactDouble(double value = 0) : value(value) {}
  operator double() const { return value; }
};

inline llvm::raw_ostream &operator<<(llvm::raw_ostream &stream, const ExactDouble &number) {
  return stream << fmt::format("{}", number.value);
}

} // namespace kedge

namespace llvm::cl {

template <> class parser<kedge::ExactDouble> : public basic_parser<kedge::ExactDouble> {
public:
  using basic_parser::basic_parser;

  bool parse(Option &option, StringRef, StringRef text, kedge::ExactDouble &number) {
    return to_float(text, number.value) ? false : option.error("'" + text + "' is no number");
  }
  StringRef getValueName() const override { return "number"; }
  void printOptionDiff(const Option &option, kedge::ExactDouble, const OptionValue<kedge::ExactDouble> &,
                       size_t width) const {
    printOptionNoValue(option, width);
  }
};

} // namespace llvm::cl
