#include "repl/program.h"
atled_status plot_bridge_install(atled_context *ctx){(void)ctx;return ATLED_OK;}
