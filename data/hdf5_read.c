/* hdf5_read.c - reading of HDF5 files in a process of its own.
 *
 * Needs: data/hdf5_library.h.
 *
 * Method: libhdf5 crashes on some damaged files and does not end on others. So
 * a forked process reads the file and tells through a pipe what it has
 * (hdf5_tell.c). This process builds the value, polls for interrupts and limits
 * while it waits, and ends the other one.
 *
 * Contract:
 * - Every dtype and rank, and the order of fields, are restored. Lists,
 *   functions and similar values are groups with the attribute `atled_kind`
 *   (value_tree.c).
 * - Nothing that the other process tells is trusted: the library may have
 *   overwritten its memory.
 * - The other process ends before the call does, or with this thread.
 */
#define _GNU_SOURCE /* pipe2, F_SETPIPE_SZ */
#include "data/hdf5_library.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	WAIT_MS = 20, /* between two polls */
	PIPE_BYTES = 1 << 20,
	TEXT_MOST = 1 << 30, /* bytes of a string */
	MESSAGE_MOST = 4000
};
/* Bytes of memory for the library, beyond those of the context. */
#define LIBRARY_MEMORY ((uint64_t)512 << 20)

typedef struct Told {
	Input *in;
	Ctx *c;
	int fd;
	pid_t child;
	size_t at, held;
	char buffer[1 << 16];
} Told;

/* ---- the other process --------------------------------------------------- */

/* Bounds the memory of this process to what it has now, and what the context
 * may still allocate. */
static void bound_memory(Ctx *c) {
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (f && fscanf(f, "%llu", &pages) != 1) pages = 0;
	if (f) fclose(f);
	const uint64_t limit = heap_limit(c), used = heap_used(c),
				   now = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	if (!pages || !limit) return;
	const rlim_t most = now + (limit > used ? limit - used : 0) + LIBRARY_MEMORY;
	setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
}

static void prepare_process(Ctx *c, pid_t parent) {
	static const int ends[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM, SIGPIPE, SIGPROF};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) _exit(1);
	/* the handlers of the program mean its own process */
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) signal(ends[i], SIG_DFL);
	signal(SIGINT, SIG_IGN);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	/* what the C library says when memory is damaged */
	const int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (quiet >= 0) dup2(quiet, 2);
	bound_memory(c);
}

static Status start(Told *t) {
	Input *in = t->in;
	int ends[2];
	if (pipe2(ends, O_CLOEXEC)) return input_bad(in, "%s", strerror(errno));
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
	const pid_t parent = getpid();
	/* No other thread is inside the library while the process is copied. */
	pthread_mutex_lock(&hdf5_lock);
	const char *missing = hdf5_open_library();
	t->child = missing ? -1 : fork();
	const int why = errno;
	if (!t->child) {
		prepare_process(t->c, parent);
		hdf5_tell(ends[1], in->fd, in->mem, in->size);
	}
	pthread_mutex_unlock(&hdf5_lock);
	close(ends[1]);
	t->fd = ends[0];
	fcntl(t->fd, F_SETFL, O_NONBLOCK);
	if (missing) return input_bad(in, "%s", missing);
	if (t->child < 0)
		return input_bad(in, "the process that reads it does not start: %s", strerror(why));
	return ST_OK;
}

static void end_process(Told *t) {
	if (t->child > 0) {
		kill(t->child, SIGKILL);
		while (waitpid(t->child, NULL, 0) < 0 && errno == EINTR) {}
	}
	if (t->fd >= 0) close(t->fd);
}

static Status damaged(const Told *t) {
	return input_bad(t->in, "the HDF5 library fails on this file: it is damaged");
}

/* ---- receiving ----------------------------------------------------------- */

/* Waits for bytes, and reads at most `most` of them. *got 0: there are no more,
 * and the other process has ended. */
static Status receive(Told *t, void *to, size_t most, size_t *got) {
	for (;;) {
		const ssize_t n = read(t->fd, to, most);
		const int why = errno;
		const Status st = ctx_poll(t->c, 256);
		if (st != ST_OK) return st;
		if (n >= 0) return *got = (size_t)n, ST_OK;
		if (why == EAGAIN) poll(&(struct pollfd){.fd = t->fd, .events = POLLIN}, 1, WAIT_MS);
		else if (why != EINTR) return input_bad(t->in, "%s", strerror(why));
	}
}

static Status take(Told *t, void *to, uint64_t n) {
	char *out = to;
	while (n) {
		size_t some;
		Status st = ST_OK;
		if (t->at < t->held) {
			some = t->held - t->at < n ? t->held - t->at : (size_t)n;
			memcpy(out, t->buffer + t->at, some);
			t->at += some;
		} else if (n >= sizeof t->buffer) {
			st = receive(t, out, n < PIPE_BYTES ? n : PIPE_BYTES, &some);
			if (st == ST_OK && !some) st = damaged(t);
		} else {
			t->at = some = 0;
			st = receive(t, t->buffer, sizeof t->buffer, &t->held);
			if (st == ST_OK && !t->held) st = damaged(t);
		}
		if (st != ST_OK) return st;
		out += some;
		n -= some;
	}
	return ST_OK;
}

static Status take_end(Told *t) {
	size_t more = t->held - t->at;
	char one;
	const Status st = more ? ST_OK : receive(t, &one, 1, &more);
	return st == ST_OK && more ? damaged(t) : st;
}

static Status take_number(Told *t, uint64_t most, uint64_t *n) {
	const Status st = take(t, n, sizeof *n);
	return st != ST_OK ? st : *n > most ? damaged(t) : ST_OK;
}

/* Takes UTF-8 text without zero bytes onto the heap; to be freed with n + 1
 * bytes. */
static Status take_text(Told *t, char **text, uint64_t *n) {
	*text = NULL;
	Status st = take_number(t, TEXT_MOST, n);
	if (st != ST_OK) return st;
	*text = heap_alloc(t->c, *n + 1);
	if (!*text) return data_no_memory(t->c, t->in->path, *n);
	st = take(t, *text, *n);
	(*text)[*n] = 0;
	size_t wrong;
	if (st == ST_OK && (!utf8_valid(*text, *n, &wrong) || strlen(*text) != *n)) st = damaged(t);
	if (st != ST_OK) {
		heap_free(t->c, *text, *n + 1);
		*text = NULL;
	}
	return st;
}

static Status take_message(Told *t) {
	uint64_t n;
	char text[MESSAGE_MOST + 1];
	Status st = take_number(t, MESSAGE_MOST, &n);
	if (st == ST_OK) st = take(t, text, n);
	if (st != ST_OK) return st;
	text[n] = 0;
	return input_bad(t->in, "%s", text);
}

static Status take_string(Told *t, Value *out) {
	char *text;
	uint64_t n;
	const Status st = take_text(t, &text, &n);
	if (st != ST_OK) return st;
	*out = value_string(t->c, text, n);
	heap_free(t->c, text, n + 1);
	return out->kind == V_UNSET ? data_no_memory(t->c, t->in->path, n) : ST_OK;
}

static Status take_list(Told *t, Value *out) {
	uint64_t n, made = 0;
	Status st = take_number(t, UINT32_MAX / 2, &n);
	if (st != ST_OK) return st;
	Value *items = heap_alloc(t->c, (n + 1) * sizeof *items);
	if (!items) return data_no_memory(t->c, t->in->path, n * sizeof *items);
	while (made < n && st == ST_OK) {
		st = take_string(t, &items[made]);
		if (st == ST_OK) made++;
	}
	if (st == ST_OK) {
		*out = value_seq(t->c, V_LIST, (uint32_t)n, items);
		if (out->kind == V_UNSET) st = data_no_memory(t->c, t->in->path, n);
	}
	for (uint64_t i = 0; i < made; i++) value_unref(items[i]);
	heap_free(t->c, items, (n + 1) * sizeof *items);
	return st;
}

static Status take_array(Told *t, Value *out) {
	uint64_t dtype, rank, extent, n;
	int64_t shape[MAX_RANK];
	Status st = take_number(t, DT_COUNT - 1, &dtype);
	if (st == ST_OK) st = take_number(t, MAX_RANK, &rank);
	for (uint64_t i = 0; st == ST_OK && i < rank; i++) {
		st = take_number(t, INT64_MAX, &extent);
		if (st == ST_OK) shape[i] = (int64_t)extent;
	}
	if (st != ST_OK) return st;
	Tensor *a;
	st = input_tensor(t->in, (Dtype)dtype, (uint32_t)rank, shape, &a);
	if (st != ST_OK) return st;
	const uint64_t bytes = (uint64_t)a->count * dtype_size((Dtype)dtype);
	for (uint64_t at = 0; at < bytes && st == ST_OK; at += n) {
		st = take_number(t, UINT64_MAX, &n);
		if (st != ST_OK) break;
		if (n == HDF5_NO_PIECE) st = take_message(t);
		else if (!n || n > bytes - at) st = damaged(t);
		else st = take(t, a->data + at, n);
	}
	if (st == ST_OK) *out = value_from_tensor(a);
	else tensor_unref(a);
	return st;
}

static Status take_item(Told *t, int depth, Value *out);

static Status take_fields(Told *t, int depth, Fields *f) {
	for (;;) {
		char tag, *name;
		uint64_t n;
		Status st = take(t, &tag, 1);
		if (st != ST_OK || tag == HDF5_END) return st;
		if (tag == HDF5_MESSAGE) return take_message(t);
		if (tag != HDF5_FIELD) return damaged(t);
		st = take_text(t, &name, &n);
		if (st != ST_OK) return st;
		Value v = {.kind = V_UNSET};
		st = take_item(t, depth + 1, &v);
		if (st == ST_OK) fields_add(f, name, n, v);
		heap_free(t->c, name, n + 1);
		if (st != ST_OK) return st;
		if (f->failed) return data_no_memory(t->c, t->in->path, 64);
	}
}

static Status take_record(Told *t, int depth, Value *out) {
	Fields f;
	fields_init(&f, t->c);
	const Status st = take_fields(t, depth, &f);
	if (st != ST_OK) {
		fields_free(&f);
		return st;
	}
	*out = fields_record(&f);
	return out->kind == V_UNSET ? data_no_memory(t->c, t->in->path, 64) : ST_OK;
}

static Status take_item(Told *t, int depth, Value *out) {
	char tag;
	const Status st = take(t, &tag, 1);
	if (st != ST_OK) return st;
	switch (tag) {
	case HDF5_RECORD: return depth > DEEPEST + 1 ? damaged(t) : take_record(t, depth, out);
	case HDF5_NONE: return *out = value_none(), ST_OK;
	case HDF5_STRING: return take_string(t, out);
	case HDF5_LIST: return take_list(t, out);
	case HDF5_ARRAY: return take_array(t, out);
	case HDF5_MESSAGE: return take_message(t);
	default: return damaged(t);
	}
}

/* ---- reading ------------------------------------------------------------- */

static Status take_file(Told *t, Value *out) {
	Value tree = {.kind = V_UNSET};
	Status st = start(t);
	if (st == ST_OK) st = take_item(t, 0, &tree);
	if (st == ST_OK) st = take_end(t);
	end_process(t);
	if (st == ST_OK) {
		const char *kind = tree_kind(t->c, tree);
		Atom a;
		if (kind && !strcmp(kind, "value") && atom_try(t->c, "value", 5, &a) &&
		    value_field(tree, a).kind != V_UNSET)
			st = tree_in(t->c, t->in->path, value_field(tree, a), out);
		else st = tree_in(t->c, t->in->path, tree, out);
	}
	value_unref(tree);
	return st;
}

Status hdf5_read(Input *in, const IoOptions *o, Value *out) {
	(void)o;
	if (in->size < 8)
		return input_bad_byte(in, in->size, "the file ends before an HDF5 file could");
	Told *t = heap_alloc(in->c, sizeof *t);
	if (!t) return data_no_memory(in->c, in->path, sizeof *t);
	*t = (Told){.in = in, .c = in->c, .fd = -1, .child = -1};
	const Status st = take_file(t, out);
	heap_free(in->c, t, sizeof *t);
	return st;
}
