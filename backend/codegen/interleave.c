/* interleave.c - interleaving of independent dependency chains.
 *
 * Method: a vector loop that computes several results has their chains one
 * after the other, in program order. The scheduler's window is shorter than one
 * iteration of a long loop, so it holds a single chain and waits. Interleaved,
 * it always holds instructions of several chains.
 *
 * Contract:
 * - Needs emit.h.
 * - Each operation follows its operands.
 * - Stores keep their order; nothing is loaded that the loop stores.
 */
#include "backend/codegen/emit.h"

enum {
	LEAST = 60,       /* operations of a loop from which it pays */
	LEAST_CHAIN = 20, /* and of a chain */
	TOGETHER = 3      /* chains at a time; more would need too many registers */
};

typedef struct Chains {
	const KFn *f;
	uint32_t at, n;  /* instructions */
	uint32_t *chain; /* by instruction: union-find parent; a root is its own */
} Chains;

static uint32_t chain_of(Chains *c, uint32_t i) {
	while (c->chain[i] != i) i = c->chain[i] = c->chain[c->chain[i]];
	return i;
}

static const KInst *inst_of(const Chains *c, uint32_t i) { return &c->f->insts.at[c->at + i]; }

/* Does the instruction belong to a chain? It does if it computes or stores a
 * value for each lane. Uniform values, K_LANE and K_MASK link nothing. */
static bool is_linked(const KInst *in) {
	return in->op == K_STORE || (in->lanes && in->op != K_LANE && in->op != K_MASK);
}

static bool in_chain(Chains *c, uint32_t i, uint32_t root) {
	return is_linked(inst_of(c, i)) && inst_of(c, i)->op != K_STORE && chain_of(c, i) == root;
}

/* Does the loop load nothing that it stores? */
static bool loads_elsewhere(const Chains *c) {
	for (uint32_t i = 0; i < c->n; i++)
		for (uint32_t j = 0; inst_of(c, i)->op == K_STORE && j < c->n; j++)
			if (inst_of(c, j)->op == K_LOAD &&
			    c->f->refs.at[inst_of(c, j)->args] == c->f->refs.at[inst_of(c, i)->args])
				return false;
	return true;
}

static void link(Chains *c) {
	for (uint32_t i = 0; i < c->n; i++) c->chain[i] = i;
	for (uint32_t i = 0; i < c->n; i++) {
		const KInst *in = inst_of(c, i);
		for (uint32_t k = 0; is_linked(in) && k < in->nargs; k++) {
			const uint32_t def = c->f->vals.at[c->f->refs.at[in->args + k]].def;
			if (def >= c->at && def < c->at + c->n && is_linked(&c->f->insts.at[def]))
				c->chain[chain_of(c, i)] = chain_of(c, def - c->at);
		}
	}
}

/* Emits the chains with these roots, one operation of each in turn. */
static void emit_chains(Emitter *e, Chains *c, uint32_t n, const uint32_t *roots) {
	uint32_t next[TOGETHER] = {0};
	for (bool more = true; more;) {
		more = false;
		for (uint32_t k = 0; k < n; k++) {
			while (next[k] < c->n && !in_chain(c, next[k], roots[k])) next[k]++;
			if (next[k] == c->n) continue;
			emit_one(e, inst_of(c, next[k]++));
			more = true;
		}
	}
}

uint32_t emit_interleaved(Emitter *e, uint32_t at) {
	Chains c = {.f = e->fn->f, .at = at};
	uint32_t nlong = 0, group[TOGETHER], n = 0;
	for (; inst_of(&c, c.n)->op != K_END; c.n++) {
		const KInst *in = inst_of(&c, c.n);
		if (!kop_is_pure((KOp)in->op) && in->op != K_LOAD && in->op != K_STORE) return at;
		/* wider vectors are for emit_vector_split */
		if (in->lanes * ktype_size((KType)in->type) > e->m->target.vector_bytes) return at;
	}
	if (c.n < LEAST || !loads_elsewhere(&c)) return at;
	c.chain = emit_alloc(e, sizeof *c.chain * c.n);
	link(&c);
	uint32_t *size = emit_alloc(e, sizeof *size * c.n);
	for (uint32_t i = 0; i < c.n; i++) nlong += ++size[chain_of(&c, i)] == LEAST_CHAIN;
	if (nlong < 2) return at;
	for (uint32_t i = 0; i < c.n; i++)
		if (!is_linked(inst_of(&c, i))) emit_one(e, inst_of(&c, i));
	for (uint32_t i = 0; i < c.n; i++) {
		if (c.chain[i] != i || !is_linked(inst_of(&c, i))) continue;
		if (size[i] < LEAST_CHAIN) {
			emit_chains(e, &c, 1, &i);
			continue;
		}
		group[n++] = i;
		if (--nlong && n < TOGETHER) continue;
		emit_chains(e, &c, n, group);
		n = 0;
	}
	for (uint32_t i = 0; i < c.n; i++)
		if (inst_of(&c, i)->op == K_STORE) emit_one(e, inst_of(&c, i));
	return at + c.n;
}
