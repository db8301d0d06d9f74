/* internal.h - within the room of files: reading and writing bytes, elements,
 * and the readers and writers of each format.
 *
 * Needs: io.h. Guarantees: as io.h; a Status other than ST_OK comes with a
 * message.
 */
#ifndef ATLED_DATA_INTERNAL_H
#define ATLED_DATA_INTERNAL_H

#include "data/io.h"

/* A file open for reading, or bytes in memory. */
typedef struct Input {
	Ctx *c;
	const char *path; /* as the program wrote it: stands in messages */
	const char *real; /* the same with ~ resolved; NULL in memory */
	int fd;           /* -1: in memory */
	const uint8_t *mem;
	size_t owned; /* bytes of mem that are ours */
	uint64_t size;
} Input;
Status input_open(Input *in, Ctx *c, const char *path);
void input_close(Input *in);
/* n bytes from `at` on; an error that names the byte where they end too early.
 */
Status input_read(Input *in, uint64_t at, void *to, uint64_t n);
/* All of it as text on the heap (a 0 behind its n bytes), UTF-8 without a
 * byte-order mark when `utf8`. */
Status input_text(Input *in, bool utf8, char **text, size_t *n);
void input_text_free(Input *in, char *text);
/* "PATH: what": records E_FILE and returns ST_ERROR. */
Status input_bad(const Input *in, const char *format, ...) __attribute__((format(printf, 2, 3)));
Status input_bad_byte(const Input *in, uint64_t byte, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
Status input_bad_line(const Input *in, uint64_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
Status data_no_memory(Ctx *c, const char *path, uint64_t bytes);
/* A tensor for what a file describes; messages name the file. */
Status input_tensor(const Input *in, Dtype dtype, uint32_t rank, const int64_t *shape,
                    Tensor **out);

/* A file being written beside its place. The first failure sticks. */
typedef struct Output {
	Ctx *c;
	const char *path;
	char *target, *beside; /* heap */
	int fd;
	bool direct;   /* a device or pipe: nothing to rename */
	bool replaces; /* there is a file to lose: it goes when the new one is on the disk */
	Status status;
	uint8_t *buffer;
	size_t held;
	uint64_t written, at; /* bytes so far */
} Output;
Status output_open(Output *out, Ctx *c, const char *path);
void output_add(Output *out, const void *bytes, size_t n);
void output_str(Output *out, const char *text);
void output_format(Output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Overwrites bytes that are already written. */
void output_patch(Output *out, uint64_t at, const void *bytes, size_t n);
Status output_flush(Output *out);
Status output_bad(Output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Has all of it written and closed beside its place, so that only its name is
 * left to take; frees what was held for writing. For files that appear
 * together. */
Status output_settle(Output *out);
/* Removes the file that it is to replace. */
void output_withdraw(Output *out);
/* Renames it to its place when all went well, else removes it. */
Status output_close(Output *out);

/* Elements as they lie in files. */
typedef enum Elem {
	EL_BOOL,
	EL_I8,
	EL_U8,
	EL_I16,
	EL_U16,
	EL_I32,
	EL_U32,
	EL_I64,
	EL_U64,
	EL_F16,
	EL_F32,
	EL_F64,
	EL_C64,
	EL_C128,
	EL_COUNT
} Elem;
size_t elem_size(Elem e);
Dtype elem_dtype(Elem e); /* the dtype that holds it */
/* n elements into memory of elem_dtype(e), which may be the same memory when
 * sizes agree. Index of the first element that does not fit (u64 beyond i64),
 * or -1. */
int64_t elem_convert(Elem e, bool swap, size_t n, const void *from, void *to);
bool machine_is_little(void);

/* Options of load and save. */
typedef struct Options {
	const char *format; /* "" by the path's ending */
	int header;         /* -1: not said */
	char separator;     /* 0: not said */
	bool compress;
} Options;

/* A reader gives an owned value; a writer is handed any value and refuses what
 * its format cannot hold. */
Status npy_read(Input *in, const Options *o, Value *out);
Status npy_write(Output *out, const Options *o, Value v);
Status npz_read(Input *in, const Options *o, Value *out);
Status npz_write(Output *out, const Options *o, Value v);
Status csv_read(Input *in, const Options *o, Value *out);
Status csv_write(Output *out, const Options *o, Value v);
Status json_read(Input *in, const Options *o, Value *out);
Status json_write(Output *out, const Options *o, Value v);
Status text_read(Input *in, const Options *o, Value *out);
Status text_write(Output *out, const Options *o, Value v);
Status air_read(Input *in, const Options *o, Value *out);
Status air_write(Output *out, const Options *o, Value v);
Status hdf5_read(Input *in, const Options *o, Value *out);
Status hdf5_write(Output *out, const Options *o, Value v);
Status vtk_read(Input *in, const Options *o, Value *out);
Status vti_write(Output *out, const Options *o, Value v);
Status vtu_write(Output *out, const Options *o, Value v);
Status pvd_read(Input *in, const Options *o, Value *out);
Status pvd_write(Output *out, const Options *o, Value v);
Status msh_read(Input *in, const Options *o, Value *out);
Status msh_write(Output *out, const Options *o, Value v);

/* npy in parts, for npz: a source of bytes in order. */
typedef struct Stream {
	Status (*read)(struct Stream *s, void *to, size_t n);
	const Input *in;
	const char *part;  /* name of the member, or NULL */
	uint64_t at, left; /* where in the stream; how many bytes are still to come at most */
} Stream;
Status npy_from_stream(Stream *s, Value *out);
/* Header and elements of one array or string, through `put`. `bytes` receives
 * the whole length when put is NULL. */
Status npy_put(Ctx *c, Value v, void (*put)(void *ud, const void *bytes, size_t n), void *ud,
               uint64_t *bytes);

/* Trees: records whose leaves are arrays and strings hold any value. Lists,
 * tuples, ranges, none, functions and problems become records whose first field
 * is `.kind`. tree_in undoes tree_out. */
Status tree_out(Ctx *c, const char *path, Value v, Value *out);
Status tree_in(Ctx *c, const char *path, Value v, Value *out);
const char *tree_kind(Ctx *c, Value record); /* what `.kind` says, or NULL */
/* A field's name as a name in a file, in which / separates, and back; at most
 * cap bytes. */
size_t name_escape(const char *name, size_t n, char *to, size_t cap);
size_t name_unescape(const char *name, size_t n, char *to, size_t cap);

/* A record that grows. Atoms can fail: `failed` says so. */
typedef struct Fields {
	Ctx *c;
	uint32_t n, cap;
	Atom *names;
	Value *values;
	bool failed;
} Fields;
void fields_init(Fields *f, Ctx *c);
void fields_add(Fields *f, const char *name, size_t n, Value v); /* takes v */
int64_t fields_find(const Fields *f, const char *name, size_t n);
Value fields_record(Fields *f); /* empties it; V_UNSET when memory failed */
void fields_free(Fields *f);
bool atom_try(Ctx *c, const char *text, size_t n, Atom *out);

/* A real number with the fewest digits that read back; always with a point or
 * exponent, or nan, inf, -inf. Returns the length. */
size_t number_print(char out[40], double x);
/* A number in decimal whatever the locale says: the end of it, or NULL when
 * there is none. */
const char *number_read(const char *from, const char *end, double *x);
/* Value of a string; "" when it is none. */
const char *string_text(Value v, size_t *n);
bool utf8_valid(const char *text, size_t n, size_t *bad);
/* Rows of nesting that readers follow. */
enum { DEEPEST = 200 };

#endif
