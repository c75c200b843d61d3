#include "runtime/format/Npy.h"
#include "runtime/format/Convert.h"
#include "runtime/format/NpyHeader.h"
#include "runtime/io/Error.h"
#include <cstring>

namespace kedge::rt {
namespace {

struct Descr {
  const char *text;
  DType type;
};

constexpr Descr kDescrs[] = {{"<f2", DType::F16}, {"<f4", DType::F32}, {"<f8", DType::F64},
                             {"|u1", DType::U8},  {"<u2", DType::U16}, {"<u4", DType::U32},
                             {"|i1", DType::I8},  {"<i2", DType::I16}, {"<i4", DType::I32},
                             {"<i8", DType::I64}, {"|b1", DType::Bool}};

constexpr size_t kShownHeader = 200;

} // namespace

Npy::Npy(const std::string &path) : file(path, "data file") {
  if (file.size() >= 4 && std::memcmp(file.data(), "PK\x03\x04", 4) == 0)
    fail("{}: is an archive of arrays, as numpy.savez writes them (.npz), or of torch.save; save each array "
         "by "
         "itself: numpy.save('x.npy', numpy.load(FILE)['x'])",
         path);
  if (file.size() < 10 || std::memcmp(file.data(), "\x93NUMPY", 6) != 0)
    fail("{}: not an npy file (numpy.save writes one{})", path,
         path.ends_with(".csv") || path.ends_with(".tsv") ? "; kedge data csv makes one of a table" : "");
  const auto *bytes = reinterpret_cast<const unsigned char *>(file.data());
  const int version = bytes[6];
  if (version < 1 || version > 3 || (version > 1 && file.size() < 12))
    fail("{}: npy version {}, expected 1 to 3", path, version);
  const size_t prefix = version == 1 ? 10 : 12;
  size_t length = bytes[8] | size_t(bytes[9]) << 8;
  if (version > 1)
    length |= size_t(bytes[10]) << 16 | size_t(bytes[11]) << 24;
  if (length > file.size() - prefix)
    fail("{}: truncated: its header of {} bytes does not fit into {} bytes", path, length, file.size());
  const std::string_view text(file.data() + prefix, length);
  const std::optional<NpyHeader> header = parseNpyHeader(text);
  if (!header)
    fail("{}: damaged npy header, expected 'descr', 'fortran_order' and 'shape' as numpy.save writes them: "
         "{}{}",
         path, text.substr(0, kShownHeader), text.size() > kShownHeader ? "..." : "");
  if (header->fortranOrder)
    fail("{}: in Fortran order; save numpy.ascontiguousarray(x)", path);
  const Descr *known = nullptr;
  for (const Descr &entry : kDescrs)
    if (header->descr == entry.text ||
        (entry.text[0] == '|' && header->descr == std::string("<") + (entry.text + 1)))
      known = &entry;
  if (!known)
    fail("{}: holds elements of type '{}', expected f2, f4, f8, u1, u2, u4, i1, i2, i4, i8 or bool in little "
         "endian; "
         "convert it with numpy's astype",
         path, header->descr);
  type = known->type;
  shape = header->shape;
  data = file.data() + prefix + length;
  const size_t have = file.size() - prefix - length;
  const std::optional<uint64_t> need = checkedBytes({type, shape});
  if (!need)
    fail("{}: shape {} of {} is more than any file holds", path, shapeText(shape), dtypeName(type));
  if (*need > have)
    fail("{}: truncated: shape {} of {} needs {} bytes, the file has {}", path, shapeText(shape),
         dtypeName(type), *need, have);
}

std::string npyHeader(DType type, const std::vector<int64_t> &shape) {
  std::string descr;
  for (const Descr &entry : kDescrs)
    if (entry.type == type)
      descr = entry.text;
  if (descr.empty())
    descr = fmt::format("{}{}{}", dtypeSize(type) == 1 ? "|" : "<", dtypeName(type)[0], dtypeSize(type));
  std::string dims;
  for (int64_t extent : shape)
    dims += std::to_string(extent) + ", ";
  if (shape.size() > 1)
    dims.resize(dims.size() - 2);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, dims);
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string result("\x93NUMPY\x01\x00", 8);
  result += static_cast<char>(header.size() & 255);
  result += static_cast<char>(header.size() >> 8);
  return result + header;
}

} // namespace kedge::rt
