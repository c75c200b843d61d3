// Tables of a FlatBuffers file (https://flatbuffers.dev/internals), read where they lie. Every place is
// checked: a damaged file is a kedge::Error that names the file and the byte.
#pragma once
#include "lib/Model/ModelFile.h"
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace kedge::driver {

class FlatTable {
public:
  /// The table that the whole file is; `kind` are the four letters that say what it holds.
  static FlatTable root(std::shared_ptr<const model::MappedFile> file, std::string_view kind);

  /// A field by its number in the schema; `otherwise` where the file leaves it out.
  template <typename T> T number(int field, T otherwise) const {
    const uint64_t place = placeOf(field);
    return place == 0 ? otherwise : read<T>(place);
  }
  std::string text(int field) const;
  std::vector<int64_t> numbers(int field) const;
  std::vector<FlatTable> tables(int field) const;
  /// The table of a field; nothing where it is left out.
  std::vector<FlatTable> table(int field) const;

  struct Range {
    uint64_t offset = 0, length = 0;
  };
  /// Where the bytes of a vector of bytes lie in the file.
  Range bytes(int field) const;

private:
  FlatTable(std::shared_ptr<const model::MappedFile> file, uint64_t place);

  template <typename T> T read(uint64_t place) const {
    check(place, sizeof(T));
    T value;
    std::memcpy(&value, file->data() + place, sizeof(T));
    return value;
  }
  void check(uint64_t place, uint64_t length) const;
  /// In the file, of a field's value; 0: the field is left out.
  uint64_t placeOf(int field) const;
  /// Of what an offset leads to.
  uint64_t follow(uint64_t place) const { return place + read<uint32_t>(place); }
  /// Of a vector with elements of so many bytes: its elements.
  Range vector(int field, uint64_t bytesEach) const;

  std::shared_ptr<const model::MappedFile> file;
  uint64_t place = 0, fields = 0;
  uint16_t fieldsLength = 0;
};

} // namespace kedge::driver
