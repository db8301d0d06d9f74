/* versions.h - one set of names for SUNDIALS 6.4 to 7.
 *
 * Contract:
 * - Code uses the names of SUNDIALS 7. Here they are defined for SUNDIALS 6.
 * - `sunindextype` may have 32 or 64 bits; never treat it as int64_t in memory.
 * - If the package was built with MPI, its headers need mpi.h, which the
 *   Makefile finds. No MPI function is called.
 */
#ifndef ATLED_SOLVERS_SUNDIALS_MODULES_VERSIONS_H
#define ATLED_SOLVERS_SUNDIALS_MODULES_VERSIONS_H

#include <sundials/sundials_config.h>
#include <sundials/sundials_context.h>
#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_nvector.h>
#include <sundials/sundials_types.h>

#if SUNDIALS_VERSION_MAJOR < 6
#error "Atled needs SUNDIALS 6 or 7: this system's is older"
#endif

#ifndef SUNDIALS_DOUBLE_PRECISION
#error "Atled needs a SUNDIALS built for double precision"
#endif

#define SUNDIALS_INDEX_MAX (sizeof(sunindextype) == 4 ? (int64_t)INT32_MAX : INT64_MAX)

#if SUNDIALS_VERSION_MAJOR >= 7

/* Errors are reported to a handler of the context. */
#define SUNDIALS_HANDLER_OF_CONTEXT 1
#define SUNDIALS_WITH_MPI SUNDIALS_MPI_ENABLED

#else

#define SUNDIALS_HANDLER_OF_CONTEXT 0
#define SUNDIALS_WITH_MPI 0 /* a communicator is an opaque pointer there */
typedef void *SUNComm;
#define SUN_COMM_NULL NULL
#define SUN_SUCCESS 0
#define SUN_ERR_MEM_FAIL SUNLS_MEM_FAIL
#ifndef sunbooleantype
#define sunbooleantype booleantype
#endif

#endif

#endif
