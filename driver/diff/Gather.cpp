#include "driver/diff/Gather.h"
#include "runtime/format/Convert.h"
#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

namespace kedge::driver {
namespace {

using Parts = std::vector<TracedTensor>;

bool areAlike(const Parts &parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const TracedTensor &part) {
    return std::memcmp(part.data, parts.front().data, parts.front().desc.bytes()) == 0;
  });
}

/// Puts tensors together in bytes of its own.
class Assembly {
public:
  explicit Assembly(std::deque<std::vector<char>> &storage) : storage(storage) {}

  /// What the ranks along `tensor` have of a value; none where the program cut it otherwise than it says.
  std::optional<TracedTensor> alongTensor(const Parts &parts) {
    const TracedTensor &first = parts.front();
    if (first.isSummand)
      return rt::isFloat(first.desc.type) ? std::optional(sum(parts)) : std::nullopt;
    return first.cut ? blocks(parts, *first.cut) : std::optional(first);
  }

  /// The readings of parts that have other rows: the same tensor, or a sum, and blocks in a row.
  Parts readings(const Parts &parts, const std::function<bool(const TracedTensor &)> &wanted) {
    Parts found;
    const TracedTensor &first = parts.front();
    const auto count = static_cast<int64_t>(parts.size());
    const bool alike = areAlike(parts);
    if (wanted(first) && alike)
      found.push_back(first);
    // Of one element: also each rank's count of its items.
    if (wanted(first) && rt::isFloat(first.desc.type) && count > 1 && (!alike || first.desc.elements() == 1))
      found.push_back(sum(parts));
    for (size_t dim = 0; count > 1 && dim < first.desc.shape.size(); ++dim) {
      TracedTensor whole = first;
      whole.desc.shape[dim] *= count;
      if (wanted(whole))
        found.push_back(*blocks(parts, {dim, {whole.desc.shape[dim]}, {}}));
    }
    return found;
  }

  /// Where the parts leave elements out, none.
  std::optional<TracedTensor> state(const Parts &parts) {
    for (const TracedTensor &part : parts)
      if (!part.isPart)
        return part;
    TracedTensor tensor = parts.front();
    tensor.desc.shape = tensor.whole;
    char *bytes = room(tensor);
    const size_t size = rt::dtypeSize(tensor.desc.type);
    std::vector<bool> known(static_cast<size_t>(tensor.desc.elements()));
    for (const TracedTensor &part : parts)
      for (const TracedRun &run : part.runs) {
        std::memcpy(bytes + static_cast<size_t>(run.whole) * size,
                    part.data + static_cast<size_t>(run.here) * size, static_cast<size_t>(run.count) * size);
        std::fill_n(known.begin() + run.whole, run.count, true);
      }
    if (std::find(known.begin(), known.end(), false) != known.end())
      return std::nullopt;
    return tensor;
  }

private:
  char *room(TracedTensor &tensor) {
    std::vector<char> &bytes = storage.emplace_back(tensor.desc.bytes());
    tensor.data = bytes.data();
    return bytes.data();
  }

  std::optional<TracedTensor> blocks(const Parts &parts, const TracedCut &cut) {
    const auto count = static_cast<int64_t>(parts.size());
    std::vector<int64_t> rooms = cut.rooms;
    if (rooms.empty())
      for (const int64_t section : cut.sections)
        rooms.push_back(section / count);
    TracedTensor whole = parts.front();
    const std::vector<int64_t> shape = whole.desc.shape;
    if (cut.dim >= shape.size() || shape[cut.dim] != std::accumulate(rooms.begin(), rooms.end(), int64_t(0)))
      return std::nullopt;
    whole.desc.shape[cut.dim] = std::accumulate(cut.sections.begin(), cut.sections.end(), int64_t(0));
    char *to = room(whole);
    size_t lines = 1, bytes = rt::dtypeSize(whole.desc.type); // of an element of the dimension
    for (size_t dim = 0; dim < shape.size(); ++dim)
      (dim < cut.dim ? lines : bytes) *= dim == cut.dim ? 1 : static_cast<size_t>(shape[dim]);
    for (size_t line = 0; line < lines; ++line) {
      size_t from = line * static_cast<size_t>(shape[cut.dim]) * bytes;
      for (size_t section = 0; section < rooms.size(); ++section) {
        for (int64_t rank = 0; rank < count; ++rank) {
          const int64_t own =
              std::clamp<int64_t>(cut.sections[section] - rank * rooms[section], 0, rooms[section]);
          std::memcpy(to, parts[static_cast<size_t>(rank)].data + from, static_cast<size_t>(own) * bytes);
          to += static_cast<size_t>(own) * bytes;
        }
        from += static_cast<size_t>(rooms[section]) * bytes;
      }
    }
    return whole;
  }

  /// Sums of 16-bit floats are not rounded.
  TracedTensor sum(const Parts &parts) {
    TracedTensor tensor = parts.front();
    const bool isWide = tensor.desc.type == rt::DType::F64;
    tensor.desc.type = isWide ? rt::DType::F64 : rt::DType::F32;
    char *bytes = room(tensor);
    if (isWide)
      fillSum(parts, reinterpret_cast<double *>(bytes));
    else
      fillSum(parts, reinterpret_cast<float *>(bytes));
    return tensor;
  }

  template <typename Number> static void fillSum(const Parts &parts, Number *sums) {
    for (int64_t i = 0; i < parts.front().desc.elements(); ++i) {
      double sum = 0;
      for (const TracedTensor &part : parts)
        sum += rt::loadAsDouble(part.desc.type, part.data, i);
      sums[i] = static_cast<Number>(sum);
    }
  }

  std::deque<std::vector<char>> &storage;
};

/// The tensors of all ranks that are one.
class Collection {
public:
  Collection(const rt::Mesh &mesh, int64_t micros) : mesh(mesh), micros(micros) {}

  int64_t unnamed = 0;
  std::vector<Parts> states;

  /// Parts by micro-batch, then by rows, then along `tensor`; those that no rank of a stage has are without
  /// data.
  struct Value {
    std::vector<Parts> groups;
    bool isWhole() const {
      return std::all_of(groups.begin(), groups.end(), [](const Parts &group) {
        return std::all_of(group.begin(), group.end(), [](const TracedTensor &part) { return part.data; });
      });
    }
  };
  std::vector<Value> values;

  void add(const Trace &trace, int64_t rank) {
    std::map<std::string, int64_t> times; // what runs again is there again
    for (const TracedTensor &tensor : trace.tensors())
      if (tensor.isState)
        addState(tensor);
      else if (tensor.value.empty())
        unnamed += placeOf(rt::Mesh::kRows, rank) == 0 && placeOf(rt::Mesh::kTensor, rank) == 0;
      else {
        const std::string key = keyOfPart(tensor, rank);
        addValue(tensor, rank, key + " " + std::to_string(times[key + " " + std::to_string(tensor.micro)]++));
      }
  }

private:
  rt::Mesh mesh;
  int64_t micros; ///< that are joined
  std::map<std::string, size_t> places;

  int64_t placeOf(const char *axes, int64_t rank) const { return mesh.groupOf(axes, rank).own.rank; }

  std::string keyOfPart(const TracedTensor &tensor, int64_t rank) const {
    return std::to_string(placeOf(rt::Mesh::kPipeline, rank)) + " " + std::to_string(tensor.step) + " " +
           (micros == 1 ? std::to_string(tensor.micro) : "") + (tensor.isSummand ? " sum " : " ") +
           tensor.value + rt::shapeText(tensor.desc.shape);
  }

  void addState(const TracedTensor &tensor) {
    const auto [at, isNew] =
        places.try_emplace("state " + std::to_string(tensor.step) + " " + tensor.name, states.size());
    if (isNew)
      states.emplace_back();
    states[at->second].push_back(tensor);
  }

  void addValue(const TracedTensor &tensor, int64_t rank, const std::string &key) {
    const auto [at, isNew] = places.try_emplace(key, values.size());
    const auto rows = static_cast<size_t>(mesh.sizeOf(rt::Mesh::kRows)),
               alongTensor = static_cast<size_t>(mesh.sizeOf(rt::Mesh::kTensor));
    if (isNew)
      values.push_back({std::vector<Parts>(static_cast<size_t>(micros) * rows, Parts(alongTensor))});
    const size_t group = (micros == 1 ? 0 : static_cast<size_t>(tensor.micro)) * rows +
                         static_cast<size_t>(placeOf(rt::Mesh::kRows, rank));
    values[at->second].groups[group][static_cast<size_t>(placeOf(rt::Mesh::kTensor, rank))] = tensor;
  }
};

} // namespace

GatheredTrace::GatheredTrace(const std::string &file, int64_t ranks) {
  for (int64_t rank = 0; rank < ranks; ++rank)
    traces.push_back(std::make_unique<Trace>(ranks == 1 ? file : file + ".rank-" + std::to_string(rank)));
}

int64_t GatheredTrace::micros() const {
  int64_t last = 0;
  for (const std::unique_ptr<Trace> &trace : traces)
    for (const TracedTensor &tensor : trace->tensors())
      last = std::max(last, tensor.value.empty() ? 0 : tensor.micro);
  return last + 1;
}

std::vector<TracedTensor> GatheredTrace::tensors(const Wanted &wanted, bool joinsMicros) {
  if (ranks() == 1 && !joinsMicros)
    return traces.front()->tensors();
  rt::Mesh mesh = traces.front()->mesh();
  if (mesh.size() != ranks())
    mesh = rt::Mesh::ofData(ranks());
  Collection collection(mesh, joinsMicros ? micros() : 1);
  for (int64_t rank = 0; rank < ranks(); ++rank)
    collection.add(*traces[static_cast<size_t>(rank)], rank);
  without = collection.unnamed;
  Assembly assembly(storage);
  std::vector<TracedTensor> gathered;
  int64_t origin = 0;
  for (const Parts &parts : collection.states)
    if (std::optional<TracedTensor> state = assembly.state(parts)) {
      state->origin = ++origin;
      gathered.push_back(*state);
    } else {
      ++without;
    }
  for (const Collection::Value &value : collection.values) {
    Parts rows, readings;
    for (const Parts &group : value.groups)
      if (std::optional<TracedTensor> whole = value.isWhole() ? assembly.alongTensor(group) : std::nullopt)
        rows.push_back(*whole);
    if (rows.size() == value.groups.size())
      readings = assembly.readings(rows, [&](TracedTensor tensor) {
        tensor.micro = joinsMicros ? 0 : tensor.micro;
        return wanted(tensor);
      });
    without += readings.empty();
    ++origin;
    for (TracedTensor &reading : readings) {
      reading.micro = joinsMicros ? 0 : reading.micro;
      reading.origin = origin;
      gathered.push_back(reading);
    }
  }
  // States of a step are in front of its values.
  std::stable_sort(gathered.begin(), gathered.end(), [](const TracedTensor &x, const TracedTensor &y) {
    return 2 * x.step + !x.isState < 2 * y.step + !y.isState;
  });
  return gathered;
}

} // namespace kedge::driver
