// kedge-bench remat: a graph as JSON in, an execution sequence with recomputation out.
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "tools/kedge-bench/Commands.h"
#include "tools/kedge-bench/RematGraph.h"
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>

namespace {
using namespace kedge;

struct RematFlags {
  std::string input, budget, output, order = "free";
  double timeLimit = 0;
  uint64_t seed = 1;
};

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

void writeSequence(const std::string &path, const std::vector<int> &sequence) {
  std::string text;
  for (int node : sequence)
    text += std::to_string(node) + "\n";
  writeText(path, text);
}

void plan(const RematFlags &options) {
  solver::RematProblem problem = bench::readRematGraph(options.input);
  int64_t base = solver::peakOf(problem, problem.order);
  solver::RematOptions search;
  search.budget = bench::parseBudget(options.budget, base);
  search.freeOrder = options.order == "free";
  search.timeLimit = options.timeLimit;
  search.seed = options.seed;
  solver::RematPlan plan = solver::rematerialize(problem, search);
  double cost = 0;
  for (const solver::RematNode &node : problem.nodes)
    cost += node.cost;
  auto ofPeak = [&](int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(base, 1));
  };
  if (!plan.feasible)
    fail("{}: no plan found within {} bytes ({:.4f} of the no-remat peak); smallest budget found: {} bytes "
         "({:.4f}), "
         "proven to be impossible: below {} bytes ({:.4f}){}",
         options.input, search.budget, ofPeak(search.budget), plan.peak, ofPeak(plan.peak),
         plan.peakLowerBound, ofPeak(plan.peakLowerBound),
         std::isinf(plan.lowerBound) ? "; so there is none" : "");
  writeSequence(options.output, plan.sequence);
  fmt::print(
      "peak {} bytes ({:.4f} of no-remat {})\noverhead {:.3f}%\nproven lower bound {:.3f}%\nsteps {}\n",
      plan.peak, ofPeak(plan.peak), base, percent(plan.addedCost, cost), percent(plan.lowerBound, cost),
      plan.sequence.size());
}
} // namespace

void kedge::bench::addRematCommand(CLI::App &app) {
  CLI::App *command =
      app.add_subcommand("remat", "plan recomputation for a graph of JSON under a byte budget");
  auto options = std::make_shared<RematFlags>();
  command->add_option("--input", options->input, "G.json: node-link graph")->required();
  command->add_option("--budget", options->budget, "bytes, or a fraction of the no-remat peak up to 1")
      ->required();
  command->add_option("--output", options->output, "SEQ.txt: node indices in execution order")->required();
  command->add_option("--order", options->order, "of first executions: free, or given by the graph")
      ->check(CLI::IsMember({"free", "given"}));
  command
      ->add_option("--time-limit", options->timeLimit,
                   "seconds of processor time; without it a fixed amount of work")
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", options->seed, "of the search; 1 if not given");
  command->callback([=] { plan(*options); });
}
