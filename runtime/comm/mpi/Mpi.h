// Functions of Open MPI, from a library that is opened only if there are several ranks, so that others do not
// need it.
#pragma once
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

namespace kedge::rt::mpi {

/// Members are named as in MPI, without the prefix MPI_.
struct Mpi {
  decltype(&::MPI_Init_thread) Init_thread = nullptr;
  decltype(&::MPI_Finalize) Finalize = nullptr;
  decltype(&::MPI_Initialized) Initialized = nullptr;
  decltype(&::MPI_Comm_rank) Comm_rank = nullptr;
  decltype(&::MPI_Comm_size) Comm_size = nullptr;
  decltype(&::MPI_Comm_set_errhandler) Comm_set_errhandler = nullptr;
  decltype(&::MPI_Error_string) Error_string = nullptr;
  decltype(&::MPI_Isend) Isend = nullptr;
  decltype(&::MPI_Irecv) Irecv = nullptr;
  decltype(&::MPI_Test) Test = nullptr;
  decltype(&::MPI_Get_count) Get_count = nullptr;
  decltype(&::MPI_Testall) Testall = nullptr;
  decltype(&::MPI_Cancel) Cancel = nullptr;
  decltype(&::MPI_Request_free) Request_free = nullptr;
  /// In Open MPI, MPI_COMM_WORLD and similar constants are addresses inside the library.
  MPI_Comm world = nullptr;
  MPI_Datatype byte = nullptr;
  MPI_Errhandler errorsReturn = nullptr;
  MPI_Request requestNull = nullptr;

  /// Throws rt::RuntimeError with MPI's message if `code` is an error.
  void check(int code, const char *what) const;
};

/// Throws rt::RuntimeError, which says what to install, if the library cannot be opened.
const Mpi &openMpi();

} // namespace kedge::rt::mpi
