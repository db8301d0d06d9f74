/* test_edit.c - tests of line editing at the prompt, on an emulated terminal.
 *
 * Covers colours, multi-line blocks, suggestions, pasting, history, completion,
 * commands and response times.
 *
 * Needs: the program that $ATLED names; forkpty.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/support/check.h"
#include "tests/unit/repl/terminal.h"
#include "repl/prompt/repl.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct T {
	Trial trial;
	Terminal at;
} T;

#define UP "\033[A"
#define DOWN "\033[B"
#define RIGHT "\033[C"
#define LEFT "\033[D"

/* what: one additional environment setting, or NULL. */
static void start(T *t, int rows, int columns, const char *what) {
	static char home[80];
	snprintf(home, sizeof home, "HOME=%s", t->trial.home);
	const char *environment[] = {home,
	                             "TERM=xterm-256color",
	                             "INPUTRC=/dev/null",
	                             "LC_ALL=C.UTF-8",
	                             "-XDG_STATE_HOME",
	                             "-NO_COLOR",
	                             "PS1=",
	                             what,
	                             NULL};
	const char *arguments[] = {t->trial.program, NULL};
	terminal_start(&t->at, rows, columns, arguments, environment);
	CHECK(terminal_ends(&t->at, "atled> "));
}

static void keys(T *t, const char *text) { terminal_keys(&t->at, text); }

/* Types as a person does: each key waits until the previous one is on the
 * screen. */
static void type(T *t, const char *text) {
	for (char key[8]; *text;) {
		size_t n = 1;
		if (*text == '\033') n = text[1] == '[' ? 2 + strcspn(text + 2, "ABCDFH~") + 1 : 2;
		else if ((unsigned char)*text >= 0xc0)
			while (((unsigned char)text[n] & 0xc0) == 0x80) n++;
		memcpy(key, text, n);
		key[n] = 0;
		const unsigned before = t->at.bytes;
		keys(t, key);
		for (int i = 0; i < 500 && t->at.bytes == before; i++) terminal_take(&t->at, 0.002);
		while (t->at.bytes != before && terminal_take(&t->at, 0.0005)) {
			const unsigned now = t->at.bytes;
			terminal_take(&t->at, 0.0005);
			if (t->at.bytes == now) break;
		}
		text += n;
	}
}

static bool sees(T *t, const char *text) { return terminal_sees(&t->at, text); }

/* Waits until the cursor is at this position; row -1: any row. The cursor moves
 * after painting. */
static bool stands(T *t, int row, int column) {
	const double end = terminal_seconds() + 5 * t->at.slower;
	while (!(row < 0 || t->at.row == row) || t->at.column != column)
		if (terminal_seconds() > end || !terminal_take(&t->at, 0.05)) return false;
	return true;
}

/* Types a line and waits for the next prompt. */
static bool line(T *t, const char *text, const char *shows) {
	keys(t, "\014"); /* clears the screen */
	terminal_settle(&t->at);
	keys(t, text);
	keys(t, "\r");
	return sees(t, shows) && terminal_ends(&t->at, "atled> ");
}

static int colour_of(T *t, const char *text) {
	const Cell *c = terminal_find(&t->at, text);
	return c ? c->colour : -1;
}

static int leave(T *t) {
	CHECK(terminal_ends(&t->at, "atled> "));
	/* The terminal driver consumes a ^D that arrives while a program runs. */
	terminal_settle(&t->at);
	keys(t, "\004");
	const int code = terminal_finish(&t->at);
	CHECK(!t->at.unknown || !printf("  unknown: ESC %s\n", t->at.what));
	return code;
}

static void test_colours(T *t) {
	start(t, 24, 80, NULL);
	CHECK(terminal_find(&t->at, "atled>")->colour == 34);
	type(t, "if x > 1.5 { \"s\" } # c");
	CHECK(sees(t, "if x > 1.5 { \"s\" } # c"));
	CHECK(colour_of(t, "if x") == 35);
	CHECK(colour_of(t, "x >") == 0);
	CHECK(colour_of(t, "1.5") == 36);
	CHECK(colour_of(t, "\"s\"") == 32);
	CHECK(colour_of(t, "# c") == 90);
	keys(t, "\003");
	CHECK(terminal_ends(&t->at, "atled> "));
	/* An unclosed string is coloured as a string; :commands; the bracket that
	 * matches the one at the cursor. */
	type(t, "\"abc");
	CHECK(colour_of(t, "\"abc") == 32);
	keys(t, "\003");
	CHECK(terminal_ends(&t->at, "atled> "));
	type(t, ":type 12");
	CHECK(colour_of(t, ":type") == 35);
	CHECK(colour_of(t, "12") == 36);
	keys(t, "\003");
	CHECK(terminal_ends(&t->at, "atled> "));
	type(t, "(a[1])");
	CHECK(terminal_find(&t->at, "(a[1")->underlined && terminal_find(&t->at, "(a[1")[5].underlined);
	CHECK(!terminal_find(&t->at, "(a[1")[2].underlined);
	keys(t, "\003");
	CHECK(terminal_ends(&t->at, "atled> "));
	CHECK(leave(t) == 0);

	start(t, 24, 80, "NO_COLOR=1");
	type(t, "if x > 1.5");
	CHECK(sees(t, "if x > 1.5"));
	CHECK(colour_of(t, "if x") == 0 && colour_of(t, "atled>") == 0);
	CHECK(!terminal_find(&t->at, "atled>")->bold);
	keys(t, "\003");
	CHECK(terminal_ends(&t->at, "atled> "));
	CHECK(leave(t) == 0);

	start(t, 24, 80, "TERM=dumb");
	keys(t, "6 * 5");
	CHECK(terminal_ends(&t->at, "atled> 6 * 5"));
	keys(t, "\003");
	CHECK(terminal_ends(&t->at, "atled> "));
	keys(t, "(6 *\r");
	CHECK(terminal_ends(&t->at, "  ...> "));
	keys(t, "7)\r");
	CHECK(sees(t, "\n42\n"));
	CHECK(leave(t) == 0);
}

/* A ^C and the text typed after it arrive together: the ^C cancels, and none of
 * the text is lost. */
static void test_typed_ahead(T *t) {
	for (int plain = 0; plain < 2; plain++) {
		start(t, 24, 80, plain ? "TERM=dumb" : NULL);
		for (int i = 0; i < 20; i++) {
			type(t, "lost");
			CHECK(terminal_ends(&t->at, "atled> lost"));
			char text[40], want[40];
			snprintf(text, sizeof text, "\003%d + 4000\r", 100 + i);
			snprintf(want, sizeof want, "\n%d\n", 4100 + i);
			keys(t, text);
			CHECK(sees(t, want));
			CHECK(terminal_ends(&t->at, "atled> "));
		}
		CHECK(leave(t) == 0);
	}
}

static void test_blocks(T *t) {
	start(t, 24, 60, NULL);
	type(t, "f(a) = {\r");
	CHECK(terminal_ends(&t->at, "  ...>   ")); /* indented */
	type(t, "b = a + 1\rb^2\r");
	CHECK(terminal_ends(&t->at, "  ...>   "));
	type(t, "}"); /* reduces the indentation */
	CHECK(terminal_ends(&t->at, "  ...> }"));
	/* Moves up to the second line, changes 1 to 10, and presses return
	 * there. */
	type(t, UP UP);
	CHECK(t->at.row == t->at.rows - 1 ||
	      !strcmp(terminal_row(&t->at, t->at.row), "  ...>   b = a + 1"));
	type(t, "\005"
	        "0");
	CHECK(sees(t, "b = a + 10\n"));
	type(t, "\r");
	CHECK(terminal_ends(&t->at, "atled> "));
	CHECK(sees(t, "atled> f(a) = {\n  ...>   b = a + 10\n  ...>   b^2\n  ...> }\natled>"));
	CHECK(line(t, "f(2)", "\n144\n"));
	/* A block is recalled as a whole, with the cursor at the end of its first
	 * line. Up goes on in the history; down returns. */
	keys(t, "\014");
	type(t, UP UP);
	CHECK(sees(t, "atled> f(a) = {\n  ...>   b = a + 10\n  ...>   b^2\n  ...> }\n"));
	CHECK(stands(t, 0, 15));
	type(t, DOWN);
	CHECK(stands(t, 1, 15));
	type(t, DOWN DOWN);
	CHECK(stands(t, 3, 8));
	type(t, DOWN);
	CHECK(terminal_ends(&t->at, "atled> f(2)"));
	type(t, UP DOWN DOWN);
	type(t, "\001");
	CHECK(stands(t, 2, 7)); /* the beginning of the line */
	type(t, "\013b\r");     /* deletes the remainder */
	CHECK(terminal_ends(&t->at, "atled> "));
	CHECK(line(t, "f(2)", "\n12\n"));
	/* Other keys of readline that end an input wait for its end, too, and those
	 * that clear the screen leave the prompt. */
	keys(t, "\014");
	type(t, "k(a) = {\017");
	CHECK(terminal_ends(&t->at, "  ...>   "));
	type(t, "\033\014");
	CHECK(stands(t, 1, 9) && sees(t, "atled> k(a) = {\n"));
	type(t, "a }\017");
	CHECK(terminal_ends(&t->at, "atled> "));
	/* A new line in a complete text; line keys stay within their line. */
	keys(t, "\014");
	type(t, "u = 5\033\rv = 6");
	CHECK(sees(t, "atled> u = 5\n  ...> v = 6\n"));
	type(t, "\001\025"); /* joins with the previous line */
	CHECK(sees(t, "atled> u = 5v = 6\n"));
	type(t, "\033\r\r");
	CHECK(terminal_ends(&t->at, "atled> "));
	CHECK(line(t, "u * v", "\n30\n"));
	/* Rows wider than the terminal. */
	keys(t, "\014");
	type(t, "\"0123456789012345678901234567890123456789012345678901234567890123456789\"");
	CHECK(sees(t,
	           "atled> "
	           "\"012345678901234567890123456789012345678901234567890\n1234567890123456789\"\n"));
	CHECK(stands(t, 1, 20));
	type(t, "\001");
	CHECK(stands(t, 0, 7));
	terminal_resize(&t->at, 24, 100);
	/* Rewrapping depends on the terminal: only painted text counts. */
	memset(t->at.cell, 0, sizeof t->at.cell);
	t->at.row = t->at.column = 0;
	CHECK(sees(
		t, "atled> \"0123456789012345678901234567890123456789012345678901234567890123456789\"\n"));
	terminal_settle(&t->at);
	keys(t, "\003");
	CHECK(terminal_ends(&t->at, "atled> "));
	/* Wide and accented characters take the columns that they are shown in. */
	keys(t, "\014");
	type(t, "α = \"äöü\"" LEFT LEFT LEFT "x");
	CHECK(sees(t, "atled> α = \"äxöü\"\n"));
	CHECK(stands(t, -1, 14));
	keys(t, "\003");
	CHECK(terminal_ends(&t->at, "atled> "));
	CHECK(leave(t) == 0);
}

static void test_suggestions(T *t) {
	start(t, 24, 80, NULL);
	CHECK(line(t, "sum([10, 20, 30])", "\n60\n"));
	CHECK(line(t, "1 + 1", "\n2\n"));
	keys(t, "\014");
	type(t, "su");
	CHECK(sees(t, "atled> sum([10, 20, 30])\n"));
	CHECK(colour_of(t, "m([10") == 90);
	CHECK(stands(t, -1, 9));
	/* Up is history, not the suggestion. */
	type(t, UP);
	CHECK(terminal_ends(&t->at, "atled> 1 + 1"));
	type(t, DOWN);
	CHECK(sees(t, "atled> sum([10, 20, 30])\n"));
	/* Accepts one word, then everything. */
	type(t, "\033f");
	CHECK(stands(t, -1, 10) && colour_of(t, "m([10") == 0);
	type(t, RIGHT);
	CHECK(terminal_ends(&t->at, "atled> sum([10, 20, 30])"));
	keys(t, "\r");
	CHECK(sees(t, "\n60\n"));
	/* A suggestion that is not accepted is neither run nor left on the
	 * screen. */
	keys(t, "\014");
	type(t, "1");
	CHECK(sees(t, "atled> 1 + 1\n"));
	type(t, "\r");
	CHECK(sees(t, "atled> 1\n1\n"));
	/* A block is suggested as a whole. */
	CHECK(line(t, "g(a) = {\ra * 3\r}", ""));
	keys(t, "\014");
	type(t, "g(a)");
	CHECK(sees(t, "atled> g(a) = {\n  ...> a * 3\n  ...> }\n"));
	type(t, RIGHT);
	CHECK(terminal_ends(&t->at, "  ...> }"));
	keys(t, "\r");
	CHECK(line(t, "g(4)", "\n12\n"));
	CHECK(leave(t) == 0);
}

static void test_paste(T *t) {
	start(t, 24, 80, NULL);
	CHECK(t->at.pastes);
	/* A transcript: prompts and results are removed, the remainder is one text
	 * that is not run yet. */
	keys(t,
	     "\033[200~atled> h(x) = {\r\n  ...>   x + 5\r\n  ...> }\r\natled> h(2)\r\n7\r\n\033[201~");
	CHECK(sees(t, "atled> h(x) = {\n  ...>   x + 5\n  ...> }\n  ...> h(2)\n"));
	CHECK(!strstr(terminal_text(&t->at), "\n7"));
	keys(t, "\r");
	CHECK(sees(t, "\n7\n"));
	/* Text with tabs: its newlines do not run it, and it is not indented
	 * again. */
	CHECK(terminal_ends(&t->at, "atled> "));
	keys(t, "\014\033[200~k(x) = {\n\ty = x\n\n\ty * 2\n}\n\033[201~");
	CHECK(sees(t, "atled> k(x) = {\n  ...>  y = x\n  ...>\n  ...>  y * 2\n  ...> }\n"));
	keys(t, "\r");
	CHECK(terminal_ends(&t->at, "atled> "));
	CHECK(line(t, "k(50)", "\n100\n"));
	/* Undone in one step. */
	keys(t, "\014\033[200~1 +\n2\n\033[201~");
	CHECK(sees(t, "atled> 1 +\n  ...> 2\n"));
	keys(t, "\037");
	CHECK(terminal_ends(&t->at, "atled> "));
	/* Without bracketed paste: keys that arrive together are not indented. */
	keys(t, "\014m(x) = {\r  x + 7\r}\rm(1)\r");
	CHECK(sees(t, "\n8\n"));
	CHECK(leave(t) == 0);
}

static void test_symbols(T *t) {
	const char *name, *text, *before = "";
	size_t n = 0;
	for (bool sorted = true; symbol_at(n, &name, &text); n++) {
		CHECK((sorted = sorted && strcmp(before, name) < 0) &&
		      symbol_find(name, strlen(name)) == text);
		before = name;
	}
	CHECK(n >= 500);
	static const char *const some[][2] = {
		{"alpha", "α"}, {"Omega", "Ω"}, {"nabla", "∇"}, {"partial", "∂"},   {"_1", "₁"},
		{"^2", "²"},    {"^-", "⁻"},    {"to", "→"},    {"otimes", "⊗"},    {"le", "≤"},
		{"infty", "∞"}, {"bbR", "ℝ"},   {"hbar", "ℏ"},  {"varepsilon", "ϵ"}};
	for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
		const char *found = symbol_find(some[i][0], strlen(some[i][0]));
		CHECK(found && !strcmp(found, some[i][1]));
	}
	CHECK(!symbol_find("alph", 4) && !symbol_find("", 0));
	start(t, 24, 80, NULL);
	type(t, "\\alpha\t");
	CHECK(terminal_ends(&t->at, "atled> α"));
	type(t, " = 3\r");
	CHECK(terminal_ends(&t->at, "atled> "));
	CHECK(line(t, "α\\^2\t + 1", "\n10\n"));
	type(t, "\\vare\t"); /* the only candidate */
	CHECK(terminal_ends(&t->at, "atled> ϵ"));
	type(t, "\003");
	CHECK(terminal_ends(&t->at, "atled> "));
	type(t, "\\the\t");
	CHECK(sees(t, "\\theta") && sees(t, "\\therefore"));
	CHECK(sees(t, "θ"));
	type(t, "\003");
	CHECK(terminal_ends(&t->at, "atled> "));
	CHECK(leave(t) == 0);
}

static void test_completion(T *t) {
	start(t, 24, 80, NULL);
	CHECK(line(t, "rec = (first = 10, inner = (deep = 1, dark = \"x\"))", ""));
	CHECK(line(t, "my_function(alpha, beta = 2; ratio_of = [1, 2]) = alpha * beta", ""));
	CHECK(line(t, "my_number = 2.5", ""));
	keys(t, "\014");
	/* One candidate, with its signature below. */
	type(t, "linsp\t");
	CHECK(sees(t, "atled> linspace\nlinspace(a, b, n = 50)\n"));
	CHECK(stands(t, 0, 15));
	type(t, "x"); /* the next key removes it */
	CHECK(terminal_ends(&t->at, "atled> linspacex"));
	type(t, "\003");
	keys(t, "\014");
	/* Several candidates: the common prefix, and a description of each. */
	type(t, "my_\t");
	CHECK(sees(t, "  my_function(alpha, beta = 2; ratio_of = [1, 2])\n  my_number    f64\n"));
	type(t, "\003");
	keys(t, "\014");
	/* Fields, and fields of fields. */
	type(t, "rec.\t");
	CHECK(sees(t, "rec.first") && sees(t, "i64") && sees(t, "rec.inner"));
	type(t, "inner.de\t");
	CHECK(sees(t, "atled> rec.inner.deep\n"));
	type(t, "\003");
	keys(t, "\014");
	/* Named arguments of the called function, and its signature. */
	type(t, "my_function(1, rat\t");
	CHECK(sees(t, "atled> my_function(1, ratio_of =\nratio_of = [1, 2]\n"));
	type(t, "\003");
	keys(t, "\014");
	type(t, "my_function(\t");
	CHECK(sees(t, "my_function(alpha, beta = 2; ratio_of = [1, 2])\n"));
	CHECK(sees(t, "ratio_of = [1, 2]"));
	type(t, "\003");
	keys(t, "\014");
	type(t, "sum([1, 2]; keep\t");
	CHECK(sees(t, "atled> sum([1, 2]; keepdims =\nkeepdims = false\n"));
	type(t, "\003");
	keys(t, "\014");
	/* Modules and their names. */
	type(t, "use opt\t");
	CHECK(sees(t, "atled> use optim"));
	type(t, "\r");
	CHECK(terminal_ends(&t->at, "atled> "));
	type(t, "optim.minimi\t");
	CHECK(sees(t, "optim.minimize"));
	type(t, "\003");
	keys(t, "\014");
	/* Files in strings and after :load; folders end in a slash. */
	char path[160], text[240];
	snprintf(path, sizeof path, "%s/folder", t->trial.home);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/folder/data_file.csv", t->trial.home);
	FILE *f = fopen(path, "w");
	if (f) fclose(f);
	snprintf(text, sizeof text, "load(\"%s/fol\t", t->trial.home);
	type(t, text);
	snprintf(text, sizeof text, "load(\"%s/folder/", t->trial.home);
	CHECK(sees(t, text));
	type(t, "da\t");
	CHECK(sees(t, "folder/data_file.csv\""));
	type(t, "\003");
	keys(t, "\014");
	snprintf(text, sizeof text, ":load %s/folder/da\t", t->trial.home);
	type(t, text);
	CHECK(sees(t, "folder/data_file.csv"));
	type(t, "\003");
	keys(t, "\014");
	/* Commands; ? before a name; nothing in a comment. */
	type(t, ":re\t");
	CHECK(sees(t, "atled> :reload"));
	type(t, "\003");
	keys(t, "\014");
	type(t, "?linsp\t");
	CHECK(sees(t, "atled> ?linspace\n"));
	type(t, "\003");
	keys(t, "\014");
	type(t, "# linsp\t");
	CHECK(terminal_ends(&t->at, "atled> # linsp"));
	type(t, "\003");
	keys(t, "\014");
	/* Names in a block that has not run yet. */
	type(t, "f(my_matrix, b) = {\rmy_mat\t");
	CHECK(sees(t, "  ...>   my_matrix\n"));
	type(t, "\003");
	keys(t, "\014");
	/* Many candidates: in columns, and not more than fit. */
	type(t, "s\t");
	CHECK(sees(t, "scatter"));
	terminal_settle(&t->at);
	CHECK(stands(t, 0, 8));
	type(t, "\003");
	CHECK(terminal_ends(&t->at, "atled> "));
	CHECK(leave(t) == 0);
}

static void test_history(T *t) {
	char path[120], other[200];
	snprintf(path, sizeof path, "%s/.local/state/atled/history", t->trial.home);
	unlink(path);
	start(t, 24, 80, NULL);
	CHECK(line(t, "# 1 a comment first\r11 * 11", "\n121\n"));
	CHECK(line(t, "\"back\\\\slash\"", "back\\slash"));
	CHECK(line(t, "p(x) = {\r#1\rx + 1000\r}", ""));
	/* Another session at the same time. */
	T *two = calloc(1, sizeof *two);
	if (two) {
		two->trial.program = t->trial.program;
		two->at.slower = t->at.slower;
		strcpy(two->trial.home, t->trial.home);
		start(two, 24, 80, NULL);
		CHECK(line(two, "22 * 2", "\n44\n"));
		CHECK(line(t, "33 * 3", "\n99\n"));
		CHECK(line(two, "44 * 4", "\n176\n"));
		CHECK(leave(t) == 0);
		CHECK(leave(two) == 0);
		free(two);
	}
	struct stat s;
	CHECK(!stat(path, &s) && (s.st_mode & 0777) == 0600);
	snprintf(other, sizeof other, "%s/.local/state/atled", t->trial.home);
	CHECK(!stat(other, &s) && (s.st_mode & 0777) == 0700);
	/* The next start has the input of both, each entry as it was typed. */
	start(t, 24, 80, NULL);
	keys(t, "\014");
	type(t, UP);
	CHECK(terminal_ends(&t->at, "atled> 44 * 4"));
	type(t, UP);
	CHECK(terminal_ends(&t->at, "atled> 33 * 3"));
	type(t, UP);
	CHECK(terminal_ends(&t->at, "atled> 22 * 2"));
	type(t, UP);
	CHECK(sees(t, "atled> p(x) = {\n  ...> #1\n  ...> x + 1000\n  ...> }\n"));
	type(t, UP);
	CHECK(terminal_ends(&t->at, "atled> \"back\\\\slash\""));
	type(t, UP);
	CHECK(sees(t, "atled> 11 * 11"));
	type(t, UP);
	CHECK(sees(t, "atled> # 1 a comment first"));
	type(t, "\003");
	CHECK(terminal_ends(&t->at, "atled> "));
	/* Searching: shows the match with the search text; a key that is not part
	 * of the search accepts it. */
	keys(t, "\014");
	type(t, "\022"
	        "p(x");
	CHECK(sees(t, "(reverse-i-search)`p(x': p(x) = {\n  ...> #1\n"));
	type(t, "\r");
	CHECK(terminal_ends(&t->at, "atled> "));
	CHECK(line(t, "p(1)", "\n1001\n"));
	keys(t, "\014");
	type(t, "\022"
	        "22");
	CHECK(sees(t, "22 * 2"));
	type(t, "\003");
	CHECK(terminal_ends(&t->at, "atled> "));
	CHECK(leave(t) == 0);
}

static void test_help(T *t) {
	start(t, 40, 100, NULL);
	CHECK(line(t, "?sin", "sin(x): sine, radians\n"));
	CHECK(sees(t, "derivative sin(x) = cos(x)\n"));
	CHECK(line(t, "?linspace", "linspace(a, b, n = 50): f64[n], evenly spaced"));
	CHECK(line(t, "??linspace", "linspace(a, b, n = 50) ="));
	CHECK(line(t,
	           "# twice(x): doubles\033\r#     twice(2)   #> 4\033\rtwice(x) = 2x\rderivative "
	           "twice(x) = 2",
	           ""));
	CHECK(line(t, "?twice", "twice(x): doubles\n    twice(2)   #> 4\nderivative twice(x) = 2\n"));
	CHECK(line(t, "??twice", "\ntwice(x) = 2x\n"));
	CHECK(line(t, "??sin", "built in"));
	CHECK(line(t, "?nobody", "no `nobody`"));
	CHECK(line(t, ":help", ":save FILE"));
	CHECK(leave(t) == 0);
}

static void test_results(T *t) {
	start(t, 40, 100, NULL);
	CHECK(line(t, "3 + 4", "\n7\n"));
	CHECK(line(t, "ans + 1", "\n8\n"));
	CHECK(line(t, "9 * 9;", ""));
	CHECK(!strstr(terminal_text(&t->at), "81"));
	CHECK(line(t, "reshape(linspace(-1.2, 3.4, 4096), (64, 64))",
	           "f64[64, 64]  32 KB  min -1.2  max 3.4  nan 0\n"));
	CHECK(sees(t, "\n[[-1.2, ") && sees(t, "...") && sees(t, " 3.4]]\n"));
	CHECK(line(t, "[1, 2; 3, 4]", "\n[[1, 2],\n [3, 4]]\n"));
	CHECK(leave(t) == 0);
}

static bool file_is(const char *path, const char *text) {
	StringBuffer b = {0};
	const char *why;
	const bool same = buffer_read_file(&b, path, &why) && !strcmp(b.at, text);
	if (!same) printf("  %s: %s\n", path, b.at ? b.at : why);
	buffer_free(&b);
	return same;
}

static void write_file(const char *path, const char *text) {
	FILE *f = fopen(path, "w");
	if (!f) return;
	fputs(text, f);
	fclose(f);
}

static void test_commands(T *t) {
	char path[120], text[300];
	snprintf(text, sizeof text, "EDITOR=sed -i s/one/three/");
	start(t, 40, 100, text);
	/* A session saved as a program. */
	CHECK(line(t, "x = 2", ""));
	CHECK(line(t, "x + nobody", "no `nobody`"));
	CHECK(line(t, "f(a) = {\ra * x\r}", ""));
	CHECK(line(t, "f(10)", "\n20\n"));
	CHECK(line(t, "y = 3; f(y) # said", "\n6\n"));
	CHECK(line(t, "z = ans + 1", ""));
	CHECK(line(t, "w = 1\033\rw + [1, 2] + [1, 2, 3]\033\rw = 7", "[E0302]"));
	CHECK(line(t, "z + w", "\n8\n"));
	snprintf(path, sizeof path, "%s/saved.dsl", t->trial.home);
	snprintf(text, sizeof text, ":save %s", path);
	CHECK(line(t, text, "8 statements in "));
	CHECK(file_is(path, "x = 2\nf(a) = {\na * x\n}\nf(10)\ny = 3\nans = f(y)\nans\nz = ans + "
	                    "1\nw = 1\nz + w\n"));
	snprintf(text, sizeof text, "'%s' %s > %s/out", t->trial.program, path, t->trial.home);
	CHECK(!system(text));
	snprintf(path, sizeof path, "%s/out", t->trial.home);
	CHECK(file_is(path, "20\n6\n8\n"));
	CHECK(line(t, ":save /nowhere/at/all.dsl", "No such file"));
	/* Saving over a file keeps its name, links and permissions; a device is not
	 * replaced. */
	char named[140];
	struct stat about;
	snprintf(path, sizeof path, "%s/kept.dsl", t->trial.home);
	snprintf(named, sizeof named, "%s/link.dsl", t->trial.home);
	write_file(path, "old\n");
	CHECK(!chmod(path, 0640) && !symlink("kept.dsl", named));
	snprintf(text, sizeof text, ":save %s", named);
	CHECK(line(t, text, "8 statements in "));
	CHECK(!lstat(named, &about) && S_ISLNK(about.st_mode));
	CHECK(!stat(path, &about) && (about.st_mode & 07777) == 0640 && about.st_size > 40);
	CHECK(line(t, ":save /dev/null", "not a regular file"));
	CHECK(line(t, ":save /tmp", "Is a directory"));
	/* Files: loaded, changed, loaded again, edited. */
	snprintf(path, sizeof path, "%s/one.dsl", t->trial.home);
	write_file(path, "one = 1\none * 100\n");
	snprintf(text, sizeof text, ":load %s", path);
	CHECK(line(t, ":reload", "no file was loaded yet"));
	CHECK(line(t, text, "\n100\n"));
	write_file(path, "one = 5\none * 100\n");
	CHECK(line(t, ":reload", "\n500\n"));
	CHECK(line(t, ":edit", "\n500\n"));
	CHECK(file_is(path, "three = 5\nthree * 100\n"));
	CHECK(line(t, ":load /nowhere.dsl", "No such file"));
	CHECK(line(t, ":sh echo from $((40 + 2)) shells", "\nfrom 42 shells\n"));
	CHECK(line(t, ":sh exit 3", "exit status 3"));
	/* Inspection commands. */
	CHECK(line(t, ":vars", "three        i64"));
	CHECK(line(t, ":type ones(30, 40) @ ones(40, 50)", "f64[30, 50]"));
	CHECK(sees(t, "scalar operations"));
	CHECK(line(t, ":type print(\"never\")", "[E0404]"));
	CHECK(line(t, ":ir f(2.0)", "fn @f"));
	CHECK(line(t, ":plan f(2.0)", "machine code"));
	CHECK(line(t, ":native f(2.0)", "machine code"));
	CHECK(line(t, ":time f(2)", "compiling"));
	CHECK(line(t, ":bench f(2)", "median"));
	CHECK(sees(t, "quartiles") && sees(t, "allocations"));
	CHECK(line(t, ":nan sqrt(0.0 - x)", "gives the first NaN"));
	CHECK(line(t, ":nothing", "no command"));
	CHECK(line(t, ":save", "needs FILE"));
	keys(t, ":quit\r");
	CHECK(terminal_finish(&t->at) == 0);
	/* :edit without a file: the last input. */
	start(t, 40, 100, "EDITOR=sed -i s/21/42/");
	CHECK(line(t, "21 * 1", "\n21\n"));
	CHECK(line(t, ":edit", "\n42 * 1\n42\n"));
	CHECK(leave(t) == 0);
}

static void test_progress(T *t) {
	/* Counts the iterations of a loop in the evaluator. */
	start(t, 24, 100, "ATLED_NATIVE=off");
	keys(t, "s = 0.0; for i in 0..1000000000000 { s = s + sin(f64(i)) }; s\r");
	double from = terminal_seconds();
	CHECK(sees(t, " of 1000000000000  "));
	CHECK(terminal_seconds() - from > 1.9);
	CHECK(sees(t, "[....................]   0 %  step "));
	keys(t, "\003");
	CHECK(sees(t, "interrupted") && terminal_ends(&t->at, "atled> "));
	CHECK(!strstr(terminal_text(&t->at), " of 1000000000000  ")); /* the progress line is gone */
	CHECK(line(t, "f(t, y) = [y[1], -sin(y[0]) + sum(0.0 * sin(iota(1000) * 1.0))]", ""));
	keys(t, "\014ode(f, [1.0, 0.0], (0.0, 1e5), method = bdf(max_steps = 100000000))\r");
	from = terminal_seconds();
	while (terminal_seconds() - from < 20 && !strstr(terminal_text(&t->at), "t = ") &&
	       !strstr(terminal_text(&t->at), "E0"))
		terminal_take(&t->at, 0.05);
	CHECK(sees(t, " of 1e+05  dt "));
	keys(t, "\003");
	CHECK(sees(t, "interrupted") && terminal_ends(&t->at, "atled> "));
	CHECK(leave(t) == 0);
	/* Machine code reports the progress that its loop reports. Otherwise it
	 * counts the loop's iterations. */
	start(t, 24, 100, "ATLED_NATIVE=always");
	CHECK(line(t,
	           "f(n) = { x = 0.0; for k in 0..n { x = 0.5*x + sin(f64(k)); progress(k + 1, n; "
	           "loss = abs(x)) }; x }",
	           ""));
	CHECK(line(t, "f(1)", "0.0"));
	keys(t, "\014f(1000000000000)\r");
	from = terminal_seconds();
	while (terminal_seconds() - from < 20 && !strstr(terminal_text(&t->at), "loss "))
		terminal_take(&t->at, 0.05);
	CHECK(terminal_seconds() - from > 1.9);
	CHECK(sees(t, " of 1000000000000  loss 0.") || sees(t, " of 1000000000000  loss 1."));
	keys(t, "\003");
	from = terminal_seconds();
	CHECK(sees(t, "interrupted") && terminal_ends(&t->at, "atled> "));
	CHECK(terminal_seconds() - from < 0.5); /* test_interrupts checks the milliseconds */
	CHECK(!strstr(terminal_text(&t->at), "loss 0.") && !strstr(terminal_text(&t->at), "loss 1."));
	CHECK(line(t, "g(n) = { x = 0.0; for k in 0..n { x = 0.5*x + sin(f64(k)) }; x }", ""));
	CHECK(line(t, "g(1)", "0.0"));
	keys(t, "\014g(1000000000000)\r");
	CHECK(sees(t, " of 1000000000000  "));
	keys(t, "\003");
	CHECK(sees(t, "interrupted") && terminal_ends(&t->at, "atled> "));
	/* An optimiser inside a loop: shows the loop's progress, its remaining time
	 * and the optimiser's progress. All disappear at the end. */
	CHECK(line(t,
	           "slow(x) = { s = 0.0; for k in 0..300000 { s = s + sin(0.001*k + x[0])^2 }; s + "
	           "(x[0] - 1)^2 }",
	           ""));
	keys(t, "\014for k in 0..30 { progress(k, 30); minimize(slow, [0.3], adam(rate = 1e-3); steps "
	        "= 40, tol = 0.0) }\r");
	from = terminal_seconds();
	while (terminal_seconds() - from < 60 &&
	       !(strstr(terminal_text(&t->at), " left") && strstr(terminal_text(&t->at), "value ")))
		terminal_take(&t->at, 0.05);
	CHECK(sees(t, " of 30  ") && sees(t, " left") && sees(t, " of 40  value "));
	keys(t, "\003");
	CHECK(sees(t, "interrupted") && terminal_ends(&t->at, "atled> "));
	CHECK(leave(t) == 0);
}

static int by_size(const void *a, const void *b) {
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Returns the milliseconds until the prompt appears: the best of several
 * starts, because the machine may be busy. */
static double start_time(T *t) {
	double took[9];
	for (int i = 0; i < 9; i++) {
		const double from = terminal_seconds();
		static char home[80];
		snprintf(home, sizeof home, "HOME=%s", t->trial.home);
		const char *environment[] = {home,
		                             "TERM=xterm-256color",
		                             "INPUTRC=/dev/null",
		                             "LC_ALL=C.UTF-8",
		                             "-XDG_STATE_HOME",
		                             "-NO_COLOR",
		                             NULL};
		terminal_start(&t->at, 24, 80, (const char *const[]){t->trial.program, NULL}, environment);
		while (terminal_seconds() - from < 5 && !strstr(terminal_row(&t->at, 1), "atled>"))
			terminal_take(&t->at, 0.001);
		took[i] = 1e3 * (terminal_seconds() - from);
		keys(t, "\004");
		terminal_finish(&t->at);
	}
	qsort(took, 9, sizeof *took, by_size);
	return took[0];
}

static void test_speed(T *t) {
	const double prompt = start_time(t);
	printf("test_edit: prompt after %.1f ms\n", prompt);
	CHECK(t->trial.sanitized || prompt < 20);

	/* A text of 2,000 lines is pasted, then keys are typed in its middle. */
	start(t, 40, 100, NULL);
	StringBuffer text = {0};
	buffer_str(&text, "\033[200~big(x) = {\n");
	for (int i = 1; i < 1999; i++)
		buffer_format(&text, "  y%d = x + %d * sin(%d.5) # line %d\n", i, i, i, i);
	buffer_str(&text, "  y7\n}\033[201~");
	const double from = terminal_seconds();
	keys(t, text.at);
	buffer_free(&text);
	CHECK(terminal_ends(&t->at, "  ...> }"));
	printf("test_edit: 2,000 lines pasted in %.0f ms\n", 1e3 * (terminal_seconds() - from));
	for (int i = 0; i < 300; i++) keys(t, UP);
	terminal_settle(&t->at);
	double took[100];
	for (int i = 0; i < 100; i++) {
		const unsigned before = t->at.bytes;
		const double pressed = terminal_seconds();
		keys(t, i % 2 ? "\010" : "z");
		while (t->at.bytes == before && terminal_seconds() - pressed < 1)
			terminal_take(&t->at, 0.001);
		took[i] = 1e3 * (terminal_seconds() - pressed);
	}
	qsort(took, 100, sizeof *took, by_size);
	printf("test_edit: a key in 2,000 lines after %.2f ms, 90 of 100 within %.2f ms\n", took[50],
	       took[90]);
	CHECK(t->trial.sanitized || took[50] < 5);
	keys(t, "\003");
	CHECK(terminal_ends(&t->at, "atled> "));
	CHECK(leave(t) == 0);
}

int main(void) {
	static T t;
	int status;
	if (!trial_begin(&t.trial, "edit", &status)) return status;
	t.at.slower = t.trial.sanitized ? 6 : 1;
	const char *only = getenv("TEST_ONLY");
	static const struct {
		const char *name;
		void (*run)(T *t);
	} tests[] = {{"colours", test_colours},
	             {"typed ahead", test_typed_ahead},
	             {"blocks", test_blocks},
	             {"suggestions", test_suggestions},
	             {"paste", test_paste},
	             {"symbols", test_symbols},
	             {"completion", test_completion},
	             {"history", test_history},
	             {"help", test_help},
	             {"results", test_results},
	             {"commands", test_commands},
	             {"progress", test_progress},
	             {"speed", test_speed}};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		if (!only || strstr(only, tests[i].name)) tests[i].run(&t);
	return trial_end(&t.trial);
}
