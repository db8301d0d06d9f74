/* state.h - IR state of a context: tables of attributes, functions and hosts.
 *
 * Needs: host.h. Used only by lang/.
 */
#ifndef ATLED_LANG_IR_STATE_H
#define ATLED_LANG_IR_STATE_H

#include "lang/ir/host.h"

/* Constants of up to this many elements are folded while building. */
#define FOLD_LIMIT 64
#define MAX_FIELDS 6
typedef struct AttrSchema {
	uint8_t n;
	char letter[MAX_FIELDS]; /* D i t a f h y */
	bool list[MAX_FIELDS];
} AttrSchema;

typedef struct AttrWords {
	const int64_t *words;
	uint32_t n, hash;
} AttrWords;

typedef struct IrState {
	Ctx *ctx;
	AttrSchema schema[OP_COUNT];
	VEC(AttrWords) attrs;                  /* 0: none */
	uint32_t *attr_slots, attr_slot_count; /* open addressing */
	VEC(Fn *) fns;                         /* by id; NULL: freed; 0: none */
	VEC(HostDef *) host_defs;
	VEC(HostCall *) hosts; /* by id; 0: none */
	FnHooks hooks;
	IrServices services;
	Builder *open;   /* innermost open builder */
	uint32_t serial; /* serial number of the next builder */
	uint32_t broken; /* number of functions that failed verification */
} IrState;
IrState *ir_state(Ctx *c);       /* created on first use */
void fn_register(Ctx *c, Fn *f); /* assigns f's id */

#endif
