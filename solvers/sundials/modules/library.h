/* library.h - SUNDIALS, loaded when a solver first needs it.
 *
 * Method: a table of function pointers, filled by dlopen and dlsym. Some
 * packages of SUNDIALS bring MPI, which is slow to start. Programs that use no
 * solver do not load it.
 *
 * Contract:
 * - sundials_open comes before any other use; solve_begin calls it.
 * - Code calls `sundials.CVodeInit(...)`, with the names and types of SUNDIALS'
 *   headers.
 */
#ifndef ATLED_SOLVERS_SUNDIALS_MODULES_LIBRARY_H
#define ATLED_SOLVERS_SUNDIALS_MODULES_LIBRARY_H

#include "solvers/sundials/modules/versions.h"
#include <cvodes/cvodes.h>
#include <idas/idas.h>
#include <kinsol/kinsol.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#if SUNDIALS_HANDLER_OF_CONTEXT
#define HANDLERS_CALLED(F)                                                                         \
	F(SUNContext_ClearErrHandlers) F(SUNContext_PushErrHandler) F(SUNContext_SetLogger)
#else
#define HANDLERS_CALLED(F) F(CVodeSetErrHandlerFn) F(IDASetErrHandlerFn) F(KINSetErrHandlerFn)
#endif

#define SHARED_CALLED(F)                                                                           \
	F(N_VConst)                                                                                    \
	F(N_VCopyOps)                                                                                  \
	F(N_VDestroy)                                                                                  \
	F(N_VDestroy_Serial) F(N_VFreeEmpty) F(N_VLinearSum) F(N_VMaxNorm) F(N_VNewEmpty)              \
		F(N_VNewEmpty_Serial) F(N_VScale) F(N_VWrmsNorm) F(SUNBandMatrixStorage)                   \
			F(SUNBandMatrix_Data) F(SUNBandMatrix_LDim) F(SUNBandMatrix_StoredUpperBandwidth)      \
				F(SUNContext_Create) F(SUNContext_Free) F(SUNDenseMatrix) F(SUNDenseMatrix_Column) \
					F(SUNLinSolFree) F(SUNLinSolFreeEmpty) F(SUNLinSolInitialize)                  \
						F(SUNLinSolNewEmpty) F(SUNLinSolNumIters) F(SUNLinSolResNorm)              \
							F(SUNLinSolResid) F(SUNLinSolSetATimes) F(SUNLinSolSetPreconditioner)  \
								F(SUNLinSolSetScalingVectors) F(SUNLinSolSetZeroGuess)             \
									F(SUNLinSolSolve) F(SUNLinSol_Dense) F(SUNLinSol_KLU)          \
										F(SUNLinSol_KLUSetOrdering) F(SUNLinSol_SPGMR)             \
											F(SUNLinSol_SPGMRSetMaxRestarts) F(SUNMatDestroy)      \
												F(SUNMatGetID) F(SUNNonlinSolFree)                 \
													F(SUNNonlinSolFreeEmpty)                       \
														F(SUNNonlinSolNewEmpty)                    \
															F(SUNNonlinSol_FixedPoint)             \
																F(SUNNonlinSol_FixedPointSens)     \
																	F(SUNSparseMatrix)

#define CVODES_CALLED(F)                                                                           \
	F(CVode)                                                                                       \
	F(CVodeAdjInit)                                                                                \
	F(CVodeB)                                                                                      \
	F(CVodeCreate) F(CVodeCreateB) F(CVodeF) F(CVodeFree) F(CVodeGetB) F(CVodeGetCurrentStep)      \
		F(CVodeGetDky) F(CVodeGetErrWeights) F(CVodeGetEstLocalErrors) F(CVodeGetLastOrder) F(     \
			CVodeGetNumErrTestFails) F(CVodeGetNumLinSolvSetups) F(CVodeGetNumNonlinSolvConvFails) \
			F(CVodeGetNumNonlinSolvIters) F(CVodeGetNumRhsEvals) F(CVodeGetNumSteps)               \
				F(CVodeGetQuadB) F(CVodeGetSensDky) F(CVodeGetTolScaleFactor) F(CVodeInit)         \
					F(CVodeInitB) F(CVodeQuadInitB) F(CVodeQuadReInitB) F(CVodeQuadSVtolerancesB)  \
						F(CVodeReInitB) F(CVodeSVtolerances) F(CVodeSVtolerancesB)                 \
							F(CVodeSensInit1) F(CVodeSensSVtolerances) F(CVodeSetJacFn)            \
								F(CVodeSetJacFnB) F(CVodeSetLinearSolver) F(CVodeSetLinearSolverB) \
									F(CVodeSetMaxConvFails) F(CVodeSetMaxHnilWarns)                \
										F(CVodeSetMaxNumSteps) F(CVodeSetMaxNumStepsB)             \
											F(CVodeSetMaxStep) F(CVodeSetNonlinearSolver)          \
												F(CVodeSetNonlinearSolverB)                        \
													F(CVodeSetNonlinearSolverSensStg)              \
														F(CVodeSetQuadErrConB)                     \
															F(CVodeSetSensErrCon)                  \
																F(CVodeSetStopTime)                \
																	F(CVodeSetUserData)            \
																		F(CVodeSetUserDataB)

#define IDAS_CALLED(F)                                                                             \
	F(IDACalcIC)                                                                                   \
	F(IDACreate)                                                                                   \
	F(IDAFree)                                                                                     \
	F(IDAGetConsistentIC) F(IDAGetCurrentStep) F(IDAGetDky) F(IDAGetErrWeights)                    \
		F(IDAGetEstLocalErrors) F(IDAGetLastOrder) F(IDAGetNumErrTestFails)                        \
			F(IDAGetNumLinSolvSetups) F(IDAGetNumNonlinSolvConvFails) F(IDAGetNumNonlinSolvIters)  \
				F(IDAGetNumResEvals) F(IDAGetNumSteps) F(IDAGetSensConsistentIC) F(IDAGetSensDky)  \
					F(IDAGetTolScaleFactor) F(IDAInit) F(IDAReInit) F(IDASVtolerances)             \
						F(IDASensInit) F(IDASensSVtolerances) F(IDASetId) F(IDASetJacFn)           \
							F(IDASetLineSearchOffIC) F(IDASetLinearSolver) F(IDASetMaxNumItersIC)  \
								F(IDASetMaxNumJacsIC) F(IDASetMaxStep) F(IDASetNonlinearSolver)    \
									F(IDASetSensErrCon) F(IDASetStopTime) F(IDASetUserData)        \
										F(IDASolve)

#define KINSOL_CALLED(F)                                                                           \
	F(KINCreate)                                                                                   \
	F(KINFree)                                                                                     \
	F(KINGetNumFuncEvals)                                                                          \
	F(KINGetNumJacEvals) F(KINGetNumLinIters) F(KINGetNumNonlinSolvIters) F(KINInit)               \
		F(KINSetFuncNormTol) F(KINSetJacFn) F(KINSetJacTimesVecFn) F(KINSetLinearSolver)           \
			F(KINSetMAA) F(KINSetMaxNewtonStep) F(KINSetMaxSetupCalls) F(KINSetNumMaxIters)        \
				F(KINSetScaledStepTol) F(KINSetUserData) F(KINSol)

#define SUNDIALS_CALLED(F)                                                                         \
	HANDLERS_CALLED(F) SHARED_CALLED(F) CVODES_CALLED(F) IDAS_CALLED(F) KINSOL_CALLED(F)

typedef struct Sundials {
#define DECLARE(f) __typeof__(&(f)) f;
	SUNDIALS_CALLED(DECLARE)
#undef DECLARE
	SUNComm no_comm; /* SUN_COMM_NULL, which may be a variable of the MPI library */
} Sundials;

extern Sundials sundials; /* filled by sundials_open */

/* Loads SUNDIALS at the first call; any thread may call it. Returns NULL, or
 * the reason why it is unavailable. */
const char *sundials_open(void);

#endif
