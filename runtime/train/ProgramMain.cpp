#include "runtime/train/ProgramMain.h"
#include "runtime/io/Error.h"
#include "runtime/train/Session.h"
#include "runtime/train/Signals.h"
#include <new>

namespace kedge::rt {
namespace {

int runProgram(int argc, char **argv, const ProgramImage &image) {
  const Program program = parseProgram(image.json);
  Options options;
  if (const auto code = parseOptions(argc, argv, program.name, options))
    return *code;
  if (options.plan) {
    fmt::print("{}\n", program.plan.dump(1));
    return 0;
  }
  catchSignals();
  return Session(image, program, options).run();
}

} // namespace

int programMain(int argc, char **argv, const ProgramImage &image) {
  try {
    return runProgram(argc, argv, image);
  } catch (const std::bad_alloc &) {
    fmt::print(stderr, "kedge: error: out of memory\n");
  } catch (const std::exception &error) {
    fmt::print(stderr, "kedge: error: {}\n", error.what());
  }
  return 1;
}

} // namespace kedge::rt
