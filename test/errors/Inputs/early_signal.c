/* Preloaded into a program: SIGTERM comes while it takes its locks, before the first step. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int flock(int descriptor, int operation) {
  static int sent;
  if (!sent++)
    raise(SIGTERM);
  return (int)syscall(SYS_flock, descriptor, operation);
}
