/* cpu.c - the processor's features and caches.
 *
 * Needs: cpu.h; <cpuid.h> on x86-64. Guarantees: what cpu.h says. On x86-64 the
 * operating system must save the wide registers when it switches threads, which
 * xgetbv tells. Every AArch64 has NEON.
 */
#include "backend/native/kir/cpu.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__ELF__)
#include <cpuid.h>
#endif

/* Of this architecture, by rising ability. */
static const struct Level {
	const char *name, *brief;
	uint32_t vector_bytes, registers;
	bool fma, masks;
} levels[] = {
	{"none", "none", 0, 0, false, false},
#if defined(__aarch64__)
	{"aarch64", "neon", 16, 32, true, false},
#else
	{"x86-64", "x86-64", 16, 16, false, false},
	{"x86-64-v3", "v3", 32, 16, true, false},
	{"x86-64-v4", "v4", 64, 32, true, true},
#endif
};
enum { NLEVELS = sizeof levels / sizeof *levels };

/* What code for another machine looks like, in instructions of this one:
 * vectors that its registers do not hold are several of them, and masks that it
 * has no registers for are vectors. So lowering and emission for machines that
 * are not at hand can be run, if not their instructions. */
static const struct StaticShape {
	const char *name;
	uint32_t vector_bytes, registers;
	bool masks;
} shapes[] = {
	{"v4-shape", 64, 32, true},    {"v3-shape", 32, 16, false},    {"neon-shape", 16, 32, false},
	{"sse2-shape", 16, 16, false}, {"scalar-shape", 8, 16, false},
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

static struct Host {
	uint32_t level;
	uint32_t l1, l2, l3;
	KTarget target;
} host;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#if defined(__x86_64__) && defined(__ELF__)
enum { /* bits of cpuid */
	   C1_FMA = 1 << 12,
	   C1_MOVBE = 1 << 22,
	   C1_OSXSAVE = 1 << 27,
	   C1_AVX = 1 << 28,
	   C1_F16C = 1 << 29,
	   B7_BMI1 = 1 << 3,
	   B7_AVX2 = 1 << 5,
	   B7_BMI2 = 1 << 8,
	   B7_AVX512F = 1 << 16,
	   B7_AVX512DQ = 1 << 17,
	   B7_AVX512CD = 1 << 28,
	   B7_AVX512BW = 1 << 30,
	   X1_LZCNT = 1 << 5,
	   SAVES_AVX = 6,
	   SAVES_AVX512 = 0xe6
};
#define B7_AVX512VL (1u << 31)

static uint64_t saved_registers(void) {
	uint32_t low, high;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (uint64_t)high << 32 | low;
}

static uint32_t level_of_host(void) {
	uint32_t a, b, c, d, b7, cx;
	if (!__get_cpuid(1, &a, &b, &c, &d)) return 1;
	const uint32_t need1 = C1_FMA | C1_MOVBE | C1_OSXSAVE | C1_AVX | C1_F16C,
				   need7 = B7_BMI1 | B7_AVX2 | B7_BMI2;
	if ((c & need1) != need1 || !__get_cpuid_count(7, 0, &a, &b7, &c, &d) || (b7 & need7) != need7)
		return 1;
	if (!__get_cpuid(0x80000001u, &a, &b, &cx, &d) || !(cx & X1_LZCNT)) return 1;
	const uint64_t saves = saved_registers();
	if ((saves & SAVES_AVX) != SAVES_AVX) return 1;
	const uint32_t need512 = B7_AVX512F | B7_AVX512DQ | B7_AVX512CD | B7_AVX512BW | B7_AVX512VL;
	return (b7 & need512) == need512 && (saves & SAVES_AVX512) == SAVES_AVX512 ? 3 : 2;
}
#elif defined(__aarch64__) && defined(__ELF__)
static uint32_t level_of_host(void) { return 1; }
#else
static uint32_t level_of_host(void) { return 0; }
#endif

#ifdef __linux__
/* One line of a file that the system makes; empty when there is none. */
static void read_line(char line[32], int cache, const char *what) {
	char path[80];
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", cache, what);
	FILE *f = fopen(path, "re");
	if (!f || !fgets(line, 32, f)) *line = 0;
	if (f) fclose(f);
}

/* Of the first processor's cache of data of that level; 0 when the system does
 * not say. */
static long system_cache(int level) {
	char line[32];
	for (int k = 0; k < 16; k++) {
		read_line(line, k, "level");
		if (!*line) return 0;
		if (atoi(line) != level) continue;
		read_line(line, k, "type");
		if (!strncmp(line, "Instruction", 11)) continue;
		read_line(line, k, "size");
		char *unit;
		const long n = strtol(line, &unit, 10);
		return n < 0 || n >= 1L << 28 ? 0 : *unit == 'K' ? n << 10 : *unit == 'M' ? n << 20 : n;
	}
	return 0;
}
#else
static long system_cache(int level) {
	(void)level;
	return 0;
}
#endif

/* The size in bytes of the cache of a level; `otherwise` when the system does
 * not say, or something odd. On many machines that are no x86 the C library has
 * 0, and the system's files know. */
static uint32_t cache_bytes(int level, uint32_t otherwise) {
	long n = 0;
#ifdef _SC_LEVEL1_DCACHE_SIZE
	n = sysconf(level == 1   ? _SC_LEVEL1_DCACHE_SIZE
	            : level == 2 ? _SC_LEVEL2_CACHE_SIZE
	                         : _SC_LEVEL3_CACHE_SIZE);
#endif
	if (n <= 0) n = system_cache(level);
	return n >= 4096 && n <= (1L << 28) ? (uint32_t)n : otherwise;
}

static uint32_t level_named(const char *name) {
	for (uint32_t i = 0; i < NLEVELS; i++)
		if (!strcmp(name, levels[i].name) || !strcmp(name, levels[i].brief)) return i;
	return NLEVELS;
}

static void fill(uint32_t level, KTarget *t) {
	const struct Level *l = &levels[level];
	*t = (KTarget){.vector_bytes = l->vector_bytes,
	               .registers = l->registers,
	               .has_fma = l->fma,
	               .has_masks = l->masks};
	t->l1_bytes = host.l1;
	t->l2_bytes = host.l2;
	/* with what was read they no longer fit; the system may mean all of a
	 * machine's third caches */
	t->stream_bytes = (host.l3 < 32u << 20 ? host.l3 : 32u << 20) / 2;
	strcpy(t->cpu, l->name);
}

static bool fill_shape(const char *name, KTarget *t) {
	for (uint32_t i = 0; i < NSHAPES && host.level; i++) {
		if (strcmp(name, shapes[i].name)) continue;
		fill(host.level, t);
		t->vector_bytes = shapes[i].vector_bytes;
		t->registers = shapes[i].registers;
		t->has_masks = shapes[i].masks;
		return true;
	}
	return false;
}

static void detect(void) {
	host.l1 = cache_bytes(1, 32 * 1024);
	host.l2 = cache_bytes(2, 512 * 1024);
	host.l3 = cache_bytes(3, 16 << 20);
	host.level = level_of_host();
	const char *asked = getenv("ATLED_TARGET");
	if (asked && fill_shape(asked, &host.target)) return;
	const uint32_t level = asked ? level_named(asked) : NLEVELS;
	fill(level < host.level ? level : host.level, &host.target);
}

const KTarget *native_target(void) {
	pthread_once(&once, detect);
	return &host.target;
}

bool native_target_named(const char *name, KTarget *out) {
	pthread_once(&once, detect);
	if (fill_shape(name, out)) return true;
	const uint32_t level = level_named(name);
	if (level == NLEVELS) return false;
	fill(level, out);
	return true;
}

bool native_target_runs(const KTarget *t) {
	pthread_once(&once, detect);
	const uint32_t level = level_named(t->cpu);
	return level && level <= host.level;
}
