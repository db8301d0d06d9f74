/* main.c - the program `atled`: reads the command line and goes where it says.
 *
 * Needs: program.h. Guarantees: ends with one of the exit codes of program.h; a closed pipe ends it without a word.
 */
#include "repl/program.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

/* Large arrays come and go with every statement. By default each one is mapped anew, zeroed page by page by the system, and given back: a third of the time of what is run by the evaluator.
 * What has been freed stays with the process instead, as long as it is not too much. A library must not decide that for its host; this program is its own. */
static void keep_memory(void) {
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 256 << 20);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

int main(int argc, char **argv) {
	keep_memory();
	signal(SIGPIPE, SIG_DFL);
	Options o;
	int code = EXIT_OK;
	if (options_read(&o, argc, argv, &code)) {
		switch (o.command) {
		case COMMAND_REPL: code = command_repl(&o); break;
		case COMMAND_RUN: code = command_run(&o); break;
		case COMMAND_CHECK: code = command_check(&o); break;
		case COMMAND_FMT: code = command_fmt(&o); break;
		case COMMAND_IR: code = command_ir(&o); break;
		case COMMAND_BENCH: code = command_bench(&o); break;
		case COMMAND_TEST: code = command_test(&o); break;
		case COMMAND_EXPLAIN: code = command_explain(&o); break;
		case COMMAND_INFO: code = command_info(&o); break;
		case COMMAND_DOC: code = command_doc(&o); break;
		}
	}
	options_free(&o);
	if (fflush(stdout) || ferror(stdout)) {
		if (errno != EPIPE) fputs("atled: standard output cannot be written\n", stderr);
		if (code == EXIT_OK) code = EXIT_SCRIPT;
	}
	session_leave(code);
	return code;
}
