#include "runtime/train/ProgramMain.h"
#include "runtime/comm/Launcher.h"
#include "runtime/comm/mpi/Connect.h"
#include "runtime/comm/tcp/Connect.h"
#include "runtime/io/Error.h"
#include "runtime/train/Alike.h"
#include "runtime/train/Session.h"
#include "runtime/train/Signals.h"
#include <new>
#include <unistd.h>

namespace kedge::rt {
namespace {

using Ranks = std::unique_ptr<Communicator>;

/// The other ranks of this job, where there are any.
Ranks connect(const Program &program, const Launched &launched, double timeout) {
  checkWorldSize(launched.world, program.options.ranks);
  if (launched.world.size == 1)
    return nullptr;
  return launched.meeting ? connectByTcp(launched.world, *launched.meeting, timeout) : connectByMpi(launched.world, timeout);
}

int runProgram(int argc, char **argv, const ProgramImage &image, Ranks &ranks) {
  Program program = parseProgram(image.json);
  Options options;
  const bool speaks = rankForMessages() == 0;
  std::exception_ptr wrong;
  try {
    if (const auto code = parseOptions(argc, argv, program.name, options, speaks))
      return *code;
  } catch (const Error &) {
    wrong = std::current_exception(); // told among the ranks: it may be one alone that has it
  }
  if (options.plan && !wrong) {
    if (speaks)
      fmt::print("{}\n", program.plan.dump(1));
    return 0;
  }
  // On a GPU tensors go by NCCL; on a CPU by MPI alone, which torchrun does not start.
  const Launched launched = launchedAs(image.device != nullptr);
  ranks = connect(program, launched, options.commTimeout);
  if (wrong)
    std::rethrow_exception(wrong);
  checkSameProgram(ranks.get(), image, options);
  placeShards(program, launched.world);
  catchSignals();
  const int code = Session(image, program, options, launched, ranks.get()).run();
  if (ranks)
    ranks->close();
  return code;
}

/// Once for the job.
void say(Communicator *ranks, const std::string &text, bool agreed) {
  if (ranks)
    ranks->announce(agreed && !ranks->world().isFirst() ? "" : text);
  else if (rankForMessages() == 0)
    fmt::print(stderr, "kedge: error: {}\n", text);
}

} // namespace

int programMain(int argc, char **argv, const ProgramImage &image) {
  Ranks ranks;
  try {
    return runProgram(argc, argv, image, ranks);
  } catch (const Stopped &) { // it has been said
  } catch (const AgreedError &error) {
    say(ranks.get(), error.what(), true);
  } catch (const std::bad_alloc &) {
    say(ranks.get(), "out of memory", false);
  } catch (const std::exception &error) {
    say(ranks.get(), error.what(), false);
  }
  if (ranks) { // MPI's own end would wait for ranks that are gone
    std::fflush(nullptr);
    _exit(1);
  }
  return 1;
}

} // namespace kedge::rt
