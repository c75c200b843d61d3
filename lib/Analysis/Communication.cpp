#include "lib/Analysis/Communication.h"
#include "kedge/Dialect/Dist/CollectiveCall.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "lib/Analysis/LibraryCall.h"
#include "runtime/comm/CollectiveKernel.h"
#include <map>
#include <set>
#include <tuple>

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
  using Key = std::tuple<std::string, std::string, rt::DType>; ///< collective, axis, type

public:
  void add(exec::LaunchOp launch, int64_t times) {
    const std::string axis = dist::collectiveCallOf(launch.getAttrsAttr()).axis.str();
    std::set<Key> called;
    for (const rt::Traffic &traffic :
         rt::trafficOf(launch.getKernel().str(), descriptionsOf(launch.getReadTypes()),
                       descriptionsOf(launch.getWriteTypes()))) {
      const Key key(traffic.scalar ? traffic.collective + "_scalar" : traffic.collective, axis, traffic.type);
      CommunicationRow &row = rows[key];
      row.elements += times * traffic.elements;
      row.calls += called.insert(key).second ? times : 0;
    }
  }

  std::vector<CommunicationRow> take() {
    std::vector<CommunicationRow> list;
    for (auto &[key, row] : rows) {
      row.collective = std::get<0>(key);
      row.axis = std::get<1>(key);
      row.type = rt::dtypeName(std::get<rt::DType>(key));
      row.bytes = row.elements * static_cast<int64_t>(rt::dtypeSize(std::get<rt::DType>(key)));
      list.push_back(row);
    }
    return list;
  }

private:
  std::map<Key, CommunicationRow> rows;
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
