/* inspect.c - a function as records and lists that a program can walk.
 *
 * Needs: print.h, syntax.h.
 *
 * Contract:
 * - The records contain everything in the text form, with the same numbers and
 *   labels.
 * - Never throws: when memory fails the result is V_UNSET.
 *
 * A function is (name, symbols, parameters, instructions, results, callees). A
 * parameter is (value, name, type). An instruction is (operation, operands,
 * results, types, attributes, regions, transforms, line, column), where a
 * region is (parameters, instructions, results). Integer attributes are
 * integers; values, constants and dims are strings, as in the text form.
 */
#include "lang/text/syntax.h"
#include "lang/text/print.h"

static Value close_named(ValueList *l, const Atom *names) {
	Value v = {.kind = V_UNSET};
	if (!l->failed) v = value_record(l->c, l->n, names, l->at);
	value_list_drop(l);
	return v;
}

/* A record with these field names, separated by blanks. */
static Value close_record(ValueList *l, const char *fields) {
	Atom names[16];
	uint32_t n = 0;
	for (const char *s = fields; *s && n < 16;) {
		const size_t k = strcspn(s, " ");
		names[n++] = atom_n(l->c, s, k);
		s += k + (s[k] == ' ');
	}
	if (n != l->n) l->failed = true;
	return close_named(l, names);
}

/* Returns the printer's text as a string and clears it. */
static Value printed(FnPrinter *p) {
	Value v = {.kind = V_UNSET};
	if (!p->out->failed) v = value_string(p->c, p->out->at ? p->out->at : "", p->out->n);
	p->out->n = 0;
	return v;
}

static Value string_of(Ctx *c, Atom a) {
	return value_string(c, atom_text(c, a), atom_length(c, a));
}

static Value ref_value_of(FnPrinter *p, Ref r) {
	print_ref(p, r);
	return printed(p);
}

static Value refs(FnPrinter *p, uint32_t n, uint32_t first) {
	ValueList l = {.c = p->c};
	for (uint32_t i = 0; i < n; i++) value_list_add(&l, ref_value_of(p, p->f->args.at[first + i]));
	return value_list_end(&l);
}

static Value parameters(FnPrinter *p, const Region *r) {
	ValueList l = {.c = p->c};
	for (uint32_t i = 0; i < r->nparams; i++) {
		ValueList one = {.c = p->c};
		value_list_add(&one, ref_value_of(p, ref_value(r->params + i)));
		value_list_add(&one, string_of(p->c, p->f->vals.at[r->params + i].name));
		print_type(p, p->f->vals.at[r->params + i].type);
		value_list_add(&one, printed(p));
		value_list_add(&l, close_record(&one, "value name type"));
	}
	return value_list_end(&l);
}

static Value attribute_word(FnPrinter *p, char letter, int64_t word) {
	if (letter == 'i') return value_i64(word);
	int64_t length;
	if (letter == 'D' && dim_is_const(p->c, (Dim)word, &length)) return value_i64(length);
	if (letter == 'a') return string_of(p->c, (Atom)word);
	print_attr_word(p, letter, word);
	return printed(p);
}

static Value attributes(FnPrinter *p, const Inst *in) {
	ValueList l = {.c = p->c};
	Atom names[16];
	const char *schema = prims[in->op].attr;
	FormField field;
	uint32_t total = 0, at = 0;
	const int64_t *words = attr_words(p->c, in->attr, &total);
	while (l.n < 16 && !l.failed && form_next_field(&schema, &field)) {
		names[l.n] = atom_n(p->c, field.name, field.name_length);
		if (!field.list) {
			value_list_add(&l,
			               at < total ? attribute_word(p, field.letter, words[at]) : value_none());
			at++;
			continue;
		}
		ValueList many = {.c = p->c};
		int64_t count = at < total ? words[at++] : 0;
		for (; count > 0 && at < total; count--)
			value_list_add(&many, attribute_word(p, field.letter, words[at++]));
		value_list_add(&l, value_list_end(&many));
	}
	return close_named(&l, names);
}

static Value instructions(FnPrinter *p, const Region *r, uint32_t depth);

static Value region(FnPrinter *p, const Region *r, uint32_t depth) {
	ValueList l = {.c = p->c};
	value_list_add(&l, parameters(p, r));
	value_list_add(&l, instructions(p, r, depth));
	value_list_add(&l, refs(p, r->nresults, r->results));
	return close_record(&l, "parameters instructions results");
}

static Value instruction(FnPrinter *p, const Inst *in, uint32_t depth) {
	ValueList l = {.c = p->c}, results = {.c = p->c}, types = {.c = p->c}, regions = {.c = p->c};
	value_list_add(&l, value_string(p->c, prims[in->op].name, strlen(prims[in->op].name)));
	value_list_add(&l, refs(p, in->nargs, in->args));
	for (uint32_t k = 0; k < in->nresults; k++) {
		value_list_add(&results, ref_value_of(p, inst_result(in, k)));
		print_type(p, p->f->vals.at[in->results + k].type);
		value_list_add(&types, printed(p));
	}
	value_list_add(&l, value_list_end(&results));
	value_list_add(&l, value_list_end(&types));
	value_list_add(&l, attributes(p, in));
	for (uint32_t k = 0; k < in->nregions && depth < FORM_DEPTH; k++)
		value_list_add(&regions, region(p, inst_region(p->f, in, k), depth + 1));
	value_list_add(&l, value_list_end(&regions));
	char transforms[256] = "";
	chain_transforms(p->c, in->chain, transforms, sizeof transforms);
	value_list_add(&l, value_string(p->c, transforms, strlen(transforms)));
	uint32_t line, column;
	source_position(p->c, span_of(p->c, in->span), &line, &column);
	value_list_add(&l, value_i64(line));
	value_list_add(&l, value_i64(column));
	return close_record(
		&l, "operation operands results types attributes regions transforms line column");
}

static Value instructions(FnPrinter *p, const Region *r, uint32_t depth) {
	ValueList l = {.c = p->c};
	for (uint32_t i = 0; i < r->ninsts && !l.failed; i++)
		value_list_add(&l,
		               instruction(p, &p->f->insts.at[p->f->inst_order.at[r->insts + i]], depth));
	return value_list_end(&l);
}

static Value function(const Fn *f, const Callees *all, Value callees) {
	Text out;
	text_init(&out, f->ctx);
	FnPrinter p;
	ValueList l = {.c = f->ctx};
	if (printer_open(&p, &out, f, all)) {
		ValueList symbols = {.c = f->ctx};
		print_attr_word(&p, 'f', f->id);
		value_list_add(&l, value_string(f->ctx, out.at + 1, out.n - 1)); /* without its @ */
		out.n = 0;
		for (SymId s = 0; s < f->syms.n; s++)
			value_list_add(&symbols, value_string(f->ctx, p.labels.at + p.label[s],
			                                      strlen(p.labels.at + p.label[s])));
		value_list_add(&l, value_list_end(&symbols));
		value_list_add(&l, parameters(&p, &f->regions.at[0]));
		value_list_add(&l, instructions(&p, &f->regions.at[0], 0));
		value_list_add(&l, refs(&p, fn_nresults(f), f->regions.at[0].results));
		value_list_add(&l, callees);
	} else {
		value_unref(callees);
		l.failed = true;
	}
	printer_close(&p);
	text_free(&out);
	return close_record(&l, "name symbols parameters instructions results callees");
}

Value fn_inspect(const Fn *f) {
	Callees all;
	callees_collect(&all, f);
	ValueList callees = {.c = f->ctx, .failed = all.failed};
	for (uint32_t place = 0; !callees.failed && place + 1 < all.n; place++) {
		uint32_t i = 0;
		while (all.at[i].place != place) i++;
		ValueList none = {.c = f->ctx};
		value_list_add(&callees, function(all.at[i].fn, &all, value_list_end(&none)));
	}
	Value v = function(f, &all, value_list_end(&callees));
	callees_free(&all);
	return v;
}
