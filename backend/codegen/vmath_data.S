/* vmath_data.S - the vector maths' bitcode as data of the code generator's library. Needs: -I to the folder of the .bc files. */
	.section .rodata
	.macro file lanes
	.balign 16
	.globl vmath_\lanes\()_begin
	.globl vmath_\lanes\()_end
	.hidden vmath_\lanes\()_begin
	.hidden vmath_\lanes\()_end
vmath_\lanes\()_begin:
	.incbin "vmath_\lanes\().bc"
vmath_\lanes\()_end:
	.byte 0
	.endm
	file 1
	file 2
	file 4
	file 8
	.section .note.GNU-stack,"",@progbits
