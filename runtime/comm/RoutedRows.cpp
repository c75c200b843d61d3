#include "runtime/comm/RoutedRows.h"
#include "runtime/comm/Rounds.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <numeric>

namespace kedge::rt {
namespace {

/// Large enough for the speed of memory, small enough that packing overlaps sending.
constexpr size_t kRowMessageBytes = size_t(256) << 10;

size_t alignedTo64(size_t bytes) { return (bytes + 63) / 64 * 64; }
size_t bytesOfList(int64_t ranks) { return alignedTo64(sizeof(int64_t) * static_cast<size_t>(ranks + 2)); }

int64_t expertOf(const RoutedRows &rows, int64_t place) {
  return rows.wideIndex ? static_cast<const int64_t *>(rows.experts)[place]
                        : static_cast<const int32_t *>(rows.experts)[place];
}

/// The rank that has the expert of a place; negative numbers count from the last expert.
int64_t rankOfExpert(const RoutedRows &rows, int64_t place, int64_t ranks, const std::string &name) {
  const int64_t all = rows.own * ranks, given = expertOf(rows, place),
                expert = given < 0 ? given + all : given;
  if (expert < 0 || expert >= all)
    fail("{}: expert {} at position {} is outside [-{}, {})", name, given, place, all, all);
  return expert / rows.own;
}

int64_t rowsBetween(const RoutedRows &rows, int64_t ranks, int64_t from, int64_t to) {
  const int64_t *counts = rows.counts + from * rows.own * ranks + to * rows.own;
  return std::accumulate(counts, counts + rows.own, int64_t(0));
}

void checkRoom(const RoutedRows &rows, int64_t ranks, const std::string &name) {
  for (int64_t to = 0; to < ranks; ++to) {
    int64_t received = 0;
    for (int64_t from = 0; from < ranks; ++from)
      received += rowsBetween(rows, ranks, from, to);
    if (received > rows.capacity)
      fail(
          "{}: {} rows have experts of one rank, place {} along 'expert', which has room for {} of the {} of "
          "all; compile with --expert-capacity {:.2f} or more, or without it",
          name, received, to, rows.capacity, rows.places * ranks,
          static_cast<double>(received) / static_cast<double>(rows.places) + 0.005);
  }
}

} // namespace

size_t RowOrder::bytes(const RoutedRows &rows, int64_t ranks) {
  return 2 * bytesOfList(ranks) + alignedTo64(sizeof(int32_t) * static_cast<size_t>(rows.places));
}

void RowOrder::sort(const RoutedRows &rows, int64_t ranks, int64_t rank, const std::string &name,
                    void *memory) {
  checkRoom(rows, ranks, name);
  auto *bytes = static_cast<char *>(memory);
  begins = reinterpret_cast<int64_t *>(bytes);
  received = reinterpret_cast<int64_t *>(bytes + bytesOfList(ranks));
  places = reinterpret_cast<int32_t *>(bytes + 2 * bytesOfList(ranks));
  std::fill_n(begins, ranks + 2, 0);
  for (int64_t place = 0; place < rows.places; ++place)
    ++begins[rankOfExpert(rows, place, ranks, name) + 2];
  std::partial_sum(begins, begins + ranks + 2, begins);
  for (int64_t place = 0; place < rows.places; ++place) // begins[r + 1] goes from where r begins to its end
    places[begins[rankOfExpert(rows, place, ranks, name) + 1]++] = static_cast<int32_t>(place);
  received[0] = 0;
  for (int64_t from = 0; from < ranks; ++from)
    received[from + 1] = received[from] + rowsBetween(rows, ranks, from, rank);
}

int64_t rowsOfMessage(const RoutedRows &rows, DType type, int64_t ranks) {
  const size_t row = std::max<size_t>(1, static_cast<size_t>(rows.width) * dtypeSize(type)),
               share = kMostWorkspace / (2 * RoundSpace::kSlots) /
                       static_cast<size_t>(std::max<int64_t>(1, ranks - 1));
  return std::clamp<int64_t>(static_cast<int64_t>(std::min(share, kRowMessageBytes) / row), 1,
                             std::max<int64_t>(1, rows.places));
}

size_t routedWorkspace(const RoutedRows &rows, DType type, int64_t ranks) {
  const size_t message =
      alignedTo64(static_cast<size_t>(rowsOfMessage(rows, type, ranks) * rows.width) * dtypeSize(type));
  return RowOrder::bytes(rows, ranks) + RoundSpace::kSlots * static_cast<size_t>(ranks - 1) * message;
}

} // namespace kedge::rt
