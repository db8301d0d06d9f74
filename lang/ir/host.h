/* host.h - host functions: solvers, and callbacks of an embedding program, that
 * the IR calls but does not contain.
 *
 * Needs: ir.h.
 *
 * Contract:
 * - A host function is a primitive like any other: it defines its result types,
 *   its value, and its derivative rules as IR.
 * - A missing rule is an error only when the derivative is requested; the
 *   message names the function.
 * - The operands are a flat list. Function-valued arguments (a right-hand side)
 *   are finished Fns in `fns`. Their captured values are ordinary operands, so
 *   derivatives with respect to them need no special case.
 */
#ifndef ATLED_LANG_IR_HOST_H
#define ATLED_LANG_IR_HOST_H

#include "lang/ir/ir.h"

typedef struct HostCall HostCall;

/* An operand or result of a host function in memory: its elements, row-major
 * and contiguous. A scalar is one element. */
typedef struct HostArray {
	void *data;
	int64_t count;
} HostArray;

/* The most operands and results together of a host function with `direct`. */
enum { HOST_DIRECT_MOST = 6 };

typedef struct HostDef {
	const char *name; /* in messages and in the text form */
	void *ud;
	uint32_t nargs; /* the number of operands, for one that programs call by name */
	/* Infers the result types from the operands. Writes at most `cap` of them
	 * and returns their number. Fresh symbols come from build_fresh_dim.
	 * Records a diagnostic and throws when the operands are wrong. */
	uint32_t (*types)(Builder *b, const struct HostCall *call, const Ref *args, uint32_t nargs,
	                  TypeId *out, uint32_t cap);
	/* Computes the value. Results owned. */
	Status (*eval)(Ctx *c, const struct HostCall *call, uint32_t nargs, const Value *args,
	               uint32_t nresults, Value *results);
	/* The same without Value objects, for machine code. Operands are scalars
	 * and vectors of f64 and i64. The extents of the results follow from those
	 * of the operands, and the caller provides their memory. At most one thread
	 * of a context calls it at a time. NULL: only the evaluator calls the
	 * function, through eval. */
	Status (*direct)(Ctx *c, const struct HostCall *call, const HostArray *args,
	                 const HostArray *results);
	/* Emits the tangents of the results as IR that is linear in the operand
	 * tangents. tangents[k] == REF_NONE means zero; writes REF_NONE for a zero
	 * result tangent. NULL: no derivative. */
	void (*jvp)(Builder *b, const struct HostCall *call, uint32_t nargs, const Ref *args,
	            const Ref *results, const Ref *tangents, Ref *result_tangents);
	/* For a host function that is linear in the operands flagged linear[k],
	 * whose args[k] is REF_NONE. Emits the cotangents of those operands from
	 * the cotangents of the results (zeros where there is none). Emits a guard
	 * where an operand and its cotangent are not known to have the same extent.
	 * NULL: cannot be transposed. */
	void (*transpose)(Builder *b, const struct HostCall *call, uint32_t nargs, const Ref *args,
	                  const bool *linear, const Ref *result_cotangents, Ref *cotangents);
	/* The operands flagged batched[k] have a leading axis of extent `n`. Emits
	 * results that all have it. NULL: `map` becomes a loop. */
	void (*batch)(Builder *b, const struct HostCall *call, Dim n, uint32_t nargs, const Ref *args,
	              const bool *batched, Ref *results);
	/* Whether a call can be serialised: its functions, options and operands
	 * must be valid, and `stated` must be the types of its results. Called when
	 * a file is written, and again when it is read; a file's content is
	 * untrusted. NULL: it cannot. */
	bool (*may_store)(Builder *b, const struct HostCall *call, uint32_t nargs, const Ref *args,
	                  uint32_t nresults, const TypeId *stated);
	/* Cannot fail and has no effect but its results: equal calls may be shared,
	 * and a call whose results are unused is removed. */
	bool pure;
	/* The value is that of fns[0], which may be called instead wherever no
	 * derivative is requested. */
	bool written;
	/* Called when no call has the definition any more. */
	void (*free_ud)(Ctx *c, void *ud);
	/* Visits the references that `ud` holds; NULL: none. */
	void (*each_ud)(const void *ud, const RefVisitor *v);
} HostDef;

/* One use of a host function: the definition, its function arguments, and
 * static options. Interned per call site. */
struct HostCall {
	const HostDef *def;
	uint32_t id;
	uint32_t nfns;
	Fn **fns; /* one reference each */
	uint32_t noptions;
	const int64_t *options; /* meaning defined by the host function */
};

/* The registry of host functions by name, for those that the standard library
 * calls. Copies def; the name is the key. */
void host_register(Ctx *c, const HostDef *def);
const HostDef *host_find(const Ctx *c, const char *name); /* NULL when there is none */

/* `types` and `eval` of a call whose value is that of fns[0] (`written`). */
uint32_t host_value_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                          TypeId *out, uint32_t cap);
Status host_value_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                       uint32_t nresults, Value *results);

typedef uint32_t HostId;
/* Copies def; fns each gain a reference. The call lives as long as the
 * functions that mention it, see fn_collect. Equal calls get equal ids. */
HostId host_call_intern(Ctx *c, const HostDef *def, uint32_t nfns, Fn *const *fns,
                        uint32_t noptions, const int64_t *options);
const HostCall *host_call(const Ctx *c, HostId id);
HostId host_next(const Ctx *c); /* the id of the next call */
/* Whether the definition is pure, or, with `written`, whether fns[0] contains
 * nothing that must run. */
bool host_is_pure(const HostCall *call);
/* Emits the call; infers the result types through def->types. Returns the
 * number of results. */
uint32_t build_host(Builder *b, HostId id, uint32_t nargs, const Ref *args, Ref *results,
                    uint32_t cap);

#endif
