/* xml.c - the subset of XML that VTK's files use: elements with attributes, and
 * the text between them.
 *
 * Needs: xml.h.
 *
 * Contract:
 * - The tree points into the text, which must outlive it.
 * - Comments, declarations and CDATA are skipped. Malformed input is an error
 *   with its line.
 * - The content of an AppendedData element is not parsed; it may be any bytes.
 */
#include "data/xml.h"

#include <string.h>

typedef struct XmlParser {
	Input *in;
	const char *text, *p, *end;
	XmlNode *pool; /* list of all nodes, for freeing */
	int depth;
	uint64_t nodes;
} XmlParser;

static Status bad(XmlParser *x, const char *at, const char *what) {
	uint64_t line = 1;
	for (const char *p = x->text; p < at && p < x->end; p++) line += *p == '\n';
	return input_bad_line(x->in, line, "%s", what);
}

static bool begins(const XmlParser *x, const char *what) {
	const size_t n = strlen(what);
	return (size_t)(x->end - x->p) >= n && !memcmp(x->p, what, n);
}

static bool blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

static void blanks(XmlParser *x) {
	while (x->p < x->end && blank(*x->p)) x->p++;
}

static bool name_byte(char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == ':' || c == '-' || c == '.';
}

static XmlText name(XmlParser *x) {
	XmlText t = {x->p, 0};
	while (x->p < x->end && name_byte(*x->p)) x->p++;
	t.n = (size_t)(x->p - t.at);
	return t;
}

static bool find(XmlParser *x, const char *what, const char **at) {
	const size_t n = strlen(what);
	const char *p = x->p;
	while ((p = p < x->end ? memchr(p, *what, (size_t)(x->end - p)) : NULL)) {
		if ((size_t)(x->end - p) >= n && !memcmp(p, what, n)) return *at = p, true;
		p++;
	}
	return false;
}

/* Skips declarations and comments. */
static Status skip_others(XmlParser *x) {
	for (;;) {
		blanks(x);
		const char *close = begins(x, "<!--") ? "-->"
		                    : begins(x, "<?") ? "?>"
		                    : begins(x, "<!") ? ">"
		                                      : NULL,
				   *at;
		if (!close) return ST_OK;
		if (!find(x, close, &at)) return bad(x, x->p, "a comment or declaration without end");
		x->p = at + strlen(close);
	}
}

static Status element(XmlParser *x, XmlNode **out) {
	const char *start = x->p++;
	XmlNode *node = heap_alloc(x->in->c, sizeof *node);
	if (!node) return data_no_memory(x->in->c, x->in->path, sizeof *node);
	*node = (XmlNode){.pool = x->pool, .start = start};
	x->pool = node;
	*out = node;
	Status st = x->nodes++ % 1024 ? ST_OK : ctx_poll(x->in->c, 1024);
	if (st != ST_OK) return st;
	if (++x->depth > DEEPEST) return bad(x, start, "elements nested more than 200 deep");
	node->name = name(x);
	if (!node->name.n) return bad(x, start, "a < that begins no element");
	for (;;) {
		blanks(x);
		if (x->p >= x->end) return bad(x, start, "the file ends inside this element");
		if (*x->p == '>') {
			x->p++;
			break;
		}
		if (begins(x, "/>")) {
			x->p += 2;
			x->depth--;
			node->text = (XmlText){x->p, 0};
			return ST_OK;
		}
		if (node->nattributes == XML_ATTRIBUTES)
			return bad(x, x->p, "an element with too many attributes");
		XmlText key = name(x);
		blanks(x);
		if (!key.n || x->p >= x->end || *x->p != '=')
			return bad(x, x->p, "an attribute is wanted here");
		x->p++;
		blanks(x);
		if (x->p >= x->end || (*x->p != '"' && *x->p != '\''))
			return bad(x, x->p, "an attribute's value stands in quotes");
		const char quote = *x->p++, *stop = memchr(x->p, quote, (size_t)(x->end - x->p));
		if (!stop) return bad(x, x->p, "this quote has no end");
		node->attributes[node->nattributes].key = key;
		node->attributes[node->nattributes++].value = (XmlText){x->p, (size_t)(stop - x->p)};
		x->p = stop + 1;
	}
	node->text.at = x->p;
	/* binary data up to the end of the file */
	if (node->name.n == 12 && !memcmp(node->name.at, "AppendedData", 12)) {
		node->text.n = (size_t)(x->end - x->p);
		x->p = x->end;
		x->depth--;
		return ST_OK;
	}
	XmlNode **next = &node->first;
	for (;;) {
		const char *open = x->p < x->end ? memchr(x->p, '<', (size_t)(x->end - x->p)) : NULL;
		if (!open) return bad(x, start, "this element is not closed: the file ends before");
		if (!node->first) node->text.n = (size_t)(open - node->text.at);
		x->p = open;
		st = begins(x, "<!") || begins(x, "<?") ? skip_others(x) : ST_OK;
		if (st != ST_OK) return st;
		if (x->p < x->end && *x->p != '<') continue;
		if (begins(x, "</")) {
			x->p += 2;
			XmlText closes = name(x);
			blanks(x);
			if (closes.n != node->name.n || memcmp(closes.at, node->name.at, closes.n) ||
			    x->p >= x->end || *x->p != '>')
				return bad(x, open, "this closes another element than the one that is open");
			x->p++;
			x->depth--;
			return ST_OK;
		}
		if (x->p >= x->end)
			return bad(x, start, "this element is not closed: the file ends before");
		XmlNode *child = NULL;
		st = element(x, &child);
		if (st != ST_OK) return st;
		*next = child;
		next = &child->next;
		if (x->p >= x->end && child->name.n == 12 && !memcmp(child->name.at, "AppendedData", 12)) {
			x->depth--;
			return ST_OK;
		}
	}
}

Status xml_read(Input *in, const char *text, size_t n, XmlNode **root) {
	XmlParser x = {.in = in, .text = text, .p = text, .end = text + n};
	*root = NULL;
	Status st = skip_others(&x);
	if (st == ST_OK && (x.p >= x.end || *x.p != '<'))
		st = bad(&x, x.p, "this is no XML: it does not begin with <");
	if (st == ST_OK) st = element(&x, root);
	if (*root) (*root)->all = x.pool;
	if (st != ST_OK) {
		xml_free(in->c, *root);
		*root = NULL;
	}
	return st;
}

void xml_free(Ctx *c, XmlNode *root) {
	for (XmlNode *n = root ? root->all : NULL, *next; n; n = next) {
		next = n->pool;
		heap_free(c, n, sizeof *n);
	}
}

bool xml_is(XmlText t, const char *what) { return strlen(what) == t.n && !memcmp(t.at, what, t.n); }

XmlNode *xml_child(const XmlNode *n, const char *called) {
	for (XmlNode *k = n ? n->first : NULL; k; k = k->next)
		if (xml_is(k->name, called)) return k;
	return NULL;
}

XmlText xml_attribute(const XmlNode *n, const char *key) {
	for (uint32_t i = 0; n && i < n->nattributes; i++)
		if (xml_is(n->attributes[i].key, key)) return n->attributes[i].value;
	return (XmlText){NULL, 0};
}

Status xml_bad(Input *in, const char *text, const XmlNode *n, const char *what) {
	uint64_t line = 1;
	for (const char *p = text; p < n->start; p++) line += *p == '\n';
	return input_bad_line(in, line, "%.*s: %s", (int)(n->name.n < 60 ? n->name.n : 60), n->name.at,
	                      what);
}
