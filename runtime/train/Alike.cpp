#include "runtime/train/Alike.h"
#include "runtime/io/FileWriter.h"
#include <cstring>

namespace kedge::rt {
namespace {

constexpr size_t kTexts = 2, kDigits = 16;

struct Identity {
  char texts[kTexts][kDigits];
};

void put(Identity &identity, size_t which, std::string_view bytes) {
  std::memcpy(identity.texts[which], checksumOf(bytes.data(), bytes.size()).data(), kDigits);
}

} // namespace

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
          throw AgreedError(fmt::format("rank {} was started with {} than rank 0: all ranks run the same program with the "
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
          throw AgreedError(fmt::format("{}: rank {} found {} rows where rank 0 found {}: all ranks read the same files",
                                        what[kind], rank, theirs, all[kind]));
  });
}

} // namespace kedge::rt
