/* main.c - entry point of the program `atled`.
 *
 * Guarantees:
 * - The process ends with one of the exit codes of program.h.
 * - A closed pipe ends it silently. A file that exceeds the limit on its size
 *   is a failed write. So is standard output that is closed.
 */
#include "repl/core/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* Standard streams that are closed fail, and no file that a program opens gets
 * their numbers. */
static void take_streams(void) {
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			_exit(EXIT_SCRIPT);
}

int main(int argc, char **argv) {
	take_streams();
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_IGN);
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
