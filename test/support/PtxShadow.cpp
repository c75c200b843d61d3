#include "test/support/PtxShadow.h"

namespace kedge::test {

bool PtxShadow::isUnordered(uint32_t epoch, uint16_t thread, const PtxMoment &now) {
  if (epoch == 0)
    return false;
  return epoch < now.blockBegin || (epoch == now.epoch && thread != now.thread);
}

bool PtxShadow::isAnothers(int64_t at, const PtxMoment &now) const {
  const Page *page = pages[at / kPage].get();
  if (!page || (*page)[at % kPage].written == 0)
    return false;
  const Byte &byte = (*page)[at % kPage];
  return byte.writtenIn != now.blockBegin || (byte.written == now.epoch && byte.writer != now.thread);
}

const char *PtxShadow::read(int64_t at, int64_t count, const PtxMoment &now) {
  const char *wrong = nullptr;
  for (int64_t i = at; i < at + count; ++i) {
    Byte &byte = byteAt(i);
    if (byte.isPending)
      wrong = "reads what a copy is on its way to";
    else if (isUnordered(byte.written, byte.writer, now))
      wrong = "reads what another thread writes";
    if (byte.readAt == now.epoch && byte.reader != now.thread)
      byte.readBySeveral = true;
    else if (byte.readAt != now.epoch)
      byte.readBySeveral = false;
    byte.readElsewhere |= byte.readAt != 0 && byte.readAt < now.blockBegin;
    byte.readAt = now.epoch;
    byte.reader = now.thread;
  }
  return wrong;
}

const char *PtxShadow::write(int64_t at, int64_t count, const PtxMoment &now) {
  const char *wrong = nullptr;
  for (int64_t i = at; i < at + count; ++i) {
    Byte &byte = byteAt(i);
    if (byte.isPending)
      wrong = "writes where a copy is on its way to";
    else if (isUnordered(byte.written, byte.writer, now))
      wrong = kTwoWriters;
    else if (byte.readElsewhere || isUnordered(byte.readAt, byte.reader, now) ||
             (byte.readAt == now.epoch && byte.readBySeveral))
      wrong = "writes what another thread reads";
    byte.written = now.epoch;
    byte.writtenIn = now.blockBegin;
    byte.writer = now.thread;
  }
  return wrong;
}

const char *PtxShadow::begin(int64_t at, int64_t count, const PtxMoment &now) {
  const char *wrong = write(at, count, now);
  for (int64_t i = at; i < at + count; ++i)
    byteAt(i).isPending = true;
  return wrong;
}

void PtxShadow::land(int64_t at, int64_t count, const PtxMoment &now) {
  for (int64_t i = at; i < at + count; ++i) {
    Byte &byte = byteAt(i);
    byte.isPending = false;
    byte.written = now.epoch;
    byte.writtenIn = now.blockBegin;
    byte.writer = now.thread;
  }
}

} // namespace kedge::test
