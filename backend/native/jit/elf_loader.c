/* elf_loader.c - linker for relocatable ELF objects in memory.
 *
 * Copies the sections of one object, or of several that refer to each other,
 * into one mapping. Applies relocations and resolves undefined symbols from a
 * fixed table.
 *
 * Needs: elf_loader.h, elf.h, mmap; runtime.h for the runtime's addresses.
 *
 * Contract:
 * - As in elf_loader.h: every offset, size and index in the object is checked
 *   before use.
 *
 * The mapping has three zones on pages of their own. It has at most MOST_BYTES,
 * so that code reaches data and other code by displacements in instructions.
 * These reach 2 GB on x86-64, and 128 MB for calls on AArch64.
 *
 *     code and stubs (read, execute) | constants, the table of addresses (read) | data (read, write)
 *
 * Functions of the program may be farther away. Calls of them go through a stub
 * in the mapping, which jumps to the address in its last 8 bytes. Unwind tables
 * are omitted: nothing unwinds through generated code. A table describes each
 * architecture's relocations; the remainder of the code is common.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/native/jit/elf_loader.h"
#include "backend/native/jit/codegen.h"
#include "backend/native/run/runtime.h"
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__ELF__)
#include <elf.h>
#include <sys/mman.h>
#if defined(__aarch64__) && defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#endif

#define MOST_BYTES ((uint64_t)128 * 1024 * 1024)
enum { MOST_SECTIONS = 4096, MOST_SYMBOLS = 1 << 20, STUB_BYTES = 16, NZONES = 3 };
typedef enum Zone { ZONE_CODE, ZONE_CONST, ZONE_DATA, ZONE_NONE } Zone;

struct NativeObject {
	char *map;
	size_t bytes;
	NativeEntry entry;
	struct GdbEntry *gdb;
};

typedef struct Section {
	Elf64_Shdr h;
	Zone zone;
	uint64_t at; /* offset in the mapping */
} Section;

/* For a referenced symbol: 1 plus the indices of its stub and of its address in
 * their tables. near: it is in the mapping and needs no stub. */
typedef struct Slots {
	uint32_t stub, address;
	bool near;
} Slots;

/* One object; the loaded code may consist of several that refer to each
 * other. */
typedef struct ElfObject {
	const char *bytes;
	size_t n;
	Elf64_Ehdr eh;
	uint32_t nsections, nsymbols;
	Section *sections;
	Slots *slots;
	const Section *symtab, *strtab;
} ElfObject;

typedef struct Loader {
	char *error;
	size_t cap;
	ElfObject parts[NATIVE_PARTS_MOST];
	uint32_t nparts, nstubs, naddresses;
	bool low; /* some relocation needs 32-bit addresses */
	uint64_t zone_at[NZONES], zone_bytes[NZONES], bytes_mapped, stubs_at, addresses_at;
	char *map;
} Loader;

/* ---- architectures ------------------------------------------------------- */

/* The value of a relocation:
 *
 * - VALUE, UNSIGNED: the symbol's address plus the addend;
 * - DISTANCE: its distance from the relocated place;
 * - PAGES: the distance of their 4 KiB pages;
 * - IN_PAGE: its offset in its page.
 */
typedef enum RelocationValue { VALUE, UNSIGNED, DISTANCE, PAGES, IN_PAGE } RelocationValue;

/* The referent of a relocation: the symbol; the symbol, or its stub if it is
 * not in the mapping; the 8 bytes that hold its address. */
typedef enum Referent { ITSELF, NEAR, ADDRESS } Referent;

/* A relocation uses `bits` bits of its value. Those from bit `drop` on become
 * an integer of `width` bytes, or a field of an instruction that begins at bit
 * `at`. The dropped bits must be zero. */
typedef struct Relocation {
	uint16_t type;
	uint8_t width; /* 0: no operation */
	RelocationValue value;
	Referent way;
	uint8_t bits, drop, at;
} Relocation;

/* stub_code: a jump to the address in the 8 bytes after it. GAP: the byte
 * between functions, which traps. */
#if defined(__x86_64__)
enum { MACHINE = EM_X86_64, GAP = 0xcc };
/* jmp *2(%rip) */
static const unsigned char stub_code[STUB_BYTES - 8] = {0xff, 0x25, 2, 0, 0, 0, 0x90, 0x90};
static const Relocation relocations[] = {
	{R_X86_64_PC32, 4, DISTANCE, NEAR, 32, 0, 0},
	{R_X86_64_PLT32, 4, DISTANCE, NEAR, 32, 0, 0},
	{R_X86_64_GOTPCREL, 4, DISTANCE, ADDRESS, 32, 0, 0},
	{R_X86_64_GOTPCRELX, 4, DISTANCE, ADDRESS, 32, 0, 0},
	{R_X86_64_REX_GOTPCRELX, 4, DISTANCE, ADDRESS, 32, 0, 0},
	{R_X86_64_64, 8, VALUE, ITSELF, 64, 0, 0},
	{R_X86_64_PC64, 8, DISTANCE, NEAR, 64, 0, 0},
	{R_X86_64_32, 4, UNSIGNED, NEAR, 32, 0, 0},
	{R_X86_64_32S, 4, VALUE, NEAR, 32, 0, 0},
	{R_X86_64_NONE, 0, VALUE, ITSELF, 0, 0, 0},
};
#else
enum { MACHINE = EM_AARCH64, GAP = 0 };
/* ldr x16, 8; br x16 */
static const unsigned char stub_code[STUB_BYTES - 8] = {0x50, 0, 0, 0x58, 0, 2, 0x1f, 0xd6};
static const Relocation relocations[] = {
	{R_AARCH64_CALL26, 4, DISTANCE, NEAR, 28, 2, 0},
	{R_AARCH64_JUMP26, 4, DISTANCE, NEAR, 28, 2, 0},
	{R_AARCH64_ADR_PREL_PG_HI21, 4, PAGES, NEAR, 33, 12, 0},
	{R_AARCH64_ADD_ABS_LO12_NC, 4, IN_PAGE, NEAR, 12, 0, 10},
	{R_AARCH64_LDST8_ABS_LO12_NC, 4, IN_PAGE, NEAR, 12, 0, 10},
	{R_AARCH64_LDST16_ABS_LO12_NC, 4, IN_PAGE, NEAR, 12, 1, 10},
	{R_AARCH64_LDST32_ABS_LO12_NC, 4, IN_PAGE, NEAR, 12, 2, 10},
	{R_AARCH64_LDST64_ABS_LO12_NC, 4, IN_PAGE, NEAR, 12, 3, 10},
	{R_AARCH64_LDST128_ABS_LO12_NC, 4, IN_PAGE, NEAR, 12, 4, 10},
	{R_AARCH64_ADR_GOT_PAGE, 4, PAGES, ADDRESS, 33, 12, 0},
	{R_AARCH64_LD64_GOT_LO12_NC, 4, IN_PAGE, ADDRESS, 12, 3, 10},
	{R_AARCH64_CONDBR19, 4, DISTANCE, NEAR, 21, 2, 5},
	{R_AARCH64_TSTBR14, 4, DISTANCE, NEAR, 16, 2, 5},
	{R_AARCH64_ABS64, 8, VALUE, ITSELF, 64, 0, 0},
	{R_AARCH64_PREL64, 8, DISTANCE, NEAR, 64, 0, 0},
	{R_AARCH64_PREL32, 4, DISTANCE, NEAR, 32, 0, 0},
	{R_AARCH64_NONE, 0, VALUE, ITSELF, 0, 0, 0},
};
#endif

/* ---- errors -------------------------------------------------------------- */

static bool fail(Loader *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(Loader *l, const char *format, ...) {
	va_list args;
	va_start(args, format);
	if (l->cap) vsnprintf(l->error, l->cap, format, args);
	va_end(args);
	return false;
}

/* ---- resolution of undefined symbols ------------------------------------- */

typedef void (*AnyFn)(void);

static void *symbol_address(const char *name) {
#define BOTH(name)                                                                                 \
	{#name, (AnyFn)name}, { #name "f", (AnyFn)name##f }
	static const struct {
		const char *name;
		AnyFn at;
	} table[] = {
		{"memcpy", (AnyFn)memcpy},
		{"memset", (AnyFn)memset},
		{"memmove", (AnyFn)memmove},
		{"memcmp", (AnyFn)memcmp},
		BOTH(floor),
		BOTH(ceil),
		BOTH(trunc),
		BOTH(rint),
		BOTH(nearbyint),
		BOTH(round),
		BOTH(fma),
		BOTH(sqrt),
		BOTH(fabs),
		BOTH(copysign),
		BOTH(fmin),
		BOTH(fmax),
		BOTH(fmod),
		BOTH(ldexp),
		BOTH(frexp),
		BOTH(logb),
		BOTH(pow),
		BOTH(exp),
		BOTH(exp2),
		BOTH(expm1),
		BOTH(log),
		BOTH(log2),
		BOTH(log10),
		BOTH(log1p),
		BOTH(sin),
		BOTH(cos),
		BOTH(tan),
		BOTH(asin),
		BOTH(acos),
		BOTH(atan),
		BOTH(atan2),
		BOTH(sinh),
		BOTH(cosh),
		BOTH(tanh),
		BOTH(asinh),
		BOTH(acosh),
		BOTH(atanh),
		BOTH(cbrt),
		BOTH(hypot),
		BOTH(erf),
		BOTH(erfc),
		BOTH(tgamma),
	};
	if (!strncmp(name, "atled_rt_", 9)) return native_runtime_symbol(name);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i].name, name)) {
			void *p;
			memcpy(&p, &table[i].at, sizeof p);
			return p;
		}
	return NULL;
}

/* ---- reading ------------------------------------------------------------- */

static bool within(const ElfObject *p, uint64_t at, uint64_t bytes) {
	return at <= p->n && bytes <= p->n - at;
}

/* Finds the objects in the bytes: one, or those that NativeParts lists. */
static bool find_parts(Loader *l, const char *bytes, size_t n) {
	NativeParts head;
	if (n < sizeof head || memcmp(bytes, NATIVE_PARTS_MAGIC, sizeof head.magic)) {
		l->parts[0] = (ElfObject){.bytes = bytes, .n = n};
		l->nparts = 1;
		return true;
	}
	memcpy(&head, bytes, sizeof head);
	if (!head.n || head.n > NATIVE_PARTS_MOST)
		return fail(l, "%llu objects in one", (unsigned long long)head.n);
	size_t at = sizeof head;
	for (l->nparts = 0; l->nparts < head.n; l->nparts++) {
		const uint64_t size = head.bytes[l->nparts];
		if (size > n - at) return fail(l, "object %u of several is cut off", l->nparts);
		l->parts[l->nparts] = (ElfObject){.bytes = bytes + at, .n = size};
		at += size;
	}
	return at == n || fail(l, "there is more than the objects");
}

static bool read_header(Loader *l, ElfObject *p) {
	Elf64_Ehdr *h = &p->eh;
	if (p->n < sizeof *h) return fail(l, "not an object: %zu bytes", p->n);
	memcpy(h, p->bytes, sizeof *h);
	if (memcmp(h->e_ident, ELFMAG, SELFMAG)) return fail(l, "not an ELF object");
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
	    h->e_machine != MACHINE)
		return fail(l, "an object for another machine");
	if (h->e_type != ET_REL) return fail(l, "not a relocatable object");
	if (h->e_shentsize != sizeof(Elf64_Shdr) || !h->e_shnum || h->e_shnum > MOST_SECTIONS ||
	    !within(p, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
		return fail(l, "the table of sections is broken");
	p->nsections = h->e_shnum;
	p->sections = calloc(p->nsections, sizeof *p->sections);
	return p->sections || fail(l, "out of memory");
}

/* The string at `at` of a string table; NULL when it has no end inside. */
static const char *text_at(const ElfObject *p, const Section *table, uint64_t at) {
	if (at >= table->h.sh_size) return NULL;
	const char *text = p->bytes + table->h.sh_offset + at;
	return memchr(text, 0, table->h.sh_size - at) ? text : NULL;
}

static Zone zone_of(const Elf64_Shdr *h, const char *name) {
	if (!(h->sh_flags & SHF_ALLOC) || h->sh_type == SHT_NOTE || h->sh_type == SHT_X86_64_UNWIND ||
	    !strcmp(name, ".eh_frame"))
		return ZONE_NONE;
	if (h->sh_flags & SHF_EXECINSTR) return ZONE_CODE;
	if ((h->sh_flags & SHF_WRITE) && strncmp(name, ".data.rel.ro", 12)) return ZONE_DATA;
	return ZONE_CONST;
}

static bool read_sections(Loader *l, ElfObject *p) {
	const Elf64_Ehdr *eh = &p->eh;
	for (uint32_t i = 0; i < p->nsections; i++) {
		Elf64_Shdr *h = &p->sections[i].h;
		memcpy(h, p->bytes + eh->e_shoff + (uint64_t)i * sizeof *h, sizeof *h);
		p->sections[i].zone = ZONE_NONE;
		if (h->sh_type != SHT_NOBITS && h->sh_type != SHT_NULL &&
		    !within(p, h->sh_offset, h->sh_size))
			return fail(l, "section %u is not inside the object", i);
	}
	if (eh->e_shstrndx >= p->nsections || p->sections[eh->e_shstrndx].h.sh_type != SHT_STRTAB)
		return fail(l, "sections have no names");
	for (uint32_t i = 1; i < p->nsections; i++) {
		Section *s = &p->sections[i];
		const char *name = text_at(p, &p->sections[eh->e_shstrndx], s->h.sh_name);
		if (!name) return fail(l, "section %u has no name", i);
		if (s->h.sh_type == SHT_SYMTAB) {
			if (p->symtab) return fail(l, "two tables of symbols");
			p->symtab = s;
		}
		s->zone = zone_of(&s->h, name);
		if (s->zone == ZONE_NONE) continue;
		if (s->h.sh_flags & SHF_TLS)
			return fail(l, "variables of threads (section %.40s) are not supported", name);
		if (s->h.sh_type == SHT_INIT_ARRAY || s->h.sh_type == SHT_FINI_ARRAY ||
		    s->h.sh_type == SHT_PREINIT_ARRAY)
			return fail(l, "initialisers (section %.40s) are not supported", name);
		if (s->h.sh_type != SHT_PROGBITS && s->h.sh_type != SHT_NOBITS)
			return fail(l, "section %.40s has an unknown type", name);
		const uint64_t align = s->h.sh_addralign ? s->h.sh_addralign : 1;
		if ((align & (align - 1)) || align > 4096 || s->h.sh_size > MOST_BYTES)
			return fail(l, "section %.40s has a bad size or alignment", name);
		s->h.sh_addralign = align;
	}
	if (!p->symtab) return fail(l, "no symbols");
	const Elf64_Shdr *t = &p->symtab->h;
	if (t->sh_entsize != sizeof(Elf64_Sym) || t->sh_size % sizeof(Elf64_Sym) ||
	    t->sh_size / sizeof(Elf64_Sym) > MOST_SYMBOLS || t->sh_link >= p->nsections ||
	    p->sections[t->sh_link].h.sh_type != SHT_STRTAB)
		return fail(l, "the table of symbols is broken");
	p->strtab = &p->sections[t->sh_link];
	p->nsymbols = (uint32_t)(t->sh_size / sizeof(Elf64_Sym));
	return true;
}

static Elf64_Sym symbol(const ElfObject *p, uint32_t k) {
	Elf64_Sym s;
	memcpy(&s, p->bytes + p->symtab->h.sh_offset + (uint64_t)k * sizeof s, sizeof s);
	return s;
}

static const char *symbol_name(const ElfObject *p, const Elf64_Sym *s) {
	const char *name = text_at(p, p->strtab, s->st_name);
	return name ? name : "?";
}

/* ---- relocations --------------------------------------------------------- */

static const Relocation *relocation_of(const Elf64_Rela *r) {
	for (size_t i = 0; i < sizeof relocations / sizeof *relocations; i++)
		if (relocations[i].type == ELF64_R_TYPE(r->r_info)) return &relocations[i];
	return NULL;
}

/* Writes a relocation's value; false when the place has too few bits. */
static bool put_number(const Relocation *how, char *place, uint64_t v) {
	const uint64_t here = (uint64_t)(uintptr_t)place, in_page = 4095;
	switch (how->value) {
	case DISTANCE: v -= here; break;
	case PAGES: v = (v & ~in_page) - (here & ~in_page); break;
	case IN_PAGE: v &= in_page; break;
	default: break;
	}
	if (how->bits < 64) {
		const bool is_signed = how->value != UNSIGNED && how->value != IN_PAGE;
		if ((v + ((uint64_t)is_signed << (how->bits - 1))) >> how->bits) return false;
	}
	if (v & (((uint64_t)1 << how->drop) - 1)) return false;
	v >>= how->drop;
	if (how->bits - how->drop == 8 * how->width) {
		memcpy(place, &v, how->width); /* little-endian: the low-order bytes */
		return true;
	}
	uint32_t in, field = (1u << (how->bits - how->drop)) - 1, bits = (uint32_t)v & field;
	memcpy(&in, place, sizeof in);
	/* ADRP has the two low bits elsewhere. */
	if (how->value == PAGES)
		in = (in & ~(3u << 29 | field >> 2 << 5)) | (bits & 3) << 29 | bits >> 2 << 5;
	else in = (in & ~(field << how->at)) | bits << how->at;
	memcpy(place, &in, sizeof in);
	return true;
}

static bool find_in_others(const Loader *l, const ElfObject *mine, const char *name, uint64_t *at);

/* Checks a relocation and allocates the stub or address it needs. */
static bool check_relocation(Loader *l, ElfObject *p, const Section *target, const Elf64_Rela *r) {
	const Relocation *how = relocation_of(r);
	if (!how)
		return fail(l, "relocation type %u is not supported", (unsigned)ELF64_R_TYPE(r->r_info));
	if (!how->width) return true;
	const uint64_t k = ELF64_R_SYM(r->r_info);
	if (!k || k >= p->nsymbols)
		return fail(l, "a relocation names symbol %llu of %u", (unsigned long long)k, p->nsymbols);
	if (r->r_offset > target->h.sh_size || how->width > target->h.sh_size - r->r_offset)
		return fail(l, "a relocation outside of its section");
	if (target->h.sh_type == SHT_NOBITS)
		return fail(l, "a relocation in a section without contents");
	if (how->value <= UNSIGNED && how->bits == 32) l->low = true;
	if (how->way == ADDRESS) {
		if (!p->slots[k].address) p->slots[k].address = ++l->naddresses;
	} else if (how->way == NEAR && !p->slots[k].stub && !p->slots[k].near) {
		const Elf64_Sym s = symbol(p, (uint32_t)k);
		uint64_t at;
		p->slots[k].near = s.st_shndx != SHN_UNDEF || find_in_others(l, p, symbol_name(p, &s), &at);
		if (!p->slots[k].near) p->slots[k].stub = ++l->nstubs;
	}
	return true;
}

/* Whether a symbol is a function defined in a code section. */
static bool is_function(const ElfObject *p, const Elf64_Sym *s) {
	return s->st_shndx < p->nsections && s->st_shndx != SHN_UNDEF &&
	       p->sections[s->st_shndx].zone == ZONE_CODE &&
	       s->st_value < p->sections[s->st_shndx].h.sh_size &&
	       ELF64_ST_TYPE(s->st_info) <= STT_FUNC && ELF64_ST_TYPE(s->st_info) != STT_OBJECT;
}

/* Finds a defined, non-local function; *at is its offset in the mapping. */
static bool find_function(const ElfObject *p, const char *name, uint64_t *at) {
	for (uint32_t k = 1; k < p->nsymbols; k++) {
		const Elf64_Sym s = symbol(p, k);
		if (!is_function(p, &s) || ELF64_ST_BIND(s.st_info) == STB_LOCAL ||
		    strcmp(symbol_name(p, &s), name))
			continue;
		*at = p->sections[s.st_shndx].at + s.st_value;
		return true;
	}
	return false;
}

static bool find_in_others(const Loader *l, const ElfObject *mine, const char *name, uint64_t *at) {
	for (const ElfObject *p = l->parts; p < l->parts + l->nparts; p++)
		if (p != mine && find_function(p, name, at)) return true;
	return false;
}

static bool find_symbol(Loader *l, const ElfObject *p, uint32_t k, uint64_t *address) {
	const Elf64_Sym s = symbol(p, k);
	if (s.st_shndx == SHN_UNDEF) {
		const char *name = symbol_name(p, &s);
		uint64_t at;
		if (find_in_others(l, p, name, &at)) {
			*address = (uint64_t)(uintptr_t)l->map + at;
			return true;
		}
		*address = (uint64_t)(uintptr_t)symbol_address(name);
		return *address || fail(l, "undefined symbol %.60s", name);
	}
	if (s.st_shndx == SHN_ABS) {
		*address = s.st_value;
		return true;
	}
	if (s.st_shndx >= p->nsections || p->sections[s.st_shndx].zone == ZONE_NONE ||
	    s.st_value > p->sections[s.st_shndx].h.sh_size)
		return fail(l, "symbol %.60s is not in a section that is loaded", symbol_name(p, &s));
	*address = (uint64_t)(uintptr_t)l->map + p->sections[s.st_shndx].at + s.st_value;
	return true;
}

static bool apply_relocation(Loader *l, ElfObject *p, const Section *target, const Elf64_Rela *r) {
	const Relocation *how = relocation_of(r);
	const uint32_t k = (uint32_t)ELF64_R_SYM(r->r_info);
	if (!how->width) return true;
	uint64_t s;
	if (how->way == ADDRESS)
		s = (uint64_t)(uintptr_t)l->map + l->addresses_at + 8 * (p->slots[k].address - 1u);
	else if (how->way == NEAR && p->slots[k].stub)
		s = (uint64_t)(uintptr_t)l->map + l->stubs_at +
		    (uint64_t)STUB_BYTES * (p->slots[k].stub - 1u);
	else if (!find_symbol(l, p, k, &s)) return false;
	return put_number(how, l->map + target->at + r->r_offset, s + (uint64_t)r->r_addend) ||
	       fail(l, "a relocation of type %u does not reach", (unsigned)how->type);
}

/* Calls `each` for all relocations of loaded sections. */
static bool for_relocations(Loader *l, ElfObject *p,
                            bool (*each)(Loader *l, ElfObject *p, const Section *target,
                                         const Elf64_Rela *r)) {
	for (uint32_t i = 1; i < p->nsections; i++) {
		const Elf64_Shdr *h = &p->sections[i].h;
		if (h->sh_type != SHT_RELA && h->sh_type != SHT_REL) continue;
		if (h->sh_info >= p->nsections) return fail(l, "relocations for no section");
		const Section *target = &p->sections[h->sh_info];
		if (target->zone == ZONE_NONE) continue;
		if (h->sh_type == SHT_REL || h->sh_entsize != sizeof(Elf64_Rela) ||
		    h->sh_link >= p->nsections || &p->sections[h->sh_link] != p->symtab)
			return fail(l, "a table of relocations is broken");
		for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= h->sh_size; at += sizeof(Elf64_Rela)) {
			Elf64_Rela r;
			memcpy(&r, p->bytes + h->sh_offset + at, sizeof r);
			if (!each(l, p, target, &r)) return false;
		}
	}
	return true;
}

/* ---- the mapping --------------------------------------------------------- */

static uint64_t round_up(uint64_t x, uint64_t align) { return (x + align - 1) & ~(align - 1); }

static bool lay_out(Loader *l) {
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t at = 0;
	for (int zone = 0; zone < NZONES; zone++) {
		l->zone_at[zone] = at;
		for (ElfObject *p = l->parts; p < l->parts + l->nparts; p++)
			for (uint32_t i = 1; i < p->nsections; i++) {
				Section *s = &p->sections[i];
				if (s->zone != (Zone)zone) continue;
				s->at = at = round_up(at, s->h.sh_addralign);
				at += s->h.sh_size;
				if (at > MOST_BYTES)
					return fail(l, "an object of more than %llu MB",
					            (unsigned long long)(MOST_BYTES >> 20));
			}
		if (zone == ZONE_CODE) {
			l->stubs_at = at = round_up(at, STUB_BYTES);
			at += (uint64_t)STUB_BYTES * l->nstubs;
		} else if (zone == ZONE_CONST) {
			l->addresses_at = at = round_up(at, 8);
			at += (uint64_t)8 * l->naddresses;
		}
		at = round_up(at, page);
		l->zone_bytes[zone] = at - l->zone_at[zone];
	}
	if (at > MOST_BYTES)
		return fail(l, "an object of more than %llu MB", (unsigned long long)(MOST_BYTES >> 20));
	if (!l->zone_bytes[ZONE_CODE]) return fail(l, "no code");
	l->bytes_mapped = at;
	return true;
}

/* Writes the stubs and addresses of one object. */
static bool fill_tables(Loader *l, const ElfObject *p) {
	for (uint32_t k = 1; k < p->nsymbols && (l->nstubs || l->naddresses); k++) {
		uint64_t address;
		if (!p->slots[k].stub && !p->slots[k].address) continue;
		if (!find_symbol(l, p, k, &address)) return false;
		if (p->slots[k].stub) {
			char *stub = l->map + l->stubs_at + (uint64_t)STUB_BYTES * (p->slots[k].stub - 1u);
			memcpy(stub, stub_code, sizeof stub_code);
			memcpy(stub + sizeof stub_code, &address, sizeof address);
		}
		if (p->slots[k].address)
			memcpy(l->map + l->addresses_at + (uint64_t)8 * (p->slots[k].address - 1u), &address,
			       sizeof address);
	}
	return true;
}

static bool fill(Loader *l) {
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_32BIT
	if (l->low) flags |= MAP_32BIT;
#endif
	void *map = mmap(NULL, l->bytes_mapped, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (map == MAP_FAILED)
		return fail(l, "no memory for %llu bytes of code", (unsigned long long)l->bytes_mapped);
	l->map = map;
	memset(l->map, GAP, l->zone_bytes[ZONE_CODE]);
	for (ElfObject *p = l->parts; p < l->parts + l->nparts; p++)
		for (uint32_t i = 1; i < p->nsections; i++) {
			const Section *s = &p->sections[i];
			if (s->zone != ZONE_NONE && s->h.sh_type != SHT_NOBITS)
				memcpy(l->map + s->at, p->bytes + s->h.sh_offset, s->h.sh_size);
		}
	for (ElfObject *p = l->parts; p < l->parts + l->nparts; p++)
		if (!fill_tables(l, p) || !for_relocations(l, p, apply_relocation)) return false;
	return true;
}

#if defined(__aarch64__) && defined(__linux__)
static void register_threads(void) {
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}
#endif

/* Makes written code visible to instruction fetch where caches are not
 * coherent. This includes threads that fetched earlier code at the same
 * addresses. */
static void flush_instruction_caches(const Loader *l) {
	char *code = l->map + l->zone_at[ZONE_CODE];
	__builtin___clear_cache(code, code + l->zone_bytes[ZONE_CODE]);
#if defined(__aarch64__) && defined(__linux__)
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, register_threads);
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
#endif
}

static bool protect(Loader *l) {
	flush_instruction_caches(l);
	static const int rights[NZONES] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
	for (int zone = 0; zone < ZONE_DATA; zone++)
		if (l->zone_bytes[zone] &&
		    mprotect(l->map + l->zone_at[zone], l->zone_bytes[zone], rights[zone]))
			return fail(l, "the system does not let us make code executable");
	return true;
}

static bool find_entry(Loader *l, const char *entry, NativeObject *o) {
	for (const ElfObject *p = l->parts; p < l->parts + l->nparts; p++) {
		uint64_t at;
		if (!find_function(p, entry, &at)) continue;
		const char *code = l->map + at;
		memcpy(&o->entry, &code, sizeof code);
		return true;
	}
	return fail(l, "no function %.60s", entry);
}

/* ---- perf and gdb -------------------------------------------------------- */

static atomic_uint notified;

void native_notify(unsigned flags) { atomic_fetch_or(&notified, flags); }

static void ask_environment(void) {
	const char *perf = getenv("ATLED_PERF"), *gdb = getenv("ATLED_GDB");
	if (perf && !strcmp(perf, "1")) native_notify(NATIVE_NOTIFY_PERF);
	if (gdb && !strcmp(gdb, "1")) native_notify(NATIVE_NOTIFY_GDB);
}

static void notify_perf(const Loader *l) {
	char path[40];
	snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) return;
	for (const ElfObject *p = l->parts; p < l->parts + l->nparts; p++)
		for (uint32_t k = 1; k < p->nsymbols; k++) {
			const Elf64_Sym s = symbol(p, k);
			if (!is_function(p, &s) || ELF64_ST_TYPE(s.st_info) != STT_FUNC) continue;
			char line[200];
			const uintptr_t at = (uintptr_t)(l->map + p->sections[s.st_shndx].at + s.st_value);
			const int n = snprintf(line, sizeof line, "%llx %llx %.120s\n", (unsigned long long)at,
			                       (unsigned long long)s.st_size, symbol_name(p, &s));
			if (write(fd, line, (size_t)n) != n) break;
		}
	close(fd);
}

/* gdb's JIT interface. gdb finds these two names in the program's symbol table
 * and stops at the function. It reads a copy of the object with the sections'
 * addresses filled in. */
typedef struct GdbEntry {
	struct GdbEntry *next, *before;
	const char *object;
	uint64_t bytes;
} GdbEntry;
static __attribute__((used)) struct GdbDescriptor {
	uint32_t version, action; /* 1 registered, 2 unregistered */
	GdbEntry *relevant, *first;
} __jit_debug_descriptor = {.version = 1};
static pthread_mutex_t gdb_lock = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline, used)) void __jit_debug_register_code(void) {
	__asm__ volatile("" ::: "memory");
}

/* For a single object only: code with line tables is always one object. */
static GdbEntry *notify_gdb(const Loader *l) {
	const ElfObject *p = &l->parts[0];
	GdbEntry *e = l->nparts == 1 ? malloc(sizeof *e + p->n) : NULL;
	if (!e) return NULL;
	char *copy = (char *)(e + 1);
	memcpy(copy, p->bytes, p->n);
	for (uint32_t i = 1; i < p->nsections; i++) {
		if (p->sections[i].zone == ZONE_NONE) continue;
		const uint64_t address = (uint64_t)(uintptr_t)l->map + p->sections[i].at;
		memcpy(copy + p->eh.e_shoff + (uint64_t)i * sizeof(Elf64_Shdr) +
		           offsetof(Elf64_Shdr, sh_addr),
		       &address, sizeof address);
	}
	*e = (GdbEntry){.object = copy, .bytes = p->n};
	pthread_mutex_lock(&gdb_lock);
	e->next = __jit_debug_descriptor.first;
	if (e->next) e->next->before = e;
	__jit_debug_descriptor.first = __jit_debug_descriptor.relevant = e;
	__jit_debug_descriptor.action = 1;
	__jit_debug_register_code();
	pthread_mutex_unlock(&gdb_lock);
	return e;
}

static void unregister_gdb(GdbEntry *e) {
	if (!e) return;
	pthread_mutex_lock(&gdb_lock);
	if (e->before) e->before->next = e->next;
	else __jit_debug_descriptor.first = e->next;
	if (e->next) e->next->before = e->before;
	__jit_debug_descriptor.relevant = e;
	__jit_debug_descriptor.action = 2;
	__jit_debug_register_code();
	pthread_mutex_unlock(&gdb_lock);
	free(e);
}

/* ---- loading and unloading ----------------------------------------------- */

static bool load(Loader *l, const char *entry, NativeObject *o) {
	for (ElfObject *p = l->parts; p < l->parts + l->nparts; p++) {
		if (!read_header(l, p) || !read_sections(l, p)) return false;
		p->slots = calloc(p->nsymbols ? p->nsymbols : 1, sizeof *p->slots);
		if (!p->slots) return fail(l, "out of memory");
	}
	for (ElfObject *p = l->parts; p < l->parts + l->nparts; p++)
		if (!for_relocations(l, p, check_relocation)) return false;
	return lay_out(l) && fill(l) && protect(l) && find_entry(l, entry, o);
}

NativeObject *native_load(const void *bytes, size_t n, const char *entry, char *error, size_t cap) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, ask_environment);
	Loader l = {.error = error, .cap = cap};
	if (cap) *error = 0;
	NativeObject *o = calloc(1, sizeof *o);
	bool good = o ? find_parts(&l, bytes, n) && load(&l, entry, o) : fail(&l, "out of memory");
	if (good) {
		o->map = l.map;
		o->bytes = l.bytes_mapped;
		const unsigned notify = atomic_load(&notified);
		if (notify & NATIVE_NOTIFY_PERF) notify_perf(&l);
		if (notify & NATIVE_NOTIFY_GDB) o->gdb = notify_gdb(&l);
	} else {
		if (l.map) munmap(l.map, l.bytes_mapped);
		free(o);
		o = NULL;
	}
	for (uint32_t k = 0; k < l.nparts; k++) {
		free(l.parts[k].sections);
		free(l.parts[k].slots);
	}
	return o;
}

void native_unload(NativeObject *o) {
	if (!o) return;
	unregister_gdb(o->gdb);
	munmap(o->map, o->bytes);
	free(o);
}

#else /* machines without generated code */

struct NativeObject {
	size_t bytes;
	NativeEntry entry;
};

void native_notify(unsigned flags) { (void)flags; }

NativeObject *native_load(const void *bytes, size_t n, const char *entry, char *error, size_t cap) {
	(void)bytes;
	(void)n;
	(void)entry;
	if (cap) snprintf(error, cap, "there is no loader for this machine");
	return NULL;
}

void native_unload(NativeObject *o) { free(o); }

#endif

NativeEntry native_entry(const NativeObject *o) { return o->entry; }

size_t native_object_bytes(const NativeObject *o) { return o->bytes; }
