/* edit.c - multi-line editor of the prompt: actions of the keys.
 *
 * Needs: repl.h; readline's buffer, kill ring, undo and search. screen.c
 * paints.
 *
 * Guarantees:
 * - edit_read returns only complete inputs.
 * - The terminal has its original settings whenever edit_read has returned.
 */
#define _GNU_SOURCE
#include "repl/prompt/repl.h"

#include <readline/history.h>
#include <readline/readline.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool in_colour, painted_late, leaving;
static StringBuffer menu; /* completion menu, erased by the next key */
static int goal = -1;     /* the column that vertical moves return to */

/* ---- painting ------------------------------------------------------------ */

static bool more_keys(void) {
	int n = 0;
	return !ioctl(STDIN_FILENO, FIONREAD, &n) && n > 0;
}

static const char *suggestion(void) {
	/* Without colour a suggestion would look like typed text. */
	if (!in_colour || leaving || !rl_end || rl_point != rl_end || rl_display_prompt != rl_prompt)
		return NULL;
	return history_suggestion(rl_line_buffer, (size_t)rl_end);
}

static void paint(void) {
	painted_late = false;
	const bool searching = rl_display_prompt != rl_prompt;
	/* After a search, readline has the line before the cursor. */
	const int point = rl_point < rl_end ? rl_point : rl_end;
	screen_paint(&(ScreenContents){.prompt = searching ? rl_display_prompt : first_prompt,
	                               .more = more_prompt,
	                               .text = rl_line_buffer,
	                               .n = (size_t)rl_end,
	                               .point = (size_t)point,
	                               .ghost = suggestion(),
	                               .below = leaving ? NULL : menu.at,
	                               .colour = in_colour,
	                               .pairs = in_colour && !leaving});
}

static int key_tab(int count, int key);

static void redisplay(void) {
	if (rl_last_func != key_tab) buffer_free(&menu);
	painted_late = more_keys(); /* Keys that arrive together are painted together. */
	if (!painted_late) paint();
}

static int get_key(FILE *in) {
	if (painted_late && !more_keys()) paint();
	return key_get(in);
}

/* ---- lines of the input -------------------------------------------------- */

static int line_start(int at) {
	while (at > 0 && rl_line_buffer[at - 1] != '\n') at--;
	return at;
}

static int line_end(int at) {
	while (at < rl_end && rl_line_buffer[at] != '\n') at++;
	return at;
}

static int characters(int from, int to) {
	int n = 0;
	for (; from < to; from++) n += ((unsigned char)rl_line_buffer[from] & 0xc0) != 0x80;
	return n;
}

static bool moves_vertically(void);

/* Moves to the line that starts at `start`, to the column `goal` or the line's
 * end. */
static void to_line(int start) {
	const int end = line_end(start);
	rl_point = start;
	for (int n = 0; n < goal && rl_point < end; n++) do
			rl_point++;
		while (rl_point < end && ((unsigned char)rl_line_buffer[rl_point] & 0xc0) == 0x80);
}

static int key_up(int count, int key) {
	const int start = line_start(rl_point);
	if (!start) {
		const int st = rl_get_previous_history(count, key);
		rl_point = line_end(0); /* so that the next key_up moves on up */
		return st;
	}
	if (!moves_vertically()) goal = characters(start, rl_point);
	to_line(line_start(start - 1));
	return 0;
}

static int key_down(int count, int key) {
	const int end = line_end(rl_point);
	if (end == rl_end) {
		const int st = rl_get_next_history(count, key);
		rl_point = rl_end;
		return st;
	}
	if (!moves_vertically()) goal = characters(line_start(rl_point), rl_point);
	to_line(end + 1);
	return 0;
}

static bool moves_vertically(void) {
	return goal >= 0 && (rl_last_func == key_up || rl_last_func == key_down);
}

static int key_home(int count, int key) {
	(void)count;
	(void)key;
	rl_point = line_start(rl_point);
	return 0;
}

/* Inserts the suggestion, or its first word. */
static bool accept_suggestion(bool word) {
	const char *more = suggestion();
	if (!more) return false;
	size_t n = strlen(more);
	if (word) {
		for (n = 0; more[n] && strchr(" \n\t([{,", more[n]); n++) {}
		n += strcspn(more + n, " \n\t([{,");
	}
	char *copy = strndup(more, n);
	if (copy) rl_insert_text(copy);
	free(copy);
	return true;
}

static int key_end(int count, int key) {
	(void)count;
	(void)key;
	if (rl_point == rl_end) accept_suggestion(false);
	else rl_point = line_end(rl_point);
	return 0;
}

static int key_right(int count, int key) {
	return accept_suggestion(false) ? 0 : rl_forward_char(count, key);
}

static int key_word(int count, int key) {
	return accept_suggestion(true) ? 0 : rl_forward_word(count, key);
}

static int key_kill(int count, int key) {
	(void)count;
	(void)key;
	const int end = line_end(rl_point);
	return rl_kill_text(rl_point, end == rl_point && end < rl_end ? end + 1 : end);
}

static int key_kill_back(int count, int key) {
	(void)count;
	(void)key;
	const int start = line_start(rl_point), from = start == rl_point && start ? start - 1 : start,
			  to = rl_point;
	rl_point = from;
	return rl_kill_text(to, from);
}

static int key_clear(int count, int key) {
	(void)count;
	(void)key;
	screen_clear();
	return 0;
}

/* ---- end of the input ---------------------------------------------------- */

/* Returns the indentation of a new line: that of the current line, plus two if
 * it opens brackets. */
static int indentation(void) {
	const int start = line_start(rl_point);
	int n = 0, open = 0;
	while (start + n < rl_point && rl_line_buffer[start + n] == ' ') n++;
	for (int i = start + n; i < rl_point; i++) {
		if (strchr("([{", rl_line_buffer[i])) open++;
		else if (strchr(")]}", rl_line_buffer[i])) open -= open > 0;
	}
	return n + (open ? 2 : 0);
}

static int key_newline(int count, int key) {
	(void)count;
	(void)key;
	const int n = more_keys() ? 0 : indentation(); /* text pasted as keys is indented already */
	rl_begin_undo_group();
	rl_insert_text("\n");
	for (int i = 0; i < n; i++) rl_insert_text(" ");
	rl_end_undo_group();
	return 0;
}

static void leave(void) {
	leaving = true;
	rl_point = rl_end;
	rl_display_prompt = rl_prompt;
	paint();
	screen_leave();
	rl_done = 1;
}

static bool is_whole(void) {
	const char *text = rl_line_buffer + strspn(rl_line_buffer, " ");
	return *text == ':' || *text == '?' || !atled_incomplete(rl_line_buffer, (size_t)rl_end);
}

static int key_return(int count, int key) {
	if (is_whole()) leave();
	else {
		const int rest = rl_point + (int)strspn(rl_line_buffer + rl_point, " \n");
		if (rest == rl_end) rl_point = rl_end;
		key_newline(count, key);
	}
	return 0;
}

static int key_cancel(int count, int key) {
	(void)count;
	(void)key;
	buffer_free(&menu);
	leave();
	return 0;
}

/* A closing bracket at the start of a line moves back to the indentation of the
 * line with the opening bracket. */
static int key_close(int count, int key) {
	const int start = line_start(rl_point);
	int blank = start;
	while (blank < rl_point && rl_line_buffer[blank] == ' ') blank++;
	if (start && blank == rl_point && rl_point - start >= 2 && !more_keys()) {
		rl_delete_text(rl_point - 2, rl_point);
		rl_point -= 2;
	}
	return rl_insert(count, key);
}

/* ---- pasting ------------------------------------------------------------- */

static int key_paste(int count, int key) {
	static const char end[] = "\033[201~";
	const size_t n_end = sizeof end - 1;
	StringBuffer text = {0};
	(void)count;
	(void)key;
	for (int ch; !text.failed && !key_cancelled && (ch = rl_read_key()) != EOF;) {
		const char byte = (char)ch;
		if (byte == '\n' && text.n && text.at[text.n - 1] == '\r') text.n--;
		buffer_add(&text, &byte, 1);
		if (text.n >= n_end && !memcmp(text.at + text.n - n_end, end, n_end)) {
			text.n -= n_end;
			break;
		}
	}
	for (size_t i = 0; i < text.n; i++)
		if (text.at[i] == '\r') text.at[i] = '\n';
	while (text.n && text.at[text.n - 1] == '\n') text.n--;
	char *clean = text.n ? without_prompts(text.at, text.n) : NULL;
	if (clean) rl_insert_text(clean);
	free(clean);
	buffer_free(&text);
	return 0;
}

/* ---- completion ---------------------------------------------------------- */

static int width_of(const char *text) {
	int n = 0;
	for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* Shows candidates with their descriptions, one a line, when they are few; else
 * in columns. */
static void show_menu(const Completions *c) {
	int rows, columns, widest = 0;
	screen_size(&rows, &columns);
	if (c->head) buffer_format(&menu, "%s\n", c->head);
	for (size_t i = 0; i < c->n; i++)
		if (width_of(c->at[i].text) > widest) widest = width_of(c->at[i].text);
	const size_t room = rows > 8 ? (size_t)rows / 2 - 1 : 3;
	bool notes = false;
	for (size_t i = 0; i < c->n; i++) notes |= c->at[i].note != NULL;
	if (notes && c->n <= room) {
		for (size_t i = 0; i < c->n; i++) {
			const char *note = c->at[i].note ? c->at[i].note : "";
			const size_t same = strlen(c->at[i].text);
			/* the signature begins with the name itself */
			if (!strncmp(note, c->at[i].text, same) && note[same] == '(')
				buffer_format(&menu, "  %s\n", note);
			else
				buffer_format(&menu, "  %s%*s%s\n", c->at[i].text,
				              *note ? widest + 2 - width_of(c->at[i].text) : 0, "", note);
		}
		return;
	}
	const int across = columns / (widest + 2) > 1 ? columns / (widest + 2) : 1;
	size_t shown = c->n, high = (c->n + (size_t)across - 1) / (size_t)across;
	if (high > room) {
		high = room;
		shown = high * (size_t)across;
	}
	for (size_t i = 0; i < high; i++) {
		for (size_t k = i; k < shown; k += high)
			buffer_format(&menu, "%s%*s", c->at[k].text, widest + 2 - width_of(c->at[k].text), "");
		buffer_str(&menu, "\n");
	}
	if (shown < c->n) buffer_format(&menu, "and %zu more\n", c->n - shown);
}

static size_t common(const Completions *c) {
	size_t n = c->n ? strlen(c->at[0].text) : 0;
	for (size_t i = 1; i < c->n; i++) {
		size_t k = 0;
		while (k < n && c->at[i].text[k] == c->at[0].text[k]) k++;
		n = k;
	}
	/* complete UTF-8 characters only */
	while (n && c->n > 1 && ((unsigned char)c->at[0].text[n] & 0xc0) == 0x80) n--;
	return n;
}

static int key_tab(int count, int key) {
	(void)count;
	(void)key;
	buffer_free(&menu);
	const int start = line_start(rl_point);
	/* TAB indents at the beginning of a further line */
	if (start && start + (int)strspn(rl_line_buffer + start, " ") >= rl_point) {
		rl_insert_text("  ");
		return 0;
	}
	Completions c;
	complete_find(rl_line_buffer, (size_t)rl_point, &c);
	const size_t n = common(&c), typed = (size_t)rl_point - c.from;
	if (c.n && (c.n == 1 ? n : n > typed) &&
	    (n != typed || memcmp(c.at[0].text, rl_line_buffer + c.from, n))) {
		char *text = strndup(c.at[0].text, n);
		if (text) {
			rl_begin_undo_group();
			rl_delete_text((int)c.from, rl_point);
			rl_point = (int)c.from;
			rl_insert_text(text);
			rl_end_undo_group();
		}
		free(text);
	}
	if (c.n > 1 || c.head) show_menu(&c);
	else if (c.n == 1 && c.at[0].note) buffer_format(&menu, "%s\n", c.at[0].note);
	else if (!c.n) rl_ding();
	if (menu.failed) buffer_free(&menu);
	while (menu.n && menu.at[menu.n - 1] == '\n') menu.at[--menu.n] = 0;
	complete_free(&c);
	return 0;
}

/* ---- reading ------------------------------------------------------------- */

/* Replaces commands of readline that end any input or write to the terminal
 * themselves, whichever keys they are bound to. NULL: such keys do nothing. */
static void replace_commands(Keymap map) {
	static const struct {
		const char *command;
		rl_command_func_t *instead;
	} replaced[] = {
		{"accept-line", key_return},
		{"operate-and-get-next", key_return},
		{"insert-comment", NULL},
		{"clear-screen", key_clear},
		{"clear-display", key_clear},
		{"redraw-current-line", key_clear},
		{"complete", key_tab},
		{"menu-complete", key_tab},
		{"menu-complete-backward", key_tab},
		{"possible-completions", key_tab},
		{"insert-completions", key_tab},
		{"vi-complete", key_tab},
		{"dump-functions", NULL},
		{"dump-macros", NULL},
		{"dump-variables", NULL},
	};
	for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
		rl_command_func_t *command = rl_named_function(replaced[i].command);
		char **keys = command ? rl_invoking_keyseqs_in_map(command, map) : NULL;
		for (char **k = keys; k && *k; k++) {
			rl_bind_keyseq_in_map(*k, replaced[i].instead, map);
			free(*k);
		}
		free(keys);
	}
}

void edit_start(bool colour) {
	static const struct {
		const char *keys;
		rl_command_func_t *function;
	} bindings[] = {
		{"\\C-m", key_return},
		{"\\C-j", key_return},
		{"\\e\\C-m", key_newline},
		{"\\e\\C-j", key_newline},
		{"\\e[A", key_up},
		{"\\eOA", key_up},
		{"\\C-p", key_up},
		{"\\e[B", key_down},
		{"\\eOB", key_down},
		{"\\C-n", key_down},
		{"\\e[C", key_right},
		{"\\eOC", key_right},
		{"\\C-f", key_right},
		{"\\e[D", rl_backward_char},
		{"\\eOD", rl_backward_char},
		{"\\e[1;5C", key_word},
		{"\\ef", key_word},
		{"\\e[1;5D", rl_backward_word},
		{"\\C-e", key_end},
		{"\\e[F", key_end},
		{"\\eOF", key_end},
		{"\\e[4~", key_end},
		{"\\C-a", key_home},
		{"\\e[H", key_home},
		{"\\eOH", key_home},
		{"\\e[1~", key_home},
		{"\\e[3~", rl_delete},
		{"\\C-k", key_kill},
		{"\\C-u", key_kill_back},
		{"\\C-l", key_clear},
		{"\\C-c", key_cancel},
		{"\\C-i", key_tab},
		{"\\e[200~", key_paste},
		{"}", key_close},
		{"]", key_close},
		{")", key_close},
	};
	static const char *const maps[] = {"emacs", "vi-insert", "vi-move"};
	in_colour = colour;
	keys_setup();
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		replace_commands(rl_get_keymap_by_name(maps[i]));
	for (size_t i = 0; i < sizeof bindings / sizeof *bindings; i++) {
		rl_bind_keyseq_in_map(bindings[i].keys, bindings[i].function,
		                      rl_get_keymap_by_name("emacs"));
		rl_bind_keyseq_in_map(bindings[i].keys, bindings[i].function,
		                      rl_get_keymap_by_name("vi-insert"));
	}
	rl_redisplay_function = redisplay;
	rl_getc_function = get_key;
}

char *edit_read(void) {
	leaving = false;
	goal = -1;
	keys_begin();
	char *text = readline(first_prompt);
	const bool cancelled = keys_end();
	buffer_free(&menu);
	if (!text) {
		leaving = true;
		screen_leave();
	} else if (cancelled) *text = 0;
	return text;
}
