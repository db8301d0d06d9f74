/* xml.h - an XML file as a tree of elements.
 *
 * Needs: data/internal.h; expat, which is loaded at the first use.
 *
 * Contract:
 * - Names, values and text are UTF-8, with references replaced, in any encoding
 *   that expat reads. The tree does not point into the file.
 * - Reading stops after the start tag of an AppendedData element, whose content
 *   may be any bytes.
 * - Malformed input is an error with its line and column. So are elements
 *   nested more than DEEPEST deep, more than XML_ENTITIES entities, entities in
 *   other files, and entities that expand to much more than the file.
 */
#ifndef ATLED_DATA_XML_H
#define ATLED_DATA_XML_H

#include "data/internal.h"

enum { XML_ENTITIES = 100 };

typedef struct XmlText {
	const char *at;
	size_t n;
} XmlText;

typedef struct XmlAttribute {
	XmlText key, value;
} XmlAttribute;

typedef struct XmlNode {
	XmlText name, text; /* text: up to the first child element */
	uint64_t line, column;
	size_t nattributes;
	XmlAttribute *attributes;
	struct XmlNode *first, *next;
	/* the reader's: parent, last child, list of all nodes, sizes of blocks */
	struct XmlNode *parent, *last, *pool;
	size_t bytes, text_room;
} XmlNode;

typedef struct XmlTree {
	Ctx *c;
	XmlNode *root, *pool;
	uint64_t appended; /* first byte after the start tag of AppendedData; 0: there is none */
} XmlTree;

/* Reads the file; free the tree even after an error. */
Status xml_read(Input *in, XmlTree *tree);
void xml_free(XmlTree *tree);
bool xml_is(XmlText t, const char *what);
XmlNode *xml_child(const XmlNode *n, const char *called); /* NULL if there is none */
XmlText xml_attribute(const XmlNode *n, const char *key); /* .at is NULL if there is none */
Status xml_bad(Input *in, const XmlNode *n, const char *what);

#endif
