#include "runtime/comm/AgreedError.h"
#include <algorithm>
#include <limits>

namespace kedge::rt {
namespace {

constexpr int64_t kSilent = std::numeric_limits<int64_t>::max();
constexpr size_t kLongest = 1024;

} // namespace

void failWithAgreedError(Communicator *ranks, const std::string &head, const std::optional<Word> &mine,
                         const std::string &tail) {
  if (!ranks) {
    if (mine)
      throw RuntimeError(head + mine->text + tail);
    return;
  }
  const int64_t order = mine ? mine->order : kSilent;
  int64_t first = 0;
  bool silent = false;
  withAllRanks(*ranks, &order, 1, [&](const int64_t *all) {
    const int64_t *lowest = std::min_element(all, all + ranks->world().size);
    first = lowest - all;
    silent = *lowest == kSilent;
  });
  if (silent)
    return;
  std::string text = mine ? mine->text : "";
  text.resize(kLongest);
  if (first != 0)
    ranks->sendToFirst(first, text.data(), text.data(), text.size());
  throw AgreedError(head + text.substr(0, text.find('\0')) + tail);
}

} // namespace kedge::rt
