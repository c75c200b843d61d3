// The C functions of session.h. A session begins with the functions of the library that made it, so
// that programs which link the libraries of several models may call any one's kedge_step.
#include "runtime/io/Printable.h"
#include "runtime/io/Say.h"
#include "runtime/library/LearningSession.h"
#include "runtime/platform/Process.h"
#include <clocale>
#include <locale.h>
#include <new>

using namespace kedge::rt;

/// Grows at its end: libraries of other versions call it.
struct kedge_functions {
  void (*close)(kedge_session *);
  const char *(*error)(const kedge_session *);
  const char *(*notes)(const kedge_session *);
  int (*inputAt)(kedge_session *, size_t, kedge_tensor *);
  int (*outputAt)(kedge_session *, size_t, kedge_tensor *);
  int (*stateAt)(kedge_session *, size_t, kedge_tensor *);
  int (*setInput)(kedge_session *, const char *, const void *, int64_t);
  int (*step)(kedge_session *, kedge_step_result *);
  int (*evaluate)(kedge_session *, double *);
  int (*predict)(kedge_session *, const char *, void *, size_t);
  int (*getState)(kedge_session *, const char *, void *, size_t);
  int (*setState)(kedge_session *, const char *, const void *, size_t);
  int (*stepsDone)(kedge_session *, int64_t *);
  int (*checkpoint)(kedge_session *, const char *);
  int (*resume)(kedge_session *, const char *);
  int (*exportOnnx)(kedge_session *, const char *);
  int (*setStepsDone)(kedge_session *, int64_t);
  int (*setOption)(kedge_session *, const char *, const char *);
  int (*keepInput)(kedge_session *, const char *, const void *, int64_t);
  int (*parameterAt)(kedge_session *, size_t, kedge_tensor *);
  int (*getParameters)(kedge_session *, float *, size_t);
  int (*setParameters)(kedge_session *, const float *, size_t);
  int (*keepGradients)(kedge_session *, int);
  int (*getGradient)(kedge_session *, const char *, float *, size_t);
  int (*getGradients)(kedge_session *, float *, size_t);
  int (*computeGradients)(kedge_session *, kedge_step_result *);
  int (*applyGradients)(kedge_session *, const float *, size_t, kedge_step_result *);
};

struct kedge_session {
  const kedge_functions *functions;
  std::string error, notes;
  std::unique_ptr<LearningSession> learning;
};

namespace {

int fails(kedge_session *session, int code, const char *text) noexcept {
  try {
    session->error = printable(text);
  } catch (...) {
    session->error.clear();
  }
  return code;
}

/// body() with what it throws as a code.
template <typename Body> int guarded(kedge_session *session, Body &&body) {
  try {
    session->notes.clear();
    const platform::PlainNumbers numbers;
    const Listener listener(session->notes);
    body();
    return KEDGE_OK;
  } catch (const WrongCall &error) {
    return fails(session, KEDGE_WRONG_CALL, error.what());
  } catch (const BrokenSession &error) {
    return fails(session, KEDGE_BROKEN, error.what());
  } catch (const NotFinite &error) {
    return fails(session, KEDGE_NOT_FINITE, error.what());
  } catch (const std::bad_alloc &) {
    return fails(session, KEDGE_NO_MEMORY, "out of memory");
  } catch (const std::exception &error) {
    return fails(session, KEDGE_FAILED, error.what());
  }
}

/// body(LearningSession &) on the session's threads.
template <typename Body> int learning(kedge_session *session, Body &&body) {
  return guarded(session, [&] {
    if (!session->learning)
      throw WrongCall("the session was not opened: kedge_open failed, and it can only be closed");
    const LentThreads scope(session->learning->threads());
    body(*session->learning);
  });
}

void require(const void *argument, const char *name) {
  if (!argument)
    throw WrongCall(fmt::format("the argument '{}' is NULL", name));
}

OptionTexts textsOf(const kedge_option *options) {
  OptionTexts texts;
  for (; options && options->name; ++options)
    texts.emplace_back(options->name,
                       options->value ? std::optional<std::string>(options->value) : std::nullopt);
  return texts;
}

template <typename Get> int describes(kedge_session *session, kedge_tensor *tensor, Get &&get) {
  return learning(session, [&](LearningSession &model) {
    require(tensor, "tensor");
    *tensor = get(model);
  });
}

template <typename Take> int steps(kedge_session *session, kedge_step_result *result, Take &&take) {
  return learning(session, [&](LearningSession &model) {
    const kedge_step_result done = take(model);
    if (result)
      *result = done;
  });
}

const kedge_functions kFunctions = {
    [](kedge_session *session) { delete session; },
    [](const kedge_session *session) { return session->error.c_str(); },
    [](const kedge_session *session) { return session->notes.c_str(); },
    [](kedge_session *session, size_t index, kedge_tensor *tensor) {
      return describes(session, tensor, [&](LearningSession &model) { return model.inputAt(index); });
    },
    [](kedge_session *session, size_t index, kedge_tensor *tensor) {
      return describes(session, tensor, [&](LearningSession &model) { return model.outputAt(index); });
    },
    [](kedge_session *session, size_t index, kedge_tensor *tensor) {
      return describes(session, tensor, [&](LearningSession &model) { return model.stateAt(index); });
    },
    [](kedge_session *session, const char *name, const void *data, int64_t rows) {
      return learning(session, [&](LearningSession &model) {
        require(name, "name");
        model.setInput(name, data, rows, /*keep=*/false);
      });
    },
    [](kedge_session *session, kedge_step_result *result) {
      return steps(session, result, [](LearningSession &model) { return model.step(); });
    },
    [](kedge_session *session, double *loss) {
      return learning(session, [&](LearningSession &model) {
        const double found = model.evaluate();
        require(loss, "loss");
        *loss = found;
      });
    },
    [](kedge_session *session, const char *output, void *values, size_t bytes) {
      return learning(session, [&](LearningSession &model) {
        require(output, "output");
        model.predict(output, values, bytes);
      });
    },
    [](kedge_session *session, const char *name, void *values, size_t bytes) {
      return learning(session, [&](LearningSession &model) {
        require(name, "name");
        model.getState(name, values, bytes);
      });
    },
    [](kedge_session *session, const char *name, const void *values, size_t bytes) {
      return learning(session, [&](LearningSession &model) {
        require(name, "name");
        model.setState(name, values, bytes);
      });
    },
    [](kedge_session *session, int64_t *steps) {
      return learning(session, [&](LearningSession &model) {
        require(steps, "steps");
        *steps = model.stepsDone();
      });
    },
    [](kedge_session *session, const char *dir) {
      return learning(session, [&](LearningSession &model) {
        require(dir, "dir");
        model.checkpoint(dir);
      });
    },
    [](kedge_session *session, const char *dir) {
      return learning(session, [&](LearningSession &model) {
        require(dir, "dir");
        model.resume(dir);
      });
    },
    [](kedge_session *session, const char *path) {
      return learning(session, [&](LearningSession &model) {
        require(path, "path");
        model.exportOnnx(path);
      });
    },
    [](kedge_session *session, int64_t steps) {
      return learning(session, [&](LearningSession &model) { model.setStepsDone(steps); });
    },
    [](kedge_session *session, const char *name, const char *value) {
      return learning(session, [&](LearningSession &model) {
        require(name, "name");
        require(value, "value");
        model.setOption(name, value);
      });
    },
    [](kedge_session *session, const char *name, const void *data, int64_t rows) {
      return learning(session, [&](LearningSession &model) {
        require(name, "name");
        model.setInput(name, data, rows, /*keep=*/true);
      });
    },
    [](kedge_session *session, size_t index, kedge_tensor *tensor) {
      return describes(session, tensor, [&](LearningSession &model) { return model.parameterAt(index); });
    },
    [](kedge_session *session, float *values, size_t bytes) {
      return learning(session, [&](LearningSession &model) { model.getParameters(values, bytes); });
    },
    [](kedge_session *session, const float *values, size_t bytes) {
      return learning(session, [&](LearningSession &model) { model.setParameters(values, bytes); });
    },
    [](kedge_session *session, int keep) {
      return learning(session, [&](LearningSession &model) { model.keepGradients(keep != 0); });
    },
    [](kedge_session *session, const char *name, float *values, size_t bytes) {
      return learning(session, [&](LearningSession &model) {
        require(name, "name");
        model.getGradient(name, values, bytes);
      });
    },
    [](kedge_session *session, float *values, size_t bytes) {
      return learning(session, [&](LearningSession &model) { model.getGradients(values, bytes); });
    },
    [](kedge_session *session, kedge_step_result *result) {
      return steps(session, result, [](LearningSession &model) { return model.computeGradients(); });
    },
    [](kedge_session *session, const float *values, size_t bytes, kedge_step_result *result) {
      return steps(session, result,
                   [&](LearningSession &model) { return model.applyGradients(values, bytes); });
    },
};

int openSession(const kedge_option *options, const TaskRunner &lent, kedge_session **session) {
  if (!session)
    return KEDGE_WRONG_CALL;
  *session = new (std::nothrow) kedge_session{&kFunctions, {}, {}, nullptr};
  if (!*session)
    return KEDGE_NO_MEMORY;
  platform::keepLoaded();
  return guarded(*session,
                 [&] { (*session)->learning = std::make_unique<LearningSession>(textsOf(options), lent); });
}

} // namespace

extern "C" {

int kedge_open(const kedge_option *options, kedge_session **session) {
  return openSession(options, {}, session);
}

int kedge_open_on(const kedge_option *options, kedge_run_tasks run, void *self, kedge_session **session) {
  if (run)
    return openSession(options, {run, self}, session);
  if (session)
    *session = nullptr;
  return KEDGE_WRONG_CALL;
}

void kedge_close(kedge_session *session) {
  if (session)
    session->functions->close(session);
}

const char *kedge_error(const kedge_session *session) {
  return session ? session->functions->error(session)
                 : "there is no session: it was not opened, or there was no memory for it";
}

const char *kedge_notes(const kedge_session *session) {
  return session ? session->functions->notes(session) : "";
}

// Each by the library that made the session.
#define KEDGE_FORWARD(FUNCTION, MEMBER, PARAMETERS, ...)                                                     \
  int FUNCTION PARAMETERS {                                                                                  \
    return session ? session->functions->MEMBER(session, __VA_ARGS__) : KEDGE_WRONG_CALL;                    \
  }

KEDGE_FORWARD(kedge_input_at, inputAt, (kedge_session * session, size_t index, kedge_tensor *tensor), index,
              tensor)
KEDGE_FORWARD(kedge_output_at, outputAt, (kedge_session * session, size_t index, kedge_tensor *tensor), index,
              tensor)
KEDGE_FORWARD(kedge_state_at, stateAt, (kedge_session * session, size_t index, kedge_tensor *tensor), index,
              tensor)
KEDGE_FORWARD(kedge_set_input, setInput,
              (kedge_session * session, const char *name, const void *data, int64_t rows), name, data, rows)
KEDGE_FORWARD(kedge_step, step, (kedge_session * session, kedge_step_result *result), result)
KEDGE_FORWARD(kedge_evaluate, evaluate, (kedge_session * session, double *loss), loss)
KEDGE_FORWARD(kedge_predict, predict,
              (kedge_session * session, const char *output, void *values, size_t bytes), output, values,
              bytes)
KEDGE_FORWARD(kedge_get_state, getState,
              (kedge_session * session, const char *name, void *values, size_t bytes), name, values, bytes)
KEDGE_FORWARD(kedge_set_state, setState,
              (kedge_session * session, const char *name, const void *values, size_t bytes), name, values,
              bytes)
KEDGE_FORWARD(kedge_steps_done, stepsDone, (kedge_session * session, int64_t *steps), steps)
KEDGE_FORWARD(kedge_set_steps_done, setStepsDone, (kedge_session * session, int64_t steps), steps)
KEDGE_FORWARD(kedge_set_option, setOption, (kedge_session * session, const char *name, const char *value),
              name, value)
KEDGE_FORWARD(kedge_keep_input, keepInput,
              (kedge_session * session, const char *name, const void *data, int64_t rows), name, data, rows)
KEDGE_FORWARD(kedge_parameter_at, parameterAt, (kedge_session * session, size_t index, kedge_tensor *tensor),
              index, tensor)
KEDGE_FORWARD(kedge_get_parameters, getParameters, (kedge_session * session, float *values, size_t bytes),
              values, bytes)
KEDGE_FORWARD(kedge_set_parameters, setParameters,
              (kedge_session * session, const float *values, size_t bytes), values, bytes)
KEDGE_FORWARD(kedge_keep_gradients, keepGradients, (kedge_session * session, int keep), keep)
KEDGE_FORWARD(kedge_get_gradient, getGradient,
              (kedge_session * session, const char *name, float *values, size_t bytes), name, values, bytes)
KEDGE_FORWARD(kedge_get_gradients, getGradients, (kedge_session * session, float *values, size_t bytes),
              values, bytes)
KEDGE_FORWARD(kedge_compute_gradients, computeGradients, (kedge_session * session, kedge_step_result *result),
              result)
KEDGE_FORWARD(kedge_apply_gradients, applyGradients,
              (kedge_session * session, const float *values, size_t bytes, kedge_step_result *result), values,
              bytes, result)
KEDGE_FORWARD(kedge_checkpoint, checkpoint, (kedge_session * session, const char *dir), dir)
KEDGE_FORWARD(kedge_resume, resume, (kedge_session * session, const char *dir), dir)
KEDGE_FORWARD(kedge_export_onnx, exportOnnx, (kedge_session * session, const char *path), path)

#undef KEDGE_FORWARD

} // extern "C"
