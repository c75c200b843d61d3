// What is being written under a name that nobody looks for, where an error ends the process without unwinding.
#pragma once
#include <filesystem>
#include <string>

namespace kedge::rt {

/// While it lives, `path` (a file or folder of this thread's) is removed by remove(). Scopes do not nest.
class Unfinished {
public:
  explicit Unfinished(const std::string &path) { current = &path; }
  ~Unfinished() { current = nullptr; }
  Unfinished(const Unfinished &) = delete;
  Unfinished &operator=(const Unfinished &) = delete;

  /// From a terminate handler.
  static void remove() {
    std::error_code ignored;
    if (current)
      std::filesystem::remove_all(*current, ignored);
    current = nullptr;
  }

private:
  inline static thread_local const std::string *current = nullptr;
};

} // namespace kedge::rt
