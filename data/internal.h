/* internal.h - private interface of data/: byte input and output, element
 * types, and the readers and writers of each format.
 *
 * Needs: io.h.
 *
 * Contract: as in io.h. A Status other than ST_OK comes with a diagnostic.
 */
#ifndef ATLED_DATA_INTERNAL_H
#define ATLED_DATA_INTERNAL_H

#include "data/io.h"

/* A file open for reading, or bytes in memory. */
typedef struct Input {
	Ctx *c;
	const char *path; /* as the program wrote it, for messages */
	const char *real; /* with ~ resolved; NULL in memory */
	int fd;           /* -1: in memory */
	const uint8_t *mem;
	size_t owned; /* bytes of mem to be freed */
	uint64_t size;
} Input;
Status input_open(Input *in, Ctx *c, const char *path);
void input_close(Input *in);
/* Reads n bytes at offset `at`. If the file ends earlier, the error names the
 * byte. */
Status input_read(Input *in, uint64_t at, void *to, uint64_t n);
/* The whole file as a string on the heap, followed by a zero byte. utf8:
 * validates UTF-8 and removes a byte-order mark. Release it with
 * input_text_free. */
Status input_text(Input *in, bool utf8, char **text, size_t *n);
void input_text_free(Input *in, char *text);
/* Record E_FILE "PATH: what", with a byte, a line, or a line and column, and
 * return ST_ERROR. */
Status input_bad(const Input *in, const char *format, ...) __attribute__((format(printf, 2, 3)));
Status input_bad_byte(const Input *in, uint64_t byte, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
Status input_bad_line(const Input *in, uint64_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
Status input_bad_place(const Input *in, uint64_t line, uint64_t column, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
Status data_no_memory(Ctx *c, const char *path, uint64_t bytes);
/* Creates a tensor for an array that a file describes; messages name the
 * file. */
Status input_tensor(const Input *in, Dtype dtype, uint32_t rank, const int64_t *shape,
                    Tensor **out);

/* A temporary file beside its target. The first failure persists. */
typedef struct OutputFile {
	Ctx *c;
	const char *path;
	char *target, *beside; /* heap */
	int fd;
	bool direct;   /* a device or pipe, without rename */
	bool replaces; /* a nonempty file is replaced; fsync first */
	Status status;
	uint8_t *buffer;
	size_t held;
	uint64_t written, at; /* bytes written and added */
} OutputFile;
Status output_open(OutputFile *out, Ctx *c, const char *path);
void output_add(OutputFile *out, const void *bytes, size_t n);
void output_str(OutputFile *out, const char *text);
void output_format(OutputFile *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Overwrites bytes written earlier. */
void output_patch(OutputFile *out, uint64_t at, const void *bytes, size_t n);
Status output_flush(OutputFile *out);
Status output_bad(OutputFile *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Flushes and closes the temporary file, so that only the rename remains, and
 * frees its buffer. For files that must appear together. */
Status output_settle(OutputFile *out);
/* Removes the file to be replaced. */
void output_withdraw(OutputFile *out);
/* Renames the file to its target, or removes it after a failure. */
Status output_close(OutputFile *out);

/* Element types of files. */
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
Dtype elem_dtype(Elem e); /* the dtype that holds all its values */
/* Converts n elements to elem_dtype(e). `to` may be `from` if the sizes agree.
 * Returns the index of the first element that does not fit (u64 above i64), or
 * -1. */
int64_t elem_convert(Elem e, bool swap, size_t n, const void *from, void *to);
bool machine_is_little(void);

/* Options of load and save. */
typedef struct IoOptions {
	const char *format; /* "": by the file's extension */
	int header;         /* -1: unspecified */
	char separator;     /* 0: unspecified */
	bool compress;
} IoOptions;

/* A reader returns an owned value. A writer accepts any value and refuses those
 * that its format cannot represent. */
Status npy_read(Input *in, const IoOptions *o, Value *out);
Status npy_write(OutputFile *out, const IoOptions *o, Value v);
Status npz_read(Input *in, const IoOptions *o, Value *out);
Status npz_write(OutputFile *out, const IoOptions *o, Value v);
Status csv_read(Input *in, const IoOptions *o, Value *out);
Status csv_write(OutputFile *out, const IoOptions *o, Value v);
Status json_read(Input *in, const IoOptions *o, Value *out);
Status json_write(OutputFile *out, const IoOptions *o, Value v);
Status text_read(Input *in, const IoOptions *o, Value *out);
Status text_write(OutputFile *out, const IoOptions *o, Value v);
Status air_read(Input *in, const IoOptions *o, Value *out);
Status air_write(OutputFile *out, const IoOptions *o, Value v);
Status hdf5_read(Input *in, const IoOptions *o, Value *out);
Status hdf5_write(OutputFile *out, const IoOptions *o, Value v);
Status vtk_read(Input *in, const IoOptions *o, Value *out);
Status vti_write(OutputFile *out, const IoOptions *o, Value v);
Status vtu_write(OutputFile *out, const IoOptions *o, Value v);
Status pvd_read(Input *in, const IoOptions *o, Value *out);
Status pvd_write(OutputFile *out, const IoOptions *o, Value v);
Status msh_read(Input *in, const IoOptions *o, Value *out);
Status msh_write(OutputFile *out, const IoOptions *o, Value v);

/* .npy data from a sequential stream, for npz. */
typedef struct NpyStream {
	Status (*read)(struct NpyStream *s, void *to, size_t n);
	const Input *in;
	const char *part;  /* the member's name, or NULL */
	uint64_t at, left; /* position; upper bound on the remaining bytes */
} NpyStream;
Status npy_from_stream(NpyStream *s, Value *out);
/* Writes header and elements of an array, a string or a list of strings through
 * `put`. put NULL: only computes *bytes, the total size. */
Status npy_put(Ctx *c, Value v, void (*put)(void *ud, const void *bytes, size_t n), void *ud,
               uint64_t *bytes);

/* Value trees: any value as records whose leaves are arrays and strings. Lists,
 * tuples, ranges, none, functions and problems become records whose first field
 * is `.kind`. tree_in is the inverse of tree_out. */
Status tree_out(Ctx *c, const char *path, Value v, Value *out);
Status tree_in(Ctx *c, const char *path, Value v, Value *out);
const char *tree_kind(Ctx *c, Value record); /* the value of `.kind`, or NULL */
/* Escapes a field's name for formats in which / separates names, and back. At
 * most cap bytes. */
size_t name_escape(const char *name, size_t n, char *to, size_t cap);
size_t name_unescape(const char *name, size_t n, char *to, size_t cap);

/* A growing record. `failed` records a failed allocation, including those of
 * atoms. */
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
Value fields_record(Fields *f); /* empties f; V_UNSET when memory failed */
void fields_free(Fields *f);
bool atom_try(Ctx *c, const char *text, size_t n, Atom *out);

/* Prints a real number with the fewest digits that restore it; always with a
 * point or exponent, or as nan, inf, -inf. Returns the length. */
size_t number_print(char out[40], double x);
/* Parses a decimal number independently of the locale. Returns its end, or NULL
 * if there is none. */
const char *number_read(const char *from, const char *end, double *x);
/* The bytes of a string value; "" for other kinds. */
const char *string_text(Value v, size_t *n);
/* The nesting limit of readers. */
enum { DEEPEST = 200 };

#endif
