// The same by compiler.hpp: compile MODEL.
#include "kedge/compiler.hpp"
#include <cstdio>

int main(int, char **words) {
  kedge::Compiler compiler;
  const kedge::Compiler::Flags flags = {{"--shape", "input=8x10"}, {"--loss", "mse"}};
  const std::string report = compiler.plan(words[1], flags);
  const std::vector<char> program = compiler.compileToMemory(words[1], flags);
  std::printf("a report of %zu letters, a program of %zu bytes\n", report.size(), program.size());
  try {
    compiler.plan(words[1], {{"--precision", "fp33"}});
  } catch (const kedge::Error &error) {
    std::printf("code %d: %s\n", error.code, error.what());
  }
}
