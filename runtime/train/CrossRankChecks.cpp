#include "runtime/train/CrossRankChecks.h"
#include "runtime/io/FileMap.h"
#include "runtime/io/FileWriter.h"
#include "runtime/platform/Process.h"
#include <cstdio>
#include <cstring>
#include <functional>

namespace kedge::rt {
namespace {

constexpr size_t kTexts = 2, kDigits = 16;

struct Identity {
  char texts[kTexts][kDigits];
};

void put(Identity &identity, size_t which, std::string_view bytes) {
  std::memcpy(identity.texts[which], checksumOf(bytes.data(), bytes.size()).data(), kDigits);
}

/// A file as a rank found it; equal ones are one file.
struct Found {
  uint64_t machine = 0, device = 0, inode = 0, bytes = 0;
  int64_t changed = 0, read = 0;
};

bool isOneFile(const Found &a, const Found &b) {
  return a.machine == b.machine && a.device == b.device && a.inode == b.inode && a.bytes == b.bytes &&
         a.changed == b.changed;
}

uint64_t ownMachine() { return std::hash<std::string>()(platform::bootName()); }

/// What rank 0 has read, on every rank.
std::vector<std::string> pathsOfFirst(Communicator &ranks, const std::vector<ReadFiles::File> &files) {
  std::string text;
  for (const ReadFiles::File &file : files)
    text += file.path + '\0';
  uint64_t length = text.size();
  ranks.broadcast(&length, sizeof(length));
  text.resize(length);
  if (length != 0)
    ranks.broadcast(text.data(), length);
  std::vector<std::string> paths;
  for (size_t at = 0; at < text.size(); at += paths.back().size() + 1)
    paths.emplace_back(text.c_str() + at);
  return paths;
}

std::vector<Found> foundHere(const std::vector<std::string> &paths,
                             const std::vector<ReadFiles::File> &files) {
  std::vector<Found> found(paths.size());
  const uint64_t machine = ownMachine();
  for (size_t at = 0; at < paths.size(); ++at)
    for (const ReadFiles::File &file : files)
      if (file.path == paths[at])
        found[at] = {machine, file.device, file.inode, file.bytes, file.changed, 1};
  return found;
}

/// Paths under which ranks read several files.
std::vector<size_t> severalFiles(Communicator &ranks, const std::vector<Found> &mine) {
  std::vector<size_t> several;
  withAllRanks(ranks, mine.data(), mine.size(), [&](const Found *all) {
    for (size_t at = 0; at < mine.size(); ++at)
      for (int64_t rank = 1; rank < ranks.world().size; ++rank)
        if (const Found &theirs = all[static_cast<size_t>(rank) * mine.size() + at];
            theirs.read && !isOneFile(theirs, all[at])) {
          several.push_back(at);
          break;
        }
  });
  return several;
}

struct Sum {
  char text[kDigits] = {};
};

Sum sumOf(const std::string &path, bool read) {
  Sum sum;
  if (!read)
    return sum;
  const FileMap file(path, "file");
  std::memcpy(sum.text, checksumOf(file.data(), file.size()).data(), kDigits);
  return sum;
}

} // namespace

void checkSameFiles(Communicator *ranks, const ReadFiles &read) {
  if (!ranks)
    return;
  const std::vector<ReadFiles::File> files = read.files();
  const std::vector<std::string> paths = pathsOfFirst(*ranks, files);
  if (paths.empty())
    return;
  const std::vector<Found> found = foundHere(paths, files);
  const std::vector<size_t> several = severalFiles(*ranks, found);
  std::vector<Sum> mine;
  for (const size_t at : several)
    mine.push_back(sumOf(paths[at], found[at].read != 0));
  if (mine.empty())
    return;
  const Sum none;
  withAllRanks(*ranks, mine.data(), mine.size(), [&](const Sum *all) {
    for (int64_t rank = 1; rank < ranks->world().size; ++rank)
      for (size_t at = 0; at < mine.size(); ++at) {
        const Sum &theirs = all[static_cast<size_t>(rank) * mine.size() + at];
        if (std::memcmp(theirs.text, none.text, kDigits) != 0 &&
            std::memcmp(theirs.text, all[at].text, kDigits) != 0)
          throw AgreedError(fmt::format(
              "'{}': rank {} reads another file of this name than rank 0, their checksums differ: all "
              "ranks read the same files; copy rank 0's to that machine",
              paths[several[at]], rank));
      }
  });
}

void checkSameProgram(Communicator *ranks, const ProgramImage &image, const Options &options) {
  if (!ranks)
    return;
  Identity mine;
  std::string program(image.json);
  program.append(reinterpret_cast<const char *>(image.data), image.dataSize);
  put(mine, 0, program);
  put(mine, 1, options.asGiven);
  withAllRanks(*ranks, &mine, 1, [&](const Identity *all) {
    constexpr const char *what[kTexts] = {"another program", "other options"};
    for (size_t text = 0; text < kTexts; ++text)
      for (int64_t rank = 1; rank < ranks->world().size; ++rank)
        if (std::memcmp(all[rank].texts[text], all[0].texts[text], kDigits) != 0)
          throw AgreedError(
              fmt::format("rank {} was started with {} than rank 0: all ranks run the same program with the "
                          "same options",
                          rank, what[text]));
  });
}

void checkSameData(Communicator *ranks, int64_t rows, int64_t evaluationRows) {
  if (!ranks)
    return;
  const int64_t mine[2] = {rows, evaluationRows};
  withAllRanks(*ranks, mine, 2, [&](const int64_t *all) {
    constexpr const char *what[2] = {"--data", "--eval-data"};
    for (size_t kind = 0; kind < 2; ++kind)
      for (int64_t rank = 1; rank < ranks->world().size; ++rank)
        if (const int64_t theirs = all[2 * static_cast<size_t>(rank) + kind]; theirs != all[kind])
          throw AgreedError(
              fmt::format("{}: rank {} found {} rows where rank 0 found {}: all ranks read the same files",
                          what[kind], rank, theirs, all[kind]));
  });
}

} // namespace kedge::rt
