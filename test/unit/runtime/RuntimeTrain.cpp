// Training through the command line: numbers, rows, schedules, the log.
#include "test/unit/runtime/RuntimeTest.h"
#include <cmath>

namespace kedge::test {
namespace {

/// The linear model in double, row by row.
struct Reference {
  double w[3][2] = {{0.1, 0.2}, {0.3, 0.4}, {0.5, 0.6}}, b[2] = {0, -0.5};
  double mw[3][2] = {}, mb[2] = {};

  static double x(int64_t row, int k) { return std::sin(static_cast<double>(3 * row + k)); }
  double error(int64_t row, int o) const {
    double y = b[o];
    for (int k = 0; k < 3; ++k)
      y += x(row, k) * w[k][o];
    return y - std::cos(static_cast<double>(row + o));
  }
  /// Loss before the update.
  double step(const std::vector<int64_t> &rows, double lr) {
    double loss = 0, gw[3][2] = {}, gb[2] = {};
    const double n = 2 * static_cast<double>(rows.size());
    for (int64_t row : rows)
      for (int o = 0; o < 2; ++o) {
        const double e = error(row, o);
        loss += e * e / n;
        gb[o] += 2 * e / n;
        for (int k = 0; k < 3; ++k)
          gw[k][o] += 2 * e * x(row, k) / n;
      }
    for (int o = 0; o < 2; ++o) {
      b[o] -= lr * (mb[o] = 0.9 * mb[o] + gb[o]);
      for (int k = 0; k < 3; ++k)
        w[k][o] -= lr * (mw[k][o] = 0.9 * mw[k][o] + gw[k][o]);
    }
    return loss;
  }
};

std::vector<int64_t> rowsOf(int64_t step, int64_t rows, int64_t samples) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < rows; ++i)
    result.push_back((step * rows + i) % samples);
  return result;
}

TEST_F(RuntimeTest, TrainsTheLinearModel) {
  writeLineData(10);
  const auto log = train(std::string("line --steps 12") + kLineData);
  ASSERT_EQ(log.size(), 12u);
  Reference reference;
  for (int64_t s = 0; s < 12; ++s) {
    EXPECT_EQ(log[s]["step"], s);
    EXPECT_NEAR(log[s]["loss"].get<double>(), reference.step(rowsOf(s, 4, 10), 0.1), 1e-5);
    EXPECT_EQ(log[s]["lr"], 0.1);
    EXPECT_EQ(log[s]["optimizer_steps"], s + 1);
    EXPECT_EQ(log[s]["skipped"], false);
    EXPECT_EQ(log[s]["loss_scale"], 1.0);
    EXPECT_GT(log[s]["grad_norm"].get<double>(), 0);
  }
  std::vector<std::string> keys;
  const std::string text = read("log.jsonl");
  const auto first = nlohmann::ordered_json::parse(text.substr(0, text.find('\n')));
  for (const auto &[key, value] : first.items())
    keys.push_back(key);
  EXPECT_EQ(keys,
            (std::vector<std::string>{"step", "completed_steps", "loss", "lr", "grad_norm", "loss_scale",
                                      "skipped", "growth_counter", "optimizer_steps", "seconds",
                                      "tokens_per_second", "samples_per_second", "memory_bytes"}));
}

TEST_F(RuntimeTest, AccumulationTakesTheSameRowsAsOneLargeBatch) {
  writeLineData(10);
  const auto whole = train(std::string("line:4 --steps 6") + kLineData, "whole.jsonl");
  const auto parts = train(std::string("line:2:2 --steps 6") + kLineData, "parts.jsonl");
  ASSERT_EQ(parts.size(), 6u);
  for (size_t s = 0; s < 6; ++s) {
    EXPECT_NEAR(whole[s]["loss"].get<double>(), parts[s]["loss"].get<double>(), 1e-6);
    EXPECT_NEAR(whole[s]["grad_norm"].get<double>(), parts[s]["grad_norm"].get<double>(), 1e-6);
  }
}

TEST_F(RuntimeTest, ThreadsDoNotChangeBits) {
  writeLineData(11);
  run(std::string("line:5 --steps 6 --threads 1 --log one.jsonl") + kLineData);
  run(std::string("line:5 --steps 6 --threads 3 --log three.jsonl") + kLineData);
  EXPECT_EQ(withoutTimes(readLog("one.jsonl")), withoutTimes(readLog("three.jsonl")));
}

TEST_F(RuntimeTest, PoisonedDeadRangesChangeNothing) {
  writeLineData(10);
  const std::string arguments =
      std::string("line --steps 5 --eval-every 2 --eval-data x=x.npy --eval-data labels=y.npy") + kLineData;
  EXPECT_EQ(run(arguments + "--log plain.jsonl").code, 0);
  EXPECT_EQ(run(arguments + "--log poisoned.jsonl", "KEDGE_POISON=1").code, 0);
  EXPECT_EQ(withoutTimes(readLog("plain.jsonl")), withoutTimes(readLog("poisoned.jsonl")));
}

TEST_F(RuntimeTest, ShuffleVisitsEveryRowOnceAnEpoch) {
  writeLineData(12);
  const auto ordered = train(std::string("line --steps 6 --lr 0") + kLineData, "a.jsonl");
  const auto shuffled = train(std::string("line --steps 6 --lr 0 --shuffle 3") + kLineData, "b.jsonl");
  const auto sum = [](const std::vector<nlohmann::json> &log, size_t begin) {
    return log[begin]["loss"].get<double>() + log[begin + 1]["loss"].get<double>() +
           log[begin + 2]["loss"].get<double>();
  };
  EXPECT_NEAR(sum(ordered, 0), sum(shuffled, 0), 1e-5);
  EXPECT_NEAR(sum(ordered, 0), sum(shuffled, 3), 1e-5);
  EXPECT_NE(ordered[0]["loss"], shuffled[0]["loss"]);
  EXPECT_NE(shuffled[0]["loss"], shuffled[3]["loss"]) << "another order in the second epoch";
}

TEST_F(RuntimeTest, EvaluationWeighsAPartialBatchByItems) {
  writeLineData(10);
  const auto log =
      train(std::string("line --steps 5 --lr 0 --eval-every 2 --eval-data x=x.npy --eval-data labels=y.npy") +
            kLineData);
  Reference reference;
  double loss = 0;
  for (int64_t row = 0; row < 10; ++row)
    for (int o = 0; o < 2; ++o)
      loss += reference.error(row, o) * reference.error(row, o) / 20;
  EXPECT_FALSE(log[0].contains("eval_loss"));
  for (size_t s : {1, 3, 4})
    EXPECT_NEAR(log[s]["eval_loss"].get<double>(), loss, 1e-6);
}

TEST_F(RuntimeTest, ALossOfOneNumberABatchNeedsWholeEvaluationBatches) {
  writeLineData(10);
  expectError(std::string("mean --steps 2 --eval-data x=x.npy --eval-data labels=y.npy") + kLineData,
              "give a multiple of 4 rows, 8 or 12");
  const auto log =
      train(std::string("mean:5 --steps 2 --lr 0 --eval-data x=x.npy --eval-data labels=y.npy") + kLineData);
  EXPECT_NEAR((log[0]["loss"].get<double>() + log[1]["loss"].get<double>()) / 2,
              log[1]["eval_loss"].get<double>(), 1e-6);
}

TEST_F(RuntimeTest, SchedulesReachTheLog) {
  writeLineData(8);
  const auto log =
      train(std::string("line --steps 10 --lr 0.2 --min-lr 0.02 --schedule wsd --decay-steps 4 --warmup 2") +
            kLineData);
  const double expected[] = {0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.155, 0.11, 0.065};
  for (size_t s = 0; s < 10; ++s)
    EXPECT_NEAR(log[s]["lr"].get<double>(), expected[s], 1e-12) << s;
}

TEST_F(RuntimeTest, OneCycleIsThatOfPyTorch) {
  writeLineData(8);
  const auto log = train(std::string("line --steps 10 --lr 0.2 --schedule one-cycle") + kLineData);
  const double expected[] = {0.008,
                             0.104,
                             0.2,
                             0.19009692640269477,
                             0.1623491307899526,
                             0.12225240438725786,
                             0.07774839561274215,
                             0.0376516692100474,
                             0.009903873597305258,
                             8e-07};
  for (size_t s = 0; s < 10; ++s)
    EXPECT_NEAR(log[s]["lr"].get<double>(), expected[s], 1e-12) << s;
}

TEST_F(RuntimeTest, ARangeTestSuggestsARateAndKeepsNothing) {
  writeLineData(8);
  const RunResult result = run(std::string("line --find-lr 60 --log log.jsonl") + kLineData);
  ASSERT_EQ(result.code, 0) << result.err;
  const std::string said = "the loss falls fastest at --lr ";
  const size_t at = result.out.find(said);
  ASSERT_NE(at, std::string::npos) << result.out;
  const double rate = std::stod(result.out.substr(at + said.size()));
  EXPECT_GT(rate, 1e-3);
  EXPECT_LT(rate, 2);
  const auto log = readLog("log.jsonl");
  EXPECT_LT(log.size(), 60u) << "it ends where the loss has left";
  EXPECT_DOUBLE_EQ(log[0]["lr"].get<double>(), 1e-7);
  expectError(std::string("line --find-lr 60 --export-onnx out.onnx") + kLineData, "would have no effect");
}

TEST_F(RuntimeTest, NoAllocationFromTheThirdStepOn) {
  writeLineData(9);
  const RunResult result =
      run(std::string("line:2:2 --steps 20 --shuffle 1 --threads 2 --log log.jsonl") + kLineData,
          "TINY_COUNT_ALLOCATIONS=1");
  ASSERT_EQ(result.code, 0) << result.err;
  std::istringstream words(result.out.substr(result.out.find("allocations:") + 12));
  std::vector<long> counts;
  for (long count; words >> count;)
    counts.push_back(count);
  ASSERT_GE(counts.size(), 39u);
  for (size_t i = 4; i < 39; ++i)
    EXPECT_EQ(counts[i], 0) << "micro-batch " << i;
}

TEST_F(RuntimeTest, PlanMemoryReportAndProfile) {
  writeLineData(8);
  const RunResult plan = run("line --plan");
  EXPECT_EQ(plan.code, 0);
  EXPECT_EQ(nlohmann::json::parse(plan.out)["schema"], 1);
  EXPECT_EQ(run(std::string("line --steps 3 --memory-report m.json --profile p.json") + kLineData).code, 0);
  const auto report = nlohmann::json::parse(read("m.json"));
  uint64_t sum = report["arena_bytes"];
  for (const auto &entry : report["reservations"])
    sum += entry["bytes"].get<uint64_t>();
  EXPECT_EQ(report["peak_bytes"], sum);
  const auto events = nlohmann::json::parse(read("p.json"))["traceEvents"];
  ASSERT_EQ(events.size(), 18u + 3u);
  EXPECT_EQ(events[0]["args"]["operator"], "line_forward");
  EXPECT_EQ(events[20]["name"], "step 3 of this run");
}

TEST_F(RuntimeTest, ProfilesHaveTwentyWholeSteps) {
  writeLineData(8);
  const std::string evaluated = "line --steps 30 --eval-every 3 --eval-data x=x.npy --eval-data labels=y.npy";
  for (const std::string &flags :
       {std::string("line --steps 30"), evaluated, std::string("line:2:2 --steps 30")}) {
    ASSERT_EQ(run(flags + kLineData + "--profile p.json").code, 0) << flags;
    size_t steps = 0, launches = 0;
    nlohmann::json last;
    const auto trace = nlohmann::json::parse(read("p.json"));
    for (const auto &event : trace["traceEvents"]) {
      steps += event["cat"] == "steps";
      launches += event["cat"] == "step" || event["cat"] == "micro" || event["cat"] == "update";
      last = event["cat"] == "steps" ? event : last;
    }
    EXPECT_EQ(steps, 20u) << flags;
    EXPECT_EQ(last["name"], "step 20 of this run") << flags;
    EXPECT_EQ(launches % 20, 0u) << flags;
    EXPECT_GE(launches, 20u * 6) << flags;
  }
}

} // namespace
} // namespace kedge::test
