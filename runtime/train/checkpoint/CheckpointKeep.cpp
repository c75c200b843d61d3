// Which checkpoints stay: what counts, what is removed, what is set aside.
#include "runtime/io/Error.h"
#include "runtime/io/FileWriter.h"
#include "runtime/io/Printable.h"
#include "runtime/io/Random.h"
#include "runtime/io/Say.h"
#include "runtime/platform/Folders.h"
#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"
#include <cerrno>
#include <cstring>

namespace kedge::rt {
namespace {

/// Reads every byte of a folder that this process has not seen yet; a run resumes among few of them.
bool isWholeOfRun(const std::string &dir, int64_t step, CheckpointRun &run) {
  if (run.whole.count(step))
    return platform::exists(folderOfStep(dir, step) + "/" + kManifest);
  try {
    const std::string folder = folderOfStep(dir, step);
    const Checkpoint found = readCheckpoint(folder, /*files=*/false);
    if (found.run != run.id || found.progress.step != step)
      return false;
    readCheckpoint(folder, /*files=*/true);
  } catch (const RuntimeError &) {
    return false;
  }
  run.whole.insert(step);
  return true;
}

/// Out of sight by a rename first, so that no half-removed checkpoint can be seen.
void removeCheckpoint(const std::string &dir, int64_t step) {
  const std::string hidden = fmt::format("{}/{}{}-old", dir, kTemporary, step);
  platform::removeAll(hidden);
  platform::renamePath(folderOfStep(dir, step), hidden);
  platform::removeAll(hidden);
}

} // namespace

std::string newRunId() { return fmt::format("{:016x}", randomBits()); }

void removeOlder(const std::string &dir, int64_t step, CheckpointRun &run, int64_t keep) {
  int64_t kept = 1; // the newest one, which has just been checked
  for (const int64_t older : stepsIn(dir)) {
    if (older >= step || !isWholeOfRun(dir, older, run))
      continue;
    if (++kept <= keep)
      continue;
    removeCheckpoint(dir, older);
    run.whole.erase(older);
  }
}

void setAside(const std::string &dir, int64_t step, const std::string &why) {
  std::string place = fmt::format("{}/{}{}", dir, kSetAside, step);
  for (int number = 2; platform::exists(place); ++number)
    place = fmt::format("{}/{}{}.{}", dir, kSetAside, step, number);
  const std::string folder = folderOfStep(dir, step);
  if (!platform::renamePath(folder, place))
    fail("cannot set '{}' aside as '{}': {}", folder, place, std::strerror(errno));
  platform::syncFolder(dir);
  say(fmt::format("kedge: note: {} is set aside as '{}': {}; remove it when you do not need it",
                  printable(folder), printable(place), why));
}

void setAsideLater(const std::string &dir, int64_t step) {
  for (const int64_t later : stepsIn(dir))
    if (later > step)
      setAside(dir, later, fmt::format("the run goes on from step {}", step));
}

} // namespace kedge::rt
