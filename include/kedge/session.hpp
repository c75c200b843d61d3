// session.h for C++17: sessions close themselves, and errors are exceptions. What a function says of a C
// function holds for it, too: shapes, units and threads (mostly one at a time) are said there.
#ifndef KEDGE_SESSION_HPP
#define KEDGE_SESSION_HPP

#ifndef KEDGE_SESSION_H
#include "kedge/session.h"
#endif

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace kedge {

/// A call that failed: what() is kedge_error.
struct Error : std::runtime_error {
  Error(int code, const std::string &text) : std::runtime_error(text), code(code) {}
  int code; // a kedge_code
};

/// Whether T is one of these types.
template <typename T, typename... Types> constexpr bool isOneOf = (std::is_same_v<T, Types> || ...);

/// A model that learns. Errors: each function throws kedge::Error with the code of its C function, and
/// std::bad_alloc for memory of its own. Threads: one at a time, which need not be the one that made it; several
/// sessions may work at the same time. One that was moved from may only be destroyed or assigned to.
class Session {
public:
  using Options = std::initializer_list<kedge_option>;
  using Open = int (*)(const kedge_option *, kedge_session **);
  using OpenOn = int (*)(const kedge_option *, kedge_run_tasks, void *, kedge_session **);

  /// As kedge_open; `open` is the model's own function where a program has several.
  explicit Session(Options options = {}, Open open = kedge_open) {
    const std::vector<kedge_option> list = ended(options);
    checkOpened(open(list.data(), &handle));
  }
  /// On threads of the caller: as kedge_open_on.
  Session(Options options, kedge_run_tasks run, void *self, OpenOn open = kedge_open_on) {
    const std::vector<kedge_option> list = ended(options);
    checkOpened(open(list.data(), run, self, &handle));
  }
  /// Errors: none. Threads: none may use either. The session is then that of the new owner.
  Session(Session &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  Session &operator=(Session &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  /// As kedge_close.
  ~Session() { kedge_close(handle); }


  /// As kedge_set_input: `rows` rows, not copied. T is checked by the headers that `--emit lib` writes, not here.
  template <typename T> void setInput(const char *name, const T *data, int64_t rows) { check(kedge_set_input(handle, name, data, rows)); }
  /// As kedge_keep_input.
  template <typename T> void keepInput(const char *name, const T *data, int64_t rows) { check(kedge_keep_input(handle, name, data, rows)); }
  /// As kedge_step.
  kedge_step_result step() {
    kedge_step_result result;
    check(kedge_step(handle, &result));
    return result;
  }
  /// As kedge_evaluate: the mean loss of the rows.
  double evaluate() {
    double loss;
    check(kedge_evaluate(handle, &loss));
    return loss;
  }
  /// As kedge_predict. `values` has the size of the output with all rows, in elements, before.
  template <typename T> void predict(const char *output, std::vector<T> &values) {
    check(kedge_predict(handle, output, values.data(), values.size() * sizeof(T)));
  }
  /// As kedge_get_state and kedge_set_state. `values` has the size of the state, in elements, before.
  template <typename T> void getState(const char *name, std::vector<T> &values) const {
    check(kedge_get_state(handle, name, values.data(), values.size() * sizeof(T)));
  }
  template <typename T> void setState(const char *name, const std::vector<T> &values) {
    check(kedge_set_state(handle, name, values.data(), values.size() * sizeof(T)));
  }
  /// As kedge_get_parameters and kedge_set_parameters: all of them, one after the other.
  std::vector<float> getParameters() const { return all(kedge_get_parameters); }
  void setParameters(const std::vector<float> &values) {
    check(kedge_set_parameters(handle, values.data(), values.size() * sizeof(float)));
  }
  /// As kedge_keep_gradients.
  void keepGradients(bool keep = true) { check(kedge_keep_gradients(handle, keep ? 1 : 0)); }
  /// As kedge_get_gradient, and for all parameters kedge_get_gradients. `values` has the size of the parameter before.
  void getGradient(const char *name, std::vector<float> &values) const {
    check(kedge_get_gradient(handle, name, values.data(), values.size() * sizeof(float)));
  }
  std::vector<float> getGradients() const { return all(kedge_get_gradients); }
  /// As kedge_compute_gradients and kedge_apply_gradients: the halves of a step.
  kedge_step_result computeGradients() {
    kedge_step_result result;
    check(kedge_compute_gradients(handle, &result));
    return result;
  }
  kedge_step_result applyGradients(const std::vector<float> &values) {
    kedge_step_result result;
    check(kedge_apply_gradients(handle, values.data(), values.size() * sizeof(float), &result));
    return result;
  }
  /// As kedge_steps_done and kedge_set_steps_done.
  int64_t stepsDone() const {
    int64_t steps;
    check(kedge_steps_done(handle, &steps));
    return steps;
  }
  void setStepsDone(int64_t steps) { check(kedge_set_steps_done(handle, steps)); }
  /// As kedge_set_option.
  void setOption(const std::string &name, const std::string &value) {
    check(kedge_set_option(handle, name.c_str(), value.c_str()));
  }
  /// As kedge_checkpoint, kedge_resume and kedge_export_onnx.
  void checkpoint(const std::string &dir) { check(kedge_checkpoint(handle, dir.c_str())); }
  void resume(const std::string &dir) { check(kedge_resume(handle, dir.c_str())); }
  void exportOnnx(const std::string &path) { check(kedge_export_onnx(handle, path.c_str())); }
  /// As kedge_notes.
  std::string notes() const { return kedge_notes(handle); }

  /// As kedge_input_at, kedge_output_at, kedge_state_at and kedge_parameter_at, all in their order.
  std::vector<kedge_tensor> inputs() const { return all(kedge_input_at); }
  std::vector<kedge_tensor> outputs() const { return all(kedge_output_at); }
  std::vector<kedge_tensor> states() const { return all(kedge_state_at); }
  std::vector<kedge_tensor> parameters() const { return all(kedge_parameter_at); }

  /// For the functions of the C interface, as kedge_open made it; it stays this object's.
  kedge_session *get() const { return handle; }

private:
  static std::vector<kedge_option> ended(Options options) {
    std::vector<kedge_option> list(options);
    list.push_back({nullptr, nullptr});
    return list;
  }
  void check(int code) const {
    if (code != KEDGE_OK)
      throw Error(code, kedge_error(handle));
  }
  void checkOpened(int code) {
    if (code == KEDGE_OK)
      return;
    const Error error(code, kedge_error(handle));
    kedge_close(std::exchange(handle, nullptr));
    throw error;
  }
  std::vector<float> all(int (*get)(kedge_session *, float *, size_t)) const {
    size_t count = 0;
    for (const kedge_tensor &parameter : parameters()) {
      size_t elements = 1;
      for (size_t axis = 0; axis < parameter.rank; ++axis)
        elements *= static_cast<size_t>(parameter.shape[axis]);
      count += elements;
    }
    std::vector<float> values(count);
    check(get(handle, values.data(), count * sizeof(float)));
    return values;
  }
  std::vector<kedge_tensor> all(int (*at)(kedge_session *, size_t, kedge_tensor *)) const {
    std::vector<kedge_tensor> tensors;
    for (kedge_tensor tensor; at(handle, tensors.size(), &tensor) == KEDGE_OK;)
      tensors.push_back(tensor);
    return tensors;
  }

  kedge_session *handle = nullptr;
};

} // namespace kedge

#endif // KEDGE_SESSION_HPP
