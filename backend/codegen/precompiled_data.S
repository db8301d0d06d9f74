/* precompiled_data.S - precompiled functions as data of the code generator's library. With EMPTY defined there are none: for the library that makes them. Needs: -I to
 * the folder of the .bin files. */
	.section .rodata
	.macro file name
	.balign 16
	.globl kernels_\name\()_begin
	.globl kernels_\name\()_end
	.hidden kernels_\name\()_begin
	.hidden kernels_\name\()_end
kernels_\name\()_begin:
#ifndef EMPTY
	.incbin "kernels_\name\().bin"
#endif
kernels_\name\()_end:
	.byte 0
	.endm
#if defined(__aarch64__)
	file neon
#else
	file sse2
	file avx2
	file avx512
#endif
	.section .note.GNU-stack,"",@progbits
