/* damage.c - implementation of damage.h. */
#include "tests/random/damage.h"
#include "tests/random/engines.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXTS = 60,           /* of one case */
	NATIVE_EVERY = 12,    /* accepted ones, since compiling takes long */
	MEMORY = 64 << 20,    /* more than a run starts with */
	TOKENS_MOST = 1 << 15 /* longer texts are left alone */
};
static const double SECONDS = 0.1;

/* ---- tokens -------------------------------------------------------------- */

typedef enum TokenKind { TOKEN_VALUE, TOKEN_NUMBER, TOKEN_WORD, TOKEN_SIGN } TokenKind;

typedef struct Token {
	TokenKind kind;
	uint32_t start, end;
} Token;

typedef struct Damaging {
	Text text;
	Token *tokens;
	uint32_t n;
	uint64_t draw;
} Damaging;

static bool in_word(char ch) { return isalnum((unsigned char)ch) || ch == '_' || ch == '.'; }

/* Returns false when there are too many. */
static bool find_tokens(Damaging *d) {
	const char *s = d->text.at;
	d->n = 0;
	for (uint32_t i = 0; i < d->text.n; i++) {
		if (isspace((unsigned char)s[i])) continue;
		if (d->n == TOKENS_MOST) return false;
		Token t = {.kind = TOKEN_SIGN, .start = i};
		const bool value = s[i] == '%' || s[i] == '@',
				   negative = s[i] == '-' && i + 1 < d->text.n && in_word(s[i + 1]);
		if (value || negative || in_word(s[i])) {
			t.kind = value                                      ? TOKEN_VALUE
			         : negative || isdigit((unsigned char)s[i]) ? TOKEN_NUMBER
			                                                    : TOKEN_WORD;
			while (i + 1 < d->text.n && in_word(s[i + 1])) i++;
		}
		t.end = i + 1;
		d->tokens[d->n++] = t;
	}
	return d->n > 0;
}

/* ---- damage -------------------------------------------------------------- */

static uint32_t below(Damaging *d, uint32_t n) { return (uint32_t)random_below(&d->draw, n); }

static void replace(Damaging *d, uint32_t start, uint32_t end, const char *with, size_t n) {
	Text text;
	text_init(&text, d->text.ctx);
	text_add(&text, d->text.at, start);
	text_add(&text, with, n);
	text_add(&text, d->text.at + end, d->text.n - end);
	if (text.failed) abort();
	text_free(&d->text);
	d->text = text;
}

/* The text of a token of this kind, of which there is one. */
static const char *other(Damaging *d, TokenKind kind, size_t *n) {
	uint32_t k = below(d, d->n);
	while (d->tokens[k].kind != kind) k = (k + 1) % d->n;
	*n = d->tokens[k].end - d->tokens[k].start;
	return d->text.at + d->tokens[k].start;
}

static const char *some_number(Damaging *d, char *room, size_t cap) {
	static const char *const numbers[] = {
		"0",
		"1",
		"2",
		"3",
		"-1",
		"7",
		"16",
		"4611686018427387904",
		"-9223372036854775808",
		"0.5",
		"-0.0",
		"1e300",
		"8",
		"4",
		"-2",
		"100",
		"255",
	};
	const uint32_t n = sizeof numbers / sizeof *numbers, k = below(d, n + 4);
	if (k < n) return numbers[k];
	snprintf(room, cap, "%u", below(d, 40));
	return room;
}

static const char *some_word(Damaging *d) {
	static const char *const words[] = {"f64", "f32",  "i64",   "i32",   "bool", "c128", "c64",
	                                    "dyn", "true", "false", "token", "n",    "m",    "yield"};
	const uint32_t n = sizeof words / sizeof *words, k = below(d, n + 40);
	return k < n ? words[k] : prims[1 + below(d, OP_COUNT - 1)].name;
}

/* A line is repeated, or left out. */
static void change_line(Damaging *d, uint32_t at) {
	uint32_t start = at, end = at;
	while (start && d->text.at[start - 1] != '\n') start--;
	while (end < d->text.n && d->text.at[end] != '\n') end++;
	if (end < d->text.n) end++;
	if (below(d, 2)) {
		replace(d, start, end, "", 0);
		return;
	}
	char *line = malloc(end - start + 1u);
	if (!line) abort();
	memcpy(line, d->text.at + start, end - start);
	replace(d, start, start, line, end - start);
	free(line);
}

static void damage(Damaging *d) {
	const Token t = d->tokens[below(d, d->n)];
	char room[200];
	size_t n = 0;
	if (!below(d, 12)) {
		change_line(d, t.start);
		return;
	}
	if (!below(d, 20)) {
		replace(d, t.start, t.end, "", 0);
		return;
	}
	const char *with;
	const bool copies = below(d, 2);
	if (t.kind == TOKEN_NUMBER && !copies) with = some_number(d, room, sizeof room);
	else if (t.kind == TOKEN_WORD && !copies) with = some_word(d);
	else {
		with = other(d, t.kind, &n);
		if (n >= sizeof room) return;
		memcpy(room, with, n);
		room[n] = 0;
		with = room;
	}
	replace(d, t.start, t.end, with, strlen(with));
}

/* ---- what must hold ------------------------------------------------------ */

static bool takes_arguments_of(Ctx *c, const Fn *f, const Fn *g) {
	if (fn_nparams(f) != fn_nparams(g)) return false;
	for (uint32_t k = 0; k < fn_nparams(f); k++) {
		char a[300], b[300];
		type_print(c, ref_type(f, fn_param(f, k)), NULL, NULL, a, sizeof a);
		type_print(c, ref_type(g, fn_param(g, k)), NULL, NULL, b, sizeof b);
		if (strcmp(a, b)) return false;
	}
	return true;
}

static Outcome run_limited(Ctx *c, EngineRun run, Fn *f, const Value *args) {
	const size_t was = heap_limit(c);
	heap_set_limit(c, heap_used(c) + MEMORY);
	ctx_set_time_limit(c, SECONDS);
	const Outcome o = outcome_of(c, run, f, args);
	ctx_set_time_limit(c, 0);
	heap_set_limit(c, was);
	return o;
}

static const Engine *engine(const char *name) {
	const Engine *e = engines;
	while (e->name && strcmp(e->name, name)) e++;
	return e;
}

/* Of two errors in one program each engine may find another one first. */
static bool comparable(const Outcome *a, const Outcome *b) {
	return (a->status == ST_OK && (b->status == ST_OK || b->status == ST_ERROR)) ||
	       (a->status == ST_ERROR && b->status == ST_OK);
}

/* Returns false with `trouble` when an engine is at fault. */
static bool runs(Ctx *c, Fn *g, const Value *args, Damage *tally, char *trouble, size_t cap) {
	Outcome want = run_limited(c, engine("evaluator")->run, g, args);
	tally->ran++;
	if (want.status == ST_INTERNAL) snprintf(trouble, cap, "the evaluator: %s", want.message);
	if ((want.status == ST_OK || want.status == ST_ERROR) && !trouble[0]) {
		Outcome text = run_limited(c, engine("text")->run, g, args);
		if (comparable(&want, &text)) {
			const Verdict v = compare_outcomes(c, g, args, &want, &text, true, 1);
			if (!v.same) snprintf(trouble, cap, "read back: %s", v.why);
		} else if (text.status == ST_INTERNAL) {
			snprintf(trouble, cap, "read back: %s", text.message);
		}
		outcome_free(&text);
	}
	if ((want.status == ST_OK || want.status == ST_ERROR) && !trouble[0] &&
	    tally->ran % NATIVE_EVERY == 0) {
		Outcome got = run_limited(c, engine("native")->run, g, args);
		if (comparable(&want, &got)) {
			tally->compared++;
			const Verdict v = compare_outcomes(c, g, args, &want, &got, false, COMPARE_BATCHES);
			if (!v.same) snprintf(trouble, cap, "native, result %u: %s", v.result, v.why);
		} else if (got.status == ST_INTERNAL) {
			snprintf(trouble, cap, "native: %s", got.message);
		}
		outcome_free(&got);
	}
	outcome_free(&want);
	return !trouble[0];
}

static void check_text(Ctx *c, const Case *k, const Damaging *d, Damage *tally, char *trouble,
                       size_t cap) {
	diag_clear(c);
	Fn *g = read_text_form(c, "damaged.ir", &d->text);
	tally->texts++;
	if (!g && !diag_total(c)) snprintf(trouble, cap, "refused without a message");
	for (uint32_t i = 0; i < diag_total(c); i++)
		if (diag_at(c, i)->code == E_INTERNAL)
			snprintf(trouble, cap, "reading: %s", diag_at(c, i)->message);
	diag_clear(c);
	if (!g) return;
	tally->accepted++;
	if (!trouble[0] && !fn_verify(g, "damaged"))
		snprintf(trouble, cap, "it does not verify: %s",
		         diag_total(c) ? diag_at(c, 0)->message : "");
	diag_clear(c);
	if (!trouble[0] && k->args[0] && takes_arguments_of(c, k->fn, g))
		runs(c, g, k->args[0], tally, trouble, cap);
	fn_unref(g);
}

void check_damaged(Ctx *c, uint64_t seed, const Cases *cs, Damage *tally, char *trouble,
                   size_t cap) {
	Damaging d = {.draw = random_mix(seed, 31)};
	d.tokens = room(TOKENS_MOST, sizeof *d.tokens);
	for (uint32_t i = 0; i < TEXTS && !trouble[0]; i++) {
		const Case *k = &cs->at[below(&d, cs->n)];
		text_init(&d.text, c);
		fn_print(&d.text, k->fn);
		for (uint32_t edits = 1 + !below(&d, 3); edits && find_tokens(&d); edits--) damage(&d);
		check_text(c, k, &d, tally, trouble, cap);
		if (trouble[0]) {
			const size_t n = strlen(trouble);
			snprintf(trouble + n, cap - n, "; damaged %s:\n%.*s", k->how, (int)d.text.n, d.text.at);
		}
		text_free(&d.text);
	}
	free(d.tokens);
}
