#include "runtime/comm/messages/Progress.h"
#include "runtime/comm/Communicator.h"
#include "runtime/io/Say.h"
#include "runtime/platform/Threads.h"
#include <algorithm>
#include <csignal>
#include <unistd.h>

namespace kedge::rt::messages {
namespace {

/// Polls that find nothing before the thread begins to sleep between them.
constexpr int64_t kEagerPolls = 2000;
/// The same when nothing is under way: one collective often follows another.
constexpr int64_t kIdlePolls = 200;
/// While messages move, the heartbeat is looked after now and then.
constexpr int64_t kBusyRounds = 16;
constexpr std::chrono::microseconds kNap{100};
/// How long the main thread has to leave after the job has ended; it may be in a long kernel.
constexpr std::chrono::seconds kGrace{3};
constexpr std::chrono::seconds kEnding{30};
constexpr size_t kRoom = 256;

} // namespace

Progress::Progress(std::unique_ptr<Messages> messages, const World &world, double timeoutSeconds)
    : transport(std::move(messages)), ranks(world), timeout(static_cast<int64_t>(timeoutSeconds * 1e9)),
      watch(*transport, world, timeoutSeconds), lookout(world.rank, watch) {
  started.reserve(kRoom);
  for (auto &lane : lanes)
    lane.reserve(kRoom);
  // Signals are the main thread's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  changed.await([this] { return initialized.load() || finished.load(); });
  if (failure) {
    thread.join();
    std::rethrow_exception(failure);
  }
}

Progress::~Progress() {
  leaving.store(true);
  closing.store(true);
  wake.notify_one();
  if (thread.joinable())
    thread.join();
}

void Progress::run() {
  platform::runPromptly();
  try {
    transport->start();
    initialized.store(true);
    changed.post();
    loop();
  } catch (...) {
    failure = std::current_exception();
  }
  finished.store(true);
  changed.post();
  if (watch.hasStopped() || (failure && initialized))
    endProcessUnlessMainDoes();
}

void Progress::loop() {
  for (int64_t idle = 0, busy = 0; !closing.load(std::memory_order_acquire) && !watch.hasStopped();) {
    lookout.pass();
    takeStarted();
    const bool moved = advance();
    if (watching.load(std::memory_order_acquire) && (!moved || ++busy % kBusyRounds == 0))
      watch.tick([this] { return waitingFor(); });
    idle = moved ? 0 : idle + 1;
    if (!moved)
      rest(idle);
  }
  lookout.end();
  if (leaving.load() || watch.hasStopped())
    return;
  watch.end();
  transport->finish();
}

void Progress::takeStarted() {
  if (startedCount.load(std::memory_order_acquire) == takenCount)
    return;
  const std::lock_guard lock(mutex);
  takenCount += started.size();
  for (Exchange *operation : started)
    lanes[operation->isBackground() && !transport->isOneQueue() ? 1 : 0].push_back(operation);
  started.clear();
}

bool Progress::advance() {
  bool moved = false;
  for (auto &lane : lanes) {
    if (lane.empty())
      continue;
    Exchange &operation = *lane.front();
    const Exchange::Step step = operation.advance();
    moved |= step != Exchange::Step::Waiting;
    if (step != Exchange::Step::Ended)
      continue;
    lane.erase(lane.begin());
    operation.giveBack();
    changed.post();
  }
  return moved;
}

/// Busy with operations it polls, giving way to threads that compute; else it soon sleeps until the next
/// heartbeat.
void Progress::rest(int64_t idle) {
  if (!isIdle()) {
    if (idle < kEagerPolls)
      yielder.yield();
    else
      std::this_thread::sleep_for(kNap);
    return;
  }
  if (idle < kIdlePolls && !yielder.isCrowded())
    return yielder.yield();
  std::unique_lock lock(mutex);
  wake.wait_for(lock, std::chrono::nanoseconds(watch.interval()),
                [this] { return !started.empty() || closing.load(std::memory_order_acquire); });
}

const char *Progress::waitingFor() {
  takeStarted();
  for (const auto &lane : lanes)
    if (!lane.empty())
      return lane.front()->name().c_str();
  return elsewhere.load(std::memory_order_acquire);
}

void Progress::watchOthers() {
  watch.begin();
  watching.store(true, std::memory_order_release);
}

void Progress::watchProcesses(const std::vector<Watch::ProcessIdentity> &identities) {
  watch.identify(identities);
  lookout.begin();
}

void Progress::start(Exchange &operation) {
  const std::optional<uint64_t> own = operation.ownNumber();
  operation.begin(own ? *own : sequences[operation.partyNumber()]++);
  {
    const std::lock_guard lock(mutex);
    started.push_back(&operation);
    startedCount.fetch_add(1, std::memory_order_release);
  }
  wake.notify_one();
}

void Progress::wait(Exchange &operation) {
  changed.await([&] { return operation.isDone() || finished.load(std::memory_order_acquire); });
  if (!operation.isDone())
    check();
}

void Progress::check() {
  if (!finished.load(std::memory_order_acquire))
    return;
  if (failure)
    std::rethrow_exception(failure);
  throw Stopped("the job has ended");
}

void Progress::announce(const std::string &text) {
  leaving.store(true);
  watch.announce(text);
  wake.notify_one();
  changed.await([this] { return finished.load(std::memory_order_acquire); });
  if (!watch.hasStopped() && !text.empty()) // the thread ended before it could tell anybody
    say(fmt::format("kedge: error: rank {}: {}", ranks.rank, text));
}

void Progress::close() {
  closing.store(true);
  wake.notify_one();
  // The transport's end waits for all ranks, without a heartbeat; on a busy machine it may take seconds.
  for (const auto end =
           std::chrono::steady_clock::now() + std::max<std::chrono::nanoseconds>(timeout, kEnding);
       !finished.load(std::memory_order_acquire);) {
    if (std::chrono::steady_clock::now() > end) {
      say(fmt::format("kedge: error: rank {}: a rank did not come to the end of the job", ranks.rank));
      std::fflush(nullptr);
      _exit(1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  leaving.store(true); // a failure at the end is the main thread's to tell
  thread.join();
  if (failure)
    std::rethrow_exception(failure);
}

/// The main thread is elsewhere, and may not come back before it is too late.
void Progress::tellFailure() const {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception &error) {
    say(fmt::format("kedge: error: rank {}: {}", ranks.rank, error.what()));
  }
}

void Progress::endProcessUnlessMainDoes() {
  for (auto end = std::chrono::steady_clock::now() + kGrace; std::chrono::steady_clock::now() < end;) {
    if (leaving.load())
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (failure && !watch.hasStopped())
    tellFailure();
  _exit(1);
}

} // namespace kedge::rt::messages
