/* host.h - functions that the IR calls but does not contain: solvers, and
 * callbacks of an embedding program.
 *
 * Needs: ir.h. Guarantees: a host function is a primitive like any other: it
 * says its result types, its value, and its derivative rules as IR. A missing
 * rule is an error when the derivative is asked for, naming the function.
 *
 * A host function takes its operands as a flat list. Function-valued arguments
 * (a right-hand side) are finished Fns in `fns`; their captured values are
 * ordinary operands, so that derivatives with respect to them are nothing
 * special.
 */
#ifndef ATLED_LANG_IR_HOST_H
#define ATLED_LANG_IR_HOST_H

#include "lang/ir/ir.h"

typedef struct HostCall HostCall;

/* An operand or result of a host function in memory: its elements, row-major
 * without gaps. A single number is one element. */
typedef struct HostArray {
	void *data;
	int64_t count;
} HostArray;

enum { HOST_DIRECT_MOST = 6 }; /* operands and results together of one that has `direct` */

typedef struct HostDef {
	const char *name; /* in messages and in the text form */
	void *ud;
	uint32_t nargs; /* of one that programs call by its name */
	/* Result types from operand types; writes at most `cap` and returns how
	 * many. Fresh symbols come from build_fresh_dim. Reports a diagnostic and
	 * throws when the operands are wrong. */
	uint32_t (*types)(Builder *b, const struct HostCall *call, const Ref *args, uint32_t nargs,
	                  TypeId *out, uint32_t cap);
	/* The value. Owned results. */
	Status (*eval)(Ctx *c, const struct HostCall *call, uint32_t nargs, const Value *args,
	               uint32_t nresults, Value *results);
	/* The same without values, for machine code: operands of f64 and i64,
	 * numbers and vectors, and results whose lengths follow from theirs, for
	 * which there is memory. May be called by one thread at a time for a
	 * context. NULL: only the evaluator calls it. */
	Status (*direct)(Ctx *c, const struct HostCall *call, const HostArray *args,
	                 const HostArray *results);
	/* Tangents of the results: emits IR that is linear in the tangents.
	 * tangents[k] REF_NONE: zero. Writes REF_NONE for a zero result tangent.
	 * NULL: no derivative. */
	void (*jvp)(Builder *b, const struct HostCall *call, uint32_t nargs, const Ref *args,
	            const Ref *results, const Ref *tangents, Ref *result_tangents);
	/* For host functions that are linear in the operands flagged linear[k],
	 * whose args[k] is REF_NONE: cotangents of those operands from cotangents
	 * of the results (zeros where there is none). A length that the cotangent
	 * of an operand cannot be seen to share with it is guarded. NULL: cannot be
	 * transposed. */
	void (*transpose)(Builder *b, const struct HostCall *call, uint32_t nargs, const Ref *args,
	                  const bool *linear, const Ref *result_cotangents, Ref *cotangents);
	/* With the operands flagged batched[k] carrying a leading axis of length
	 * `n`: results that all carry it. NULL: `map` loops. */
	void (*batch)(Builder *b, const struct HostCall *call, Dim n, uint32_t nargs, const Ref *args,
	              const bool *batched, Ref *results);
	/* Whether a call may stand in a file: that its functions, options and
	 * operands are what such a call has, and `stated` the types of its results.
	 * Asked when it is written and when it is read, where nothing about it may
	 * be believed. NULL: it may not. */
	bool (*may_store)(Builder *b, const struct HostCall *call, uint32_t nargs, const Ref *args,
	                  uint32_t nresults, const TypeId *stated);
	/* cannot fail and does nothing but give its results: equal calls may be
	 * shared, and one whose results nobody uses dropped */
	bool pure;
	/* the value is that of the first function handed over: it may be called
	 * instead where no derivative is asked for any more */
	bool written;
	void (*free_ud)(Ctx *c, void *ud);
} HostDef;

/* One use of a host function: the definition, the functions handed to it, and
 * static options. Interned per call site. */
struct HostCall {
	const HostDef *def;
	uint32_t nfns;
	Fn **fns; /* one reference each */
	uint32_t noptions;
	const int64_t *options; /* what they mean is the host function's business */
};

/* Host functions by name, for those the standard library calls. Copies def; the
 * name is the key. */
void host_register(Ctx *c, const HostDef *def);
const HostDef *host_find(const Ctx *c, const char *name); /* NULL when there is none */

/* Types and value of a call whose value is that of the first function handed
 * over (`written`). */
uint32_t host_value_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                          TypeId *out, uint32_t cap);
Status host_value_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                       uint32_t nresults, Value *results);

typedef uint32_t HostId;
/* Copies def; fns each gain a reference; lives as long as the context. Equal
 * calls get equal ids. */
HostId host_call_intern(Ctx *c, const HostDef *def, uint32_t nfns, Fn *const *fns,
                        uint32_t noptions, const int64_t *options);
const HostCall *host_call(const Ctx *c, HostId id);
/* Whether the definition says so, or, where the value is that of a function,
 * that has nothing in it that must run. */
bool host_is_pure(const HostCall *call);
/* Emits the call: infers the result types through def->types. Returns how many
 * results. */
uint32_t build_host(Builder *b, HostId id, uint32_t nargs, const Ref *args, Ref *results,
                    uint32_t cap);

#endif
