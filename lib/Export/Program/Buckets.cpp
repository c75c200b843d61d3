#include "lib/Export/Program/Buckets.h"
#include "kedge/abi/ProgramKeys.h"
#include "lib/Support/Error.h"
#include "runtime/format/Tensor.h"
#include <algorithm>

using nlohmann::json;
namespace key = kedge::abi::key;

namespace kedge::exporter {
namespace {

/// What a program of other rows has of its own: the rest is that of the longest.
constexpr const char *kFunctions[] = {"step", "micro", "eval"};

uint64_t bytesOf(const json &entry) {
  return rt::TensorDesc{rt::parseDType(entry.at(key::dtype).get<std::string>()),
                        entry.value(key::shape, std::vector<int64_t>())}
      .bytes();
}

/// The entry of a list with this name, of this function if it names one; null: none.
json *named(json &list, const json &like) {
  for (json &entry : list)
    if (entry[key::name] == like[key::name] &&
        entry.value(key::function, "") == like.value(key::function, ""))
      return &entry;
  return nullptr;
}

/// Where bytes of one program's persistent region lie in that of the whole.
class Places {
public:
  void add(uint64_t from, uint64_t bytes, uint64_t to) { moved.push_back({from, bytes, to}); }
  void setTransient(uint64_t from, uint64_t to) { transientFrom = from, transientTo = to; }

  uint64_t of(uint64_t offset) const {
    if (offset >= transientFrom)
      return offset - transientFrom + transientTo;
    for (const Range &range : moved)
      if (offset >= range.from && offset < range.from + std::max<uint64_t>(range.bytes, 1))
        return range.to + (offset - range.from);
    fail("--shape: a launch of a bucket uses byte {} of the arena, which is of no state, scalar or result",
         offset);
  }

private:
  struct Range {
    uint64_t from, bytes, to;
  };
  std::vector<Range> moved;
  uint64_t transientFrom = 0, transientTo = 0;
};

void move(json &entry, const Places &places) { entry[key::offset] = places.of(entry[key::offset]); }

void moveFunction(json &function, const Places &places) {
  for (const char *list : {key::inputs, key::outputs, key::buffers, key::gradients})
    for (json &entry : function[list])
      move(entry, places);
  for (json &launch : function[key::launches]) {
    for (json &argument : launch[key::args])
      argument = places.of(argument);
    if (launch.contains(key::workspace))
      move(launch[key::workspace], places);
  }
}

class Join {
public:
  explicit Join(ProgramImageParts &whole)
      : whole(whole), own(whole.json[key::arena][key::persistentBytes]), persistent(own),
        align(whole.json[key::arena][key::align]),
        transient(whole.json[key::arena][key::bytes].get<uint64_t>() - persistent) {}

  void add(const Bucket &bucket) {
    Part part{&bucket, bucket.image.json, {}};
    placeStates(part);
    for (const char *list : {key::scalars, key::results})
      for (json &entry : part.program[list])
        if (list == key::scalars || isTaken(entry[key::function].get<std::string>()))
          placeNamed(part, list, entry);
    const json &arena = part.program[key::arena];
    const uint64_t before = arena[key::persistentBytes];
    transient = std::max(transient, arena[key::bytes].get<uint64_t>() - before);
    part.transientFrom = before;
    parts.push_back(std::move(part));
  }

  void finish() {
    Places places;
    places.add(0, own, 0);
    places.setTransient(own, persistent);
    for (auto &[name, function] : whole.json[key::functions].items())
      moveFunction(function, places);
    for (Part &part : parts) {
      part.places.setTransient(part.transientFrom, persistent);
      for (const char *name : kFunctions)
        if (part.program[key::functions].contains(name))
          whole.json[key::functions][name + ("." + part.bucket->length)] = functionOf(part, name);
    }
    whole.json[key::arena][key::persistentBytes] = persistent;
    whole.json[key::arena][key::bytes] = persistent + transient;
  }

private:
  struct Part {
    const Bucket *bucket;
    json program;
    Places places;
    uint64_t transientFrom = 0;
  };

  static bool isTaken(const std::string &function) {
    return std::any_of(std::begin(kFunctions), std::end(kFunctions),
                       [&](const char *name) { return function == name; });
  }

  uint64_t newPlace(uint64_t bytes) {
    const uint64_t place = persistent;
    persistent += (bytes + align - 1) / align * align;
    return place;
  }

  void placeStates(Part &part) {
    json &states = whole.json[key::states];
    size_t alike = 0;
    for (const json &state : part.program[key::states]) {
      const json *same = named(states, state);
      const bool isConstant = state[key::role] == "constant";
      if (same && isEqual(*same, state, part)) {
        part.places.add(state[key::offset], bytesOf(state), (*same)[key::offset]);
        alike += !isConstant;
      } else if (isConstant && state[key::init][key::kind] == "data") {
        part.places.add(state[key::offset], bytesOf(state), addConstant(part, state));
      } else {
        fail("--shape: sizes in {{}} are not available yet for this model and these options: the state '{}' "
             "is another "
             "in the bucket of {}",
             state[key::name].get<std::string>(), part.bucket->length);
      }
    }
    const auto kept = std::count_if(states.begin(), states.end(),
                                    [](const json &state) { return state[key::role] != "constant"; });
    if (static_cast<size_t>(kept) != alike)
      fail("--shape: sizes in {{}} are not available yet for this model and these options: the bucket of {} "
           "has {} "
           "states, and the longest {}",
           part.bucket->length, alike, kept);
  }

  const unsigned char *dataAt(const ProgramImageParts &image, const json &init) const {
    return image.data.data() + init[key::offset].get<size_t>();
  }

  /// But for its place.
  bool isEqual(json mine, json other, const Part &part) const {
    const json init = mine.value(key::init, json::object()), theirs = other.value(key::init, json::object());
    for (json *state : {&mine, &other}) {
      state->erase(key::offset);
      if (init.value(key::kind, "") == "data" && state->contains(key::init))
        (*state)[key::init].erase(key::offset);
    }
    if (mine != other)
      return false;
    if (init.value(key::kind, "") != "data")
      return true;
    const size_t length = init[key::length];
    return std::equal(dataAt(whole, init), dataAt(whole, init) + length, dataAt(part.bucket->image, theirs));
  }

  uint64_t addConstant(const Part &part, json state) {
    json &init = state[key::init];
    const unsigned char *bytes = dataAt(part.bucket->image, init);
    whole.data.resize((whole.data.size() + 63) / 64 * 64);
    const size_t offset = whole.data.size();
    whole.data.insert(whole.data.end(), bytes, bytes + init[key::length].get<size_t>());
    init[key::offset] = offset;
    state[key::name] = state[key::name].get<std::string>() + "." + part.bucket->length;
    const uint64_t place = newPlace(bytesOf(state));
    state[key::offset] = place;
    whole.json[key::states].push_back(std::move(state));
    return place;
  }

  /// Scalars and results are those of the longest, where that has them.
  void placeNamed(Part &part, const char *list, const json &entry) {
    const json *same = named(whole.json[list], entry);
    if (same && bytesOf(*same) == bytesOf(entry) && (*same)[key::dtype] == entry[key::dtype])
      return part.places.add(entry[key::offset], bytesOf(entry), (*same)[key::offset]);
    if (same)
      fail("--shape: sizes in {{}} are not available yet for this model: its '{}' has another shape in the "
           "bucket of {}",
           entry[key::name].get<std::string>(), part.bucket->length);
    json added = entry;
    added[key::offset] = newPlace(bytesOf(entry));
    part.places.add(entry[key::offset], bytesOf(entry), added[key::offset]);
    whole.json[list].push_back(std::move(added));
  }

  /// Its inputs say their shape: the program's are of the longest rows.
  json functionOf(Part &part, const char *name) {
    json function = part.program[key::functions][name];
    moveFunction(function, part.places);
    for (json &input : function[key::inputs]) {
      const json *spec = named(part.program[key::inputs], json{{key::name, input[key::name]}});
      input[key::dtype] = (*spec)[key::dtype];
      input[key::shape] = (*spec)[key::shape];
    }
    return function;
  }

  ProgramImageParts &whole;
  uint64_t own, persistent, align, transient;
  std::vector<Part> parts;
};

} // namespace

void joinBuckets(ProgramImageParts &longest, const std::vector<Bucket> &others) {
  Join join(longest);
  for (const Bucket &bucket : others)
    join.add(bucket);
  join.finish();
}

} // namespace kedge::exporter
