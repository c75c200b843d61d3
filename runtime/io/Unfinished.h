// Temporary files and folders that are being written, in case an error ends the process without unwinding.
#pragma once
#include <filesystem>
#include <string>

namespace kedge::rt {

/// While it exists, remove() deletes `path` (a file or folder that this thread writes). Scopes must not nest.
class Unfinished {
public:
  explicit Unfinished(const std::string &path) { current = &path; }
  ~Unfinished() { current = nullptr; }
  Unfinished(const Unfinished &) = delete;
  Unfinished &operator=(const Unfinished &) = delete;

  /// Called by a terminate handler.
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
