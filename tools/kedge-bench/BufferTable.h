// CSV tables of buffers: id,lower,upper,size and, where they have been placed, offset.
#pragma once
#include "lib/Solver/Arena/ArenaPacking.h"
#include <string>

namespace kedge::bench {

struct BufferTable {
  std::vector<std::string> ids;
  std::vector<solver::Buffer> buffers;
};

/// Columns in any order; a column `offset` is left out. Errors name file and line.
BufferTable readBufferTable(const std::string &path);
std::string bufferTableText(const BufferTable &table, const std::vector<int64_t> &offsets);

} // namespace kedge::bench
