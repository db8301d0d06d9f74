/* gmsh.c - meshes in Gmsh's text format, versions 2.2 and 4.1 (gmsh.info, "MSH
 * file format").
 *
 * Needs: data/internal.h.
 *
 * Contract:
 * - The result has points f64[n, 3]. Lines, triangles and tetrahedra are i64[m,
 *   k] with rows of point indices. Each element has the index of its physical
 *   group in `names` (-1: none).
 * - Messages about malformed files name the line.
 * - Elements of other kinds are an error; point elements are skipped. Binary
 *   files are refused.
 */
#include "data/internal.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS = 3 }; /* lines, triangles, tetrahedra */

typedef struct ElementTable {
	int64_t *node, *group; /* heap; node: k + 2 per element of kind k */
	size_t n, node_cap, group_cap;
} ElementTable;
typedef struct PhysicalGroup {
	int64_t dim, tag;
	const char *name;
	size_t length;
} PhysicalGroup;
typedef struct Entity {
	int64_t dim, tag, group;
} Entity;
typedef struct NodeRow {
	int64_t id, row;
} NodeRow;

typedef struct Msh {
	Input *in;
	Ctx *c;
	const char *p, *end;
	uint64_t line;
	Status st;
	int version; /* 2 or 4 */
	double *xyz;
	NodeRow *place;
	size_t nodes, xyz_cap, place_cap;
	ElementTable e[KINDS];
	PhysicalGroup *groups;
	size_t ngroups, groups_cap;
	Entity *entities;
	size_t nentities, entities_cap;
	bool has_format, has_nodes, has_elements;
} Msh;

#define FAIL(m, ...)                                                                               \
	((m)->st == ST_OK ? (void)((m)->st = input_bad_line((m)->in, (m)->line, __VA_ARGS__)) : (void)0)

static bool grow(Msh *m, void **at, size_t *cap, size_t n, size_t size) {
	if (n <= *cap) return true;
	size_t more = n < 64 ? 64 : 2 * n;
	void *made = heap_alloc(m->c, more * size);
	if (!made) {
		m->st = data_no_memory(m->c, m->in->path, more * size);
		return false;
	}
	if (*cap) memcpy(made, *at, *cap * size);
	heap_free(m->c, *at, *cap * size);
	*at = made;
	*cap = more;
	return true;
}

/* ---- tokens -------------------------------------------------------------- */

static void blanks(Msh *m) {
	for (; m->p < m->end && (*m->p == ' ' || *m->p == '\t' || *m->p == '\r' || *m->p == '\n');
	     m->p++)
		m->line += *m->p == '\n';
}
static double real(Msh *m, const char *what) {
	double x = 0;
	if (m->st != ST_OK) return 0;
	blanks(m);
	const char *q = number_read(m->p, m->end, &x);
	if (!q || (q < m->end && (unsigned char)*q > ' ')) {
		FAIL(m, "%s is wanted here", what);
		return 0;
	}
	m->p = q;
	return x;
}
static int64_t whole(Msh *m, const char *what) {
	if (m->st != ST_OK) return 0;
	blanks(m);
	const char *p = m->p;
	const bool minus = p < m->end && *p == '-';
	int64_t v = 0;
	bool good = false, fits = true;
	for (p += minus; p < m->end && *p >= '0' && *p <= '9'; p++) {
		good = true;
		fits &= !__builtin_mul_overflow(v, 10, &v) && !__builtin_add_overflow(v, *p - '0', &v);
	}
	if (!good || !fits || (p < m->end && (unsigned char)*p > ' ')) {
		FAIL(m, "%s is wanted here, an integer", what);
		return 0;
	}
	m->p = p;
	return minus ? -v : v;
}
/* Reads a count of items; each takes at least two bytes of the file. */
static size_t number_of(Msh *m, const char *what) {
	int64_t n = whole(m, what);
	if (m->st == ST_OK && (n < 0 || n > (m->end - m->p) / 2 + 1))
		FAIL(m, "%s is %lld, more than the file can hold", what, (long long)n);
	return m->st == ST_OK ? (size_t)n : 0;
}
static bool word_is(Msh *m, const char *word) {
	blanks(m);
	const size_t n = strlen(word);
	if ((size_t)(m->end - m->p) < n || memcmp(m->p, word, n) ||
	    (m->p + n < m->end && (unsigned char)m->p[n] > ' '))
		return false;
	m->p += n;
	return true;
}
static void want(Msh *m, const char *word) {
	if (m->st == ST_OK && !word_is(m, word)) FAIL(m, "%s is wanted here", word);
}

/* ---- sections ------------------------------------------------------------ */

static void read_format(Msh *m) {
	const double version = real(m, "the version of the format");
	const int64_t binary = whole(m, "the kind of the file");
	whole(m, "the size of a number");
	if (m->st != ST_OK) return;
	if (binary)
		FAIL(m, "a binary file, and text is read: gmsh -format msh41 without -bin writes it");
	m->version = version >= 2 && version < 3 ? 2 : version > 4.05 && version < 5 ? 4 : 0;
	if (m->st == ST_OK && !m->version)
		FAIL(m, "version %g of the format; 2.2 and 4.1 are read: gmsh -format msh41 writes it",
		     version);
	want(m, "$EndMeshFormat");
	m->has_format = true;
}

static void read_names(Msh *m) {
	const size_t n = number_of(m, "the number of names");
	for (size_t i = 0; i < n && m->st == ST_OK; i++) {
		PhysicalGroup g = {.dim = whole(m, "the dimension of a physical group")};
		g.tag = whole(m, "the number of a physical group");
		if (m->st != ST_OK) return;
		blanks(m);
		const char *q = m->p < m->end && *m->p == '"'
		                    ? memchr(m->p + 1, '"', (size_t)(m->end - m->p - 1))
		                    : NULL;
		if (!q || memchr(m->p, '\n', (size_t)(q - m->p))) {
			FAIL(m, "a name between \" is wanted here");
			return;
		}
		g.name = m->p + 1;
		g.length = (size_t)(q - g.name);
		size_t bad;
		if (!utf8_valid(g.name, g.length, &bad)) FAIL(m, "a name that is no UTF-8");
		m->p = q + 1;
		if (!grow(m, (void **)&m->groups, &m->groups_cap, m->ngroups + 1, sizeof g)) return;
		m->groups[m->ngroups++] = g;
	}
	want(m, "$EndPhysicalNames");
}

/* Version 4: the physical group of each curve, surface and volume; the first
 * counts. */
static void read_entities(Msh *m) {
	size_t n[4];
	static const char *const what[] = {"the number of points", "the number of curves",
	                                   "the number of surfaces", "the number of volumes"};
	for (int d = 0; d < 4; d++) n[d] = number_of(m, what[d]);
	for (int d = 0; d < 4; d++)
		for (size_t i = 0; i < n[d] && m->st == ST_OK; i++) {
			Entity e = {.dim = d, .tag = whole(m, "the number of an entity"), .group = 0};
			for (int k = 0; k < (d ? 6 : 3); k++) real(m, "a coordinate");
			size_t groups = number_of(m, "the number of physical groups");
			for (size_t k = 0; k < groups && m->st == ST_OK; k++) {
				int64_t g = whole(m, "a physical group");
				if (!k) e.group = g < 0 ? -g : g;
			}
			size_t around = d ? number_of(m, "the number of bounding entities") : 0;
			for (size_t k = 0; k < around && m->st == ST_OK; k++) whole(m, "a bounding entity");
			if (m->st != ST_OK ||
			    !grow(m, (void **)&m->entities, &m->entities_cap, m->nentities + 1, sizeof e))
				return;
			m->entities[m->nentities++] = e;
		}
	want(m, "$EndEntities");
}

static void read_point(Msh *m, size_t row) {
	for (int k = 0; k < 3; k++) m->xyz[3 * row + (size_t)k] = real(m, "a coordinate");
}
static bool room_for_nodes(Msh *m, size_t n) {
	if (m->has_nodes) {
		FAIL(m, "a second part $Nodes");
		return false;
	}
	return grow(m, (void **)&m->xyz, &m->xyz_cap, 3 * n + 1, sizeof *m->xyz) &&
	       grow(m, (void **)&m->place, &m->place_cap, n + 1, sizeof *m->place);
}
static int by_id(const void *a, const void *b) {
	const NodeRow *p = a, *q = b;
	return p->id < q->id ? -1 : p->id > q->id;
}
static void read_nodes(Msh *m) {
	size_t blocks = m->version == 4 ? number_of(m, "the number of blocks") : 1;
	const size_t n = number_of(m, "the number of nodes");
	if (m->version == 4) whole(m, "the least node"), whole(m, "the largest node");
	if (m->st != ST_OK || !room_for_nodes(m, n)) return;
	size_t row = 0;
	for (; blocks && m->st == ST_OK; blocks--) {
		size_t many = n;
		if (m->version == 4) {
			whole(m, "a dimension");
			whole(m, "an entity");
			if (whole(m, "0 or 1") && m->st == ST_OK)
				FAIL(m, "nodes with parameters, which are not read: Mesh.SaveParametric = 0");
			many = number_of(m, "the number of nodes");
		}
		if (m->st == ST_OK && many > n - row) FAIL(m, "more nodes than the %zu that were said", n);
		for (size_t i = 0; i < many && m->st == ST_OK; i++) {
			const int64_t id = whole(m, "the number of a node");
			m->place[row + i] = (NodeRow){id, (int64_t)(row + i)};
			if (m->version == 2) read_point(m, row + i);
		}
		for (size_t i = 0; m->version == 4 && i < many && m->st == ST_OK; i++)
			read_point(m, row + i);
		row += many;
	}
	if (m->st == ST_OK && row != n) FAIL(m, "%zu nodes, and %zu were said", row, n);
	want(m, "$EndNodes");
	if (m->st != ST_OK) return;
	m->nodes = n;
	qsort(m->place, n, sizeof *m->place, by_id);
	for (size_t i = 1; i < n && m->st == ST_OK; i++)
		if (m->place[i].id == m->place[i - 1].id)
			FAIL(m, "node %lld stands twice", (long long)m->place[i].id);
	m->has_nodes = true;
}

static void read_element(Msh *m, int kind, int64_t group) {
	ElementTable *e = &m->e[kind];
	const size_t k = (size_t)kind + 2;
	if (!grow(m, (void **)&e->node, &e->node_cap, (e->n + 1) * k, sizeof *e->node)) return;
	if (!grow(m, (void **)&e->group, &e->group_cap, e->n + 1, sizeof *e->group)) return;
	for (size_t i = 0; i < k; i++) {
		const NodeRow key = {.id = whole(m, "the number of a node")};
		const NodeRow *found =
			m->st == ST_OK ? bsearch(&key, m->place, m->nodes, sizeof key, by_id) : NULL;
		if (m->st == ST_OK && !found) FAIL(m, "there is no node %lld", (long long)key.id);
		if (m->st != ST_OK) return;
		e->node[e->n * k + i] = found->row;
	}
	e->group[e->n++] = group;
}
static int kind_of(Msh *m, int64_t type) {
	switch (type) {
	case 1: return 0;
	case 2: return 1;
	case 4: return 2;
	case 15: return -1;
	default:
		FAIL(m,
		     "an element of type %lld; lines, triangles and tetrahedra of first order are read (1, "
		     "2, 4)",
		     (long long)type);
	}
	return -1;
}
static void read_elements(Msh *m) {
	if (!m->has_nodes) FAIL(m, "$Elements stands before $Nodes");
	size_t n = number_of(m, m->version == 4 ? "the number of blocks" : "the number of elements");
	if (m->version == 4)
		number_of(m, "the number of elements"), whole(m, "the least element"),
			whole(m, "the largest element");
	for (size_t i = 0; i < n && m->st == ST_OK; i++) {
		size_t many = 1;
		int64_t group = 0, type, dim = 0, entity = 0;
		if (m->version == 4) {
			dim = whole(m, "a dimension");
			entity = whole(m, "an entity");
			type = whole(m, "the type of an element");
			many = number_of(m, "the number of elements");
			for (size_t k = 0; k < m->nentities; k++)
				if (m->entities[k].dim == dim && m->entities[k].tag == entity)
					group = m->entities[k].group;
		} else {
			whole(m, "the number of an element");
			type = whole(m, "the type of an element");
			size_t tags = number_of(m, "the number of tags");
			for (size_t k = 0; k < tags && m->st == ST_OK; k++) {
				int64_t t = whole(m, "a tag");
				if (!k) group = t;
			}
		}
		const int kind = m->st == ST_OK ? kind_of(m, type) : -1;
		for (size_t k = 0; k < many && m->st == ST_OK; k++) {
			if (m->version == 4) whole(m, "the number of an element");
			if (kind >= 0) read_element(m, kind, group);
			else whole(m, "the number of a node");
		}
	}
	want(m, "$EndElements");
	m->has_elements = true;
}

static void skip_part(Msh *m) {
	blanks(m);
	const char *name = m->p;
	while (m->p < m->end && (unsigned char)*m->p > ' ') m->p++;
	const size_t n = (size_t)(m->p - name);
	if (n < 2 || *name != '$') {
		FAIL(m, "the beginning of a part is wanted here, such as $Nodes");
		return;
	}
	const uint64_t from = m->line;
	for (;;) {
		blanks(m);
		if (m->p >= m->end) {
			m->line = from;
			FAIL(m, "the part %.*s has no end", (int)(n < 60 ? n : 60), name);
			return;
		}
		const char *word = m->p;
		while (m->p < m->end && (unsigned char)*m->p > ' ') m->p++;
		if ((size_t)(m->p - word) == n + 3 && !memcmp(word, "$End", 4) &&
		    !memcmp(word + 4, name + 1, n - 1))
			return;
	}
}

static void read_parts(Msh *m) {
	for (blanks(m); m->p < m->end && m->st == ST_OK; blanks(m)) {
		if (word_is(m, "$MeshFormat")) read_format(m);
		else if (!m->has_format) FAIL(m, "this is no file of Gmsh: $MeshFormat is wanted here");
		else if (word_is(m, "$PhysicalNames")) read_names(m);
		else if (m->version == 4 && word_is(m, "$Entities")) read_entities(m);
		else if (word_is(m, "$Nodes")) read_nodes(m);
		else if (word_is(m, "$Elements")) read_elements(m);
		else skip_part(m);
	}
	if (m->st == ST_OK && !m->has_format) FAIL(m, "this is no file of Gmsh: it is empty");
	if (m->st == ST_OK && !m->has_elements) FAIL(m, "a part is missing: $Nodes or $Elements");
}

/* ---- result -------------------------------------------------------------- */

static Value table(Msh *m, Dtype dtype, uint32_t rank, const int64_t *shape, const void *from,
                   size_t bytes) {
	Tensor *t = NULL;
	if (m->st == ST_OK) m->st = input_tensor(m->in, dtype, rank, shape, &t);
	if (m->st != ST_OK) return (Value){.kind = V_UNSET};
	if (bytes) memcpy(t->data, from, bytes);
	return value_tensor(t);
}
/* Replaces group tags by indices into the names of that dimension. */
static void name_groups(Msh *m, int kind) {
	ElementTable *e = &m->e[kind];
	for (size_t i = 0; i < e->n; i++) {
		int64_t at = -1;
		for (size_t g = 0; g < m->ngroups; g++)
			if (m->groups[g].dim == kind + 1 && m->groups[g].tag == e->group[i]) at = (int64_t)g;
		e->group[i] = at;
	}
}
static Status give(Msh *m, Value *out) {
	static const char *const cells[] = {"lines", "triangles", "tetrahedra"},
							 *const parts[] = {"line_parts", "triangle_parts", "tetrahedron_parts"};
	Fields r;
	fields_init(&r, m->c);
	fields_add(&r, "points", 6,
	           table(m, DT_F64, 2, (int64_t[]){(int64_t)m->nodes, 3}, m->xyz,
	                 3 * m->nodes * sizeof *m->xyz));
	for (int k = 0; k < KINDS && m->st == ST_OK; k++) {
		ElementTable *e = &m->e[k];
		const int64_t shape[2] = {(int64_t)e->n, k + 2};
		name_groups(m, k);
		fields_add(&r, cells[k], strlen(cells[k]),
		           table(m, DT_I64, 2, shape, e->node, e->n * (size_t)(k + 2) * sizeof *e->node));
		fields_add(&r, parts[k], strlen(parts[k]),
		           table(m, DT_I64, 1, shape, e->group, e->n * sizeof *e->group));
	}
	ValueList names = {.c = m->c};
	for (size_t g = 0; g < m->ngroups; g++)
		value_list_add(&names, value_string(m->c, m->groups[g].name, m->groups[g].length));
	fields_add(&r, "names", 5, value_list_end(&names));
	if (m->st != ST_OK) {
		fields_free(&r);
		return m->st;
	}
	*out = fields_record(&r);
	return out->kind == V_UNSET ? data_no_memory(m->c, m->in->path, 64) : ST_OK;
}

Status msh_read(Input *in, const IoOptions *o, Value *out) {
	(void)o;
	char *text;
	size_t n;
	Status st = input_text(in, false, &text, &n);
	if (st != ST_OK) return st;
	Msh m = {.in = in, .c = in->c, .p = text, .end = text + n, .line = 1, .st = ST_OK};
	read_parts(&m);
	st = m.st == ST_OK ? give(&m, out) : m.st;
	heap_free(in->c, m.xyz, m.xyz_cap * sizeof *m.xyz);
	heap_free(in->c, m.place, m.place_cap * sizeof *m.place);
	heap_free(in->c, m.groups, m.groups_cap * sizeof *m.groups);
	heap_free(in->c, m.entities, m.entities_cap * sizeof *m.entities);
	for (int k = 0; k < KINDS; k++) {
		heap_free(in->c, m.e[k].node, m.e[k].node_cap * sizeof *m.e[k].node);
		heap_free(in->c, m.e[k].group, m.e[k].group_cap * sizeof *m.e[k].group);
	}
	input_text_free(in, text);
	return st;
}

Status msh_write(OutputFile *out, const IoOptions *o, Value v) {
	(void)o;
	(void)v;
	return output_bad(out, "meshes are read from .msh files, and written to .vtu ones");
}
