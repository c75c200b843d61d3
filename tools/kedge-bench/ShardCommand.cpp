// kedge-bench shard: instances of the IOPDDL contest in, costs with proven bounds out.
#include "lib/Support/Error.h"
#include "tools/kedge-bench/Commands.h"
#include "tools/kedge-bench/ShardInstance.h"
#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

namespace {
using namespace kedge;

struct ShardFlags {
  std::vector<std::string> inputs;
  solver::ShardOptions search;
  bool json = false;
  std::string proof;
};

struct Row {
  const solver::ShardProblem &problem;
  const solver::ShardSolution &solution;
  double seconds;
};

nlohmann::json record(const Row &row) {
  return {{"instance", row.problem.name},
          {"nodes", row.problem.nodes.size()},
          {"edges", row.problem.edges.size()},
          {"cost", row.solution.cost},
          {"bound", row.solution.lowerBound},
          {"gap", std::isfinite(row.solution.gap()) ? nlohmann::json(row.solution.gap()) : nlohmann::json()},
          {"peak", solver::shardPeak(row.problem, row.solution.strategies)},
          {"limit", row.problem.limit},
          {"seconds", row.seconds},
          {"strategies", row.solution.strategies}};
}

void printLine(const Row &row) {
  fmt::print("{:24} {:>7} {:>7} {:>15} {:>15} {:>8.3f} % {:>8.2f}\n", row.problem.name,
             row.problem.nodes.size(), row.problem.edges.size(), row.solution.cost, row.solution.lowerBound,
             100 * row.solution.gap(), row.seconds);
  fflush(stdout);
}

nlohmann::json stepOf(const solver::ShardStep &step) {
  using Kind = solver::ShardStep::Kind;
  switch (step.kind) {
  case Kind::Drop:
    return {"drop", step.node, step.strategy, step.better};
  case Kind::Fix:
    return {"fix", step.node, step.strategy};
  case Kind::Follow:
    return {"follow", step.node, step.leader, step.answers};
  case Kind::Join:
    return {"join", step.node, step.leader, step.answers};
  }
  return {};
}

/// docs/rationale/joint-plan.md says what the entries mean.
void writeProof(const std::string &path, const Row &row) {
  const solver::ShardProof &proof = row.solution.proof;
  nlohmann::json steps = nlohmann::json::array(), prices = nlohmann::json::array(),
                 messages = nlohmann::json::array();
  for (const solver::ShardStep &step : proof.steps)
    steps.push_back(stepOf(step));
  for (const solver::ShardProof::Price &price : proof.prices)
    prices.push_back({price.time, price.price});
  for (const solver::ShardMessages &edge : proof.messages)
    messages.push_back({edge.from, edge.to, edge.ofFrom, edge.ofTo});
  std::ofstream out(path);
  out << nlohmann::json{{"instance", row.problem.name},
                        {"cost", row.solution.cost},
                        {"bound", row.solution.lowerBound},
                        {"strategies", row.solution.strategies},
                        {"steps", steps},
                        {"prices", prices},
                        {"messages", messages}}
      << "\n";
  if (!out.flush())
    fail("{}: expected to write the proof, but the file cannot be written", path);
}

solver::ShardSolution solved(const std::string &path, const solver::ShardProblem &problem,
                             const solver::ShardOptions &options) {
  solver::ShardSolution solution = solver::solveSharding(problem, options);
  if (solution.impossible)
    fail("{}: no strategies respect the limit of {}, or all are forbidden", path, problem.limit);
  if (!solution.found)
    fail("{}: found no strategies within the limit of {}; there may be some: look longer with --effort", path,
         problem.limit);
  return solution;
}

void solveAll(const ShardFlags &flags) {
  if (!flags.proof.empty() && flags.inputs.size() != 1)
    fail("--proof: expected one FILE, since it writes one proof, found {}", flags.inputs.size());
  nlohmann::json all = nlohmann::json::array();
  if (!flags.json)
    fmt::print("{:24} {:>7} {:>7} {:>15} {:>15} {:>10} {:>8}\n", "instance", "nodes", "edges", "cost",
               "bound", "gap", "seconds");
  for (const std::string &path : flags.inputs) {
    const solver::ShardProblem problem = bench::readShardInstance(path);
    const auto begin = std::chrono::steady_clock::now();
    const solver::ShardSolution solution = solved(path, problem, flags.search);
    const Row row{problem, solution,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
    if (!flags.proof.empty())
      writeProof(flags.proof, row);
    if (flags.json)
      all.push_back(record(row));
    else
      printLine(row);
  }
  if (flags.json)
    fmt::print("{}\n", all.dump(2));
}
} // namespace

void kedge::bench::addShardCommand(CLI::App &app) {
  CLI::App *command =
      app.add_subcommand("shard", "choose a strategy for each operator of an IOPDDL instance");
  auto flags = std::make_shared<ShardFlags>();
  command
      ->add_option("FILE", flags->inputs,
                   "instances as JSON, of the IOPDDL contest's format, also compressed by gzip")
      ->required();
  command
      ->add_option("--effort", flags->search.effort,
                   "passes over all edges for the bound; the search grows with it (1000)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  command
      ->add_option("--seconds", flags->search.seconds,
                   "of processor time for each instance; default: no limit")
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", flags->search.seed, "of the search's random numbers (1)");
  command->add_option("--proof", flags->proof,
                      "write strategies and why the bound holds, for a checker, as JSON to this file");
  command->add_flag("--json", flags->json, "records with the strategies instead of a table");
  command->callback([=] { solveAll(*flags); });
}
