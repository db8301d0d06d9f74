/* text_files.c - files of text, and folders.
 *
 * Needs: files.h. Guarantees: texts are UTF-8; a line ends at \n or \r\n.
 */
#include "data/files.h"

#include <string.h>

Status text_read(Input *in, const Options *o, Value *out) {
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

Status text_write(Output *out, const Options *o, Value v) {
	(void)o;
	size_t n;
	const char *text = string_text(v, &n);
	if (v.kind == V_STRING) output_add(out, text, n);
	else if (v.kind == V_LIST || v.kind == V_TUPLE) {
		for (uint32_t i = 0; i < v.object->n && out->status == ST_OK; i++) {
			Value item = ((const SeqObject *)v.object)->items[i];
			if (item.kind != V_STRING) return output_bad(out, "a file of text is written from a string or a list of strings; str(x) makes one");
			text = string_text(item, &n);
			output_add(out, text, n);
			output_str(out, "\n");
		}
	} else
		return output_bad(out, "a file of text is written from a string or a list of strings; str(x) makes one");
	return out->status;
}
