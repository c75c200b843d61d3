// Who touched each byte since when, so that races are found whatever order threads run in.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace kedge::test {

/// A thread, and the time since barriers: accesses between the same two barriers of a block have no order.
struct PtxMoment {
  uint32_t epoch = 1;      ///< grows with each barrier and each block
  uint32_t blockBegin = 1; ///< epochs before it are of other blocks, which nothing orders
  uint16_t thread = 0;
};

/// Of bytes that several threads see: of a block, or of a launch.
class PtxShadow {
public:
  explicit PtxShadow(int64_t bytes = 0) : count(bytes), pages((bytes + kPage - 1) / kPage) {}
  int64_t size() const { return count; }

  static constexpr const char *kTwoWriters = "writes what another thread writes";
  /// What is wrong with an access to [at, at + count); null when nothing is.
  const char *read(int64_t at, int64_t count, const PtxMoment &now);
  const char *write(int64_t at, int64_t count, const PtxMoment &now);
  /// Whether another thread wrote the byte, in the launch that this is a record of, and no barrier orders
  /// that.
  bool isAnothers(int64_t at, const PtxMoment &now) const;
  /// Bytes that a copy is on its way to may not be touched until they are `landed`, which writes them.
  const char *begin(int64_t at, int64_t count, const PtxMoment &now);
  void land(int64_t at, int64_t count, const PtxMoment &now);

private:
  struct Byte {
    uint32_t written = 0, readAt = 0; ///< epochs; 0: never
    uint32_t writtenIn = 0;           ///< the first epoch of the writer's block
    uint16_t writer = 0, reader = 0;
    bool readBySeveral = false; ///< in that epoch
    bool readElsewhere = false; ///< by an earlier block
    bool isPending = false;
  };
  /// Of a large memory most is never touched.
  static constexpr int64_t kPage = 512;
  using Page = std::array<Byte, kPage>;
  Byte &byteAt(int64_t at) {
    std::unique_ptr<Page> &page = pages[at / kPage];
    if (!page)
      page = std::make_unique<Page>();
    return (*page)[at % kPage];
  }
  static bool isUnordered(uint32_t epoch, uint16_t thread, const PtxMoment &now);

  int64_t count;
  std::vector<std::unique_ptr<Page>> pages;
};

} // namespace kedge::test
