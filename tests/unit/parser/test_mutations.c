/* test_mutations.c - robustness test of the whole pipeline on programs that are
 * almost right.
 *
 * Method: statements of the corpus are cut, mixed and run from parser to
 * evaluator, among the intact statements of their file.
 *
 * Needs: parser/session/session.h and its dependencies; the corpus (found from
 * the repository's root, or from the location of $ATLED_BUILD).
 * Guarantees: prints each program that ends in an internal error, and the
 * running one when the process dies or hangs; then "N passed, N failed".
 * Usage: arguments are the number of the first round (the seed) and the number
 * of rounds.
 */
#include "autodiff/autodiff.h"
#include "backend/backend.h"
#include "parser/session/session.h"
#include "tests/unit/support/check.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PIECES 4000
#define PROGRAM_BYTES 4096

static char *pieces[MAX_PIECES];            /* lines, or blocks of lines that form one statement */
static uint32_t npieces, files[64], nfiles; /* files: their first pieces */
static char program[PROGRAM_BYTES + 1];
static uint64_t state;

static uint32_t below(uint32_t n) { /* xorshift64* (Vigna 2016) */
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)((state * 2685821657736338717u) >> 33) % n;
}

/* ---- corpus -------------------------------------------------------------- */

static void add_piece(const char *text, size_t n) {
	if (npieces == MAX_PIECES || n < 2) return;
	char *piece = malloc(n + 1);
	if (!piece) exit(1);
	memcpy(piece, text, n);
	piece[n] = 0;
	pieces[npieces++] = piece;
}

/* Statements: lines, joined while a bracket is open; without comments. */
static void read_corpus_file(const char *path) {
	FILE *f = fopen(path, "rb");
	if (!f) return;
	if (nfiles < 64) files[nfiles++] = npieces;
	char line[2000], block[8000];
	size_t n = 0;
	while (fgets(line, sizeof line, f)) {
		char *comment = strchr(line, '#');
		if (comment) strcpy(comment, "\n");
		if (n + strlen(line) >= sizeof block) n = 0;
		strcpy(block + n, line);
		n += strlen(line);
		if (parse_is_incomplete(block, n)) continue;
		add_piece(block, n);
		n = 0;
	}
	fclose(f);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
	return strcmp((*a)->d_name, (*b)->d_name);
}
static int is_program(const struct dirent *e) {
	return strlen(e->d_name) > 4 && !strcmp(e->d_name + strlen(e->d_name) - 4, ".dsl");
}

static void read_folder(const char *folder) {
	struct dirent **entries = NULL;
	int n = scandir(folder, &entries, is_program, by_name);
	for (int i = 0; i < n; i++) {
		char path[1024 + 256];
		snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
		read_corpus_file(path);
		free(entries[i]);
	}
	free(entries);
}

/* ---- mutation ------------------------------------------------------------ */

typedef struct Tokens {
	const char *text;
	struct {
		uint32_t start, end;
	} at[600];
	uint32_t n;
} Tokens;

static void see_token(void *ud, TokenClass cls, size_t start, size_t end) {
	Tokens *t = ud;
	if (cls == TC_SPACE || cls == TC_COMMENT || t->n == 600) return;
	t->at[t->n].start = (uint32_t)start;
	t->at[t->n++].end = (uint32_t)end;
}

static Tokens cut(const char *text) {
	Tokens t = {.text = text};
	parse_tokens(text, strlen(text), see_token, &t);
	return t;
}

/* Replaces bytes [start, end) of the program. */
static void replace(uint32_t start, uint32_t end, const char *with, size_t n) {
	size_t length = strlen(program);
	if (length - (end - start) + n > PROGRAM_BYTES) return;
	memmove(program + start + n, program + end, length - end + 1);
	memcpy(program + start, with, n);
}

static const char *const words[] = {
	"0",
	"1",
	"-1",
	"2.5",
	"1e308",
	"0.0",
	"9223372036854775807",
	"100000",
	"inf",
	"nan",
	"2im",
	"true",
	"none",
	"\"s\"",
	"[1, 2]",
	"[1.0, 2; 3, 4]",
	"[]",
	"()",
	"(1, 2)",
	"(a = 1)",
	"0..3",
	"x",
	"f",
	"sin",
	"+",
	"-",
	"*",
	"/",
	"//",
	"%",
	"^",
	"@",
	"'",
	"==",
	"<",
	"and",
	"not ",
	",",
	";",
	"\n",
	"..",
	"...",
	"|>",
	"∘",
	":=",
	"=",
	"+=",
	"[",
	"]",
	"(",
	")",
	"{",
	"}",
	"if ",
	"else ",
	"for ",
	" in ",
	"while ",
	"break",
	"continue",
	"return ",
	"try ",
	"catch e ",
	"grad",
	"map",
	"jvp",
	"hessian",
	"taylor",
	"sum",
	"len",
	"zeros",
	"reshape",
	"rand",
	"push",
	"list",
	"where",
	"linsolve",
	"fft",
	"sort",
	"cumsum",
	"error",
	"assert",
	"->",
	"x -> ",
	"f(",
	"x[",
	"list()",
	"concat",
	"max",
	"stop_gradient",
	"i",
};

static void mutate(void) {
	Tokens t = cut(program);
	if (!t.n) return;
	uint32_t k = below(t.n), start = t.at[k].start, end = t.at[k].end;
	switch (below(6)) {
	case 0: replace(start, end, "", 0); break;
	case 1: { /* a copy of another token */
		uint32_t m = below(t.n);
		char copy[200];
		size_t n = t.at[m].end - t.at[m].start;
		if (n >= sizeof copy) return;
		memcpy(copy, program + t.at[m].start, n);
		if (below(2)) replace(start, end, copy, n);
		else replace(start, start, copy, n);
		break;
	}
	case 2:
	case 3: {
		const char *w = words[below(sizeof words / sizeof words[0])];
		if (below(3)) replace(start, end, w, strlen(w));
		else replace(start, start, w, strlen(w));
		break;
	}
	case 4: { /* a token of another statement */
		const char *other = pieces[below(npieces)];
		Tokens o = cut(other);
		if (!o.n) return;
		uint32_t m = below(o.n), to = m + 1 + below(4);
		if (to > o.n) to = o.n;
		replace(start, below(2) ? end : start, other + o.at[m].start,
		        o.at[to - 1].end - o.at[m].start);
		break;
	}
	default: { /* removes a run of tokens */
		uint32_t to = k + 1 + below(4);
		if (to > t.n) to = t.n;
		replace(start, t.at[to - 1].end, "", 0);
	}
	}
}

static void make_program(uint32_t piece) {
	program[0] = 0;
	strncat(program, pieces[piece], PROGRAM_BYTES);
	if (!below(8)) strncat(program, pieces[below(npieces)], PROGRAM_BYTES - strlen(program));
	for (uint32_t m = 1 + below(3); m-- > 0;) mutate();
}

/* ---- running ------------------------------------------------------------- */

static void drop(void *ud, const char *text, size_t n) {
	(void)ud;
	(void)text;
	(void)n;
}

static uint64_t round_now;
static uint32_t piece_now;

static void died(int signal_number) {
	char text[100];
	int n = snprintf(text, sizeof text, "\nsignal %d in round %llu, statement %u:\n", signal_number,
	                 (unsigned long long)round_now, piece_now);
	if (write(1, text, (size_t)n) < 0 || write(1, program, strlen(program)) < 0) _exit(2);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void write_out(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stdout);
}

static Ctx *open_session(void) {
	Ctx *c = ctx_new(NULL);
	if (!c) exit(1);
	ctx_grant(c, GRANT_OUTPUT);
	ctx_set_output(c, drop, NULL);
	backend_init(c);
	autodiff_init(c);
	session_init(c);
	heap_set_limit(c, (size_t)1 << 30);
	return c;
}

/* Runs the text in `program`; returns false when it ends in a way that no
 * program may. */
static bool run(Ctx *c) {
	diag_clear(c);
	ctx_set_time_limit(c, 1);
	Status st =
		session_run(session_of(c), "mutant.dsl", program, strlen(program), NULL, NULL, NULL);
	bool good = st != ST_INTERNAL && (st == ST_OK || diag_total(c) > 0);
	for (uint32_t i = 0; i < diag_total(c); i++)
		good &= diag_at(c, i)->code != E_INTERNAL && diag_at(c, i)->message[0];
	if (good) return true;
	printf("round %llu, statement %u, status %d:\n%s\n", (unsigned long long)round_now, piece_now,
	       st, program);
	for (uint32_t i = 0; i < diag_total(c); i++)
		diag_render(c, diag_at(c, i), false, write_out, NULL);
	return false;
}

/* Runs a file's statements in order, each after a mutant of it, in one
 * session. */
static void run_file(uint32_t from, uint32_t to, uint32_t share) {
	Ctx *c = open_session();
	for (piece_now = from; piece_now < to; piece_now++) {
		alarm(60);
		if (!below(share)) {
			make_program(piece_now);
			if (getenv("ATLED_SHOW")) printf("%u: %s\n", piece_now, program);
			CHECK(run(c));
		}
		program[0] = 0;
		strncat(program, pieces[piece_now], PROGRAM_BYTES);
		if (!run(c)) CHECK_MSG(false, "an intact statement");
		alarm(0);
	}
	ctx_free(c);
}

int main(int argc, char **argv) {
	const char *root = getenv("ATLED_BUILD");
	char path[1024];
	static const char *const folders[] = {"derivatives", "language", "native"};
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(path, sizeof path, "%s%stests/%s", root ? root : "", root ? "/../" : "",
		         folders[i]);
		read_folder(path);
	}
	if (!npieces) {
		CHECK_MSG(false, "there is no corpus here");
		return check_end();
	}
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
			 rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	uint32_t share = argc > 2 ? 1 : 3; /* by default one statement in three */
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) signal(signals[i], died);
	for (round_now = first; round_now < first + rounds; round_now++) {
		state = round_now * 0x9e3779b97f4a7c15u + 1;
		for (int i = 0; i < 4; i++) below(2);
		for (uint32_t f = 0; f < nfiles; f++)
			run_file(files[f], f + 1 < nfiles ? files[f + 1] : npieces, share);
	}
	for (uint32_t i = 0; i < npieces; i++) free(pieces[i]);
	return check_end();
}
