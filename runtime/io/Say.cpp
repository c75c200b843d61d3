#include "runtime/io/Say.h"
#include <cstdio>

namespace kedge::rt {
namespace {

thread_local std::string *listening = nullptr;

} // namespace

void say(const std::string &line) {
  if (listening)
    *listening += line + "\n";
  else
    std::fprintf(stderr, "%s\n", line.c_str());
}

Listener::Listener(std::string &lines) : before(listening) { listening = &lines; }

Listener::~Listener() { listening = before; }

} // namespace kedge::rt
