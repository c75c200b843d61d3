#include "runtime/train/ProgramMain.h"
#include "runtime/comm/Launcher.h"
#include "runtime/comm/RollCall.h"
#include "runtime/comm/mpi/Connect.h"
#include "runtime/comm/tcp/Connect.h"
#include "runtime/io/Error.h"
#include "runtime/io/Printable.h"
#include "runtime/io/StandardFiles.h"
#include "runtime/io/Unfinished.h"
#include "runtime/platform/Process.h"
#include "runtime/program/PlansByWorld.h"
#include "runtime/train/CrossRankChecks.h"
#include "runtime/train/Introduction.h"
#include "runtime/train/Session.h"
#include "runtime/train/Signals.h"
#include "runtime/train/output/OutputReader.h"
#include <chrono>
#include <cstdlib>
#include <exception>
#include <new>
#include <thread>

namespace kedge::rt {
namespace {

using Ranks = std::unique_ptr<Communicator>;

/// The other ranks of this job, where there are any.
Ranks connect(const Program &program, const Launched &launched, double timeout) {
  checkWorldSize(launched.world, program.options.ranks);
  if (launched.world.size == 1)
    return nullptr;
  return launched.meeting ? connectByTcp(launched.world, *launched.meeting, timeout)
                          : connectByMpi(launched.world, timeout);
}

/// What nobody could read was not said. A run that a signal ended has its own code.
int withOutput(int code) {
  if (code > 128)
    return code;
  if (const char *reason = lostOutput(); *reason)
    fail("cannot write to standard output: {}", reason);
  if (caughtSignal() == platform::kBrokenPipe)
    fail("cannot write to standard error");
  return code;
}

/// No ranks where that cannot be told: then there is an error to come.
Launched startedAs(bool withTorchrun) {
  try {
    return launchedAs(withTorchrun);
  } catch (const RuntimeError &) {
    return {{0, 0}, 0, 0, {}};
  }
}

/// NCCL's own switch; who sets it needs no flag.
void shareGpus(const ProgramImage &image) {
  if (!image.device)
    fail("--shared-gpu: this program is for CPUs, whose ranks share a machine without it");
  platform::setVariable("NCCL_MULTI_RANK_GPU_ENABLE", "1");
}

void moveFiles(Program &program, const std::string &directory) {
  if (program.diskParts.empty())
    fail("--offload-dir: this program keeps no states in files; compile it with --offload optimizer={} or "
         "params={}",
         directory, directory);
  for (DiskPart &part : program.diskParts)
    part.directory = directory;
}

/// Who is named in NAME=FILE.
void takeNames(Options &options, const Program &program) {
  const auto isInput = [&](const std::string &name) { return program.input(name) != nullptr; };
  for (auto *files : {&options.data, &options.tokens, &options.evalData, &options.evalTokens})
    splitAtNames(*files, isInput);
  splitAtNames(options.predict,
               [&](const std::string &name) { return functionWith(program, name) != nullptr; });
}

int runProgram(int argc, char **argv, const ProgramImage &whole, Ranks &ranks) {
  const std::unique_ptr<RollCall> roll = RollCall::begin();
  const Launched started = startedAs(whole.device != nullptr);
  const ProgramImage image = imageFor(whole, started.world.size, started.localSize, started.world.rank);
  Program program = parseProgram(image.json);
  Options options;
  const bool speaks = rankForMessages() == 0;
  if (argc == 1) {
    if (speaks)
      std::fputs(introduction(program, argv[0]).c_str(), stdout);
    return withOutput(0);
  }
  std::exception_ptr wrong;
  try {
    if (const auto code = parseOptions(argc, argv, program.name, options, speaks))
      return withOutput(*code);
    takeNames(options, program);
  } catch (const RuntimeError &) {
    wrong = std::current_exception(); // told among the ranks: it may be one alone that has it
  }
  if (options.plan && !wrong) {
    if (speaks)
      std::puts(program.plan.dump(1).c_str());
    return withOutput(0);
  }
  if (options.sharedGpu && !wrong)
    shareGpus(image);
  if (!options.offloadDir.empty() && !wrong)
    moveFiles(program, options.offloadDir);
  // On a GPU tensors go by NCCL; on a CPU by MPI alone, which torchrun does not start.
  const Launched launched = launchedAs(image.device != nullptr);
  // A signal in MPI_Init, which RollCall bounds, ends the run as in training. In a meeting by TCP it ends the
  // process at once.
  if (!launched.meeting)
    catchSignals();
  if (roll)
    roll->watch(launched, options.commTimeout, "MPI_Init");
  ranks = connect(program, launched, options.commTimeout);
  if (roll)
    roll->rest();
  if (wrong)
    std::rethrow_exception(wrong);
  checkSameProgram(ranks.get(), whole, options);
  placeShards(program, launched.world);
  if (ranks)
    ranks->arrange(program.mesh);
  catchSignals();
  const int code = withOutput(Session(image, program, options, launched, ranks.get()).run());
  if (ranks && roll)
    roll->watch(launched, options.commTimeout, "MPI_Finalize");
  if (ranks)
    ranks->close();
  if (roll)
    roll->leave();
  return code;
}

/// The launcher ends the job with the first rank that fails, and what the others had to say is lost: rank 0
/// speaks first.
constexpr std::chrono::seconds kFirstSpeaks{1};

/// Ranks that have not met cannot agree who speaks.
void sayAlone(const char *text, bool agreed) {
  const int64_t rank = rankForMessages();
  if (rank == 0) {
    std::fprintf(stderr, "kedge: error: %s\n", text);
    return;
  }
  std::this_thread::sleep_for(kFirstSpeaks);
  if (!agreed)
    std::fprintf(stderr, "kedge: error: rank %lld: %s\n", static_cast<long long>(rank), text);
}

/// Once for the job.
void say(Communicator *ranks, const std::string &text, bool agreed) {
  if (ranks)
    ranks->announce(agreed && !ranks->world().isFirst() ? "" : printable(text));
  else
    sayAlone(printable(text).c_str(), agreed);
}

} // namespace

namespace {

/// A failed allocation in code that cannot throw is an error, too, not a crash.
void endWithoutMemory() {
  try {
    if (const std::exception_ptr current = std::current_exception())
      std::rethrow_exception(current);
  } catch (const std::bad_alloc &) {
    std::fputs("kedge: error: out of memory\n", stderr);
    Unfinished::remove();
    platform::endProcess(1);
  } catch (...) {
    std::abort();
  }
  std::abort();
}

} // namespace

int programMain(int count, char **words, const ProgramImage &image) {
  platform::Arguments arguments(count, words);
  Ranks ranks;
  int code = 1;
  prepareStandardFiles();
  std::set_terminate(endWithoutMemory);
  try {
    return runProgram(arguments.count(), arguments.data(), image, ranks);
  } catch (const Stopped &) { // it has been said
  } catch (const EndedBySignal &ended) {
    say(ranks.get(), ended.what(), false);
    code = 128 + ended.signal;
  } catch (const AgreedError &error) {
    say(ranks.get(), error.what(), true);
  } catch (const std::bad_alloc &) {
    if (ranks)
      say(ranks.get(), "out of memory", false);
    else
      sayAlone("out of memory", false); // allocates nothing
  } catch (const std::exception &error) {
    say(ranks.get(), error.what(), false);
  }
  if (ranks) { // MPI's own end would wait for ranks that are gone
    std::fflush(nullptr);
    platform::endProcess(code);
  }
  return code;
}

} // namespace kedge::rt
