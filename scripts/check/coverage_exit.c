/* coverage_exit.c - _exit that keeps the counts of gcov.
 *
 * Needs: the linker's --wrap=_exit. `make coverage` links it into each program
 * and library: tests and the program end processes by _exit, which writes
 * nothing.
 */
void __gcov_dump(void);
void __real__exit(int code) __attribute__((noreturn));
void __wrap__exit(int code) __attribute__((noreturn));

void __wrap__exit(int code) {
	__gcov_dump();
	__real__exit(code);
}
