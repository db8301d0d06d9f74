/* interleave.c - chains of operations that have nothing to do with each other,
 * turn about in one loop.
 *
 * Needs: emit.h. A loop over vectors that works out several results, say the
 * values at both faces for each of three fields, has them one after the other,
 * as the program does. A processor's scheduler holds some 200 operations that
 * wait for others, which is less than one turn of such a loop: it works on one
 * chain, and waits. Turn about it has something of each.
 *
 * Guarantees: each operation comes behind what it is made of; stores keep their
 * order, and nothing is loaded that the loop stores.
 */
#include "backend/codegen/emit.h"

enum {
	LEAST = 60,       /* operations of a loop that is worth it */
	LEAST_CHAIN = 20, /* and of a chain */
	TOGETHER = 3      /* chains: more want more registers than there are */
};

typedef struct Chains {
	const KFn *f;
	uint32_t at, n;  /* instructions */
	uint32_t *chain; /* by instruction: another one of its chain, in the end itself */
} Chains;

static uint32_t chain_of(Chains *c, uint32_t i) {
	while (c->chain[i] != i) i = c->chain[i] = c->chain[c->chain[i]];
	return i;
}

static const KInst *inst_of(const Chains *c, uint32_t i) { return &c->f->insts.at[c->at + i]; }

/* It is one of a chain: what it gives, or stores, is made for each lane. What
 * is the same for all lanes, or for all loops, links nothing. */
static bool is_linked(const KInst *in) {
	return in->op == K_STORE || (in->lanes && in->op != K_LANE && in->op != K_MASK);
}

static bool in_chain(Chains *c, uint32_t i, uint32_t root) {
	return is_linked(inst_of(c, i)) && inst_of(c, i)->op != K_STORE && chain_of(c, i) == root;
}

/* What is stored to is not loaded from. */
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

/* The chains with these roots, an operation of each in turn. */
static void emit_chains(Emit *e, Chains *c, uint32_t n, const uint32_t *roots) {
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

uint32_t emit_interleaved(Emit *e, uint32_t at) {
	Chains c = {.f = e->fn->f, .at = at};
	uint32_t nlong = 0, group[TOGETHER], n = 0;
	for (; inst_of(&c, c.n)->op != K_END; c.n++) {
		const KInst *in = inst_of(&c, c.n);
		if (!kop_is_pure((KOp)in->op) && in->op != K_LOAD && in->op != K_STORE) return at;
		/* that is for emit_stretch */
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
