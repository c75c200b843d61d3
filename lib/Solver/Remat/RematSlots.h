// A sorted list of slots, each there once. Most lists are short: these lie in the list itself, and all their
// places are looked at, which takes less time than a search that may end early.
#pragma once
#include <algorithm>
#include <climits>
#include <cstring>

namespace kedge::solver {

class SlotList {
public:
  SlotList() { std::fill(own, own + few, nothing); }
  SlotList(SlotList &&other) noexcept : SlotList() { swap(other); }
  SlotList &operator=(SlotList &&other) noexcept {
    swap(other);
    return *this;
  }
  ~SlotList() {
    if (!isShort())
      delete[] far;
  }

  bool empty() const { return count == 0; }
  size_t size() const { return count; }
  const int *begin() const { return isShort() ? own : far; }
  const int *end() const { return begin() + count; }
  int front() const { return *begin(); }
  int back() const { return end()[-1]; }
  int operator[](size_t i) const { return begin()[i]; }

  /// Largest one below `slot`, or -1.
  int before(int slot) const {
    if (!isShort()) {
      const int *at = std::lower_bound(begin(), end(), slot);
      return at == begin() ? -1 : at[-1];
    }
    int result = -1;
    for (int item : own)
      result = item < slot ? item : result;
    return result;
  }

  /// Smallest one above `slot`, or `none`.
  int after(int slot, int none) const {
    if (!isShort()) {
      const int *at = std::upper_bound(begin(), end(), slot);
      return at == end() ? none : *at;
    }
    int result = nothing;
    for (int i = few; i-- > 0;)
      result = own[i] > slot ? own[i] : result;
    return result == nothing ? none : result;
  }

  /// How many lie strictly between two slots.
  int countBetween(int low, int high) const {
    int result = 0;
    for (const int *at = begin(), *last = end(); at != last; ++at)
      result += *at > low && *at < high;
    return result;
  }

  void insert(int slot) {
    if (count == room)
      grow();
    if (!isShort()) {
      int *at = std::upper_bound(far, far + count, slot);
      std::move_backward(at, far + count, far + count + 1);
      *at = slot;
    } else {
      for (int i = few - 1; i > 0; --i)
        own[i] = std::max(own[i - 1], std::min(own[i], slot));
      own[0] = std::min(own[0], slot);
    }
    ++count;
  }

  void erase(int slot) {
    if (!isShort()) {
      int *at = std::lower_bound(far, far + count, slot);
      std::move(at + 1, far + count, at);
    } else {
      for (int i = 0; i + 1 < few; ++i)
        own[i] = own[i] >= slot ? own[i + 1] : own[i];
      own[few - 1] = own[few - 1] >= slot ? nothing : own[few - 1];
    }
    --count;
  }

  /// One that passes no other one.
  void replace(int slot, int by) {
    if (!isShort()) {
      *std::lower_bound(far, far + count, slot) = by;
      return;
    }
    for (int &item : own)
      item = item == slot ? by : item;
  }

  /// Behind all others.
  void append(int slot) {
    if (count == room)
      grow();
    (isShort() ? own : far)[count++] = slot;
  }

  /// All at once, to places in the same order.
  void map(const int *places) {
    int *items = isShort() ? own : far;
    for (int i = 0; i < count; ++i)
      items[i] = places[items[i]];
  }

  /// Keeps its room.
  void clear() {
    if (isShort())
      std::fill(own, own + few, nothing);
    count = 0;
  }

private:
  static constexpr int few = 6;
  static constexpr int nothing = INT_MAX; ///< in the places that are left of a short list

  bool isShort() const { return room == few; }

  void grow() {
    int *larger = new int[2 * room];
    std::copy(begin(), end(), larger);
    if (!isShort())
      delete[] far;
    far = larger;
    room *= 2;
  }

  void swap(SlotList &other) noexcept {
    char bytes[sizeof(SlotList)];
    std::memcpy(bytes, static_cast<void *>(this), sizeof(SlotList));
    std::memcpy(static_cast<void *>(this), static_cast<void *>(&other), sizeof(SlotList));
    std::memcpy(static_cast<void *>(&other), bytes, sizeof(SlotList));
  }

  int count = 0, room = few;
  union {
    int own[few];
    int *far;
  };
};

} // namespace kedge::solver
