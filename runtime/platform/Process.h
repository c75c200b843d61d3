// The process: its arguments, its end, its names, and what the system gives it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::rt::platform {

/// The arguments as UTF-8, the program's name first. `arguments` are main()'s.
class Arguments {
public:
  Arguments(int count, char **arguments);
  int count() const { return size; }
  char **data() { return words; }

private:
  int size = 0;
  char **words = nullptr;
  std::vector<std::string> texts; ///< empty where main()'s are UTF-8
  std::vector<char *> pointers;   ///< ends with a null pointer
};

/// Signals by the numbers that Linux gives them; exit codes are 128 above.
constexpr int kHangup = 1, kInterrupt = 2, kBrokenPipe = 13, kTerminate = 15;

/// From now on `handler` gets kInterrupt (Ctrl-C), kTerminate and kHangup in place of the process' end;
/// kHangup not where it was ignored, as nohup does. It may run on any thread. Writes beyond the limit of file
/// sizes fail, instead of ending the process.
void catchEnds(void (*handler)(int));
/// Signals sent to the process are handled by threads made before or after it lives. Threads inherit it.
class SignalsAreForOthers {
public:
  SignalsAreForOthers();
  ~SignalsAreForOthers();
  SignalsAreForOthers(const SignalsAreForOthers &) = delete;
  SignalsAreForOthers &operator=(const SignalsAreForOthers &) = delete;

private:
  alignas(8) unsigned char before[128];
};
/// At once, without static objects' ends.
[[noreturn]] void endProcess(int code);
/// Stops until somebody lets it go on, for tests of lost ranks; does nothing where no process can be stopped.
void stopProcess();

/// The library that holds this code is not unloaded any more, since its threads run as long as the process.
/// Where linkers can say so, libraries are linked like that.
void keepLoaded();

/// Numbers have a decimal point while it lives, whatever the caller's locale is: on this thread alone.
class PlainNumbers {
public:
  PlainNumbers();
  ~PlainNumbers();
  PlainNumbers(const PlainNumbers &) = delete;
  PlainNumbers &operator=(const PlainNumbers &) = delete;

private:
  void *plain = nullptr, *before = nullptr;
  int ownBefore = 0; ///< whether the thread had a locale of its own
  std::string name;
};

int64_t processId();
/// Whether there may be a process of that number.
bool mayLive(int64_t process);
std::string hostName();
/// A path of the file that this process runs.
std::string programFile();
void setVariable(const char *name, const char *value);
/// Different each time that the machine starts.
std::string bootName();
/// Fills `bits`; false with the reason in errno.
bool fillRandom(uint64_t &bits);

} // namespace kedge::rt::platform
