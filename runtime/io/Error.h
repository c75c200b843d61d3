// The only exception type of the runtime. Its message names file, object, expected, found and remedy.
#pragma once
#include <fmt/format.h>
#include <stdexcept>

namespace kedge::rt {

/// What the exceptions of the runtime and of the compiler have in common: a message for people.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct RuntimeError : Failure {
  using Failure::Failure;
};

/// Throws Error with a formatted message.
template <typename... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args &&...args) {
  throw RuntimeError(fmt::format(format, std::forward<Args>(args)...));
}

} // namespace kedge::rt
