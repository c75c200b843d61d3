// kedge-bench arena: MiniMalloc's CSV in, the same rows with an offset out.
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "tools/kedge-bench/BufferTable.h"
#include "tools/kedge-bench/Commands.h"
#include <memory>
#include <stdexcept>

namespace {
using namespace kedge;

struct ArenaFlags {
  std::string input, output;
  double timeLimit = 0;
};

solver::Packing packed(const bench::BufferTable &table, const ArenaFlags &options) {
  solver::PackOptions packing;
  packing.align = 1;
  packing.timeLimit = options.timeLimit;
  try {
    return solver::packArena(table.buffers, packing);
  } catch (const std::invalid_argument &error) {
    fail("{}: {}", options.input, error.what());
  }
}

void pack(const ArenaFlags &options) {
  bench::BufferTable table = bench::readBufferTable(options.input);
  solver::Packing packing = packed(table, options);
  writeText(options.output, bench::bufferTableText(table, packing.offsets));
  fmt::print("height {}\nlower bound {}\n", packing.height, packing.lowerBound);
}
} // namespace

void kedge::bench::addArenaCommand(CLI::App &app) {
  CLI::App *command = app.add_subcommand("arena", "pack the buffers of a CSV file");
  auto options = std::make_shared<ArenaFlags>();
  command->add_option("--input", options->input, "P.csv: id,lower,upper,size")->required();
  command->add_option("--output", options->output, "S.csv: the same rows and their offset")->required();
  command
      ->add_option("--time-limit", options->timeLimit,
                   "seconds of processor time to search for a lower packing; default: a fixed amount of work")
      ->check(CLI::PositiveNumber);
  command->callback([=] { pack(*options); });
}
