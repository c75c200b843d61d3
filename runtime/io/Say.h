// Notes and warnings of a run. They go to standard error unless a Listener exists.
#pragma once
#include <string>

namespace kedge::rt {

/// Prints one line; `line` has no line end.
void say(const std::string &line);

/// While it exists, lines of the calling thread are appended to `lines`. A library uses it, since it must not
/// print.
class Listener {
public:
  explicit Listener(std::string &lines);
  ~Listener();
  Listener(const Listener &) = delete;
  Listener &operator=(const Listener &) = delete;

private:
  std::string *before;
};

} // namespace kedge::rt
