#include "runtime/platform/Terminal.h"
#include "runtime/platform/windows/Wide.h"
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <io.h>

namespace kedge::rt::platform {
namespace {

UINT pageBefore = 0;

HANDLE standardError() { return GetStdHandle(STD_ERROR_HANDLE); }

} // namespace

void prepareStandardFiles() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (_get_osfhandle(descriptor) >= 0)
      _setmode(descriptor, _O_BINARY);
  DWORD mode = 0;
  const HANDLE error = standardError();
  if (GetConsoleMode(error, &mode))
    SetConsoleMode(error, mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  pageBefore = GetConsoleOutputCP();
  if (pageBefore != 0 && pageBefore != CP_UTF8 && SetConsoleOutputCP(CP_UTF8))
    std::atexit([] { SetConsoleOutputCP(pageBefore); });
}

/// Asked after a write that failed.
bool outputHasNoReader() {
  return GetFileType(GetStdHandle(STD_OUTPUT_HANDLE)) == FILE_TYPE_PIPE &&
         (errno == EPIPE || errno == EINVAL);
}

bool errorIsTerminal() {
  DWORD mode = 0;
  return GetConsoleMode(standardError(), &mode) && mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING;
}

int terminalColumns() {
  CONSOLE_SCREEN_BUFFER_INFO window;
  if (!GetConsoleScreenBufferInfo(standardError(), &window))
    return 80;
  const int columns = window.srWindow.Right - window.srWindow.Left + 1;
  return columns > 0 ? columns : 80;
}

bool writeError(const char *text, size_t count) { return _write(2, text, static_cast<unsigned>(count)) >= 0; }

} // namespace kedge::rt::platform
