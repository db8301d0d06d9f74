/* lexer.c - tokens, highlighting, completeness of a line, folding of names.
 *
 * Needs: lexer.h, ast.h (for the public functions).
 *
 * Contract:
 * - No allocation, and no state outside the Lexer.
 * - Linear time for any bytes.
 *
 * Lexical rules:
 * - A name starts with an ASCII letter, `_` or a Unicode letter. It continues
 *   with these, digits, subscript digits and letters, and combining marks.
 *   Superscripts, subscript signs and primes are not part of it.
 * - A number is an integer (1, 1_000, 0xff, 0o17, 0b101) or a float (1.5, .5,
 *   1., 1e-3). A suffix `im` makes it imaginary. `0..n` is a range.
 * - A string may span lines. When one never ends, the parser lexes the text
 *   again with one-line strings, which locates the missing quote.
 */
#include "parser/syntax/lexer.h"
#include "parser/syntax/ast.h"
#include <string.h>

typedef struct Range32 {
	uint32_t first, last;
} Range32;

/* Letters outside ASCII: general category L (and the marks of the scripts that
 * need them), without superscript and subscript letters, plus U+2206. The
 * ranges include unassigned code points between two letters, to keep the table
 * short. */
static const Range32 letters[] = {
	{0xb5, 0xb5},       {0xc0, 0xd6},       {0xd8, 0xf6},       {0xf8, 0x2af},
	{0x370, 0x374},     {0x376, 0x37d},     {0x37f, 0x37f},     {0x386, 0x386},
	{0x388, 0x3f5},     {0x3f7, 0x481},     {0x483, 0x487},     {0x48a, 0x559},
	{0x560, 0x588},     {0x591, 0x5bd},     {0x5bf, 0x5bf},     {0x5c1, 0x5c2},
	{0x5c4, 0x5c5},     {0x5c7, 0x5f2},     {0x610, 0x61a},     {0x620, 0x65f},
	{0x66e, 0x6d3},     {0x6d5, 0x6dc},     {0x6df, 0x6e8},     {0x6ea, 0x6ef},
	{0x6fa, 0x6fc},     {0x6ff, 0x6ff},     {0x710, 0x7b1},     {0x7ca, 0x7f5},
	{0x7fa, 0x7fd},     {0x800, 0x82d},     {0x840, 0x85b},     {0x860, 0x887},
	{0x889, 0x88e},     {0x898, 0x8e1},     {0x8e3, 0x963},     {0x971, 0x9e3},
	{0x9f0, 0x9f1},     {0x9fc, 0x9fc},     {0x9fe, 0xa5e},     {0xa70, 0xa75},
	{0xa81, 0xae3},     {0xaf9, 0xb63},     {0xb71, 0xb71},     {0xb82, 0xbd7},
	{0xc00, 0xc63},     {0xc80, 0xc83},     {0xc85, 0xce3},     {0xcf1, 0xd4e},
	{0xd54, 0xd57},     {0xd5f, 0xd63},     {0xd7a, 0xddf},     {0xdf2, 0xdf3},
	{0xe01, 0xe3a},     {0xe40, 0xe4e},     {0xe81, 0xecd},     {0xedc, 0xf00},
	{0xf18, 0xf19},     {0xf35, 0xf35},     {0xf37, 0xf37},     {0xf39, 0xf39},
	{0xf3e, 0xf84},     {0xf86, 0xfbc},     {0xfc6, 0xfc6},     {0x1000, 0x103f},
	{0x1050, 0x108f},   {0x109a, 0x109d},   {0x10a0, 0x10fa},   {0x10fd, 0x135f},
	{0x1380, 0x138f},   {0x13a0, 0x13fd},   {0x1401, 0x166c},   {0x166f, 0x167f},
	{0x1681, 0x169a},   {0x16a0, 0x16ea},   {0x16f1, 0x1734},   {0x1740, 0x17d3},
	{0x17d7, 0x17d7},   {0x17dc, 0x17dd},   {0x180b, 0x180d},   {0x180f, 0x180f},
	{0x1820, 0x193b},   {0x1950, 0x19c9},   {0x1a00, 0x1a1b},   {0x1a20, 0x1a7f},
	{0x1aa7, 0x1aa7},   {0x1b00, 0x1b4c},   {0x1b6b, 0x1b73},   {0x1b80, 0x1baf},
	{0x1bba, 0x1bf3},   {0x1c00, 0x1c37},   {0x1c4d, 0x1c4f},   {0x1c5a, 0x1c7d},
	{0x1c80, 0x1cbf},   {0x1cd0, 0x1cd2},   {0x1cd4, 0x1d2b},   {0x1d6b, 0x1d77},
	{0x1d79, 0x1d9a},   {0x1e00, 0x1fbc},   {0x1fbe, 0x1fbe},   {0x1fc2, 0x1fcc},
	{0x1fd0, 0x1fdb},   {0x1fe0, 0x1fec},   {0x1ff2, 0x1ffc},   {0x2102, 0x2102},
	{0x2107, 0x2107},   {0x210a, 0x2113},   {0x2115, 0x2115},   {0x2119, 0x211d},
	{0x2124, 0x2124},   {0x2126, 0x2126},   {0x2128, 0x2128},   {0x212a, 0x212d},
	{0x212f, 0x2139},   {0x213c, 0x213f},   {0x2145, 0x2149},   {0x214e, 0x214e},
	{0x2183, 0x2184},   {0x2206, 0x2206},   {0x2c00, 0x2ce4},   {0x2ceb, 0x2cf3},
	{0x2d00, 0x2d6f},   {0x2d7f, 0x2dff},   {0x2e2f, 0x2e2f},   {0x3005, 0x3006},
	{0x302a, 0x302f},   {0x3031, 0x3035},   {0x303b, 0x303c},   {0x3041, 0x309a},
	{0x309d, 0x309f},   {0x30a1, 0x30fa},   {0x30fc, 0x318e},   {0x31a0, 0x31bf},
	{0x31f0, 0x31ff},   {0x3400, 0x4dbf},   {0x4e00, 0xa48c},   {0xa4d0, 0xa4fd},
	{0xa500, 0xa60c},   {0xa610, 0xa61f},   {0xa62a, 0xa66f},   {0xa674, 0xa67d},
	{0xa67f, 0xa6e5},   {0xa6f0, 0xa6f1},   {0xa717, 0xa71f},   {0xa722, 0xa788},
	{0xa78b, 0xa827},   {0xa82c, 0xa82c},   {0xa840, 0xa873},   {0xa880, 0xa8c5},
	{0xa8e0, 0xa8f7},   {0xa8fb, 0xa8fb},   {0xa8fd, 0xa8ff},   {0xa90a, 0xa92d},
	{0xa930, 0xa953},   {0xa960, 0xa9c0},   {0xa9cf, 0xa9cf},   {0xa9e0, 0xa9ef},
	{0xa9fa, 0xaa4d},   {0xaa60, 0xaa76},   {0xaa7a, 0xaadd},   {0xaae0, 0xaaef},
	{0xaaf2, 0xab5a},   {0xab5c, 0xab69},   {0xab70, 0xabea},   {0xabec, 0xabed},
	{0xac00, 0xd7fb},   {0xf900, 0xfb28},   {0xfb2a, 0xfbb1},   {0xfbd3, 0xfd3d},
	{0xfd50, 0xfdc7},   {0xfdf0, 0xfdfb},   {0xfe20, 0xfe2f},   {0xfe70, 0xfefc},
	{0xff21, 0xff3a},   {0xff41, 0xff5a},   {0xff66, 0xffdc},   {0x10000, 0x100fa},
	{0x101fd, 0x102e0}, {0x10300, 0x1031f}, {0x1032d, 0x10340}, {0x10342, 0x10349},
	{0x10350, 0x1039d}, {0x103a0, 0x103cf}, {0x10400, 0x1049d}, {0x104b0, 0x10563},
	{0x10570, 0x10855}, {0x10860, 0x10876}, {0x10880, 0x1089e}, {0x108e0, 0x108f5},
	{0x10900, 0x10915}, {0x10920, 0x10939}, {0x10980, 0x109b7}, {0x109be, 0x109bf},
	{0x10a00, 0x10a3f}, {0x10a60, 0x10a7c}, {0x10a80, 0x10a9c}, {0x10ac0, 0x10ac7},
	{0x10ac9, 0x10ae6}, {0x10b00, 0x10b35}, {0x10b40, 0x10b55}, {0x10b60, 0x10b72},
	{0x10b80, 0x10b91}, {0x10c00, 0x10cf2}, {0x10d00, 0x10d27}, {0x10e80, 0x10eac},
	{0x10eb0, 0x10f1c}, {0x10f27, 0x10f50}, {0x10f70, 0x10f85}, {0x10fb0, 0x10fc4},
	{0x10fe0, 0x11046}, {0x11070, 0x110ba}, {0x110c2, 0x110c2}, {0x110d0, 0x110e8},
	{0x11100, 0x11134}, {0x11144, 0x11173}, {0x11176, 0x111c4}, {0x111c9, 0x111cc},
	{0x111ce, 0x111cf}, {0x111da, 0x111da}, {0x111dc, 0x111dc}, {0x11200, 0x11237},
	{0x1123e, 0x112a8}, {0x112b0, 0x112ea}, {0x11300, 0x1144a}, {0x1145e, 0x114c5},
	{0x114c7, 0x114c7}, {0x11580, 0x115c0}, {0x115d8, 0x11640}, {0x11644, 0x11644},
	{0x11680, 0x116b8}, {0x11700, 0x1172b}, {0x11740, 0x1183a}, {0x118a0, 0x118df},
	{0x118ff, 0x11943}, {0x119a0, 0x119e1}, {0x119e3, 0x11a3e}, {0x11a47, 0x11a99},
	{0x11a9d, 0x11a9d}, {0x11ab0, 0x11c40}, {0x11c72, 0x11d47}, {0x11d60, 0x11d98},
	{0x11ee0, 0x11ef6}, {0x11fb0, 0x11fb0}, {0x12000, 0x12399}, {0x12480, 0x12ff0},
	{0x13000, 0x1342e}, {0x14400, 0x16a5e}, {0x16a70, 0x16abe}, {0x16ad0, 0x16af4},
	{0x16b00, 0x16b36}, {0x16b40, 0x16b43}, {0x16b63, 0x16e7f}, {0x16f00, 0x16fe1},
	{0x16fe3, 0x1bc99}, {0x1bc9d, 0x1bc9e}, {0x1cf00, 0x1cf46}, {0x1d165, 0x1d169},
	{0x1d16d, 0x1d172}, {0x1d17b, 0x1d182}, {0x1d185, 0x1d18b}, {0x1d1aa, 0x1d1ad},
	{0x1d242, 0x1d244}, {0x1d400, 0x1d6c0}, {0x1d6c2, 0x1d6da}, {0x1d6dc, 0x1d6fa},
	{0x1d6fc, 0x1d714}, {0x1d716, 0x1d734}, {0x1d736, 0x1d74e}, {0x1d750, 0x1d76e},
	{0x1d770, 0x1d788}, {0x1d78a, 0x1d7a8}, {0x1d7aa, 0x1d7c2}, {0x1d7c4, 0x1d7cb},
	{0x1da00, 0x1da36}, {0x1da3b, 0x1da6c}, {0x1da75, 0x1da75}, {0x1da84, 0x1da84},
	{0x1da9b, 0x1e13d}, {0x1e14e, 0x1e14e}, {0x1e290, 0x1e2ef}, {0x1e7e0, 0x1e8c4},
	{0x1e8d0, 0x1e94b}, {0x1ee00, 0x1eebb}, {0x20000, 0x3134a},
};

/* Canonical compositions of Latin, Greek and Cyrillic letters with the marks
 * used in mathematics. */
typedef struct Composition {
	uint16_t base, mark, composed;
} Composition;
static const Composition compositions[] = {
	{0x41, 0x300, 0xc0},   {0x41, 0x301, 0xc1},   {0x41, 0x302, 0xc2},   {0x41, 0x303, 0xc3},
	{0x41, 0x304, 0x100},  {0x41, 0x306, 0x102},  {0x41, 0x307, 0x226},  {0x41, 0x308, 0xc4},
	{0x41, 0x30a, 0xc5},   {0x41, 0x30c, 0x1cd},  {0x42, 0x307, 0x1e02}, {0x43, 0x301, 0x106},
	{0x43, 0x302, 0x108},  {0x43, 0x307, 0x10a},  {0x43, 0x30c, 0x10c},  {0x44, 0x307, 0x1e0a},
	{0x44, 0x30c, 0x10e},  {0x45, 0x300, 0xc8},   {0x45, 0x301, 0xc9},   {0x45, 0x302, 0xca},
	{0x45, 0x303, 0x1ebc}, {0x45, 0x304, 0x112},  {0x45, 0x306, 0x114},  {0x45, 0x307, 0x116},
	{0x45, 0x308, 0xcb},   {0x45, 0x30c, 0x11a},  {0x46, 0x307, 0x1e1e}, {0x47, 0x301, 0x1f4},
	{0x47, 0x302, 0x11c},  {0x47, 0x304, 0x1e20}, {0x47, 0x306, 0x11e},  {0x47, 0x307, 0x120},
	{0x47, 0x30c, 0x1e6},  {0x48, 0x302, 0x124},  {0x48, 0x307, 0x1e22}, {0x48, 0x308, 0x1e26},
	{0x48, 0x30c, 0x21e},  {0x49, 0x300, 0xcc},   {0x49, 0x301, 0xcd},   {0x49, 0x302, 0xce},
	{0x49, 0x303, 0x128},  {0x49, 0x304, 0x12a},  {0x49, 0x306, 0x12c},  {0x49, 0x307, 0x130},
	{0x49, 0x308, 0xcf},   {0x49, 0x30c, 0x1cf},  {0x4a, 0x302, 0x134},  {0x4b, 0x301, 0x1e30},
	{0x4b, 0x30c, 0x1e8},  {0x4c, 0x301, 0x139},  {0x4c, 0x30c, 0x13d},  {0x4d, 0x301, 0x1e3e},
	{0x4d, 0x307, 0x1e40}, {0x4e, 0x300, 0x1f8},  {0x4e, 0x301, 0x143},  {0x4e, 0x303, 0xd1},
	{0x4e, 0x307, 0x1e44}, {0x4e, 0x30c, 0x147},  {0x4f, 0x300, 0xd2},   {0x4f, 0x301, 0xd3},
	{0x4f, 0x302, 0xd4},   {0x4f, 0x303, 0xd5},   {0x4f, 0x304, 0x14c},  {0x4f, 0x306, 0x14e},
	{0x4f, 0x307, 0x22e},  {0x4f, 0x308, 0xd6},   {0x4f, 0x30c, 0x1d1},  {0x50, 0x301, 0x1e54},
	{0x50, 0x307, 0x1e56}, {0x52, 0x301, 0x154},  {0x52, 0x307, 0x1e58}, {0x52, 0x30c, 0x158},
	{0x53, 0x301, 0x15a},  {0x53, 0x302, 0x15c},  {0x53, 0x307, 0x1e60}, {0x53, 0x30c, 0x160},
	{0x54, 0x307, 0x1e6a}, {0x54, 0x30c, 0x164},  {0x55, 0x300, 0xd9},   {0x55, 0x301, 0xda},
	{0x55, 0x302, 0xdb},   {0x55, 0x303, 0x168},  {0x55, 0x304, 0x16a},  {0x55, 0x306, 0x16c},
	{0x55, 0x308, 0xdc},   {0x55, 0x30a, 0x16e},  {0x55, 0x30c, 0x1d3},  {0x56, 0x303, 0x1e7c},
	{0x57, 0x300, 0x1e80}, {0x57, 0x301, 0x1e82}, {0x57, 0x302, 0x174},  {0x57, 0x307, 0x1e86},
	{0x57, 0x308, 0x1e84}, {0x58, 0x307, 0x1e8a}, {0x58, 0x308, 0x1e8c}, {0x59, 0x300, 0x1ef2},
	{0x59, 0x301, 0xdd},   {0x59, 0x302, 0x176},  {0x59, 0x303, 0x1ef8}, {0x59, 0x304, 0x232},
	{0x59, 0x307, 0x1e8e}, {0x59, 0x308, 0x178},  {0x5a, 0x301, 0x179},  {0x5a, 0x302, 0x1e90},
	{0x5a, 0x307, 0x17b},  {0x5a, 0x30c, 0x17d},  {0x61, 0x300, 0xe0},   {0x61, 0x301, 0xe1},
	{0x61, 0x302, 0xe2},   {0x61, 0x303, 0xe3},   {0x61, 0x304, 0x101},  {0x61, 0x306, 0x103},
	{0x61, 0x307, 0x227},  {0x61, 0x308, 0xe4},   {0x61, 0x30a, 0xe5},   {0x61, 0x30c, 0x1ce},
	{0x62, 0x307, 0x1e03}, {0x63, 0x301, 0x107},  {0x63, 0x302, 0x109},  {0x63, 0x307, 0x10b},
	{0x63, 0x30c, 0x10d},  {0x64, 0x307, 0x1e0b}, {0x64, 0x30c, 0x10f},  {0x65, 0x300, 0xe8},
	{0x65, 0x301, 0xe9},   {0x65, 0x302, 0xea},   {0x65, 0x303, 0x1ebd}, {0x65, 0x304, 0x113},
	{0x65, 0x306, 0x115},  {0x65, 0x307, 0x117},  {0x65, 0x308, 0xeb},   {0x65, 0x30c, 0x11b},
	{0x66, 0x307, 0x1e1f}, {0x67, 0x301, 0x1f5},  {0x67, 0x302, 0x11d},  {0x67, 0x304, 0x1e21},
	{0x67, 0x306, 0x11f},  {0x67, 0x307, 0x121},  {0x67, 0x30c, 0x1e7},  {0x68, 0x302, 0x125},
	{0x68, 0x307, 0x1e23}, {0x68, 0x308, 0x1e27}, {0x68, 0x30c, 0x21f},  {0x69, 0x300, 0xec},
	{0x69, 0x301, 0xed},   {0x69, 0x302, 0xee},   {0x69, 0x303, 0x129},  {0x69, 0x304, 0x12b},
	{0x69, 0x306, 0x12d},  {0x69, 0x308, 0xef},   {0x69, 0x30c, 0x1d0},  {0x6a, 0x302, 0x135},
	{0x6a, 0x30c, 0x1f0},  {0x6b, 0x301, 0x1e31}, {0x6b, 0x30c, 0x1e9},  {0x6c, 0x301, 0x13a},
	{0x6c, 0x30c, 0x13e},  {0x6d, 0x301, 0x1e3f}, {0x6d, 0x307, 0x1e41}, {0x6e, 0x300, 0x1f9},
	{0x6e, 0x301, 0x144},  {0x6e, 0x303, 0xf1},   {0x6e, 0x307, 0x1e45}, {0x6e, 0x30c, 0x148},
	{0x6f, 0x300, 0xf2},   {0x6f, 0x301, 0xf3},   {0x6f, 0x302, 0xf4},   {0x6f, 0x303, 0xf5},
	{0x6f, 0x304, 0x14d},  {0x6f, 0x306, 0x14f},  {0x6f, 0x307, 0x22f},  {0x6f, 0x308, 0xf6},
	{0x6f, 0x30c, 0x1d2},  {0x70, 0x301, 0x1e55}, {0x70, 0x307, 0x1e57}, {0x72, 0x301, 0x155},
	{0x72, 0x307, 0x1e59}, {0x72, 0x30c, 0x159},  {0x73, 0x301, 0x15b},  {0x73, 0x302, 0x15d},
	{0x73, 0x307, 0x1e61}, {0x73, 0x30c, 0x161},  {0x74, 0x307, 0x1e6b}, {0x74, 0x308, 0x1e97},
	{0x74, 0x30c, 0x165},  {0x75, 0x300, 0xf9},   {0x75, 0x301, 0xfa},   {0x75, 0x302, 0xfb},
	{0x75, 0x303, 0x169},  {0x75, 0x304, 0x16b},  {0x75, 0x306, 0x16d},  {0x75, 0x308, 0xfc},
	{0x75, 0x30a, 0x16f},  {0x75, 0x30c, 0x1d4},  {0x76, 0x303, 0x1e7d}, {0x77, 0x300, 0x1e81},
	{0x77, 0x301, 0x1e83}, {0x77, 0x302, 0x175},  {0x77, 0x307, 0x1e87}, {0x77, 0x308, 0x1e85},
	{0x77, 0x30a, 0x1e98}, {0x78, 0x307, 0x1e8b}, {0x78, 0x308, 0x1e8d}, {0x79, 0x300, 0x1ef3},
	{0x79, 0x301, 0xfd},   {0x79, 0x302, 0x177},  {0x79, 0x303, 0x1ef9}, {0x79, 0x304, 0x233},
	{0x79, 0x307, 0x1e8f}, {0x79, 0x308, 0xff},   {0x79, 0x30a, 0x1e99}, {0x7a, 0x301, 0x17a},
	{0x7a, 0x302, 0x1e91}, {0x7a, 0x307, 0x17c},  {0x7a, 0x30c, 0x17e},  {0x391, 0x301, 0x386},
	{0x395, 0x301, 0x388}, {0x397, 0x301, 0x389}, {0x399, 0x301, 0x38a}, {0x399, 0x308, 0x3aa},
	{0x39f, 0x301, 0x38c}, {0x3a5, 0x301, 0x38e}, {0x3a5, 0x308, 0x3ab}, {0x3a9, 0x301, 0x38f},
	{0x3b1, 0x301, 0x3ac}, {0x3b5, 0x301, 0x3ad}, {0x3b7, 0x301, 0x3ae}, {0x3b9, 0x301, 0x3af},
	{0x3b9, 0x308, 0x3ca}, {0x3bf, 0x301, 0x3cc}, {0x3c5, 0x301, 0x3cd}, {0x3c5, 0x308, 0x3cb},
	{0x3c9, 0x301, 0x3ce}, {0x3ca, 0x301, 0x390}, {0x3cb, 0x301, 0x3b0}, {0x3d2, 0x301, 0x3d3},
	{0x3d2, 0x308, 0x3d4}, {0x406, 0x308, 0x407}, {0x410, 0x306, 0x4d0}, {0x410, 0x308, 0x4d2},
	{0x413, 0x301, 0x403}, {0x415, 0x300, 0x400}, {0x415, 0x306, 0x4d6}, {0x415, 0x308, 0x401},
	{0x416, 0x306, 0x4c1}, {0x416, 0x308, 0x4dc}, {0x417, 0x308, 0x4de}, {0x418, 0x300, 0x40d},
	{0x418, 0x304, 0x4e2}, {0x418, 0x306, 0x419}, {0x418, 0x308, 0x4e4}, {0x41a, 0x301, 0x40c},
	{0x41e, 0x308, 0x4e6}, {0x423, 0x304, 0x4ee}, {0x423, 0x306, 0x40e}, {0x423, 0x308, 0x4f0},
	{0x427, 0x308, 0x4f4}, {0x42b, 0x308, 0x4f8}, {0x42d, 0x308, 0x4ec}, {0x430, 0x306, 0x4d1},
	{0x430, 0x308, 0x4d3}, {0x433, 0x301, 0x453}, {0x435, 0x300, 0x450}, {0x435, 0x306, 0x4d7},
	{0x435, 0x308, 0x451}, {0x436, 0x306, 0x4c2}, {0x436, 0x308, 0x4dd}, {0x437, 0x308, 0x4df},
	{0x438, 0x300, 0x45d}, {0x438, 0x304, 0x4e3}, {0x438, 0x306, 0x439}, {0x438, 0x308, 0x4e5},
	{0x43a, 0x301, 0x45c}, {0x43e, 0x308, 0x4e7}, {0x443, 0x304, 0x4ef}, {0x443, 0x306, 0x45e},
	{0x443, 0x308, 0x4f1}, {0x447, 0x308, 0x4f5}, {0x44b, 0x308, 0x4f9}, {0x44d, 0x308, 0x4ed},
	{0x456, 0x308, 0x457}, {0x4d8, 0x308, 0x4da}, {0x4d9, 0x308, 0x4db}, {0x4e8, 0x308, 0x4ea},
	{0x4e9, 0x308, 0x4eb},
};

/* Characters that are replaced in names by one that looks the same. */
static const struct {
	uint32_t from, to;
} look_alikes[] = {
	{0xb5, 0x3bc},   /* micro sign -> mu */
	{0x2126, 0x3a9}, /* ohm sign -> Omega */
	{0x212a, 'K'},   /* kelvin sign */
	{0x212b, 0xc5},  /* angstrom sign */
	{0x2206, 0x394}, /* increment -> Delta */
	{0x25b, 0x3b5},  /* open e -> epsilon */
};

const char *const parse_keywords[] = {"if",       "else",   "for",   "while", "in",  "break",
                                      "continue", "return", "try",   "catch", "and", "or",
                                      "not",      "true",   "false", "none",  NULL};
_Static_assert(sizeof parse_keywords / sizeof *parse_keywords == TK_COUNT - TK_IF + 1,
               "a keyword lacks its token");

/* Operators; a longer one precedes its prefixes. */
static const struct {
	char text[4];
	uint8_t kind;
	uint8_t error;
} operators[] = {
	{"...", TK_ELLIPSIS, LEX_OK},  {"//=", TK_COMPOUND, LEX_OK},  {"..", TK_RANGE, LEX_OK},
	{"**", TK_CARET, LEX_FOREIGN}, {"&&", TK_AND, LEX_FOREIGN},   {"||", TK_OR, LEX_FOREIGN},
	{"//", TK_FLOORDIV, LEX_OK},   {"->", TK_ARROW, LEX_OK},      {"|>", TK_PIPE, LEX_OK},
	{"==", TK_EQ, LEX_OK},         {"!=", TK_NE, LEX_OK},         {"<=", TK_LE, LEX_OK},
	{">=", TK_GE, LEX_OK},         {":=", TK_DEFINE, LEX_OK},     {"+=", TK_COMPOUND, LEX_OK},
	{"-=", TK_COMPOUND, LEX_OK},   {"*=", TK_COMPOUND, LEX_OK},   {"/=", TK_COMPOUND, LEX_OK},
	{"%=", TK_COMPOUND, LEX_OK},   {"^=", TK_COMPOUND, LEX_OK},   {"@=", TK_COMPOUND, LEX_OK},
	{".*", TK_STAR, LEX_FOREIGN},  {"./", TK_SLASH, LEX_FOREIGN}, {".^", TK_CARET, LEX_FOREIGN},
	{".+", TK_PLUS, LEX_FOREIGN},  {".-", TK_MINUS, LEX_FOREIGN}, {"+", TK_PLUS, LEX_OK},
	{"-", TK_MINUS, LEX_OK},       {"*", TK_STAR, LEX_OK},        {"/", TK_SLASH, LEX_OK},
	{"%", TK_PERCENT, LEX_OK},     {"@", TK_MATMUL, LEX_OK},      {"^", TK_CARET, LEX_OK},
	{"<", TK_LT, LEX_OK},          {">", TK_GT, LEX_OK},          {"=", TK_ASSIGN, LEX_OK},
	{".", TK_DOT, LEX_OK},         {",", TK_COMMA, LEX_OK},       {";", TK_SEMICOLON, LEX_OK},
	{":", TK_COLON, LEX_OK},       {"(", TK_LPAREN, LEX_OK},      {")", TK_RPAREN, LEX_OK},
	{"[", TK_LBRACKET, LEX_OK},    {"]", TK_RBRACKET, LEX_OK},    {"{", TK_LBRACE, LEX_OK},
	{"}", TK_RBRACE, LEX_OK},      {"!", TK_NOT, LEX_FOREIGN},    {"\\", TK_ERROR, LEX_CHAR},
	{"&", TK_ERROR, LEX_CHAR},     {"|", TK_ERROR, LEX_CHAR},     {"~", TK_ERROR, LEX_CHAR},
	{"?", TK_ERROR, LEX_CHAR},     {"$", TK_ERROR, LEX_CHAR},     {"`", TK_ERROR, LEX_CHAR},
};

static const struct {
	uint32_t character;
	TokenKind kind;
} symbols[] = {
	{0xb7, TK_INNER},     {0x22c5, TK_INNER},   {0x387, TK_INNER},  {0xd7, TK_CROSS},
	{0x2218, TK_COMPOSE}, {0x2260, TK_NE},      {0x2264, TK_LE},    {0x2265, TK_GE},
	{0x2192, TK_ARROW},   {0x2202, TK_PARTIAL}, {0x221a, TK_ROOT},  {0x2207, TK_NABLA},
	{0x2208, TK_IN},      {0x221e, TK_NAME},    {0x2212, TK_MINUS},
};

/* ---- characters ---------------------------------------------------------- */

size_t lex_decode(const char *text, size_t n, uint32_t *out) {
	const unsigned char *p = (const unsigned char *)text;
	*out = 0xfffd;
	if (!n) return 0;
	if (p[0] < 0x80) {
		*out = p[0];
		return 1;
	}
	size_t length = p[0] < 0xc2 || p[0] >= 0xf5 ? 0 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (!length || length > n) return 0;
	uint32_t u = p[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80) return 0;
		u = u << 6 | (p[i] & 0x3fu);
	}
	/* Overlong encodings. */
	if ((length == 3 && u < 0x800) || (length == 4 && u < 0x10000)) return 0;
	if (u > 0x10ffff || (u >= 0xd800 && u < 0xe000)) return 0;
	*out = u;
	return length;
}

size_t lex_encode(uint32_t u, char *out) {
	if (u < 0x80) {
		out[0] = (char)u;
		return 1;
	}
	if (u < 0x800) {
		out[0] = (char)(0xc0 | u >> 6);
		out[1] = (char)(0x80 | (u & 0x3f));
		return 2;
	}
	if (u < 0x10000) {
		out[0] = (char)(0xe0 | u >> 12);
		out[1] = (char)(0x80 | (u >> 6 & 0x3f));
		out[2] = (char)(0x80 | (u & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | u >> 18);
	out[1] = (char)(0x80 | (u >> 12 & 0x3f));
	out[2] = (char)(0x80 | (u >> 6 & 0x3f));
	out[3] = (char)(0x80 | (u & 0x3f));
	return 4;
}

static bool is_digit(uint32_t u) { return u >= '0' && u <= '9'; }

static bool is_letter(uint32_t u) {
	if (u < 0x80) return (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u == '_';
	size_t low = 0, high = sizeof letters / sizeof *letters;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (u > letters[middle].last) low = middle + 1;
		else high = middle;
	}
	return low < sizeof letters / sizeof *letters && u >= letters[low].first;
}

static bool is_mark(uint32_t u) { return u >= 0x300 && u <= 0x36f; }

static bool is_space(uint32_t u) {
	if (u < 0x80) return u == ' ' || u == '\t' || u == '\r' || u == '\v' || u == '\f';
	return u == 0xa0 || (u >= 0x2000 && u <= 0x200b) || u == 0x202f || u == 0x205f || u == 0x3000 ||
	       u == 0xfeff;
}

/* Includes the signs and brackets, which are not part of names. */
static bool is_subscript(uint32_t u) {
	return (u >= 0x2080 && u <= 0x209c) || (u >= 0x1d62 && u <= 0x1d6a);
}

/* True for a character that may continue a name. */
static bool is_inner(uint32_t u) {
	return is_letter(u) || is_digit(u) || is_mark(u) ||
	       (is_subscript(u) && !(u >= 0x208a && u <= 0x208f));
}

/* The ASCII character that a superscript stands for, or 0. */
static char superscript(uint32_t u) {
	if (u == 0xb2 || u == 0xb3) return (char)(u - 0xb0 + '0');
	if (u == 0xb9) return '1';
	if (u == 0x2070 || (u >= 0x2074 && u <= 0x2079)) return (char)(u - 0x2070 + '0');
	return u == 0x207a ? '+' : u == 0x207b ? '-' : 0;
}

bool lex_superscript(const char *text, size_t n, int64_t *out) {
	int64_t value = 0;
	bool negative = false, digits = false;
	for (size_t i = 0, length; i < n; i += length) {
		uint32_t u;
		length = lex_decode(text + i, n - i, &u);
		char ch = superscript(u);
		if (ch == '+' || ch == '-') {
			if (i) return false;
			negative = ch == '-';
		} else {
			if (value > 99999) return false;
			value = value * 10 + (ch - '0');
			digits = true;
		}
	}
	*out = negative ? -value : value;
	return digits;
}

static uint32_t compose(uint32_t base, uint32_t mark) {
	size_t low = 0, high = sizeof compositions / sizeof *compositions;
	if (base > 0xffff) return 0;
	uint32_t wanted = base << 16 | mark;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const Composition *m = &compositions[middle];
		if (((uint32_t)m->base << 16 | m->mark) < wanted) low = middle + 1;
		else high = middle;
	}
	if (low == sizeof compositions / sizeof *compositions) return 0;
	const Composition *m = &compositions[low];
	return ((uint32_t)m->base << 16 | m->mark) == wanted ? m->composed : 0;
}

size_t lex_fold_name(const char *text, size_t n, char *out) {
	size_t written = 0, last = 0; /* start of the last character written */
	uint32_t before = 0;
	for (size_t i = 0, length; i < n; i += length) {
		uint32_t u;
		length = lex_decode(text + i, n - i, &u);
		if (!length) length = 1; /* unreachable for names found by lexer_next */
		for (size_t k = 0; k < sizeof look_alikes / sizeof *look_alikes; k++) {
			if (look_alikes[k].from == u) u = look_alikes[k].to;
		}
		uint32_t composed = is_mark(u) && before ? compose(before, u) : 0;
		if (composed) {
			u = composed;
			written = last;
		}
		last = written;
		written += lex_encode(u, out + written);
		before = u;
	}
	return written;
}

/* ---- scanning ------------------------------------------------------------ */

void lexer_init(Lexer *lx, const char *text, uint32_t n, bool one_line) {
	*lx = (Lexer){.text = text, .n = n, .one_line = one_line, .before = TK_NEWLINE};
}

static char peek_byte(const Lexer *lx, uint32_t ahead) {
	return ahead < lx->n - lx->at ? lx->text[lx->at + ahead] : '\0';
}

static uint32_t peek_character(const Lexer *lx, size_t *length) {
	uint32_t u;
	*length = lex_decode(lx->text + lx->at, lx->n - lx->at, &u);
	return u;
}

static bool name_goes_on(const Lexer *lx) {
	size_t length;
	uint32_t u = peek_character(lx, &length);
	return length && is_inner(u);
}

static void skip_name(Lexer *lx) {
	size_t length;
	for (;;) {
		uint32_t u = peek_character(lx, &length);
		if (!length || !is_inner(u)) return;
		lx->at += (uint32_t)length;
	}
}

static int digit_value(char ch) {
	if (ch >= '0' && ch <= '9') return ch - '0';
	if (ch >= 'a' && ch <= 'f') return ch - 'a' + 10;
	if (ch >= 'A' && ch <= 'F') return ch - 'A' + 10;
	return 99;
}

/* Skips digits with single underscores between them. Returns false when there
 * are none, or when an underscore is not between two digits. */
static bool skip_digits(Lexer *lx, int base) {
	bool good = digit_value(peek_byte(lx, 0)) < base;
	for (;;) {
		if (digit_value(peek_byte(lx, 0)) < base) {
			lx->at++;
		} else if (peek_byte(lx, 0) == '_' &&
		           (digit_value(peek_byte(lx, 1)) < base || peek_byte(lx, 1) == '_')) {
			good &= peek_byte(lx, 1) != '_';
			lx->at++;
		} else {
			return good;
		}
	}
}

/* `<m/s^2>` directly after a number: returns its length, or 0. */
static uint32_t unit_length(const Lexer *lx) {
	size_t length;
	if (peek_byte(lx, 0) != '<') return 0;
	uint32_t i = lx->at + 1, u;
	if (!(length = lex_decode(lx->text + i, lx->n - i, &u)) || !is_letter(u)) return 0;
	for (uint32_t seen = 0; i < lx->n && seen < 64; seen++, i += (uint32_t)length) {
		length = lex_decode(lx->text + i, lx->n - i, &u);
		if (u == '>') return i + 1 - lx->at;
		bool sign = u == 0xb7 || (u && u < 0x80 && strchr("*/^-.()", (int)u));
		bool part = length && (sign || is_letter(u) || is_digit(u) || superscript(u));
		if (!part) return 0;
	}
	return 0;
}

static LexError scan_number(Lexer *lx) {
	bool good = true;
	char second = peek_byte(lx, 1);
	int base = peek_byte(lx, 0) != '0' ? 10
	           : second == 'x'         ? 16
	           : second == 'o'         ? 8
	           : second == 'b'         ? 2
	                                   : 10;
	if (base != 10) {
		lx->at += 2;
		good = skip_digits(lx, base);
		uint32_t end = lx->at;
		skip_name(lx);
		if (lx->at - end == 2 && !memcmp(lx->text + end, "im", 2)) lx->at = end;
		else good &= lx->at == end;
	} else {
		if (peek_byte(lx, 0) != '.') good = skip_digits(lx, 10);
		if (peek_byte(lx, 0) == '.' && peek_byte(lx, 1) != '.') {
			lx->at++;
			if (is_digit((unsigned char)peek_byte(lx, 0))) good &= skip_digits(lx, 10);
		}
		char e = peek_byte(lx, 0), sign = peek_byte(lx, 1);
		bool signed_ = sign == '+' || sign == '-';
		if ((e == 'e' || e == 'E') && is_digit((unsigned char)peek_byte(lx, signed_ ? 2 : 1))) {
			lx->at += signed_ ? 2 : 1;
			good &= skip_digits(lx, 10);
		}
		while (peek_byte(lx, 0) == '.' && is_digit((unsigned char)peek_byte(lx, 1))) { /* 1.2.3 */
			good = false;
			lx->at++;
			skip_digits(lx, 10);
		}
		if (peek_byte(lx, 0) == '_') {
			good = false;
			skip_name(lx);
		}
	}
	uint32_t back = lx->at;
	if (peek_byte(lx, 0) == 'i' && peek_byte(lx, 1) == 'm') {
		lx->at += 2;
		if (name_goes_on(lx)) lx->at = back; /* 2image is 2 * image */
	}
	if (!good) return LEX_NUMBER;
	uint32_t unit = unit_length(lx);
	lx->at += unit;
	return unit ? LEX_UNITS : LEX_OK;
}

static TokenKind keyword_kind(const char *text, size_t n) {
	for (int k = 0; parse_keywords[k]; k++) {
		if (parse_keywords[k][0] == text[0] && strlen(parse_keywords[k]) == n &&
		    !memcmp(parse_keywords[k], text, n))
			return (TokenKind)(TK_IF + k);
	}
	return TK_NAME;
}

/* Inside the quotes: scans text up to the closing quote or the next
 * interpolation. */
static Lexeme scan_text(Lexer *lx) {
	Lexeme t = {.kind = TK_STR_TEXT, .start = lx->at};
	while (lx->at < lx->n) {
		char ch = lx->text[lx->at];
		if (ch == '"' || ch == '{' || (ch == '\n' && lx->one_line)) break;
		if (ch == '\\' && lx->at + 1 < lx->n && !(lx->text[lx->at + 1] == '\n' && lx->one_line)) {
			bool unicode =
				lx->text[lx->at + 1] == 'u' && lx->at + 2 < lx->n && lx->text[lx->at + 2] == '{';
			lx->at += unicode ? 2 : 1; /* the { of \u{3b1} is not an interpolation */
		}
		lx->at++;
	}
	if (lx->at > t.start) {
		t.end = lx->at;
		return t;
	}
	bool at_end = lx->at >= lx->n || lx->text[lx->at] == '\n';
	if (at_end) {
		t.error = LEX_STRING_END;
		lx->unclosed = true;
	} else {
		lx->at++;
	}
	t.end = lx->at;
	lx->in_text = false;
	if (at_end || lx->text[t.start] == '"') {
		t.kind = TK_STR_CLOSE;
		lx->level--;
	} else {
		t.kind = TK_INTERP_OPEN;
		lx->parens[lx->level] = lx->braces[lx->level] = 0;
	}
	return t;
}

/* `=` at the end of an interpolation: {x=} or {x=:.3e} */
static bool at_debug(const Lexer *lx) {
	if (peek_byte(lx, 0) != '=') return false;
	uint32_t i = lx->at + 1;
	while (i < lx->n && lx->text[i] == ' ') i++;
	return i < lx->n && (lx->text[i] == '}' || lx->text[i] == ':');
}

/* Scans tokens that exist only at the outermost level of an interpolation: its
 * end, {e:spec}, {e=}. Returns true when `t` is set. */
static bool scan_interpolation(Lexer *lx, Lexeme *t) {
	uint32_t level = lx->level;
	char ch = peek_byte(lx, 0);
	if (lx->at >= lx->n || (ch == '\n' && lx->one_line)) {
		*t = (Lexeme){TK_INTERP_CLOSE, LEX_INTERP_END, lx->at, lx->at};
		lx->in_text = lx->unclosed = true;
		return true;
	}
	if (lx->braces[level]) return false;
	t->start = lx->at;
	if (ch == '}') {
		lx->at++;
		lx->in_text = true;
		t->kind = TK_INTERP_CLOSE;
	} else if (!lx->parens[level] && ch == ':' && peek_byte(lx, 1) != '=') {
		while (lx->at < lx->n && !strchr("}\"\n", lx->text[lx->at])) lx->at++;
		t->kind = TK_INTERP_SPEC;
	} else if (!lx->parens[level] && at_debug(lx)) {
		lx->at++;
		t->kind = TK_INTERP_DEBUG;
	} else {
		return false;
	}
	t->end = lx->at;
	return true;
}

/* True when a ' directly after the last token is a prime, not a quote. */
static bool prime_follows(const Lexer *lx) {
	if (lx->before_end != lx->at) return false;
	TokenKind k = lx->before;
	return k == TK_NAME || k == TK_RPAREN || k == TK_RBRACKET || k == TK_RBRACE || k == TK_PRIME ||
	       k == TK_SUPER;
}

static void count_brackets(Lexer *lx, TokenKind k) {
	uint32_t *parens = &lx->parens[lx->level], *braces = &lx->braces[lx->level];
	if (k == TK_LPAREN || k == TK_LBRACKET) ++*parens;
	if ((k == TK_RPAREN || k == TK_RBRACKET) && *parens) --*parens;
	if (k == TK_LBRACE) ++*braces;
	if (k == TK_RBRACE && *braces) --*braces;
}

/* True at x++ or x-- when no operand can follow. */
static bool at_increment(const Lexer *lx) {
	char ch = peek_byte(lx, 0);
	if ((ch != '+' && ch != '-') || peek_byte(lx, 1) != ch) return false;
	uint32_t i = lx->at + 2;
	while (i < lx->n && (lx->text[i] == ' ' || lx->text[i] == '\r')) i++;
	return i == lx->n || (lx->text[i] && strchr("\n;)}", lx->text[i]));
}

/* Scans a token of program text at lx->at, which is not the end. */
static Lexeme scan_code(Lexer *lx) {
	Lexeme t = {.kind = TK_ERROR, .start = lx->at};
	size_t length;
	uint32_t u = peek_character(lx, &length);
	if (!length) { /* all consecutive invalid bytes are one token */
		t.error = LEX_UTF8;
		while (lx->at < lx->n && !length) {
			lx->at++;
			peek_character(lx, &length);
		}
	} else if (u == '\n') {
		lx->at++;
		t.kind = TK_NEWLINE;
	} else if (is_space(u)) {
		while (length && is_space(u)) {
			lx->at += (uint32_t)length;
			u = peek_character(lx, &length);
		}
		t.kind = TK_SPACE;
	} else if (u == '#') {
		const char *end = memchr(lx->text + lx->at, '\n', lx->n - lx->at);
		lx->at = end ? (uint32_t)(end - lx->text) : lx->n;
		t.kind = TK_COMMENT;
	} else if (is_digit(u) || (u == '.' && is_digit((unsigned char)peek_byte(lx, 1)))) {
		t.error = scan_number(lx);
		t.kind = TK_NUMBER;
	} else if (is_letter(u)) {
		skip_name(lx);
		t.kind = keyword_kind(lx->text + t.start, lx->at - t.start);
	} else if (u == '"') {
		lx->at++;
		if (lx->level == LEX_STRINGS) { /* skip the line */
			while (lx->at < lx->n && lx->text[lx->at] != '\n') lx->at++;
			t.error = LEX_STRING_DEEP;
		} else {
			lx->level++;
			lx->in_text = true;
			t.kind = TK_STR_OPEN;
		}
	} else if ((u == '\'' || u == 0x2032) && prime_follows(lx)) {
		lx->at += (uint32_t)length;
		t.kind = TK_PRIME;
	} else if (u == '\'') { /* 'text' of another language, up to its end on this line */
		const char *line = lx->text + lx->at + 1;
		size_t left = lx->n - lx->at - 1;
		const char *newline = memchr(line, '\n', left);
		if (newline) left = (size_t)(newline - line);
		const char *close = memchr(line, '\'', left < 200 ? left : 200);
		lx->at += close ? (uint32_t)(close - line) + 2 : 1;
		t.error = LEX_QUOTE;
	} else if (superscript(u)) {
		while (length && superscript(u)) {
			lx->at += (uint32_t)length;
			u = peek_character(lx, &length);
		}
		t.kind = TK_SUPER;
	} else if (is_subscript(u)) {
		while (length && is_subscript(u)) {
			lx->at += (uint32_t)length;
			u = peek_character(lx, &length);
		}
		t.error = LEX_SUBSCRIPT;
	} else if (u < 0x20 || u == 0x7f || (u >= 0x80 && u < 0xa0)) {
		lx->at += (uint32_t)length;
		t.error = LEX_CONTROL;
	} else if (u >= 0x80) {
		lx->at += (uint32_t)length;
		t.error = LEX_CHAR;
		for (size_t k = 0; k < sizeof symbols / sizeof *symbols; k++) {
			if (symbols[k].character != u) continue;
			t.kind = symbols[k].kind;
			t.error = LEX_OK;
		}
	} else if (at_increment(lx)) {
		lx->at += 2;
		t.error = LEX_FOREIGN;
	} else {
		for (size_t k = 0; k < sizeof operators / sizeof *operators; k++) {
			if (operators[k].text[0] != lx->text[lx->at]) continue;
			size_t n = strnlen(operators[k].text, sizeof operators[k].text);
			if (n > lx->n - lx->at || memcmp(operators[k].text, lx->text + lx->at, n)) continue;
			t.kind = (TokenKind)operators[k].kind;
			t.error = (LexError)operators[k].error;
			lx->at += (uint32_t)n;
			break;
		}
		/* Every printable ASCII character is handled above. This guarantees
		 * that the scan advances. */
		if (lx->at == t.start) {
			lx->at++;
			t.error = LEX_CHAR;
		}
	}
	t.end = lx->at;
	return t;
}

Lexeme lexer_next(Lexer *lx) {
	if (lx->in_text) return scan_text(lx);
	Lexeme t = {TK_EOF, LEX_OK, lx->at, lx->at};
	if (lx->level && scan_interpolation(lx, &t)) return t;
	if (lx->at >= lx->n) return t;
	t = scan_code(lx);
	if (t.kind == TK_STR_OPEN) return t;
	count_brackets(lx, t.kind);
	lx->before = t.kind;
	lx->before_end = t.end;
	return t;
}

/* ---- properties of token kinds ------------------------------------------- */

const char *lex_kind_called(TokenKind k) {
	static const char *const called[TK_COUNT] = {
#define TOKEN(kind, name) name,
		LEX_TOKENS(TOKEN)
#undef TOKEN
	};
	return k < TK_COUNT ? called[k] : NULL;
}

bool lex_continues_line(TokenKind k) {
	switch (k) {
	case TK_STAR:
	case TK_SLASH:
	case TK_FLOORDIV:
	case TK_PERCENT:
	case TK_MATMUL:
	case TK_INNER:
	case TK_CROSS:
	case TK_CARET:
	case TK_COMPOSE:
	case TK_PIPE:
	case TK_EQ:
	case TK_NE:
	case TK_LT:
	case TK_LE:
	case TK_GT:
	case TK_GE:
	case TK_AND:
	case TK_OR:
	case TK_DOT: return true;
	default: return false;
	}
}

bool lex_wants_operand(TokenKind k) {
	switch (k) {
	case TK_PLUS:
	case TK_MINUS:
	case TK_ASSIGN:
	case TK_DEFINE:
	case TK_COMPOUND:
	case TK_ARROW:
	case TK_COMMA:
	case TK_COLON: return true;
	default: return lex_continues_line(k);
	}
}

/* True when a statement cannot end with this token and includes the next
 * line. */
static bool lex_wants_more(TokenKind k) {
	switch (k) {
	case TK_NOT:
	case TK_IN:
	case TK_IF:
	case TK_ELSE:
	case TK_FOR:
	case TK_WHILE:
	case TK_TRY:
	case TK_CATCH: return true;
	default: return lex_wants_operand(k);
	}
}

/* ---- without a parser: completeness, highlighting ------------------------ */

bool parse_is_incomplete(const char *text, size_t n) {
	if (n >= UINT32_MAX) return false;
	int64_t parens = 0, brackets = 0, braces = 0;
	TokenKind last = TK_NEWLINE;
	Lexer lx;
	lexer_init(&lx, text, (uint32_t)n, false);
	for (Lexeme t = lexer_next(&lx); t.kind != TK_EOF; t = lexer_next(&lx)) {
		parens += (t.kind == TK_LPAREN) - (t.kind == TK_RPAREN);
		brackets += (t.kind == TK_LBRACKET) - (t.kind == TK_RBRACKET);
		braces += (t.kind == TK_LBRACE) - (t.kind == TK_RBRACE);
		if (parens < 0 || brackets < 0 || braces < 0) return false; /* more lines cannot fix it */
		if (t.kind == TK_SPACE || t.kind == TK_COMMENT || t.kind == TK_NEWLINE) continue;
		last = last == TK_DOT ? TK_NAME : t.kind; /* r.for ends a line */
	}
	return lx.unclosed || parens || brackets || braces || lex_wants_more(last);
}

/* Contextual keywords that count only at the start of a statement, before a
 * name, a string or a bracket. */
static bool is_opening_word(const char *text, size_t n) {
	static const char *const words[] = {"problem", "domain", "field",     "eigen",
	                                    "event",   "use",    "derivative"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strlen(words[i]) == n && !memcmp(words[i], text, n)) return true;
	}
	return false;
}

/* Contextual keywords that count only after an operand. */
static bool is_middle_word(const char *text, size_t n) {
	static const char *const words[] = {"at",      "by",     "as",      "periodic",
	                                    "falling", "rising", "terminal"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strlen(words[i]) == n && !memcmp(words[i], text, n)) return true;
	}
	return false;
}

static TokenClass class_of(TokenKind k) {
	switch (k) {
	case TK_SPACE:
	case TK_NEWLINE: return TC_SPACE;
	case TK_COMMENT: return TC_COMMENT;
	case TK_ERROR: return TC_ERROR;
	case TK_NUMBER: return TC_NUMBER;
	case TK_NAME: return TC_NAME;
	case TK_STR_OPEN:
	case TK_STR_TEXT:
	case TK_STR_CLOSE:
	case TK_INTERP_SPEC: return TC_STRING;
	case TK_INTERP_OPEN:
	case TK_INTERP_CLOSE:
	case TK_LPAREN:
	case TK_RPAREN:
	case TK_LBRACKET:
	case TK_RBRACKET:
	case TK_LBRACE:
	case TK_RBRACE: return TC_BRACKET;
	default: return token_is_keyword(k) ? TC_KEYWORD : TC_OPERATOR;
	}
}

static bool ends_operand(TokenKind k) {
	bool closes = k == TK_STR_CLOSE || k == TK_RPAREN || k == TK_RBRACKET || k == TK_RBRACE;
	return closes || k == TK_NUMBER || k == TK_NAME || k == TK_PRIME || k == TK_SUPER;
}

void parse_tokens(const char *text, size_t n,
                  void (*visit)(void *ud, TokenClass cls, size_t start, size_t end), void *ud) {
	if (n >= UINT32_MAX) {
		visit(ud, TC_ERROR, 0, n);
		return;
	}
	TokenKind before = TK_NEWLINE; /* the last token except spaces and comments */
	Lexer lx;
	lexer_init(&lx, text, (uint32_t)n, false);
	for (Lexeme t = lexer_next(&lx); t.kind != TK_EOF; t = lexer_next(&lx)) {
		if (t.start == t.end) continue;
		TokenClass cls = t.error ? TC_ERROR : class_of(t.kind);
		if (t.kind == TK_NAME) {
			const char *word = text + t.start;
			size_t length = t.end - t.start;
			if (before == TK_DOT) {
				cls = TC_NAME;
			} else if (before == TK_NEWLINE || before == TK_SEMICOLON || before == TK_LBRACE) {
				Lexer ahead = lx;
				Lexeme next = lexer_next(&ahead);
				if (next.kind == TK_SPACE) next = lexer_next(&ahead);
				bool region = next.kind == TK_LPAREN && word[0] == 'd'; /* domain (x, y) in ... */
				bool opens = next.kind == TK_NAME || next.kind == TK_STR_OPEN || region;
				if (opens && is_opening_word(word, length)) cls = TC_KEYWORD;
			} else if (ends_operand(before) && is_middle_word(word, length)) {
				cls = TC_KEYWORD;
			}
		} else if (token_is_keyword(t.kind) && before == TK_DOT) {
			cls = TC_NAME;
		}
		visit(ud, cls, t.start, t.end);
		if (t.kind != TK_SPACE && t.kind != TK_COMMENT) before = t.kind;
	}
}
