#include "runtime/comm/mpi/Mpi.h"
#include "runtime/io/Error.h"
#include <dlfcn.h>

namespace kedge::rt::mpi {
namespace {

constexpr const char *kSoname = "libmpi.so.40";

void *symbol(void *library, const char *name) {
  void *found = dlsym(library, name);
  if (!found)
    fail("{} lacks {}: it is not Open MPI 4 or 5; install Debian's libopenmpi3", kSoname, name);
  return found;
}

template <typename Function> void bind(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(symbol(library, name));
}

Mpi bindAll() {
  // Global: MPI's own plugins look for its symbols.
  void *library = dlopen(kSoname, RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    fail("several ranks need Open MPI, which cannot be opened ({}): apt install libopenmpi3 openmpi-bin",
         dlerror());
  Mpi mpi;
  bind(library, "MPI_Init_thread", mpi.Init_thread);
  bind(library, "MPI_Finalize", mpi.Finalize);
  bind(library, "MPI_Initialized", mpi.Initialized);
  bind(library, "MPI_Comm_rank", mpi.Comm_rank);
  bind(library, "MPI_Comm_size", mpi.Comm_size);
  bind(library, "MPI_Comm_set_errhandler", mpi.Comm_set_errhandler);
  bind(library, "MPI_Error_string", mpi.Error_string);
  bind(library, "MPI_Isend", mpi.Isend);
  bind(library, "MPI_Irecv", mpi.Irecv);
  bind(library, "MPI_Test", mpi.Test);
  bind(library, "MPI_Get_count", mpi.Get_count);
  bind(library, "MPI_Testall", mpi.Testall);
  bind(library, "MPI_Cancel", mpi.Cancel);
  bind(library, "MPI_Request_free", mpi.Request_free);
  mpi.world = static_cast<MPI_Comm>(symbol(library, "ompi_mpi_comm_world"));
  mpi.byte = static_cast<MPI_Datatype>(symbol(library, "ompi_mpi_byte"));
  mpi.errorsReturn = static_cast<MPI_Errhandler>(symbol(library, "ompi_mpi_errors_return"));
  mpi.requestNull = static_cast<MPI_Request>(symbol(library, "ompi_request_null"));
  return mpi;
}

} // namespace

void Mpi::check(int code, const char *what) const {
  if (code == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  Error_string(code, text, &length);
  fail("MPI: {}: {}", what, text);
}

const Mpi &openMpi() {
  static const Mpi mpi = bindAll(); // a library can be opened once a process
  return mpi;
}

} // namespace kedge::rt::mpi
