// A variable of the environment while an object lives.
#pragma once
#include <cstdlib>
#include <string>

namespace kedge::test {

class ScopedVariable {
public:
  ScopedVariable(std::string name, const std::string &value) : name(std::move(name)) {
    setenv(this->name.c_str(), value.c_str(), 1);
  }
  ~ScopedVariable() { unsetenv(name.c_str()); }
  ScopedVariable(const ScopedVariable &) = delete;
  ScopedVariable &operator=(const ScopedVariable &) = delete;

private:
  std::string name;
};

} // namespace kedge::test
