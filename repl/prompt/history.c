/* history.c - earlier inputs, in readline's list and in a shared file.
 *
 * Needs: repl.h, readline's history.
 *
 * Guarantees:
 * - All sessions share the file.
 * - Only the owner can read the file.
 * - A line of the file is one input, of any number of lines.
 * - Additions of concurrent sessions are all kept.
 * - The file is shortened by replacing it atomically.
 *
 * Format: a backslash escapes a backslash, a newline (as `n`), and `#` at the
 * beginning of a line. A line that begins with `#` is a time stamp of an older
 * format and is ignored.
 */
#define _GNU_SOURCE
#include "repl/prompt/repl.h"
#include "repl/base/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <readline/history.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define HISTORY_MOST 10000

static char *history_path;

static void make_folders(char *path) {
	for (char *p = path + 1; *p; p++) {
		if (*p != '/') continue;
		*p = 0;
		mkdir(path, 0700);
		*p = '/';
	}
}

static void escaped(StringBuffer *b, const char *text) {
	if (*text == '#') buffer_str(b, "\\");
	for (; *text; text++) {
		if (*text == '\\') buffer_str(b, "\\\\");
		else if (*text == '\n') buffer_str(b, "\\n");
		else buffer_add(b, text, 1);
	}
	buffer_str(b, "\n");
}

/* Unescapes a line in place. */
static void unescape(char *line) {
	char *to = line;
	for (const char *p = line; *p; p++) {
		if (*p == '\\' && p[1]) *to++ = *++p == 'n' ? '\n' : *p;
		else *to++ = *p;
	}
	*to = 0;
}

/* Opens and locks the file that now has the name: another session may have
 * replaced it while this one waited for the lock. */
static int open_locked(void) {
	for (int tries = 0; tries < 10; tries++) {
		const int fd = open(history_path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		struct stat here, there;
		if (fd < 0) return -1;
		if (!flock(fd, LOCK_EX) && !fstat(fd, &here) && !stat(history_path, &there) &&
		    here.st_ino == there.st_ino && here.st_dev == there.st_dev) {
			if (here.st_mode & 077) fchmod(fd, 0600);
			return fd;
		}
		close(fd);
	}
	return -1;
}

static bool write_whole(int fd, const char *at, size_t n) {
	while (n) {
		const ssize_t k = write(fd, at, n);
		if (k < 0 && errno == EINTR) continue;
		if (k <= 0) return false;
		at += k;
		n -= (size_t)k;
	}
	return true;
}

static void shorten(void) {
	StringBuffer all = {0};
	for (int i = 0; i < history_length; i++) escaped(&all, history_get(history_base + i)->line);
	if (!all.failed) replace_file(history_path, all.at, all.n); /* on failure it stays long */
	buffer_free(&all);
}

void history_open(void) {
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n = -1;
	using_history();
	stifle_history(HISTORY_MOST);
	if (state && *state == '/') n = asprintf(&history_path, "%s/atled/history", state);
	else if (home && *home == '/')
		n = asprintf(&history_path, "%s/.local/state/atled/history", home);
	if (n < 0) {
		history_path = NULL;
		return;
	}
	make_folders(history_path);
	const int fd = open_locked();
	if (fd < 0) { /* the history cannot be stored */
		free(history_path);
		history_path = NULL;
		return;
	}
	StringBuffer text = {0};
	const char *why;
	size_t lines = 0;
	if (buffer_read_file(&text, history_path, &why) && text.n)
		for (char *line = text.at, *end; *line; line = end) {
			end = strchrnul(line, '\n');
			if (*end) *end++ = 0;
			if (!*line || *line == '#') continue;
			unescape(line);
			add_history(line);
			lines++;
		}
	buffer_free(&text);
	if (lines > HISTORY_MOST + HISTORY_MOST / 5) shorten();
	close(fd);
}

void history_keep(const char *text) {
	HIST_ENTRY *last = history_length > 0 ? history_get(history_base + history_length - 1) : NULL;
	if (last && !strcmp(last->line, text)) return;
	add_history(text);
	const int fd = history_path ? open_locked() : -1;
	if (fd < 0) return;
	StringBuffer line = {0};
	escaped(&line, text);
	if (!line.failed) write_whole(fd, line.at, line.n);
	buffer_free(&line);
	close(fd);
}

const char *history_suggestion(const char *text, size_t n) {
	HIST_ENTRY **list = history_list();
	for (int i = history_length; list && i-- > 0;)
		if (!strncmp(list[i]->line, text, n) && list[i]->line[n]) return list[i]->line + n;
	return NULL;
}
