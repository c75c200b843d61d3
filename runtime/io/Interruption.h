// Long reads before the first step end with a signal: nothing would be lost.
#pragma once

namespace kedge::rt {

/// Not an error: a read that fails is passed over, and one that was ended is not.
struct Interrupted {
  int signal;
};

/// While it lives, askToGoOn() throws once `caught` is not 0, after a second: what is read sooner reaches the
/// first step, where signals are looked at anyway. One at a time.
class Interruptible {
public:
  explicit Interruptible(int (*caught)());
  ~Interruptible();
  Interruptible(const Interruptible &) = delete;
  Interruptible &operator=(const Interruptible &) = delete;
};

/// Called now and then by what reads much, on the thread that made the Interruptible. Throws Interrupted.
void askToGoOn();

} // namespace kedge::rt
