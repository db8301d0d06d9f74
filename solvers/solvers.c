/* solvers.c - the table of host functions that solvers/ adds to a context.
 *
 * Needs: solvers.h and the definitions.
 *
 * Contract: registration calls no library and allocates some hundred bytes.
 */
#include "solvers/geometry/delaunay_qhull.h"
#include "solvers/linear/assembly_pattern.h"
#include "solvers/sundials/dae.h"
#include "solvers/special/elementwise.h"
#include "solvers/sundials/ode.h"
#include "solvers/linear/shifted_system.h"
#include "solvers/solvers.h"
#include "solvers/linear/sparse.h"
#include "solvers/sundials/modules/sundials.h"
#include "solvers/fft/real_transforms.h"

static void register_all(Ctx *c, void *arg) {
	(void)arg;
	const HostDef *const all[] = {&ode_host,
	                              &ode_until_host,
	                              &dae_until_host,
	                              &ode_tangent_host,
	                              &ode_adjoint_host,
	                              &ode_curvature_host,
	                              &kinsol_host,
	                              &dae_host,
	                              &dae_tangent_host,
	                              &dae_adjoint_host,
	                              &dae_curvature_host,
	                              &sparse_solve_host,
	                              &sparse_least_host,
	                              &sparse_count_host,
	                              &sparse_eigs_host,
	                              &shifted_plan_host,
	                              &shifted_factor_host,
	                              &shifted_solve_host,
	                              &real_lines_host,
	                              &cells_pattern_host,
	                              &delaunay_host};
	for (size_t k = 0; k < sizeof all / sizeof *all; k++) host_register(c, all[k]);
	each_register(c);
}

Status solvers_init(Ctx *c) { return ctx_protect(c, register_all, NULL); }
