/* main.c - test program: faults at random places of programs (session.h).
 *
 * Method: each file is a program that runs in a process of its own. The files
 * of /tmp that it names are files of a folder of the process.
 *
 * Guarantees: the last line is "N passed, N failed, N skipped", counting runs
 * with a fault; a file without a paragraph that can be tested is one skipped.
 * The run is determined by the options.
 */
#include "tests/faults/session.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct TestText {
	char *text;
	size_t n;
} TestText;

static bool read_program(const char *path, TestText *p) {
	*p = (TestText){0};
	FILE *f = fopen(path, "rb");
	if (!f) return false;
	bool fine = !fseek(f, 0, SEEK_END);
	const long n = fine ? ftell(f) : -1;
	fine = n >= 0 && !fseek(f, 0, SEEK_SET) && (p->text = malloc((size_t)n + 1)) &&
	       fread(p->text, 1, (size_t)n, f) == (size_t)n;
	fclose(f);
	p->n = fine ? (size_t)n : 0;
	if (fine) p->text[p->n] = 0;
	return fine;
}

/* Replaces "/tmp/ by the folder. */
static void move_files(TestText *p, const char *folder) {
	static const char from[] = "\"/tmp/";
	const size_t more = strlen(folder) + 2, less = sizeof from - 1;
	for (char *at = p->text; (at = strstr(at, from)); at++) {
		const size_t before = (size_t)(at - p->text), after = p->n - before - less;
		char *text = malloc(p->n + more + 1);
		if (!text) abort();
		memcpy(text, p->text, before);
		snprintf(text + before, more + 1, "\"%s/", folder);
		memcpy(text + before + more, at + less, after + 1);
		free(p->text);
		p->text = text;
		p->n = before + more + after;
		at = text + before;
	}
}

static void remove_folder(const char *folder) {
	DIR *d = opendir(folder);
	for (const struct dirent *e; d && (e = readdir(d));) unlinkat(dirfd(d), e->d_name, 0);
	if (d) closedir(d);
	rmdir(folder);
}

/* Runs a file in a process of its own and adds what it reports. */
static void fork_file(const char *path, const FaultOptions *o, FaultReport *r, FaultReport *all) {
	TestText program;
	char folder[] = "/tmp/atled-faults-XXXXXX";
	if (!read_program(path, &program) || !mkdtemp(folder)) {
		printf("%s: cannot be read, or has no folder\n", path);
		all->failed++;
		return;
	}
	move_files(&program, folder);
	*r = (FaultReport){0};
	fflush(stdout);
	const pid_t child = fork();
	if (!child) {
		fault_session(path, program.text, program.n, folder, o, r);
		fflush(stdout);
		_exit(0);
	}
	int status = 0;
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
	    WEXITSTATUS(status)) {
		printf("%s:%u: %s %llu: ended by signal %d\n", path, r->line, fault_name(r->fault),
		       (unsigned long long)r->at, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
		r->failed++;
	}
	for (Fault f = 0; f < FAULT_COUNT; f++) {
		all->runs[f] += r->runs[f];
		all->hit[f] += r->hit[f];
	}
	all->failed += r->failed;
	all->skipped += r->skipped;
	remove_folder(folder);
	free(program.text);
}

static const char usage[] = "usage: fault_test [OPTION...] FILE...\n"
							"  --count N    runs of each file (30)\n"
							"  --seconds S  a paragraph that takes longer is left out (0.1)\n"
							"  --seed N     of the random places (1)\n"
							"  --io         failing calls of the system only\n";

int main(int argc, char **argv) {
	FaultOptions o = {.count = 30, .seed = 1, .seconds = 0.1};
	int i = 1;
	for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		if (!strcmp(argv[i], "--io")) {
			o.io = true;
			continue;
		}
		if (!strcmp(argv[i], "--count")) o.count = strtoll(value, NULL, 10);
		else if (!strcmp(argv[i], "--seconds")) o.seconds = strtod(value, NULL);
		else if (!strcmp(argv[i], "--seed")) o.seed = strtoull(value, NULL, 10);
		else o.count = 0;
		i++;
	}
	FaultReport *r =
		mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (i >= argc || o.count < 1 || r == MAP_FAILED) {
		fputs(usage, stderr);
		return 2;
	}
	FaultReport all = {0};
	for (; i < argc; i++) fork_file(argv[i], &o, r, &all);
	long long runs = 0;
	for (Fault f = 0; f < FAULT_COUNT; f++) {
		printf("%s: %lld runs, %lld of them stopped\n", fault_name(f), (long long)all.runs[f],
		       (long long)all.hit[f]);
		runs += all.runs[f];
	}
	printf("%lld passed, %lld failed, %lld skipped\n", runs - (long long)all.failed,
	       (long long)all.failed, (long long)all.skipped);
	return all.failed > 0 || !runs;
}
