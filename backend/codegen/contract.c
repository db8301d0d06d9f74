/* contract.c - K_CONTRACT: register-blocked code for small and medium GEMM.
 *
 * Method: register tiles and packed panels, as in Goto and van de Geijn (2008).
 * A product becomes a call of an internal function of the module. Extents and
 * strides are its arguments, so all products of one element type and form share
 * it; constant extents only choose among the functions.
 *
 * Needs: contract.h.
 *
 * Contract:
 * - Only the m x n elements of C are written (or added to), unless KF_PADDED
 *   gives room for whole vectors. A and B likewise are read at their elements
 *   only.
 * - C must not overlap A or B.
 * - The summation order of an element depends on k and the target alone, not on
 *   m, n or the element's position. A product may therefore be cut by rows or
 *   columns without changing a bit.
 * - Old values of C are added to the finished sum of a block of k.
 *
 * Forms:
 * - Lanes over N (contract_columns.c, contract_panel.c). A tile of R rows by V
 *   vectors of sums stays in registers while k runs: V loads of B and R
 *   broadcasts of A for R*V multiply-adds. The order is k = 0, 1, 2 ... in
 *   blocks of K_BLOCK, which are added one after the other. One function cuts C
 *   into blocks and panels and packs panels of B; it calls another for all
 *   tiles of a panel, one for each width and kind. Where B's columns are not
 *   neighbours, panels are always packed and C is written element by element.
 * - Packed transposed B: the same for a B stored by columns. Vectors of k
 *   become vectors of columns.
 * - Lanes over K (contract_dots.c). A tile has R rows of A by S columns of B,
 *   with a vector of partial sums each, reduced four at a time at the end. The
 *   reduction is costly where k is short: see KF_TRANSPOSE_B. All products of
 *   the instruction therefore pass a tile before it is reduced; in the other
 *   forms each product is a call.
 *
 * Quads: one to four columns after the last whole vector join the last panel.
 * Four columns of two or four rows share a vector of sums; A's broadcast
 * scalars, which the tile has anyway, are blended for it (Panel.quad). This
 * needs masks and vectors of 64 bytes.
 *
 * Rows past the last row of C are computed as copies of the last row. They are
 * stored to the same address, after all old values of C are read. Row
 * remainders thus need neither code nor branches. KF_TILE_5 selects tiles of
 * five rows, where they leave fewer such copies than tiles of four.
 *
 * Tile sizes: eight sums cover a latency of four cycles at two multiply-adds a
 * cycle. Among the tiles that do, the smallest compiles fastest and wastes
 * least where one side is short.
 */
#include "backend/codegen/contract.h"
#include <stdio.h>

enum { OPERANDS = 12, CONTRACT_ARGS = 22 };

/* The function for a form. Arguments: K_CONTRACT's first operands, whether to
 * add (i1), Widths, the pairs and their number, the panels with quads, the
 * bias. */
static LLVMValueRef contract_function(Contract *g, LLVMTypeRef type) {
	Emitter *e = g->e;
	char name[64];
	if (g->lanes_over_k)
		snprintf(name, sizeof name, "contract.%s.lanes_over_k%ux%u", type_name(g), g->rows,
		         g->width);
	else
		snprintf(name, sizeof name, "contract.%s.%s", type_name(g),
		         g->transposed ? "transposed"
		         : g->columns  ? "lanes_over_n"
		                       : "general");
	LLVMValueRef function = emit_kernel(e, name, type);
	if (function) return function;
	SavedPosition outer;
	Widths w;
	function = inner_begin(e, name, type, !g->lanes_over_k, &outer);
	LLVMValueRef *const args[CONTRACT_ARGS] = {
		&g->c,      &g->c_row,    &g->c_col,      &g->a,         &g->a_row,       &g->a_k,
		&g->b,      &g->b_k,      &g->b_col,      &g->m,         &g->n,           &g->k,
		&g->add,    &w.wide,      &w.slack,       &w.wide_panel, &w.narrow_panel, &g->pairs,
		&g->npairs, &w.wide_quad, &w.narrow_quad, &g->bias};
	LLVMValueRef *const strides[] = {&g->c_row, &g->c_col, &g->a_row, &g->a_k, &g->b_k, &g->b_col};
	for (uint32_t i = 0; i < CONTRACT_ARGS; i++) *args[i] = LLVMGetParam(function, i);
	for (uint32_t i = 0; i < 6; i++) *strides[i] = times_n(g, *strides[i], g->size);
	if (g->columns) g->c_col = num(g, g->size);
	if (g->transposed) g->b_k = num(g, g->size);
	else if (g->columns) g->b_col = num(g, g->size);
	if (g->lanes_over_k) lanes_over_k_form(g);
	else lanes_over_n_form(g, &w);
	emit_helper_end(e, &outer, NULL);
	return function;
}

void emit_contract(Emitter *e, const KInst *in) {
	KType t = (KType)in->type;
	Contract g = {.e = e, .t = t, .size = ktype_size(t)};
	g.lanes = e->m->target.vector_bytes >= 16 ? e->m->target.vector_bytes / g.size : 1;
	g.transposed = !(in->flags & KF_B_COL_UNIT) && in->flags & KF_K_UNIT &&
	               in->flags & KF_TRANSPOSE_B && g.lanes > 1;
	g.columns = g.transposed || in->flags & KF_B_COL_UNIT;
	g.lanes_over_k = !g.columns && in->flags & KF_K_UNIT;
	g.masks = e->m->target.has_masks && g.lanes > 1;
	g.fives = in->flags & KF_TILE_5;
	LLVMValueRef args[CONTRACT_ARGS];
	LLVMTypeRef types[CONTRACT_ARGS];
	for (uint32_t i = 0; i < OPERANDS; i++) args[i] = emit_value(e, emit_operand(e, in, i));
	args[12] = LLVMConstInt(e->i1, (in->flags & KF_ACCUMULATE) != 0, 0);
	args[13] = args[14] = num(&g, 0);
	args[15] = args[16] = args[17] = LLVMConstNull(e->ptr);
	args[18] = num(&g, 1);
	args[19] = args[20] = args[21] = LLVMConstNull(e->ptr);
	const uint32_t nproducts = 1 + (in->nargs - OPERANDS) / 2;
	if (in->flags & KF_BIAS) {
		if (!g.columns || nproducts > 1)
			emit_stop(e, "a bias where lanes do not run along the columns");
		args[21] = emit_value(e, emit_operand(e, in, OPERANDS));
	}
	if (g.lanes_over_k) {
		/* A matrix-vector product: the longer side becomes the rows, see
		 * lanes_over_k_form. */
		bool vector = known(args[9]) == 1 || known(args[10]) == 1;
		g.rows = vector ? 8 : g.fives ? 5 : 4;
		g.width = vector ? 1 : 2;
		args[17] = stack(&g, 16ull * nproducts);
		args[18] = num(&g, nproducts);
		for (uint32_t i = 0; i < nproducts; i++)
			for (uint32_t k = 0; k < 2; k++) {
				LLVMValueRef from =
					i ? emit_value(e, emit_operand(e, in, OPERANDS + 2 * (i - 1) + k))
					  : args[k ? 6 : 3];
				LLVMBuildStore(e->b, from, at_n(&g, args[17], 16 * i + 8 * k));
			}
	} else {
		/* With padding after the last column all vectors are whole. */
		bool padded = g.columns && !g.transposed && in->flags & KF_PADDED;
		if (padded)
			args[10] = LLVMBuildAnd(e->b, plus(&g, args[10], num(&g, g.lanes - 1)),
			                        num(&g, -(int64_t)g.lanes), "");
		const Widths w = choose_widths(&g, args[9], args[10], args[11], args[5], padded);
		args[13] = w.wide;
		args[14] = w.slack;
		args[15] = w.wide_panel;
		args[16] = w.narrow_panel;
		args[19] = w.wide_quad;
		args[20] = w.narrow_quad;
	}
	EmitIf held;
	const bool in_place = in->flags & KF_IN_REGISTERS && g.columns && !g.transposed && g.masks &&
	                      e->m->target.registers >= 32 && e->options->level;
	if (in_place) held_inline(&g, args, &held);
	for (uint32_t i = 0; i < CONTRACT_ARGS; i++) types[i] = LLVMTypeOf(args[i]);
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, CONTRACT_ARGS, 0);
	LLVMValueRef function = contract_function(&g, type);
	LLVMBuildCall2(e->b, type, function, args, CONTRACT_ARGS, "");
	for (uint32_t i = 1; i < nproducts && !g.lanes_over_k; i++) {
		args[3] = emit_value(e, emit_operand(e, in, OPERANDS + 2 * (i - 1)));
		args[6] = emit_value(e, emit_operand(e, in, OPERANDS + 2 * (i - 1) + 1));
		args[12] = LLVMConstInt(e->i1, 1, 0);
		LLVMBuildCall2(e->b, type, function, args, CONTRACT_ARGS, "");
	}
	if (in_place) emit_if_end(e, &held, NULL, NULL);
}
