#include "runtime/platform/Process.h"
#include "runtime/platform/windows/Wide.h"
#include <atomic>
#include <clocale>
#include <cstdlib>
#include <process.h>
#include <shellapi.h>
#include <winternl.h>

/// RtlGenRandom; the headers have it among other functions, whose types those of winternl.h contradict.
extern "C" unsigned char __stdcall SystemFunction036(void *bytes, unsigned long count);

namespace kedge::rt::platform {
namespace {

std::atomic<void (*)(int)> handles{nullptr};

/// On a thread of its own. The system ends a process whose window closes when this returns.
BOOL WINAPI onConsoleEvent(DWORD event) {
  void (*handler)(int) = handles.load();
  switch (event) {
  case CTRL_C_EVENT:
    handler(kInterrupt);
    return TRUE;
  case CTRL_BREAK_EVENT:
    handler(kTerminate);
    return TRUE;
  case CTRL_CLOSE_EVENT:
  case CTRL_LOGOFF_EVENT:
  case CTRL_SHUTDOWN_EVENT:
    handler(kHangup);
    Sleep(INFINITE);
    return TRUE;
  default:
    return FALSE;
  }
}

/// Lets functions that take paths take long ones, without a setting of the machine. The bit that Windows 10
/// sets itself in the process' environment block for programs that say so, where that setting allows it.
void takeLongPaths() {
  constexpr size_t kBits = 3;
  constexpr unsigned char kIsLongPathAware = 0x80;
  reinterpret_cast<unsigned char *>(NtCurrentTeb()->ProcessEnvironmentBlock)[kBits] |= kIsLongPathAware;
}

} // namespace

Arguments::Arguments(int, char **) {
  takeLongPaths();
  wchar_t **wideWords = CommandLineToArgvW(GetCommandLineW(), &size);
  for (int at = 0; at < size; ++at)
    texts.push_back(narrow(wideWords[at]));
  LocalFree(wideWords);
  for (std::string &text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  words = pointers.data();
}

void catchEnds(void (*handler)(int)) {
  if (!handles.exchange(handler))
    SetConsoleCtrlHandler(onConsoleEvent, TRUE);
}

// Console events have a thread of their own.
SignalsAreForOthers::SignalsAreForOthers() { before[0] = 0; }
SignalsAreForOthers::~SignalsAreForOthers() = default;

void endProcess(int code) { _exit(code); }

void stopProcess() {}

PlainNumbers::PlainNumbers() : ownBefore(_configthreadlocale(_ENABLE_PER_THREAD_LOCALE)) {
  if (const char *now = std::setlocale(LC_ALL, nullptr))
    name = now;
  std::setlocale(LC_ALL, "C");
}

PlainNumbers::~PlainNumbers() {
  std::setlocale(LC_ALL, name.c_str());
  _configthreadlocale(ownBefore);
}

void keepLoaded() {
  HMODULE library = nullptr;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                     reinterpret_cast<LPCWSTR>(&keepLoaded), &library);
}

int64_t processId() { return static_cast<int64_t>(GetCurrentProcessId()); }

bool mayLive(int64_t process) {
  const HANDLE found = OpenProcess(SYNCHRONIZE, FALSE, static_cast<DWORD>(process));
  if (!found)
    return GetLastError() == ERROR_ACCESS_DENIED;
  const bool lives = WaitForSingleObject(found, 0) == WAIT_TIMEOUT;
  CloseHandle(found);
  return lives;
}

std::string hostName() {
  wchar_t name[256];
  DWORD size = 256;
  return GetComputerNameExW(ComputerNameDnsHostname, name, &size) ? narrow({name, size}) : "unknown";
}

std::string programFile() {
  std::wstring path(32768, L'\0');
  path.resize(GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size())));
  return narrow(path);
}

void setVariable(const char *name, const char *value) { _putenv_s(name, value); }

std::string bootName() { return ""; }

bool fillRandom(uint64_t &bits) { return SystemFunction036(&bits, sizeof bits) || failed(); }

} // namespace kedge::rt::platform
