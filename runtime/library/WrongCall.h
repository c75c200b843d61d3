// What a caller of a session did wrong.
#pragma once
#include "runtime/io/Error.h"

namespace kedge::rt {

/// An error of the caller; the session is unchanged, but for inputs that were given for the call.
struct WrongCall : RuntimeError {
  using RuntimeError::RuntimeError;
};

} // namespace kedge::rt
