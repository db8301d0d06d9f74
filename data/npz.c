/* npz.c - NumPy's .npz: a zip archive of .npy files, stored or deflated, as a
 * record.
 *
 * Needs: data/internal.h, zlib.
 *
 * Contract:
 * - Reads archives with and without zip64, and checks every member's checksum.
 * - A / in a member's name denotes a nested record, so nested records are
 *   restored. Values that are not arrays become members named `.kind` and 0, 1
 *   ... (value_tree.c).
 */
#include "data/internal.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { PIECE = 1 << 16, MEMBERS_MOST = 1 << 16, NAME_MOST = 4096 };

static uint32_t le2(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }
static uint32_t le4(const uint8_t *p) { return le2(p) | le2(p + 2) << 16; }
static uint64_t le8(const uint8_t *p) { return le4(p) | (uint64_t)le4(p + 4) << 32; }

/* zlib allocates from the context; each block is preceded by its size. */
static void *z_alloc(void *ud, unsigned n, unsigned size) {
	size_t bytes = (size_t)n * size + 16;
	char *p = heap_alloc(ud, bytes);
	if (!p) return NULL;
	memcpy(p, &bytes, sizeof bytes);
	return p + 16;
}
static void z_free(void *ud, void *p) {
	if (!p) return;
	size_t bytes;
	memcpy(&bytes, (char *)p - 16, sizeof bytes);
	heap_free(ud, (char *)p - 16, bytes);
}

/* ---- reading ------------------------------------------------------------- */

typedef struct ZipMember {
	NpyStream stream; /* must be first: npy_from_stream receives it */
	Input *file;
	uint64_t next, packed; /* position in the file; compressed bytes still to be read */
	bool deflated, ended;
	z_stream z;
	uint32_t crc;
	uint8_t *piece;
} ZipMember;

static Status refill(ZipMember *m) {
	size_t n = m->packed < PIECE ? (size_t)m->packed : PIECE;
	Status st = input_read(m->file, m->next, m->piece, n);
	m->next += n;
	m->packed -= n;
	m->z.next_in = m->piece;
	m->z.avail_in = (uInt)n;
	return st;
}

static Status read_member(NpyStream *s, void *to, size_t n) {
	ZipMember *m = (ZipMember *)s;
	if (n > s->left)
		return input_bad(m->file, "%s: the member ends after %llu bytes, and more are wanted",
		                 s->part, (unsigned long long)s->at);
	uint8_t *p = to;
	for (size_t done = 0; done < n;) {
		size_t k = n - done < (1u << 20) ? n - done : 1u << 20;
		if (!m->deflated) {
			Status st = input_read(m->file, m->next, p + done, k);
			if (st != ST_OK) return st;
			m->next += k;
		} else {
			m->z.next_out = p + done;
			m->z.avail_out = (uInt)k;
			while (m->z.avail_out) {
				if (!m->z.avail_in && m->packed) {
					Status st = refill(m);
					if (st != ST_OK) return st;
				}
				int r = m->ended ? Z_STREAM_END : inflate(&m->z, Z_NO_FLUSH);
				if (r == Z_STREAM_END) {
					m->ended = true;
					if (m->z.avail_out)
						return input_bad(m->file, "%s: the compressed data end after %llu bytes",
						                 s->part,
						                 (unsigned long long)(s->at + done + k - m->z.avail_out));
				} else if (r == Z_MEM_ERROR) return data_no_memory(s->in->c, s->in->path, PIECE);
				else if (r != Z_OK || (!m->z.avail_in && !m->packed && m->z.avail_out))
					return input_bad_byte(m->file, m->next - m->z.avail_in,
					                      "%s: the compressed data are damaged", s->part);
			}
		}
		m->crc = (uint32_t)crc32(m->crc, p + done, (uInt)k);
		done += k;
		Status st = ctx_poll(s->in->c, k / 16);
		if (st != ST_OK) return st;
	}
	s->at += n;
	s->left -= n;
	return ST_OK;
}

/* A tree of nested records under construction. */
typedef struct RecordNode {
	char *name; /* heap, `bytes` long */
	size_t bytes;
	Value value; /* V_UNSET: a record */
	struct RecordNode *first, *last, *next;
} RecordNode;

static void node_free(Ctx *c, RecordNode *n) {
	for (RecordNode *k = n->first, *next; k; k = next) {
		next = k->next;
		node_free(c, k);
	}
	value_unref(n->value);
	if (n->name) heap_free(c, n->name, n->bytes);
	heap_free(c, n, sizeof *n);
}

static RecordNode *node_child(Ctx *c, RecordNode *of, const char *name, size_t n) {
	for (RecordNode *k = of->first; k; k = k->next)
		if (strlen(k->name) == n && !memcmp(k->name, name, n)) return k;
	RecordNode *k = heap_alloc(c, sizeof *k);
	if (!k) return NULL;
	*k = (RecordNode){.bytes = n + 1, .value = {.kind = V_UNSET}, .name = heap_alloc(c, n + 1)};
	if (!k->name) {
		heap_free(c, k, sizeof *k);
		return NULL;
	}
	memcpy(k->name, name, n);
	k->name[n] = 0;
	if (of->last) of->last->next = k;
	else of->first = k;
	of->last = k;
	return k;
}

static Value node_value(Ctx *c, const RecordNode *n) {
	if (n->value.kind != V_UNSET) return value_ref(n->value);
	Fields f;
	fields_init(&f, c);
	for (const RecordNode *k = n->first; k; k = k->next) {
		char plain[NAME_MOST];
		size_t len = name_unescape(k->name, strlen(k->name), plain, sizeof plain);
		fields_add(&f, plain, len, node_value(c, k));
	}
	return fields_record(&f);
}

static Status place(Input *in, RecordNode *root, const char *name, Value v) {
	RecordNode *at = root;
	int depth = 0;
	bool twice = false;
	for (const char *p = name; *p && at && !twice && depth <= DEEPEST; depth++) {
		size_t n = strcspn(p, "/");
		twice = at->value.kind != V_UNSET;
		if (n) at = node_child(in->c, at, p, n);
		p += n + (p[n] == '/');
	}
	Status st = ST_OK;
	if (!at) st = data_no_memory(in->c, in->path, sizeof(RecordNode));
	else if (depth > DEEPEST) st = input_bad(in, "the name of a member is nested too deeply");
	else if (twice || at == root || at->first || at->value.kind != V_UNSET)
		st = input_bad(in, "two members are named %.100s", name);
	if (st == ST_OK) at->value = v;
	else value_unref(v);
	return st;
}

typedef struct DirectoryEntry {
	char name[NAME_MOST];
	uint32_t method, crc;
	uint64_t packed, size, header;
} DirectoryEntry;

static Status read_entry(Input *in, const DirectoryEntry *e, RecordNode *root, uint8_t *piece) {
	uint8_t h[30];
	Status st = input_read(in, e->header, h, 30);
	if (st != ST_OK) return st;
	if (le4(h) != 0x04034b50)
		return input_bad_byte(in, e->header,
		                      "no member begins here, though the archive's list says so");
	const uint64_t from = e->header + 30 + le2(h + 26) + le2(h + 28);
	if (from > in->size || e->packed > in->size - from)
		return input_bad_byte(in, in->size, "%s: the file ends before the member does", e->name);
	if (e->method != 0 && e->method != 8)
		return input_bad_byte(in, e->header,
		                      "%s: compressed by method %u, of which only deflate (8) is read",
		                      e->name, e->method);
	if (e->method == 0 && e->packed != e->size)
		return input_bad_byte(in, e->header, "%s: stored, but with two sizes", e->name);
	if (e->method == 8 && e->size / 1100 > e->packed)
		return input_bad_byte(in, e->header,
		                      "%s: says it holds %llu bytes, which %llu compressed ones cannot",
		                      e->name, (unsigned long long)e->size, (unsigned long long)e->packed);
	ZipMember m = {.stream = {.read = read_member, .in = in, .part = e->name, .left = e->size},
	               .file = in,
	               .next = from,
	               .packed = e->packed,
	               .deflated = e->method == 8,
	               .piece = piece};
	m.z.zalloc = z_alloc;
	m.z.zfree = z_free;
	m.z.opaque = in->c;
	m.crc = (uint32_t)crc32(0, NULL, 0);
	if (m.deflated && inflateInit2(&m.z, -15) != Z_OK)
		return data_no_memory(in->c, in->path, PIECE);
	Value v = {.kind = V_UNSET};
	st = npy_from_stream(&m.stream, &v);
	uint8_t rest[256];
	while (st == ST_OK && m.stream.left)
		st = read_member(&m.stream, rest,
		                 m.stream.left < sizeof rest ? (size_t)m.stream.left : sizeof rest);
	if (m.deflated) inflateEnd(&m.z);
	if (st == ST_OK && m.crc != e->crc)
		st = input_bad_byte(in, from, "%s: the checksum does not fit: the data are damaged",
		                    e->name);
	if (st != ST_OK) {
		value_unref(v);
		return st;
	}
	char name[NAME_MOST];
	snprintf(name, sizeof name, "%.*s",
	         (int)strlen(e->name) -
	             (strlen(e->name) > 4 && !strcmp(e->name + strlen(e->name) - 4, ".npy") ? 4 : 0),
	         e->name);
	return place(in, root, name, v);
}

/* Reads the zip64 extra field, which holds sizes and offsets above 32 bits. */
static bool zip64_field(const uint8_t *x, size_t n, DirectoryEntry *e) {
	for (size_t i = 0; i + 4 <= n;) {
		size_t len = le2(x + i + 2), at = i + 4;
		if (at + len > n) return false;
		if (le2(x + i) == 1) {
			uint64_t *want[3] = {&e->size, &e->packed, &e->header};
			for (int k = 0; k < 3; k++)
				if (*want[k] == 0xffffffffu) {
					if (at + 8 > i + 4 + len) return false;
					*want[k] = le8(x + at);
					at += 8;
				}
			return true;
		}
		i = at + len;
	}
	return e->size != 0xffffffffu && e->packed != 0xffffffffu && e->header != 0xffffffffu;
}

/* Locates the central directory from the end record. */
static Status find_list(Input *in, uint64_t *at, uint64_t *bytes, uint64_t *n) {
	uint8_t *tail = NULL;
	const size_t most = in->size < 66000 ? (size_t)in->size : 66000;
	if (most < 22) return input_bad_byte(in, in->size, "the file ends before an archive could");
	if (!(tail = heap_alloc(in->c, most))) return data_no_memory(in->c, in->path, most);
	Status st = input_read(in, in->size - most, tail, most);
	int64_t k = (int64_t)most - 22;
	while (st == ST_OK && k >= 0 &&
	       !(le4(tail + k) == 0x06054b50 && (size_t)k + 22 + le2(tail + k + 20) <= most))
		k--;
	if (st == ST_OK && k < 0)
		st = input_bad_byte(
			in, in->size,
			le4(tail) == 0x04034b50 || most == 66000
				? "the list of members at the end of the archive is missing: the file was cut off"
				: "this is no zip archive");
	if (st == ST_OK) {
		*n = le2(tail + k + 10);
		*bytes = le4(tail + k + 12);
		*at = le4(tail + k + 16);
		uint64_t end = in->size - most + (uint64_t)k;
		uint8_t far[56];
		if ((*n == 0xffff || *bytes == 0xffffffffu || *at == 0xffffffffu) && end >= 20) {
			st = input_read(in, end - 20, far, 20);
			if (st == ST_OK && le4(far) == 0x07064b50) {
				st = input_read(in, le8(far + 8), far, 56);
				if (st == ST_OK && le4(far) != 0x06064b50)
					st = input_bad_byte(in, end, "the record of a large archive is missing");
				if (st == ST_OK) {
					*n = le8(far + 32);
					*bytes = le8(far + 40);
					*at = le8(far + 48);
				}
			}
		}
	}
	heap_free(in->c, tail, most);
	if (st == ST_OK && (*at > in->size || *bytes > in->size - *at))
		st = input_bad_byte(in, in->size, "the list of members is not within the file");
	if (st == ST_OK && (*n > MEMBERS_MOST || *n > *bytes / 46))
		st = input_bad_byte(in, *at, "the list of members is shorter than it says");
	return st;
}

Status npz_read(Input *in, const IoOptions *o, Value *out) {
	(void)o;
	uint64_t at = 0, bytes = 0, n = 0;
	Status st = find_list(in, &at, &bytes, &n);
	if (st != ST_OK) return st;
	const uint64_t list_end = at + bytes;
	DirectoryEntry *e = heap_alloc(in->c, sizeof *e);
	uint8_t *piece = heap_alloc(in->c, PIECE), *extra = heap_alloc(in->c, 65536);
	RecordNode *root = heap_alloc(in->c, sizeof *root);
	if (root) *root = (RecordNode){.value = {.kind = V_UNSET}};
	if (!e || !piece || !extra || !root) st = data_no_memory(in->c, in->path, 2 * PIECE);
	for (uint64_t i = 0; i < n && st == ST_OK; i++) {
		uint8_t h[46];
		st = input_read(in, at, h, 46);
		if (st == ST_OK && (le4(h) != 0x02014b50 || at + 46 > list_end))
			st = input_bad_byte(in, at, "the list of members is damaged");
		if (st != ST_OK) break;
		const size_t name = le2(h + 28), more = le2(h + 30), comment = le2(h + 32);
		if (name >= NAME_MOST - 1)
			st = input_bad_byte(in, at, "a member's name has %zu bytes", name);
		if (st == ST_OK) st = input_read(in, at + 46, e->name, name);
		if (st == ST_OK) st = input_read(in, at + 46 + name, extra, more);
		if (st != ST_OK) break;
		e->name[name] = 0;
		size_t wrong;
		if (strlen(e->name) != name || !utf8_valid(e->name, name, &wrong))
			st = input_bad_byte(in, at + 46, "a member's name is not UTF-8");
		e->method = le2(h + 10);
		e->crc = le4(h + 16);
		e->packed = le4(h + 20);
		e->size = le4(h + 24);
		e->header = le4(h + 42);
		if (st == ST_OK && !zip64_field(extra, more, e))
			st = input_bad_byte(in, at, "%s: the sizes of a large member are missing", e->name);
		if (st == ST_OK && (le2(h + 8) & 1))
			st = input_bad_byte(in, at, "%s: the member is encrypted", e->name);
		if (st == ST_OK && name && e->name[name - 1] != '/') st = read_entry(in, e, root, piece);
		at += 46 + name + more + comment;
		if (st == ST_OK) st = ctx_poll(in->c, 64 + i / 64);
	}
	if (st == ST_OK) {
		Value v = node_value(in->c, root);
		st = v.kind == V_UNSET ? data_no_memory(in->c, in->path, sizeof(Value))
		                       : tree_in(in->c, in->path, v, out);
		value_unref(v);
	}
	if (root) node_free(in->c, root);
	heap_free(in->c, e, sizeof *e);
	heap_free(in->c, piece, PIECE);
	heap_free(in->c, extra, 65536);
	return st;
}

/* ---- writing ------------------------------------------------------------- */

typedef struct ZipEntry {
	uint64_t header, packed, size;
	uint32_t crc;
	bool deflated;
	char *name; /* heap */
	struct ZipEntry *next;
} ZipEntry;

typedef struct Zip {
	OutputFile *out;
	bool compress;
	ZipEntry *first, *last;
	ZipEntry *now;
	z_stream z;
	uint8_t *piece;
	uint64_t n;
} Zip;

static void put2(uint8_t *p, uint32_t v) { p[0] = (uint8_t)v, p[1] = (uint8_t)(v >> 8); }
static void put4(uint8_t *p, uint32_t v) { put2(p, v), put2(p + 2, v >> 16); }
static void put8(uint8_t *p, uint64_t v) { put4(p, (uint32_t)v), put4(p + 4, (uint32_t)(v >> 32)); }
static uint32_t narrow(uint64_t v) { return v >= 0xffffffffu ? 0xffffffffu : (uint32_t)v; }

static void put_member(void *ud, const void *bytes, size_t n) {
	Zip *z = ud;
	for (size_t done = 0; done < n && z->out->status == ST_OK;) {
		size_t k = n - done < (1u << 20) ? n - done : 1u << 20;
		const uint8_t *p = (const uint8_t *)bytes + done;
		z->now->crc = (uint32_t)crc32(z->now->crc, p, (uInt)k);
		done += k;
		if (!z->compress) {
			output_add(z->out, p, k);
			continue;
		}
		z->z.next_in = (Bytef *)p;
		z->z.avail_in = (uInt)k;
		while (z->z.avail_in && z->out->status == ST_OK) {
			z->z.next_out = z->piece;
			z->z.avail_out = PIECE;
			deflate(&z->z, Z_NO_FLUSH);
			output_add(z->out, z->piece, PIECE - z->z.avail_out);
			Status st = ctx_poll(z->out->c, k / 16);
			if (st != ST_OK) z->out->status = st;
		}
	}
}

static Status write_member(Zip *z, const char *name, Value v) {
	OutputFile *out = z->out;
	const size_t len = strlen(name) + 5;
	ZipEntry *w = heap_alloc(out->c, sizeof *w);
	if (!w) return out->status = ST_NOMEM;
	*w = (ZipEntry){.header = out->at,
	                .deflated = z->compress,
	                .crc = (uint32_t)crc32(0, NULL, 0),
	                .name = heap_alloc(out->c, len)};
	if (z->last) z->last->next = w;
	else z->first = w;
	z->last = z->now = w;
	z->n++;
	if (!w->name) return out->status = ST_NOMEM;
	snprintf(w->name, len, "%s.npy", name);
	npy_put(out->c, v, NULL, NULL, &w->size);
	const bool wide = w->size >= 0xf0000000u;
	uint8_t h[30 + 20] = {0};
	put4(h, 0x04034b50);
	put2(h + 4, wide ? 45 : 20);
	put2(h + 6, 0x800); /* flag: the name is UTF-8 */
	put2(h + 8, z->compress ? 8 : 0);
	put2(h + 12, 0x21); /* 1 January 1980: equal values give equal files */
	put2(h + 26, (uint32_t)len - 1);
	put2(h + 28, wide ? 20 : 0);
	put2(h + 30, 1);
	put2(h + 32, 16);
	output_add(out, h, 30);
	output_add(out, w->name, len - 1);
	output_add(out, h + 30, wide ? 20 : 0);
	const uint64_t start = out->at;
	if (z->compress) {
		z->z = (z_stream){.zalloc = z_alloc, .zfree = z_free, .opaque = out->c};
		if (deflateInit2(&z->z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
			return out->status = ST_NOMEM;
	}
	Status st = npy_put(out->c, v, put_member, z, NULL);
	if (st != ST_OK && out->status == ST_OK) out->status = st;
	if (z->compress) {
		int r = Z_OK;
		while (r == Z_OK && out->status == ST_OK) {
			z->z.next_out = z->piece;
			z->z.avail_out = PIECE;
			r = deflate(&z->z, Z_FINISH);
			output_add(out, z->piece, PIECE - z->z.avail_out);
		}
		deflateEnd(&z->z);
	}
	w->packed = out->at - start;
	put4(h, w->crc);
	put4(h + 4, wide ? 0xffffffffu : narrow(w->packed));
	put4(h + 8, wide ? 0xffffffffu : narrow(w->size));
	output_patch(out, w->header + 14, h, 12);
	if (wide) {
		put8(h, w->size);
		put8(h + 8, w->packed);
		output_patch(out, w->header + 30 + len - 1 + 4, h, 16);
	}
	return out->status;
}

static Status write_tree(Zip *z, const char *path, size_t n, Value v, int depth) {
	if (v.kind != V_RECORD) return write_member(z, path, v);
	const RecordObject *r = (const RecordObject *)v.object;
	Status st = ST_OK;
	for (uint32_t i = 0; i < r->head.n && st == ST_OK; i++) {
		char name[NAME_MOST];
		Atom a = r->fields[i].name;
		size_t k = n;
		memcpy(name, path, n);
		if (depth) name[k++] = '/';
		if (n + 3 * atom_length(z->out->c, a) + 16 > NAME_MOST)
			return output_bad(z->out, "a field's name is too long for this format");
		name_escape(atom_text(z->out->c, a), atom_length(z->out->c, a), name + k,
		            NAME_MOST - k - 8);
		st = write_tree(z, name, strlen(name), r->fields[i].value, depth + 1);
	}
	return st;
}

/* A single array is stored like NumPy's savez. */
static Status write_alone(OutputFile *out, const IoOptions *o, Value v) {
	const Atom name = atom(out->c, "arr_0");
	const Value record = value_record(out->c, 1, &name, &v);
	if (record.kind == V_UNSET) return ST_NOMEM;
	const Status st = npz_write(out, o, record);
	value_unref(record);
	return st;
}

Status npz_write(OutputFile *out, const IoOptions *o, Value v) {
	if (value_is_array(v)) return write_alone(out, o, v);
	if (v.kind != V_RECORD && v.kind != V_TUPLE && v.kind != V_LIST)
		return output_bad(out, "an .npz file holds arrays: save(path, x), or a record of them, "
		                       "save(path, (x = x, y = y))");
	if (out->direct) return output_bad(out, "this format cannot be written to a pipe");
	Zip z = {.out = out, .compress = o->compress, .piece = heap_alloc(out->c, PIECE)};
	Value tree = {.kind = V_UNSET};
	Status st = z.piece ? tree_out(out->c, out->path, v, &tree) : ST_NOMEM;
	if (st == ST_OK) st = write_tree(&z, "", 0, tree, 0);
	value_unref(tree);
	const uint64_t list = out->at;
	for (ZipEntry *w = z.first; w && st == ST_OK; w = w->next) {
		const size_t len = strlen(w->name);
		const bool wide =
			w->size >= 0xf0000000u || w->packed >= 0xffffffffu || w->header >= 0xffffffffu;
		uint8_t h[46 + 28] = {0};
		put4(h, 0x02014b50);
		put2(h + 4, 0x300 | 45); /* made on a Unix */
		put2(h + 6, wide ? 45 : 20);
		put2(h + 8, 0x800);
		put2(h + 10, w->deflated ? 8 : 0);
		put2(h + 14, 0x21);
		put4(h + 16, w->crc);
		put4(h + 20, wide ? 0xffffffffu : narrow(w->packed));
		put4(h + 24, wide ? 0xffffffffu : narrow(w->size));
		put2(h + 28, (uint32_t)len);
		put2(h + 30, wide ? 28 : 0);
		put4(h + 38, 0644u << 16 | 0x80000000u);
		put4(h + 42, wide ? 0xffffffffu : narrow(w->header));
		put2(h + 46, 1);
		put2(h + 48, 24);
		put8(h + 50, w->size);
		put8(h + 58, w->packed);
		put8(h + 66, w->header);
		output_add(out, h, 46);
		output_add(out, w->name, len);
		output_add(out, h + 46, wide ? 28 : 0);
		st = out->status;
	}
	if (st == ST_OK) {
		const uint64_t end = out->at;
		uint8_t h[56 + 20 + 22] = {0};
		put4(h, 0x06064b50);
		put8(h + 4, 44);
		put2(h + 12, 45);
		put2(h + 14, 45);
		put8(h + 24, z.n);
		put8(h + 32, z.n);
		put8(h + 40, end - list);
		put8(h + 48, list);
		put4(h + 56, 0x07064b50);
		put8(h + 64, end);
		put4(h + 72, 1);
		if (z.n >= 0xffff || end >= 0xffffffffu) output_add(out, h, 76);
		put4(h + 76, 0x06054b50);
		put2(h + 84, z.n >= 0xffff ? 0xffff : (uint32_t)z.n);
		put2(h + 86, z.n >= 0xffff ? 0xffff : (uint32_t)z.n);
		put4(h + 88, narrow(end - list));
		put4(h + 92, narrow(list));
		output_add(out, h + 76, 22);
	}
	for (ZipEntry *w = z.first, *next; w; w = next) {
		next = w->next;
		if (w->name) heap_free(out->c, w->name, strlen(w->name) + 1);
		heap_free(out->c, w, sizeof *w);
	}
	if (z.piece) heap_free(out->c, z.piece, PIECE);
	if (st != ST_OK && out->status == ST_OK) out->status = st;
	return out->status;
}
