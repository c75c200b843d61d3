#include "driver/program/Algorithms.h"
#include "runtime/calls/AlgorithmTable.h"
#include "runtime/calls/LibraryWork.h"
#include "runtime/program/Program.h"
#include <fmt/format.h>

namespace kedge::driver {

void checkAlgorithms(const std::string &path) { rt::calls::AlgorithmTable().addFile(path); }

void embedAlgorithms(const std::string &path, nlohmann::json &program) {
  rt::calls::AlgorithmTable table;
  table.addFile(path);
  const rt::Program parsed = rt::parseProgram(program.dump());
  const std::set<std::string> products = rt::calls::productKeys(parsed),
                              apart = rt::calls::productKeys(parsed, true);
  rt::calls::AlgorithmTable kept;
  std::set<std::string> known;
  for (const auto &[key, entry] : table.all())
    if (const std::string call = *rt::calls::callOfKey(key); products.count(call) || apart.count(call)) {
      kept.set(key, entry.algorithm, 0,
               entry.isPadded); // times are no part of a program: the same table gives the same bytes
      if (products.count(call))
        known.insert(call);
    }
  program["target"]["algorithms"] = kept.json();
  fmt::print(stderr, "kedge: note: --algorithms {}: has {} of the program's {} kinds of products{}\n", path,
             known.size(), products.size(),
             known.size() == products.size() ? "" : "; for the others cuBLASLt's first proposal is taken");
}

} // namespace kedge::driver
