/* test_io.c - fault injection into the readers and writers of data files.
 *
 * Each sample is truncated at every byte and has bytes changed. Allocations
 * fail, polls interrupt, and the disk is full at any size.
 * Oracle: a reader returns a value or a message that names the file; a failed
 * save leaves the old file.
 *
 * Needs: data/io.h, tests/io/samples.
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks.
 */
#include "data/io.h"
#include "tests/unit/support/check.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAMPLES "tests/io/samples"

static Ctx *fresh(void) {
	Ctx *c = ctx_new(NULL);
	if (!c) exit(2);
	ctx_grant(c, GRANT_ALL);
	return c;
}

static uint64_t fail_at; /* which allocation of the next call fails; 0: none */

static Status call(Ctx *c, const char *name, uint32_t n, const Value *args, Value *result) {
	result->kind = V_UNSET;
	for (const DataFunction *f = data_functions; f->name; f++)
		if (!strcmp(f->name, name)) {
			if (fail_at) heap_fail_at(c, fail_at, false);
			Status st = f->fn(NULL, c, n, args, result);
			heap_fail_at(c, 0, false);
			fail_at = 0;
			return st;
		}
	return ST_INTERNAL;
}

static Value text(Ctx *c, const char *s) { return value_string(c, s, strlen(s)); }

static Status load(Ctx *c, const char *path, Value *out) {
	Value args[4] = {text(c, path), text(c, ""), value_none(), text(c, "")};
	Status st = call(c, "_load", 4, args, out);
	for (int i = 0; i < 4; i++) value_unref(args[i]);
	return st;
}

static Status save(Ctx *c, const char *path, Value v, bool compress) {
	Value args[6] = {text(c, path),    v,           text(c, ""),
	                 value_bool(true), text(c, ""), value_bool(compress)},
		  none;
	Status st = call(c, "_save", 6, args, &none);
	for (int i = 0; i < 6; i++)
		if (i != 1) value_unref(args[i]);
	return st;
}

static const char *format_of(const char *name) {
	const char *dot = strrchr(name, '.') + 1;
	return !strcmp(dot, "h5") ? "hdf5" : !strcmp(dot, "tsv") ? "csv" : dot;
}

static uint8_t *read_file(const char *path, size_t *n) {
	FILE *in = fopen(path, "rb");
	if (!in) return NULL;
	struct stat about;
	uint8_t *bytes = fstat(fileno(in), &about) ? NULL : malloc((size_t)about.st_size + 1);
	*n = bytes ? fread(bytes, 1, (size_t)about.st_size, in) : 0;
	fclose(in);
	return bytes;
}

/* A reader returns a value, or a message that begins with the file's name. */
static bool sound(Ctx *c, const char *format, const uint8_t *bytes, size_t n, Status *st) {
	/* Exact size, so that sanitizers detect a read past the end. */
	uint8_t *exact = malloc(n ? n : 1);
	memcpy(exact, bytes, n);
	diag_clear(c);
	Value v;
	const size_t held = heap_used(c);
	*st = data_read_memory(c, format, "cut.file", exact, n, &v);
	bool ok = *st == ST_OK
	              ? v.kind != V_UNSET && !diag_total(c)
	              : v.kind == V_UNSET && diag_total(c) &&
	                    strstr(diag_at(c, 0)->message, "cut.file") == diag_at(c, 0)->message;
	value_unref(v);
	diag_clear(c);
	free(exact);
	/* Names and messages remain in blocks of the context. */
	return ok && heap_used(c) < held + 70000;
}

static void test_cut_and_changed(const char *name) {
	char path[300];
	size_t n;
	snprintf(path, sizeof path, SAMPLES "/%s", name);
	uint8_t *bytes = read_file(path, &n);
	const char *format = format_of(name);
	Ctx *c = fresh();
	heap_set_limit(c, (size_t)1 << 30);
	const bool lines = !strcmp(format, "csv"); /* a table without its last rows is a table */
	const size_t step = n > 2000 ? 7 : 1;      /* the larger samples are HDF5 and VTK files */
	size_t strange = 0, accepted = 0;
	Status st;
	for (size_t k = 0; k < n; k += step) {
		strange += !sound(c, format, bytes, k, &st);
		accepted += st == ST_OK;
	}
	CHECK(bytes && !strange);
	/* A file without its last bytes can be complete: trailing blanks, or XML
	 * text after the last element. */
	if (!lines) CHECK(accepted <= 40);
	unsigned seed = 12345;
	for (int k = 0; bytes && k < 300; k++) {
		seed = seed * 1103515245u + 12345u;
		const size_t at = (seed >> 8) % n;
		const uint8_t was = bytes[at];
		bytes[at] = (uint8_t)(seed >> 3);
		strange += !sound(c, format, bytes, n, &st);
		bytes[at] = was;
	}
	CHECK(!strange);
	free(bytes);
	ctx_free(c);
}

static void test_all_samples(void) {
	struct dirent **entries;
	int n = scandir(SAMPLES, &entries, NULL, alphasort), samples = 0;
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.') test_cut_and_changed(entries[i]->d_name), samples++;
		free(entries[i]);
	}
	free(entries);
	CHECK(samples > 40);
}

static Value sample_record(Ctx *c, int64_t n) {
	Tensor *t = tensor_zeros(c, DT_F64, 1, &n);
	Atom names[3];
	Value items[3] = {value_tensor(t), text(c, "some text"), {0}};
	names[0] = atom(c, "x");
	names[1] = atom(c, "s");
	names[2] = atom(c, "inner");
	items[2] = value_record(c, 1, names, items);
	for (int64_t i = 0; i < n; i++) ((double *)(void *)t->data)[i] = (double)i + 0.25;
	Value v = value_record(c, 3, names, items);
	for (int i = 0; i < 3; i++) value_unref(items[i]);
	return v;
}

static bool same_bytes(const char *path, const uint8_t *bytes, size_t n) {
	size_t m;
	uint8_t *now = read_file(path, &m);
	bool same = now && m == n && !memcmp(now, bytes, n);
	free(now);
	return same;
}

static char folder[200];

static int files_there(void) {
	int n = 0;
	DIR *d = opendir(folder);
	for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
	if (d) closedir(d);
	return n;
}

/* Saves and loads with each allocation failing in turn: the call fails, the old
 * file is intact, and no temporary file remains. */
static void test_memory(const char *ending) {
	char path[300];
	snprintf(path, sizeof path, "%s/memory.%s", folder, ending);
	Ctx *c = fresh();
	Value v = sample_record(c, 100), first = sample_record(c, 3), back;
	const bool table = !strcmp(ending, "csv"),
			   array = !strcmp(ending, "npy") || !strcmp(ending, "vti");
	Value small = table || array ? ((RecordObject *)first.object)->fields[0].value : first,
		  large = table || array ? ((RecordObject *)v.object)->fields[0].value : v;
	CHECK(save(c, path, small, true) == ST_OK);
	size_t n;
	uint8_t *old = read_file(path, &n);
	const int there = files_there();
	int failures = 0;
	for (uint64_t k = 1; k < 2000; k++) {
		diag_clear(c);
		fail_at = k;
		Status st = save(c, path, large, true);
		if (st == ST_OK) break;
		failures++;
		CHECK(st == ST_NOMEM && same_bytes(path, old, n) && files_there() == there);
	}
	CHECK(failures > 0);
	diag_clear(c);
	CHECK(save(c, path, large, true) == ST_OK);
	for (uint64_t k = 1; k < 2000; k++) {
		diag_clear(c);
		fail_at = k;
		Status st = load(c, path, &back);
		if (st == ST_OK) {
			value_unref(back);
			break;
		}
		CHECK(st == ST_NOMEM);
	}
	free(old);
	value_unref(v);
	value_unref(first);
	ctx_free(c);
	unlink(path);
}

/* An interrupt at any poll, and a disk that is full at any size. */
static void test_stopped(const char *ending) {
	char path[300];
	snprintf(path, sizeof path, "%s/stopped.%s", folder, ending);
	Ctx *c = fresh();
	Value v = sample_record(c, 700000), back;
	const bool array = strcmp(ending, "npz") && strcmp(ending, "h5") && strcmp(ending, "json");
	Value large = array ? ((RecordObject *)v.object)->fields[0].value : v;
	CHECK(save(c, path, value_f64(1.5), false) == ST_OK || !array || !strcmp(ending, "vti"));
	size_t n = 0;
	uint8_t *old = read_file(path, &n);
	const int there = files_there();
	int stopped = 0;
	for (uint64_t k = 1; k < 4; k++) {
		diag_clear(c);
		ctx_interrupt_at_poll(c, k);
		Status st = save(c, path, large, false);
		ctx_clear_interrupt(c);
		ctx_interrupt_at_poll(c, 0);
		if (st == ST_OK) continue;
		stopped++;
		CHECK(st == ST_INTERRUPTED && files_there() == there && (!old || same_bytes(path, old, n)));
	}
	CHECK(stopped > 0);
	signal(SIGXFSZ, SIG_IGN);
	struct rlimit was, small;
	getrlimit(RLIMIT_FSIZE, &was);
	small = was;
	small.rlim_cur = 100000;
	setrlimit(RLIMIT_FSIZE, &small);
	diag_clear(c);
	Status st = save(c, path, large, false);
	setrlimit(RLIMIT_FSIZE, &was);
	CHECK(st == ST_ERROR && diag_total(c) && strstr(diag_at(c, 0)->message, path) &&
	      files_there() == there && (!old || same_bytes(path, old, n)));
	diag_clear(c);
	CHECK(save(c, path, large, false) == ST_OK);
	stopped = 0;
	for (uint64_t k = 1; k < 4; k++) {
		diag_clear(c);
		ctx_interrupt_at_poll(c, k);
		st = load(c, path, &back);
		ctx_clear_interrupt(c);
		ctx_interrupt_at_poll(c, 0);
		if (st == ST_OK) value_unref(back);
		else {
			stopped++;
			CHECK(st == ST_INTERRUPTED);
		}
	}
	CHECK(stopped > 0);
	free(old);
	value_unref(v);
	ctx_free(c);
	unlink(path);
}

/* Saving follows links and keeps file modes. A file that cannot be written
 * gives a message with the reason. */
static void test_places(void) {
	char path[300], other[300];
	Ctx *c = fresh();
	snprintf(path, sizeof path, "%s/target.npy", folder);
	snprintf(other, sizeof other, "%s/link.npy", folder);
	CHECK(save(c, path, value_f64(1), false) == ST_OK && !chmod(path, 0640) &&
	      !symlink(path, other));
	CHECK(save(c, other, value_f64(2), false) == ST_OK);
	struct stat about;
	CHECK(!lstat(other, &about) && S_ISLNK(about.st_mode) && !stat(path, &about) &&
	      (about.st_mode & 0777) == 0640);
	Value v;
	CHECK(load(c, path, &v) == ST_OK && v.kind == V_SCALAR && v.f == 2);
	unlink(path);
	unlink(other);
	CHECK(save(c, "/nowhere/at/all.npy", value_f64(1), false) == ST_ERROR &&
	      strstr(diag_at(c, diag_total(c) - 1)->message, "the folder does not exist"));
	CHECK(save(c, "/tmp", value_f64(1), false) == ST_ERROR);
	CHECK(load(c, folder, &v) == ST_ERROR);
	ctx_free(c);
	c = ctx_new(NULL); /* nothing granted */
	CHECK(load(c, path, &v) == ST_DENIED && save(c, path, value_f64(1), false) == ST_DENIED &&
	      access(path, F_OK));
	ctx_free(c);
}

/* A series of `times` images of n x n elements. */
static Value series(Ctx *c, int64_t times, int64_t n) {
	Tensor *t = tensor_new(c, DT_F64, 1, &times),
		   *u = tensor_new(c, DT_F64, 3, (int64_t[]){times, n, n});
	for (int64_t i = 0; i < times; i++) ((double *)(void *)t->data)[i] = 0.5 * (double)i;
	for (int64_t i = 0; i < u->count; i++)
		((double *)(void *)u->data)[i] = (double)(i % 1000) + (double)times;
	Value v[2] = {value_tensor(u), {.kind = V_UNSET}},
		  point = value_record(c, 1, (Atom[]){atom(c, "u")}, v);
	v[0] = value_tensor(t);
	v[1] = point;
	Value made = value_record(c, 2, (Atom[]){atom(c, "times"), atom(c, "point")}, v);
	value_unref(value_tensor(u));
	value_unref(v[0]);
	value_unref(point);
	return made;
}

/* A set of files appears complete or not at all. Each allocation fails in turn,
 * polls interrupt, the disk is full, and one of the files cannot be written. */
static void test_series(void) {
	char path[300], piece[300], blocked[300];
	snprintf(path, sizeof path, "%s/series & one.pvd", folder);
	snprintf(piece, sizeof piece, "%s/series & one_00001.vti", folder);
	snprintf(blocked, sizeof blocked, "%s/series & one_00003.vti", folder);
	Ctx *c = fresh();
	Value small = series(c, 2, 3), large = series(c, 5, 200), back;
	CHECK(save(c, path, small, false) == ST_OK && files_there() == 3);
	CHECK(load(c, path, &back) == ST_OK);
	Value times = value_field(back, atom(c, "times")),
		  pieces = value_field(back, atom(c, "pieces"));
	CHECK(times.kind == V_TENSOR && times.tensor->count == 2 &&
	      ((double *)(void *)times.tensor->data)[1] == 0.5 && pieces.kind == V_LIST &&
	      pieces.object->n == 2);
	value_unref(back);
	size_t n, m;
	uint8_t *old = read_file(path, &n), *first = read_file(piece, &m);
	const int there = files_there();
	int failures = 0;
#define UNTOUCHED()                                                                                \
	(files_there() == there && same_bytes(path, old, n) && same_bytes(piece, first, m))
	for (uint64_t k = 1; k < 2000; k++) {
		diag_clear(c);
		fail_at = k;
		Status st = save(c, path, large, true);
		if (st == ST_OK) break;
		failures++;
		CHECK(st == ST_NOMEM && UNTOUCHED());
	}
	CHECK(failures > 0 && files_there() == 6);
	diag_clear(c);
	for (int i = 0; i < 5; i++) {
		char name[300];
		snprintf(name, sizeof name, "%s/series & one_%05d.vti", folder, i);
		CHECK(!unlink(name));
	}
	CHECK(save(c, path, small, false) == ST_OK && UNTOUCHED());
	int stopped = 0;
	for (uint64_t k = 1; k < 8; k++) {
		diag_clear(c);
		ctx_interrupt_at_poll(c, k);
		Status st = save(c, path, large, false);
		ctx_clear_interrupt(c);
		ctx_interrupt_at_poll(c, 0);
		if (st == ST_OK) break;
		stopped++;
		CHECK(st == ST_INTERRUPTED && UNTOUCHED());
	}
	CHECK(stopped > 0);
	struct rlimit was, limit;
	getrlimit(RLIMIT_FSIZE, &was);
	limit = was;
	limit.rlim_cur = 100000;
	setrlimit(RLIMIT_FSIZE, &limit);
	diag_clear(c);
	Status st = save(c, path, large, false);
	setrlimit(RLIMIT_FSIZE, &was);
	CHECK(st == ST_ERROR && UNTOUCHED());
	CHECK(!mkdir(blocked, 0700));
	diag_clear(c);
	CHECK(save(c, path, large, false) == ST_ERROR &&
	      strstr(diag_at(c, 0)->message, "this is a folder") && files_there() == there + 1);
	rmdir(blocked);
	CHECK(UNTOUCHED());
#undef UNTOUCHED
	/* A collection that lacks one of its files. */
	unlink(piece);
	diag_clear(c);
	CHECK(load(c, path, &back) == ST_ERROR && strstr(diag_at(c, 0)->message, "one_00001.vti"));
	unlink(path);
	snprintf(piece, sizeof piece, "%s/series & one_00000.vti", folder);
	unlink(piece);
	CHECK(files_there() == 0);
	free(old);
	free(first);
	value_unref(small);
	value_unref(large);
	ctx_free(c);
}

/* Reads an image of one array, whose text is n times the given one, as bytes in
 * memory. */
static Status read_image(Ctx *c, const char *before, const char *text, size_t n) {
	const char *const head = "<VTKFile type='ImageData'><ImageData WholeExtent='0 2 0 0 0 0'>"
							 "<Piece Extent='0 2 0 0 0 0'><PointData>"
							 "<DataArray type='Float64' Name='u'>1 2 3",
					  *const tail = "</DataArray></PointData></Piece></ImageData></VTKFile>";
	const size_t room = strlen(before) + strlen(head) + n * strlen(text) + strlen(tail) + 1;
	char *all = malloc(room), *to = all + sprintf(all, "%s%s", before, head);
	for (size_t i = 0; i < n; i++) to += sprintf(to, "%s", text);
	to += sprintf(to, "%s", tail);
	Value v;
	diag_clear(c);
	const size_t held = heap_used(c);
	Status st = data_read_memory(c, "vti", "some.vti", all, (size_t)(to - all), &v);
	value_unref(v);
	CHECK(heap_used(c) < held + 70000);
	free(all);
	return st;
}

/* expat's memory and ours count in the account, and ^C and limits stop it. */
static void test_xml(void) {
	Ctx *c = fresh();
	CHECK(read_image(c, "", " ", 4000000) == ST_OK);
	/* tags that are longer than a piece of the file */
	CHECK(read_image(c, "", "<a b='", 1) == ST_ERROR);
	char *comment = malloc(5000000);
	memset(comment, ' ', 5000000);
	memcpy(comment, "<!--", 4);
	memcpy(comment + 4999996, "-->", 4);
	heap_set_limit(c, heap_used(c) + ((size_t)64 << 20));
	CHECK(read_image(c, comment, " ", 1) == ST_OK);
	heap_set_limit(c, heap_used(c) + ((size_t)2 << 20));
	CHECK(read_image(c, comment, " ", 1) == ST_NOMEM && strstr(diag_at(c, 0)->message, "some.vti"));
	CHECK(read_image(c, "", " ", 4000000) == ST_NOMEM);
	CHECK(read_image(c, "", "<a/>", 100000) == ST_NOMEM);
	heap_set_limit(c, 0);
	free(comment);
	for (uint64_t k = 1; k <= 3; k++) {
		ctx_interrupt_at_poll(c, k);
		CHECK(read_image(c, "", " ", 4000000) == ST_INTERRUPTED);
		ctx_clear_interrupt(c);
	}
	ctx_interrupt_at_poll(c, 0);
	int failures = 0;
	for (uint64_t k = 1; k < 200; k++) {
		heap_fail_at(c, k, false);
		const Status st = read_image(c, "<!DOCTYPE a [<!ENTITY b 'c'>]>", "<!-- -->&#32;", 20);
		heap_fail_at(c, 0, false);
		if (st == ST_OK) break;
		failures++;
		CHECK(st == ST_NOMEM);
	}
	CHECK(failures > 10);
	ctx_free(c);
}

int main(void) {
	snprintf(folder, sizeof folder, "/tmp/atled-test-data-%ld", (long)getpid());
	if (mkdir(folder, 0700)) return 2;
	test_all_samples();
	const char *const endings[] = {"npy", "npz", "csv", "json", "h5", "vti"};
	for (int i = 0; i < 6; i++) {
		test_memory(endings[i]);
		test_stopped(endings[i]);
	}
	test_series();
	test_xml();
	test_places();
	rmdir(folder);
	return check_end();
}
