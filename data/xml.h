/* xml.h - a small tree of XML elements over a text.
 *
 * Needs: data/internal.h.
 */
#ifndef ATLED_DATA_XML_H
#define ATLED_DATA_XML_H

#include "data/internal.h"

enum { XML_ATTRIBUTES = 16 };

typedef struct XmlText {
	const char *at;
	size_t n;
} XmlText;

typedef struct XmlNode {
	XmlText name, text; /* text: up to the first child element */
	const char *start;
	uint32_t nattributes;
	struct {
		XmlText key, value;
	} attributes[XML_ATTRIBUTES];
	struct XmlNode *first, *next, *pool, *all;
} XmlNode;

Status xml_read(Input *in, const char *text, size_t n, XmlNode **root);
void xml_free(Ctx *c, XmlNode *root);
bool xml_is(XmlText t, const char *what);
XmlNode *xml_child(const XmlNode *n, const char *called); /* NULL if there is none */
XmlText xml_attribute(const XmlNode *n, const char *key); /* .at is NULL if there is none */
Status xml_bad(Input *in, const char *text, const XmlNode *n, const char *what);

#endif
