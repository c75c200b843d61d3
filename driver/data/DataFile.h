// What kedge data writes: arrays, names a line each, and what a later call needs.
#pragma once
#include "runtime/format/Npy.h"
#include "runtime/io/AtomicFile.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

/// OUTPUT-form.json: classes, means and deviations of a training set.
void writeForm(const std::string &output, const nlohmann::json &form);
/// Throws an error that names the file unless it is one of this kind ("table", "pictures").
nlohmann::json readForm(const std::string &output, const std::string &kind);

/// Names, each on a line.
void writeNames(const std::string &path, const std::vector<std::string> &names);

/// An array of numbers, written as they come.
template <typename Number> class ArrayFile {
public:
  ArrayFile(const std::string &path, rt::DType type, const std::vector<int64_t> &shape) : file(path) {
    file.write(rt::npyHeader(type, shape));
  }
  void write(const std::vector<Number> &numbers) {
    file.write(numbers.data(), numbers.size() * sizeof(Number));
  }
  void commit() { file.commit(); }

private:
  rt::AtomicFile file;
};

} // namespace kedge::driver
