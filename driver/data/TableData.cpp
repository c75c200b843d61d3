// A table's features and labels as arrays.
#include "driver/data/Data.h"
#include "driver/data/DataFile.h"
#include "driver/data/Split.h"
#include "driver/data/TableForm.h"
#include "lib/Support/Error.h"

namespace kedge::driver {
namespace {

std::string writeRows(const Table &table, const TableForm &form, const std::vector<size_t> &rows,
                      const std::string &output) {
  const auto count = static_cast<int64_t>(rows.size());
  const auto width = static_cast<int64_t>(form.featureNames().size());
  ArrayFile<float> features(output + "-features.npy", rt::DType::F32, {count, width});
  std::vector<int64_t> classes;
  std::vector<float> numbers;
  for (const size_t row : rows) {
    features.write(form.features(table, row));
    if (form.hasClasses())
      classes.push_back(form.labelClass(table, row));
    else
      numbers.push_back(form.labelNumber(table, row));
  }
  if (form.hasClasses()) {
    ArrayFile<int64_t> labels(output + "-labels.npy", rt::DType::I64, {count});
    labels.write(classes);
    labels.commit();
  } else {
    ArrayFile<float> labels(output + "-labels.npy", rt::DType::F32, {count, 1});
    labels.write(numbers);
    labels.commit();
  }
  features.commit();
  return fmt::format("{} rows: {}-features.npy [{}, {}], {}-labels.npy of {}\n", count, output, count, width,
                     output,
                     form.hasClasses() ? fmt::format("{} classes", form.classNames().size()) : "numbers");
}

} // namespace

std::string writeTable(const TableRequest &request) {
  const Table table =
      request.jsonLines ? readJsonLines(request.source) : readCsv(request.source, request.delimiter);
  if (table.rows.empty())
    fail("{}: has no rows", request.source);
  const RowSplit split = splitRows(table.rows.size(), request.test, request.seed);
  const TableForm form = request.like.empty() ? TableForm(table, split.training, request)
                                              : TableForm(readForm(request.like, "table"));
  std::string said = writeRows(table, form, split.training, request.output);
  if (!split.test.empty())
    said += writeRows(table, form, split.test, request.output + "-test");
  if (!request.like.empty())
    return said;
  writeForm(request.output, form.json());
  writeNames(request.output + "-features.txt", form.featureNames());
  if (form.hasClasses())
    writeNames(request.output + "-classes.txt", form.classNames());
  return said;
}

} // namespace kedge::driver
