#include "driver/artifacts/FlatTable.h"
#include "lib/Support/Error.h"

namespace kedge::driver {

FlatTable::FlatTable(std::shared_ptr<const model::MappedFile> file, uint64_t place)
    : file(std::move(file)), place(place) {
  fields = place - static_cast<uint64_t>(static_cast<int64_t>(read<int32_t>(place)));
  fieldsLength = read<uint16_t>(fields);
  check(fields, fieldsLength);
}

FlatTable FlatTable::root(std::shared_ptr<const model::MappedFile> file, std::string_view kind) {
  const std::string_view content(reinterpret_cast<const char *>(file->data()), file->size());
  if (content.size() < 8 || content.substr(4, 4) != kind)
    fail("{}: expected a file with the mark '{}' at its fifth byte", file->path(), kind);
  uint32_t place;
  std::memcpy(&place, content.data(), sizeof place);
  return {std::move(file), place};
}

void FlatTable::check(uint64_t from, uint64_t length) const {
  if (from > file->size() || length > file->size() - from)
    fail("{}: the file is damaged: {} bytes at byte {} are not in its {} bytes", file->path(), length, from,
         file->size());
}

uint64_t FlatTable::placeOf(int field) const {
  const uint64_t entry = 4 + 2 * static_cast<uint64_t>(field); // after the lengths of entries and table
  if (entry + 2 > fieldsLength)
    return 0;
  const auto offset = read<uint16_t>(fields + entry);
  return offset == 0 ? 0 : place + offset;
}

FlatTable::Range FlatTable::vector(int field, uint64_t bytesEach) const {
  const uint64_t at = placeOf(field);
  if (at == 0)
    return {};
  const uint64_t begin = follow(at);
  const Range range{begin + 4, read<uint32_t>(begin) * bytesEach};
  check(range.offset, range.length);
  return range;
}

FlatTable::Range FlatTable::bytes(int field) const { return vector(field, 1); }

std::string FlatTable::text(int field) const {
  const Range range = bytes(field);
  return {reinterpret_cast<const char *>(file->data()) + range.offset, range.length};
}

std::vector<int64_t> FlatTable::numbers(int field) const {
  const Range range = vector(field, sizeof(int64_t));
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < range.length; i += sizeof(int64_t))
    values.push_back(read<int64_t>(range.offset + i));
  return values;
}

std::vector<FlatTable> FlatTable::tables(int field) const {
  const Range range = vector(field, sizeof(uint32_t));
  std::vector<FlatTable> found;
  for (uint64_t i = 0; i < range.length; i += sizeof(uint32_t))
    found.push_back({file, follow(range.offset + i)});
  return found;
}

std::vector<FlatTable> FlatTable::table(int field) const {
  const uint64_t at = placeOf(field);
  if (at == 0)
    return {};
  return {FlatTable(file, follow(at))};
}

} // namespace kedge::driver
