/* state.h - IR state of a context: tables of attributes, functions and hosts.
 *
 * Needs: host.h. Used only by lang/.
 */
#ifndef ATLED_LANG_IR_STATE_H
#define ATLED_LANG_IR_STATE_H

#include "lang/base/hash_chains.h"
#include "lang/ir/host.h"

/* Constants of up to this many elements are folded while building. */
#define FOLD_LIMIT 64
#define MAX_FIELDS 6
typedef struct AttrSchema {
	uint8_t n;
	char letter[MAX_FIELDS]; /* D i t a f h y */
	bool list[MAX_FIELDS];
} AttrSchema;

typedef struct KnownAttr {
	HashLink link;
	AttrId id;
	uint32_t n;
	int64_t words[];
} KnownAttr;

/* A part of the table of functions. A page whose functions are all freed is
 * freed, unless it is the newest. */
enum { FN_PAGE = 512 };
typedef struct FnPage {
	uint32_t live;
	Fn *at[FN_PAGE]; /* NULL: freed */
} FnPage;

typedef struct IrState {
	Ctx *ctx;
	AttrSchema schema[OP_COUNT];
	VEC(KnownAttr *) attrs; /* by id; 0: none. NULL: freed */
	VEC(AttrId) free_attrs, newest_attrs;
	HashChains attrs_by_words;
	/* By id, which is never used again; id 0: none. */
	VEC(FnPage *) fn_pages; /* NULL: freed */
	FnId next_fn;
	VEC(HostCall *) hosts;            /* by id; 0: none. NULL: freed */
	HashChains host_defs, host_calls; /* of hosts.c */
	uint32_t collections;             /* how many there were */
	FnHooks hooks;
	IrServices services;
	Builder *open;   /* innermost open builder */
	uint32_t serial; /* serial number of the next builder */
	uint32_t broken; /* number of functions that failed verification */
} IrState;
IrState *ir_state(Ctx *c); /* created on first use */
/* Frees the attributes of which used[id] is false. */
void attrs_keep(Ctx *c, const bool *used);
void fn_register(Ctx *c, Fn *f); /* assigns f's id */
/* For fn_collect. fn_release_contents releases all that f owns; f stays, empty.
 * fn_forget removes it from the table. host_call_forget frees a call, and its
 * definition after the last call. */
void fn_release_contents(Fn *f);
void fn_forget(IrState *st, FnId id);
void host_call_forget(Ctx *c, HostId id);
/* Whether this collection has visited the definition before. */
bool host_def_visited(const HostDef *def, uint32_t collection);
void free_hosts(IrState *st); /* frees all of them, with their own data */

#endif
