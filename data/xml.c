/* xml.c - an XML file as a tree of elements, by expat.
 *
 * Needs: xml.h, the headers of expat, and libexpat 2.4 or later, which is
 * loaded at the first use.
 *
 * Contract:
 * - expat's memory counts in the context's account. Its allocator has no user
 *   pointer, so a variable of the thread names the reader while expat runs.
 * - The file is read and parsed in pieces, with a poll after each. Pieces grow
 *   while a tag does not end, so that long tags take linear time.
 * - expat limits the expansion of entities to 100 times the input, beyond 8 MiB
 *   (since 2.4). It follows chains of entities recursively, so their number is
 *   limited here.
 */
#include "data/xml.h"
#include "lang/base/dynlib.h"

#include <expat.h>
#include <pthread.h>
#include <sonames.h>
#include <string.h>

#define FUNCTIONS(F)                                                                               \
	F(XML_ExpatVersionInfo)                                                                        \
	F(XML_ParserCreate_MM)                                                                         \
	F(XML_ParserFree)                                                                              \
	F(XML_SetUserData)                                                                             \
	F(XML_SetElementHandler)                                                                       \
	F(XML_SetCharacterDataHandler)                                                                 \
	F(XML_SetEntityDeclHandler)                                                                    \
	F(XML_SetExternalEntityRefHandler)                                                             \
	F(XML_SetSkippedEntityHandler)                                                                 \
	F(XML_GetBuffer)                                                                               \
	F(XML_ParseBuffer)                                                                             \
	F(XML_StopParser)                                                                              \
	F(XML_GetErrorCode)                                                                            \
	F(XML_ErrorString)                                                                             \
	F(XML_GetCurrentLineNumber)                                                                    \
	F(XML_GetCurrentColumnNumber)                                                                  \
	F(XML_GetCurrentByteIndex)                                                                     \
	F(XML_GetCurrentByteCount)

static struct {
#define F(name) __typeof__(&(name)) name;
	FUNCTIONS(F)
#undef F
} expat;
static const char *missing; /* why the library is not available; NULL: it is */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void) {
#define NAME(name) DYN_NAME(expat, name),
	static const DynName names[] = {FUNCTIONS(NAME)};
#undef NAME
	void *library = dynlib_open(SONAME_EXPAT);
	if (!dynlib_find(&library, 1, names, sizeof names / sizeof *names)) {
		missing = "expat (" SONAME_EXPAT ") cannot be loaded; `make deps` installs it";
		return;
	}
	const XML_Expat_Version v = expat.XML_ExpatVersionInfo();
	if (v.major < 2 || (v.major == 2 && v.minor < 4))
		missing = "expat is older than 2.4, which does not limit the expansion of entities";
}

/* ---- the reader ---------------------------------------------------------- */

enum { PIECE = 1 << 18, PIECE_MOST = 1 << 29, BLOCK_HEAD = 16 };

typedef struct XmlReader {
	Input *in;
	Ctx *c;
	XML_Parser parser;
	XmlTree *tree;
	XmlNode *open; /* the innermost open element */
	int depth;
	uint32_t entities;
	uint64_t nodes; /* since the last poll */
	size_t refused; /* bytes that the account has refused; 0: none */
	bool ended;     /* AppendedData was reached */
	Status status;  /* of a handler that stopped the parser */
} XmlReader;

static _Thread_local XmlReader *current; /* the reader on whose behalf expat allocates */

/* expat frees without a size, so each block stores its own. */
static void *resize(void *p, size_t n) {
	char *block = p ? (char *)p - BLOCK_HEAD : NULL;
	size_t old = 0, bytes = n + BLOCK_HEAD;
	if (block) memcpy(&old, block, sizeof old);
	block = bytes < n ? NULL : heap_resize(current->c, block, old, bytes);
	if (!block) {
		current->refused = bytes;
		return NULL;
	}
	memcpy(block, &bytes, sizeof bytes);
	return block + BLOCK_HEAD;
}

static void *take(size_t n) { return resize(NULL, n); }

static void give(void *p) {
	if (!p) return;
	char *block = (char *)p - BLOCK_HEAD;
	size_t bytes;
	memcpy(&bytes, block, sizeof bytes);
	heap_free(current->c, block, bytes);
}

static Status bad_at(XmlReader *r, uint64_t line, uint64_t column, const char *what) {
	return input_bad_place(r->in, line, column, "%s", what);
}

static Status bad_here(XmlReader *r, const char *what) {
	return bad_at(r, expat.XML_GetCurrentLineNumber(r->parser),
	              expat.XML_GetCurrentColumnNumber(r->parser) + 1, what);
}

static void stop(XmlReader *r, Status st) {
	r->status = st;
	expat.XML_StopParser(r->parser, XML_FALSE);
}

static XmlText copy(char **to, const char *text) {
	const XmlText t = {*to, strlen(text)};
	memcpy(*to, text, t.n + 1);
	*to += t.n + 1;
	return t;
}

/* An element in one block with its name and attributes. */
static XmlNode *new_node(XmlReader *r, const char *name, const char **attributes) {
	size_t n = 0, bytes = sizeof(XmlNode) + strlen(name) + 1;
	for (; attributes[2 * n]; n++)
		bytes +=
			sizeof(XmlAttribute) + strlen(attributes[2 * n]) + strlen(attributes[2 * n + 1]) + 2;
	XmlNode *node = heap_alloc(r->c, bytes);
	if (!node) return NULL;
	*node = (XmlNode){.text = {"", 0},
	                  .line = expat.XML_GetCurrentLineNumber(r->parser),
	                  .column = expat.XML_GetCurrentColumnNumber(r->parser) + 1,
	                  .nattributes = n,
	                  .attributes = (XmlAttribute *)(node + 1),
	                  .parent = r->open,
	                  .pool = r->tree->pool,
	                  .bytes = bytes};
	r->tree->pool = node;
	char *to = (char *)(node->attributes + n);
	node->name = copy(&to, name);
	for (size_t i = 0; i < n; i++) {
		node->attributes[i].key = copy(&to, attributes[2 * i]);
		node->attributes[i].value = copy(&to, attributes[2 * i + 1]);
	}
	return node;
}

static void on_start(void *ud, const XML_Char *name, const XML_Char **attributes) {
	XmlReader *r = ud;
	if (r->status != ST_OK || r->ended) return;
	if (++r->depth > DEEPEST) {
		stop(r, bad_here(r, "elements nested more than 200 deep"));
		return;
	}
	XmlNode *node = new_node(r, name, attributes), *parent = r->open;
	if (!node) {
		stop(r, data_no_memory(r->c, r->in->path, sizeof *node));
		return;
	}
	r->nodes++;
	if (!parent) r->tree->root = node;
	else if (parent->last) parent->last->next = node;
	else parent->first = node;
	if (parent) parent->last = node;
	r->open = node;
	if (!xml_is(node->name, "AppendedData")) return;
	r->tree->appended = (uint64_t)expat.XML_GetCurrentByteIndex(r->parser) +
	                    (uint64_t)expat.XML_GetCurrentByteCount(r->parser);
	r->ended = true;
	stop(r, ST_OK);
}

static void on_end(void *ud, const XML_Char *name) {
	XmlReader *r = ud;
	(void)name;
	if (r->status != ST_OK || r->ended) return;
	r->depth--;
	r->open = r->open->parent;
}

static void on_text(void *ud, const XML_Char *text, int n) {
	XmlReader *r = ud;
	XmlNode *node = r->open;
	if (r->status != ST_OK || r->ended || !node || node->first) return;
	const size_t wanted = node->text.n + (size_t)n;
	char *at = node->text_room ? (char *)(uintptr_t)node->text.at : NULL;
	if (wanted > node->text_room) {
		const size_t room = wanted < 48 ? 64 : wanted + wanted / 2;
		at = heap_resize(r->c, at, node->text_room, room);
		if (!at) {
			stop(r, data_no_memory(r->c, r->in->path, room));
			return;
		}
		node->text.at = at;
		node->text_room = room;
	}
	memcpy(at + node->text.n, text, (size_t)n);
	node->text.n = wanted;
}

static void on_entity(void *ud, const XML_Char *name, int is_parameter, const XML_Char *value,
                      int length, const XML_Char *base, const XML_Char *system,
                      const XML_Char *public, const XML_Char *notation) {
	XmlReader *r = ud;
	(void)name, (void)is_parameter, (void)value, (void)length, (void)base, (void)system;
	(void)public, (void)notation;
	if (r->status == ST_OK && ++r->entities > XML_ENTITIES)
		stop(r, bad_here(r, "more than 100 entities"));
}

/* References to entities that expat would leave out. */
static void on_skipped(void *ud, const XML_Char *name, int is_parameter) {
	XmlReader *r = ud;
	(void)name;
	if (r->status == ST_OK && !is_parameter)
		stop(r, bad_here(r, "an entity that the file does not define"));
}

static int on_external(XML_Parser parser, const XML_Char *context, const XML_Char *base,
                       const XML_Char *system, const XML_Char *public) {
	(void)parser, (void)context, (void)base, (void)system, (void)public;
	return XML_STATUS_ERROR;
}

/* The message of what expat refuses. */
static Status refuse(XmlReader *r) {
	const enum XML_Error code = expat.XML_GetErrorCode(r->parser);
	const bool begun = r->tree->root != NULL;
	switch (code) {
	case XML_ERROR_NO_MEMORY:
		return r->refused ? data_no_memory(r->c, r->in->path, r->refused)
		                  : bad_here(r, "a tag or value that is too long to be read");
	case XML_ERROR_TAG_MISMATCH:
		return bad_here(r, "this closes another element than the one that is open");
	case XML_ERROR_UNCLOSED_TOKEN:
		return bad_here(r, "the file ends inside the tag, comment or declaration that begins here");
	case XML_ERROR_NO_ELEMENTS:
		if (r->open)
			return bad_at(r, r->open->line, r->open->column,
			              "this element is not closed: the file ends before");
		break;
	case XML_ERROR_EXTERNAL_ENTITY_HANDLING:
		return bad_here(r, "an entity in another file, which is not read");
	case XML_ERROR_UNKNOWN_ENCODING:
		return bad_here(r, "its encoding is not known; UTF-8, UTF-16, ISO-8859-1 and US-ASCII are");
	default: break;
	}
	if (!begun && expat.XML_GetCurrentByteIndex(r->parser) <= 0)
		return bad_at(r, 1, 1, "this is no XML: it does not begin with <");
	return input_bad_place(r->in, expat.XML_GetCurrentLineNumber(r->parser),
	                       expat.XML_GetCurrentColumnNumber(r->parser) + 1, "%s: %s",
	                       begun ? "damaged XML" : "this is no XML", expat.XML_ErrorString(code));
}

static Status parse(XmlReader *r) {
	uint64_t at = 0, piece = PIECE;
	do {
		const uint64_t left = r->in->size - at, n = left < piece ? left : piece;
		const XML_Index before = expat.XML_GetCurrentByteIndex(r->parser);
		void *to = expat.XML_GetBuffer(r->parser, n ? (int)n : 1);
		if (!to) return refuse(r);
		Status st = input_read(r->in, at, to, n);
		if (st != ST_OK) return st;
		at += n;
		if (expat.XML_ParseBuffer(r->parser, (int)n, at == r->in->size) != XML_STATUS_OK)
			return r->status != ST_OK || r->ended ? r->status : refuse(r);
		if ((st = ctx_poll(r->c, n / 64 + r->nodes)) != ST_OK) return st;
		r->nodes = 0;
		if (expat.XML_GetCurrentByteIndex(r->parser) > before) piece = PIECE;
		else if (piece < PIECE_MOST) piece *= 2;
	} while (at < r->in->size);
	return ST_OK;
}

Status xml_read(Input *in, XmlTree *tree) {
	static const XML_Memory_Handling_Suite memory = {take, resize, give};
	XmlReader r = {.in = in, .c = in->c, .tree = tree}, *outer = current;
	*tree = (XmlTree){.c = in->c};
	pthread_once(&once, open_library);
	if (missing) return input_bad(in, "%s", missing);
	current = &r;
	Status st = ST_OK;
	if ((r.parser = expat.XML_ParserCreate_MM(NULL, &memory, NULL))) {
		expat.XML_SetUserData(r.parser, &r);
		expat.XML_SetElementHandler(r.parser, on_start, on_end);
		expat.XML_SetCharacterDataHandler(r.parser, on_text);
		expat.XML_SetEntityDeclHandler(r.parser, on_entity);
		expat.XML_SetExternalEntityRefHandler(r.parser, on_external);
		expat.XML_SetSkippedEntityHandler(r.parser, on_skipped);
		st = parse(&r);
		expat.XML_ParserFree(r.parser);
	} else st = data_no_memory(in->c, in->path, r.refused);
	current = outer;
	return st;
}

void xml_free(XmlTree *tree) {
	for (XmlNode *n = tree->pool, *next; n; n = next) {
		next = n->pool;
		if (n->text_room) heap_free(tree->c, (void *)(uintptr_t)n->text.at, n->text_room);
		heap_free(tree->c, n, n->bytes);
	}
	tree->root = tree->pool = NULL;
}

/* ---- the tree ------------------------------------------------------------ */

bool xml_is(XmlText t, const char *what) { return strlen(what) == t.n && !memcmp(t.at, what, t.n); }

XmlNode *xml_child(const XmlNode *n, const char *called) {
	for (XmlNode *k = n ? n->first : NULL; k; k = k->next)
		if (xml_is(k->name, called)) return k;
	return NULL;
}

XmlText xml_attribute(const XmlNode *n, const char *key) {
	for (size_t i = 0; n && i < n->nattributes; i++)
		if (xml_is(n->attributes[i].key, key)) return n->attributes[i].value;
	return (XmlText){NULL, 0};
}

Status xml_bad(Input *in, const XmlNode *n, const char *what) {
	return input_bad_line(in, n->line, "%.60s: %s", n->name.at, what);
}
