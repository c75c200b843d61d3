// Standard input, output and error.
#pragma once
#include <cstddef>

namespace kedge::rt::platform {

/// Opens those that are closed; otherwise the next file opened would get their number and receive messages.
/// Writing to a pipe without a reader becomes an error instead of the end of the process. Text is UTF-8, and
/// lines end with one byte.
void prepareStandardFiles();
/// Whether nobody reads standard output any more, as behind `| head`.
bool outputHasNoReader();
/// Whether standard error is a terminal, which understands ANSI's codes.
bool errorIsTerminal();
/// Of it; 80 where it is none.
int terminalColumns();
/// Writes to standard error; false if it is gone.
bool writeError(const char *text, size_t count);

} // namespace kedge::rt::platform
