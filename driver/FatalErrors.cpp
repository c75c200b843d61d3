#include "driver/FatalErrors.h"
#include "lib/Support/Error.h"
#include "lib/Support/TemporaryFiles.h"
#include <cstdio>
#include <unistd.h>

namespace kedge::driver {

FatalErrors::FatalErrors(const Diagnostics &diagnostics, const std::string &otherwise)
    : diagnostics(diagnostics), otherwise(otherwise),
      handler([](void *self, const char *reason, bool) { static_cast<FatalErrors *>(self)->end(reason); },
              this) {}

void FatalErrors::end(const char *reason) const {
  std::string text = diagnostics.text();
  if (text.empty())
    text = fmt::format("{}: {}", otherwise, reason);
  reporter().say({Severity::Error, text, "", ""});
  fflush(nullptr);
  removeTemporaryFiles();
  _exit(1);
}

} // namespace kedge::driver
