// The compiler's exception outside of MLIR passes. Its message names file, node, expected, found and a
// remedy.
#pragma once
#include "runtime/io/Error.h"

namespace kedge {

struct Error : rt::Failure {
  using Failure::Failure;
};

/// Throws Error with a formatted message.
template <typename... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args &&...args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

} // namespace kedge
