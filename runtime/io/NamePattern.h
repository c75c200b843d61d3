// The REGEX of options: an ECMAScript expression that is searched in names.
#pragma once
#include <memory>
#include <stdexcept>
#include <string>

namespace kedge::rt {

/// What is wrong with an expression.
class PatternError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Its time and memory are linear in the length of a name (libc++: refused where they are not), whereas plain
/// std::regex backtracks, with one nested call for each character. Expressions that need backtracking
/// (references to an earlier group) are refused. The expression itself is in the source file: what includes
/// <regex> takes seconds longer to compile.
class NamePattern {
public:
  /// In no name.
  NamePattern() = default;
  /// Throws PatternError.
  explicit NamePattern(const std::string &text);
  /// Throws an error that begins with `where`: the option that the expression is from.
  static NamePattern of(const std::string &where, const std::string &text);

  bool isIn(const std::string &name) const;

private:
  struct Expression;
  std::shared_ptr<const Expression> expression; ///< null: matches nothing
};

} // namespace kedge::rt
