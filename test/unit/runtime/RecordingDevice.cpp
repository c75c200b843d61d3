#include "test/unit/runtime/RecordingDevice.h"
#include "runtime/format/Convert.h"
#include <utility>

namespace kedge::test {
namespace {

std::vector<Given> given;

class RecordingDevice final : public rt::Device {
public:
  explicit RecordingDevice(const rt::Program &program)
      : program(program), arena(program.arenaBytes, '\x7f') {}

  const char *read(uint64_t offset, uint64_t) override { return arena.data() + offset; }
  char *beginWrite(uint64_t offset, uint64_t) override { return arena.data() + offset; }
  void endWrite() override {}
  void fill(uint64_t offset, uint64_t bytes, unsigned char value) override {
    std::fill_n(arena.data() + offset, bytes, static_cast<char>(value));
  }
  char *input(const rt::Function &, const rt::ArenaSlot &place) override {
    return arena.data() + place.offset;
  }
  char *scalar(const rt::ScalarSlot &slot) override { return arena.data() + slot.offset; }
  void run(const rt::Function &, int, int, rt::LaunchTimer *) override {}

  void begin(const rt::Function &function) override {
    Given now{function.name, {}, {}};
    for (const rt::ArenaSlot &place : function.inputs)
      now.inputs[place.name] =
          std::string(arena.data() + place.offset, program.input(place.name)->desc.bytes());
    for (const rt::ScalarSlot &slot : program.scalars)
      now.scalars[slot.name] = rt::loadAsDouble(slot.type, arena.data() + slot.offset, 0);
    given.push_back(std::move(now));
  }

private:
  const rt::Program &program;
  std::vector<char> arena;
};

std::unique_ptr<rt::Device> makeDevice(const rt::Program &program, const rt::ProgramImage &, int,
                                       rt::Communicator *) {
  return std::make_unique<RecordingDevice>(program);
}

} // namespace

RecordedProgram::RecordedProgram(const nlohmann::json &json, const rt::World &world)
    : program(rt::parseProgram(json.dump())) {
  if (world.size > 1)
    rt::placeShards(program, world);
  image.device = makeDevice;
  executor = std::make_unique<rt::Executor>(program, image, 1);
  for (const rt::ResultSlot &slot : program.results) // no kernel writes the loss
    executor->device().fill(slot.offset, slot.desc.bytes(), 0);
}

std::vector<Given> RecordedProgram::takeGiven() { return std::exchange(given, {}); }

std::vector<double> RecordedProgram::values(const std::string &name) const {
  const rt::State &state = *program.state(name);
  std::vector<double> result;
  const char *bytes = executor->read(state);
  for (int64_t i = 0; i < state.desc.elements(); ++i)
    result.push_back(rt::loadAsDouble(state.desc.type, bytes, i));
  return result;
}

} // namespace kedge::test
