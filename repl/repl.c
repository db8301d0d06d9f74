/* stub */
#include "repl/program.h"
int command_repl(const Options *o){(void)o;return 0;}
