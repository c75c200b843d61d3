// Notes and warnings of a run: on standard error, unless somebody listens.
#pragma once
#include <string>

namespace kedge::rt {

/// A line without its end.
void say(const std::string &line);

/// While it lives, what the calling thread says goes into `lines`, each with its end: a library prints nothing.
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
