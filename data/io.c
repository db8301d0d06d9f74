/* io.c - load, save and related functions: choice of the format, grants, and
 * opening and closing of files.
 *
 * Needs: data/internal.h.
 *
 * Contract: each format has one file, and one row in the table below. Strings
 * are UTF-8; a line ends with \n or \r\n.
 */
#include "data/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct FileFormat {
	const char *name, *endings; /* endings: extensions between blanks */
	Status (*read)(Input *in, const IoOptions *o, Value *out);
	Status (*write)(OutputFile *out, const IoOptions *o, Value v);
} FileFormat;

static const FileFormat formats[] = {
	{"npy", " .npy ", npy_read, npy_write},
	{"npz", " .npz ", npz_read, npz_write},
	{"csv", " .csv .tsv ", csv_read, csv_write},
	{"json", " .json ", json_read, json_write},
	{"hdf5", " .h5 .hdf5 .he5 ", hdf5_read, hdf5_write},
	{"vti", " .vti ", vtk_read, vti_write},
	{"vtu", " .vtu ", vtk_read, vtu_write},
	{"pvd", " .pvd ", pvd_read, pvd_write},
	{"msh", " .msh ", msh_read, msh_write},
	{"air", " .air ", air_read, air_write},
	{"text", " .txt ", text_read, text_write},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static Status wrong(Ctx *c, const char *message) {
	diag_error(c, E_FILE, NO_SPAN, "%s", message);
	return ST_ERROR;
}

static Status want_grant(Ctx *c, const char *what, const char *path) {
	if (ctx_granted(c, GRANT_FILES)) return ST_OK;
	diag_error(c, E_DENIED, NO_SPAN, "%s the file %.200s is not granted here", what, path);
	return ST_DENIED;
}

static Status want_path(Ctx *c, Value v, const char **path) {
	size_t n;
	*path = string_text(v, &n);
	if (v.kind != V_STRING) return wrong(c, "a path is a string");
	if (!n) return wrong(c, "an empty path");
	if (strlen(*path) != n) return wrong(c, "a path with a zero byte in it");
	return ST_OK;
}

static Status find_format(Ctx *c, const char *path, const char *name, const FileFormat **out) {
	char names[200] = "";
	size_t k = 0;
	for (int i = 0; i < FORMATS; i++)
		k += (size_t)snprintf(names + k, sizeof names - k, "%s%s", i ? ", " : "", formats[i].name);
	*out = NULL;
	if (*name) {
		for (int i = 0; i < FORMATS; i++)
			if (!strcmp(formats[i].name, name) ||
			    (!strcmp(name, "tsv") && !strcmp(formats[i].name, "csv")) ||
			    (!strcmp(name, "h5") && !strcmp(formats[i].name, "hdf5")))
				return *out = &formats[i], ST_OK;
		diag_error(c, E_FILE, NO_SPAN, "there is no format \"%.40s\"; there are %s", name, names);
		return ST_ERROR;
	}
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
	char ending[16];
	if (dot && strlen(dot) < sizeof ending - 2) {
		snprintf(ending, sizeof ending, " %s ", dot);
		for (int i = 0; i < FORMATS; i++)
			for (const char *p = formats[i].endings; *p; p++)
				if (!strncasecmp(p, ending, strlen(ending))) return *out = &formats[i], ST_OK;
	}
	Diag *d = diag_error(c, E_FILE, NO_SPAN, "%.200s: the ending says no format", path);
	diag_hint(c, d, "format = \"csv\" says one; there are %s", names);
	return ST_ERROR;
}

/* Chooses the format from the options or the extension. Format "tsv" also sets
 * the separator. */
static Status choose_format(Ctx *c, const char *path, IoOptions *o, const FileFormat **out) {
	if (!strcmp(o->format, "tsv") && !o->separator) o->separator = '\t';
	return find_format(c, path, o->format, out);
}

/* Reads the options format, header and separator from args[0 .. 2]. */
static Status read_options(Ctx *c, const Value *args, IoOptions *o) {
	size_t n;
	*o = (IoOptions){.format = string_text(args[0], NULL), .header = -1};
	bool header;
	if (args[0].kind != V_STRING) return wrong(c, "format is a string: \"csv\", \"npy\" ...");
	if (args[1].kind != V_NONE) {
		if (!value_as_bool(args[1], &header)) return wrong(c, "header is true, false or none");
		o->header = header;
	}
	const char *sep = string_text(args[2], &n);
	if (args[2].kind != V_STRING || n > 1 ||
	    (n && (*sep == '"' || *sep == '\n' || (unsigned char)*sep >= 0x80)))
		return wrong(c, "separator is one character of ASCII: \",\", \";\", \"\\t\"");
	o->separator = n ? *sep : 0;
	return ST_OK;
}

static Status load(void *ud, Ctx *c, uint32_t nargs, const Value *args, Value *result) {
	(void)ud;
	const char *path;
	const FileFormat *f;
	IoOptions o;
	if (nargs != 4) return wrong(c, "_load takes path, format, header and separator");
	Status st = want_path(c, args[0], &path);
	if (st == ST_OK) st = want_grant(c, "reading", path);
	if (st == ST_OK) st = read_options(c, args + 1, &o);
	if (st == ST_OK) st = choose_format(c, path, &o, &f);
	if (st != ST_OK) return st;
	Input in;
	st = input_open(&in, c, path);
	if (st != ST_OK) return st;
	Value v = {.kind = V_UNSET};
	st = f->read(&in, &o, &v);
	input_close(&in);
	if (st == ST_OK) *result = v;
	return st;
}

Status data_read_memory(Ctx *c, const char *format, const char *name, const void *bytes, size_t n,
                        Value *result) {
	const FileFormat *f;
	IoOptions o = {.format = format, .header = -1};
	Status st = choose_format(c, name, &o, &f);
	if (st != ST_OK) return st;
	Input in = {.c = c, .path = name, .fd = -1, .mem = bytes, .size = n};
	result->kind = V_UNSET;
	return f->read(&in, &o, result);
}

static Status write_with(Ctx *c, const char *path, const FileFormat *f, const IoOptions *o,
                         Value v) {
	OutputFile out;
	Status st = output_open(&out, c, path);
	if (st != ST_OK) return st;
	st = f->write(&out, o, v);
	if (st != ST_OK && out.status == ST_OK) out.status = st;
	return output_close(&out);
}

static Status save(void *ud, Ctx *c, uint32_t nargs, const Value *args, Value *result) {
	(void)ud;
	const char *path;
	const FileFormat *f;
	IoOptions o;
	if (nargs != 6)
		return wrong(c, "_save takes path, value, format, header, separator and compress");
	Status st = want_path(c, args[0], &path);
	if (st == ST_OK) st = want_grant(c, "writing", path);
	if (st == ST_OK) st = read_options(c, args + 2, &o);
	if (st == ST_OK && !value_as_bool(args[5], &o.compress))
		st = wrong(c, "compress is true or false");
	if (st == ST_OK) st = choose_format(c, path, &o, &f);
	if (st == ST_OK) st = write_with(c, path, f, &o, args[1]);
	if (st == ST_OK) *result = value_none();
	return st;
}

/* ---- text files and folders ---------------------------------------------- */

/* Requires UTF-8; an error names the line. */
Status text_read(Input *in, const IoOptions *o, Value *out) {
	(void)o;
	char *text;
	size_t n;
	Status st = input_text(in, true, &text, &n);
	if (st != ST_OK) return st;
	if (memchr(text, 0, n)) st = input_bad_byte(in, strlen(text), "a zero byte: this is no text");
	else {
		*out = value_string(in->c, text, n);
		if (out->kind == V_UNSET) st = data_no_memory(in->c, in->path, n);
	}
	input_text_free(in, text);
	return st;
}

/* Writes a string, or a list of strings as lines. */
Status text_write(OutputFile *out, const IoOptions *o, Value v) {
	(void)o;
	size_t n;
	const char *text = string_text(v, &n);
	if (v.kind == V_STRING) output_add(out, text, n);
	else if (v.kind == V_LIST || v.kind == V_TUPLE) {
		for (uint32_t i = 0; i < v.object->n && out->status == ST_OK; i++) {
			Value item = ((const SeqObject *)v.object)->items[i];
			if (item.kind != V_STRING)
				return output_bad(out, "a file of text is written from a string or a list of "
				                       "strings; str(x) makes one");
			text = string_text(item, &n);
			output_add(out, text, n);
			output_str(out, "\n");
		}
	} else
		return output_bad(
			out, "a file of text is written from a string or a list of strings; str(x) makes one");
	return out->status;
}

/* Functions as IR in binary form. The encoding and the conversion are in other
 * modules, reached through the hooks. */
Status air_read(Input *in, const IoOptions *o, Value *out) {
	(void)o;
	const DataHooks *h = data_hooks(in->c);
	if (!h) return input_bad(in, "functions cannot be loaded here");
	char *bytes;
	size_t n;
	Status st = input_text(in, false, &bytes, &n);
	if (st != ST_OK) return st;
	st = h->ir_in(in->c, in->path, bytes, n, out);
	input_text_free(in, bytes);
	return st;
}

Status air_write(OutputFile *out, const IoOptions *o, Value v) {
	(void)o;
	const DataHooks *h = data_hooks(out->c);
	if (!h) return output_bad(out, "functions cannot be saved here");
	if (v.kind != V_FUNCTION || ((const FunctionObject *)v.object)->code_kind != CODE_KIND_IR)
		return output_bad(
			out, "a file of this format holds a piece of IR; ir(f, x) makes one of a function");
	Text bytes;
	text_init(&bytes, out->c);
	Status st = h->ir_out(out->c, v, &bytes);
	if (st == ST_OK) output_add(out, bytes.at, bytes.n);
	text_free(&bytes);
	return st != ST_OK ? st : out->status;
}

static Status read_text(void *ud, Ctx *c, uint32_t nargs, const Value *args, Value *result) {
	(void)ud;
	const char *path;
	if (nargs != 1) return wrong(c, "a path is wanted");
	Status st = want_path(c, args[0], &path);
	if (st == ST_OK) st = want_grant(c, "reading", path);
	Input in;
	if (st == ST_OK) st = input_open(&in, c, path);
	if (st != ST_OK) return st;
	st = text_read(&in, NULL, result);
	input_close(&in);
	return st;
}

static Status write_text(void *ud, Ctx *c, uint32_t nargs, const Value *args, Value *result) {
	(void)ud;
	static const FileFormat plain = {"text", "", text_read, text_write};
	const char *path;
	if (nargs != 2) return wrong(c, "a path and a string are wanted");
	Status st = want_path(c, args[0], &path);
	if (st == ST_OK) st = want_grant(c, "writing", path);
	if (st == ST_OK) st = write_with(c, path, &plain, &(IoOptions){0}, args[1]);
	if (st == ST_OK) *result = value_none();
	return st;
}

/* An environment variable; NONE if it is not set. */
static Status environment(void *ud, Ctx *c, uint32_t nargs, const Value *args, Value *result) {
	(void)ud;
	size_t n, wrong_at;
	if (nargs != 1 || args[0].kind != V_STRING)
		return wrong(c, "the name of a variable is a string");
	const char *name = string_text(args[0], &n);
	if (!ctx_granted(c, GRANT_ENVIRONMENT)) {
		diag_error(c, E_DENIED, NO_SPAN,
		           "reading the environment's variable %.200s is not granted here", name);
		return ST_DENIED;
	}
	const char *text = strlen(name) == n ? getenv(name) : NULL;
	if (text && !utf8_valid(text, strlen(text), &wrong_at))
		return wrong(c, "the variable is not UTF-8");
	*result = text ? value_string(c, text, strlen(text)) : value_none();
	return result->kind == V_UNSET ? ST_NOMEM : ST_OK;
}

static Status exists(void *ud, Ctx *c, uint32_t nargs, const Value *args, Value *result) {
	(void)ud;
	const char *path;
	if (nargs != 1) return wrong(c, "a path is wanted");
	Status st = want_path(c, args[0], &path);
	if (st == ST_OK) st = want_grant(c, "asking for", path);
	struct stat about;
	if (st == ST_OK) *result = value_bool(!stat(path, &about));
	return st;
}

static int by_name(const void *x, const void *y) {
	const Value *a = x, *b = y;
	return strcmp(string_text(*a, NULL), string_text(*b, NULL));
}

/* The sorted names in a folder that have the given ending, without hidden
 * files. */
static Status list_files(void *ud, Ctx *c, uint32_t nargs, const Value *args, Value *result) {
	(void)ud;
	const char *path;
	if (nargs != 2 || args[1].kind != V_STRING)
		return wrong(c, "a folder and an ending are wanted");
	Status st = want_path(c, args[0], &path);
	if (st == ST_OK) st = want_grant(c, "reading", path);
	if (st != ST_OK) return st;
	size_t tail, wrong_at;
	const char *ending = string_text(args[1], &tail);
	DIR *d = opendir(path);
	if (!d) {
		diag_error(c, E_FILE, NO_SPAN, "%.200s: %s", path, strerror(errno));
		return ST_ERROR;
	}
	ValueList l = {.c = c};
	for (struct dirent *e; !l.failed && (e = readdir(d));) {
		const size_t len = strlen(e->d_name);
		if (e->d_name[0] == '.' || len < tail || strcmp(e->d_name + len - tail, ending) ||
		    !utf8_valid(e->d_name, len, &wrong_at))
			continue;
		value_list_add(&l, value_string(c, e->d_name, len));
	}
	closedir(d);
	if (l.n > 1) qsort(l.at, l.n, sizeof *l.at, by_name);
	*result = value_list_end(&l);
	return result->kind == V_UNSET ? ST_NOMEM : ST_OK;
}

const DataFunction data_functions[] = {
	{"_load", load},
	{"_save", save},
	{"_read_text", read_text},
	{"_write_text", write_text},
	{"_exists", exists},
	{"_environment", environment},
	{"_list_files", list_files},
	{NULL, NULL},
};
