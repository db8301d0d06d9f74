/* gsl.h - special functions of the GNU Scientific Library, loaded at the first
 * use.
 *
 * Needs: the headers of GSL, for types.
 *
 * Contract:
 * - Nothing of GSL is loaded before gsl_open. It disables GSL's error handler,
 *   which would end the process.
 * - Error statuses become values: outside the domain NaN, overflow an infinity,
 *   underflow 0.
 */
#ifndef ATLED_SOLVERS_SPECIAL_GSL_H
#define ATLED_SOLVERS_SPECIAL_GSL_H

#include <gsl/gsl_errno.h>
#include <gsl/gsl_sf.h>

/* The functions that are called. */
#define GSL_CALLED(F)                                                                              \
	F(gsl_sf_psi_e)                                                                                \
	F(gsl_sf_psi_n_e)                                                                              \
	F(gsl_sf_psi_1_e)                                                                              \
	F(gsl_sf_expint_Ei_e) F(gsl_sf_expint_E1_e) F(gsl_sf_Si_e) F(gsl_sf_Ci_e) F(gsl_sf_Shi_e)      \
		F(gsl_sf_Chi_e) F(gsl_sf_dawson_e) F(gsl_sf_bessel_Jn_e) F(gsl_sf_bessel_In_scaled_e)      \
			F(gsl_sf_bessel_Kn_scaled_e) F(gsl_sf_bessel_Jnu_e) F(gsl_sf_bessel_Ynu_e)             \
				F(gsl_sf_bessel_Inu_scaled_e) F(gsl_sf_bessel_Knu_scaled_e) F(gsl_sf_bessel_jl_e)  \
					F(gsl_sf_airy_Ai_e) F(gsl_sf_airy_Bi_e) F(gsl_sf_airy_Ai_deriv_e)              \
						F(gsl_sf_airy_Bi_deriv_e) F(gsl_sf_ellint_RD_e) F(gsl_sf_ellint_RF_e)      \
							F(gsl_sf_ellint_RJ_e) F(gsl_sf_hyperg_1F1_e) F(gsl_sf_hyperg_U_e)      \
								F(gsl_sf_hyperg_2F1_e) F(gsl_sf_legendre_sphPlm_e)                 \
									F(gsl_sf_zeta_e) F(gsl_sf_hzeta_e) F(gsl_sf_dilog_e)           \
										F(gsl_sf_clausen_e)

typedef struct Gsl {
	gsl_error_handler_t *(*gsl_set_error_handler_off)(void);
#define DECLARE(f) __typeof__(&f) f;
	GSL_CALLED(DECLARE)
#undef DECLARE
} Gsl;

extern Gsl gsl; /* filled by gsl_open */

/* Loads GSL at the first call; any thread may call it. Returns whether it is
 * available. */
int gsl_open(void);
/* The error message when GSL is not available. */
extern const char *const gsl_missing;

/* The value of a call, from its status and its result. */
static inline double gsl_number(int status, const gsl_sf_result *r) {
	switch (status) {
	case GSL_SUCCESS:
	case GSL_ELOSS: return r->val;
	case GSL_EUNDRFLW: return 0.0;
	case GSL_EOVRFLW: return r->val < 0 ? -__builtin_inf() : __builtin_inf();
	default: return __builtin_nan("");
	}
}

#endif
