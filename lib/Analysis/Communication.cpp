#include "lib/Analysis/Communication.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Dialect/Exec/ExecOps.h"
#include "lib/Dialect/Train/FunctionKind.h"
#include "runtime/comm/CollectiveKernel.h"
#include <map>
#include <set>

using namespace mlir;

namespace kedge::analysis {
namespace {

std::vector<rt::TensorDesc> descriptionsOf(ArrayAttr types) {
  std::vector<rt::TensorDesc> list;
  for (Attribute type : types)
    list.push_back(tensorDescOf(cast<TypeAttr>(type).getValue()));
  return list;
}

/// Sums of rows as the runtime's --memory-report has them (runtime/exec/Memory.cpp).
class Table {
public:
  void add(exec::LaunchOp launch, int64_t times) {
    std::set<std::pair<std::string, rt::DType>> called;
    for (const rt::Traffic &traffic : rt::trafficOf(launch.getKernel().str(), descriptionsOf(launch.getReadTypes()),
                                                    descriptionsOf(launch.getWriteTypes()))) {
      const auto key = std::pair(traffic.scalar ? traffic.collective + "_scalar" : traffic.collective, traffic.type);
      CommunicationRow &row = rows[key];
      row.elements += times * traffic.elements;
      row.calls += called.insert(key).second ? times : 0;
    }
  }

  std::vector<CommunicationRow> take() {
    std::vector<CommunicationRow> list;
    for (auto &[key, row] : rows) {
      row.collective = key.first;
      row.type = rt::dtypeName(key.second);
      row.bytes = row.elements * static_cast<int64_t>(rt::dtypeSize(key.second));
      list.push_back(row);
    }
    return list;
  }

private:
  std::map<std::pair<std::string, rt::DType>, CommunicationRow> rows;
};

} // namespace

std::vector<CommunicationRow> communicationOf(ModuleOp module, int64_t accumulate) {
  Table table;
  for (auto function : module.getOps<exec::FunctionOp>()) {
    const int64_t times = function.getKind() ? train::runsInStep(*function.getKind(), accumulate) : 0;
    if (times == 0)
      continue;
    for (auto launch : function.getBody().getOps<exec::LaunchOp>())
      if (launch.getCollective())
        table.add(launch, times);
  }
  return table.take();
}

} // namespace kedge::analysis
