/* coefficients.h - polynomials and constants of the vector maths. Made by
 * coefficients.sollya: do not edit.
 *
 * Needs: nothing. Guarantees: the error given over each list.
 */

/* constants in pieces: value[0] + value[1] + ... */
static const double ln2_f64[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
static const double pi_f64[] = {0x1.921fb54442d18p1, 0x1.1a62633145c07p-53};
static const double pi_below_f64[] = {0x1.921fb54442d18p1, 0x1.1a62633145c06p-53,
                                      0x1.c1cd129024e08p-106};
static const double half_pi_f64[] = {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54,
                                     -0x1.f1976b7ed8fbcp-110};
static const double log2_e_f64[] = {0x1.71547652b82fep0};
static const double inverse_pi_f64[] = {0x1.45f306dc9c883p-2};
static const double inverse_half_pi_f64[] = {0x1.45f306dc9c883p-1};
static const double two_thirds_f64[] = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
static const double cbrt_two_f64[] = {0x1.965fea53d6e3dp-1};
static const double cbrt_four_f64[] = {0x1.428a2f98d728bp-1};
static const float ln2_f32[] = {0x1.62e43p-1f, -0x1.05c61p-29f};
static const float pi_f32[] = {0x1.921fb6p1f, -0x1.777a5cp-24f};
static const float pi_below_f32[] = {0x1.921fb4p1f, 0x1.4442dp-23f, 0x1.846988p-47f};
static const float half_pi_f32[] = {0x1.921fb6p0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f};
static const float log2_e_f32[] = {0x1.715476p0f};
static const float inverse_pi_f32[] = {0x1.45f306p-2f};
static const float inverse_half_pi_f32[] = {0x1.45f306p-1f};
static const float two_thirds_f32[] = {0x1.555556p-1f, -0x1.555556p-26f};
static const float cbrt_two_f32[] = {0x1.965feap-1f};
static const float cbrt_four_f32[] = {0x1.428a3p-1f};

/* exp(r) = 1 + r + r^2 ... on [-0.3468017578125, 0.3468017578125], error
 * 2^-57.9 */
static const double exp_tail_f64[] = {
	0x1.000000000000ap-1,  0x1.55555555554fdp-3,  0x1.555555555069cp-5,  0x1.1111111126ecbp-7,
	0x1.6c16c18482215p-10, 0x1.a01a012edf532p-13, 0x1.a01999392ab34p-16, 0x1.71df1af29d0d6p-19,
	0x1.28ae252d5e8p-22,   0x1.ad904c12c4f24p-26,
};

/* exp(r) = 1 + r + r^2 ... on [-0.3468017578125, 0.3468017578125], error
 * 2^-28.2 */
static const float exp_tail_f32[] = {
	0x1.fffffcp-2f, 0x1.55549p-3f, 0x1.55589ep-5f, 0x1.123abcp-7f, 0x1.6a624cp-10f,
};

/* expm1(r) = r + r^2/2 + r^3 ... on [-0.3468017578125, 0.3468017578125], error
 * 2^-61.5 */
static const double expm1_tail_f64[] = {
	0x1.5555555555559p-3,  0x1.555555555554ap-5,  0x1.111111110f64dp-7,  0x1.6c16c16c1c0cep-10,
	0x1.a01a01b0088dp-13,  0x1.a01a018732385p-16, 0x1.71ddf7ff18534p-19, 0x1.27e521b034a6cp-22,
	0x1.af5f4dbf6d3f5p-26, 0x1.1f0463f5e7c36p-29,
};

/* expm1(r) = r + r^2/2 + r^3 ... on [-0.3468017578125, 0.3468017578125], error
 * 2^-30.9 */
static const float expm1_tail_f32[] = {
	0x1.555556p-3f, 0x1.5554f2p-5f, 0x1.11100cp-7f, 0x1.6d412cp-10f, 0x1.a22dbcp-13f,
};

/* tanh(r) = r + r^3 ... on [9.094947017729282379150390625e-13,
 * 0.17352294921875], error 2^-57.7 */
static const double tanh_tail_f64[] = {
	-0x1.55555555554bap-2, 0x1.11111110e018ep-3,  -0x1.ba1ba1156f8b4p-5,
	0x1.664ec9121d967p-6,  -0x1.223c408fd5ab4p-7, 0x1.c379ee6f717d9p-9,
};

/* tanh(r) = r + r^3 ... on [9.094947017729282379150390625e-13,
 * 0.17352294921875], error 2^-32.5 */
static const float tanh_tail_f32[] = {
	-0x1.55554ep-2f,
	0x1.1105ap-3f,
	-0x1.afe01ap-5f,
};

/* log((1 + s)/(1 - s)) = 2 s + s^3 ... on [9.094947017729282379150390625e-13,
 * 0.17169189453125], error 2^-59.5 */
static const double log_tail_f64[] = {
	0x1.5555555555593p-1, 0x1.999999997fa39p-2, 0x1.2492494224e8ap-2, 0x1.c71c51dcf77abp-3,
	0x1.74664887e8376p-3, 0x1.39a0b4d914bdfp-3, 0x1.2f103aea38f07p-3,
};

/* log((1 + s)/(1 - s)) = 2 s + s^3 ... on [9.094947017729282379150390625e-13,
 * 0.17169189453125], error 2^-30.2 */
static const float log_tail_f32[] = {
	0x1.55557ap-1f,
	0x1.995eccp-2f,
	0x1.31e26p-2f,
};

/* log((1 + s)/(1 - s)) = 2 s + 2/3 s^3 + s^5 ... on
 * [9.094947017729282379150390625e-13, 0.17169189453125], error 2^-66.3 */
static const double pow_tail_f64[] = {
	0x1.9999999999b33p-2, 0x1.249249245774dp-2, 0x1.c71c722df7e32p-3, 0x1.745ce9ae525a4p-3,
	0x1.3b1ef624505bdp-3, 0x1.0f7ef257e323ep-3, 0x1.0e4c0c6318b77p-3,
};

/* log((1 + s)/(1 - s)) = 2 s + 2/3 s^3 + s^5 ... on
 * [9.094947017729282379150390625e-13, 0.17169189453125], error 2^-36.8 */
static const float pow_tail_f32[] = {
	0x1.999ap-2f,
	0x1.245278p-2f,
	0x1.dfa3b4p-3f,
};

/* sin(r) = r + r^3 ... on [9.094947017729282379150390625e-13, 1.57080078125],
 * error 2^-61.6 */
static const double sin_tail_f64[] = {
	-0x1.5555555555555p-3,  0x1.11111111110c9p-7,  -0x1.a01a01a014eb7p-13, 0x1.71de3a52aac67p-19,
	-0x1.ae6454d968ce3p-26, 0x1.6123ce53aa479p-33, -0x1.ae43dd5090616p-41, 0x1.883c30bac11ffp-49,
};

/* sin(r) = r + r^3 ... on [9.094947017729282379150390625e-13, 1.58984375],
 * error 2^-30.6 */
static const float sin_tail_f32[] = {
	-0x1.555556p-3f, 0x1.11112ep-7f, -0x1.a0203cp-13f, 0x1.724dbcp-19f, -0x1.aaa042p-26f,
};

/* sin(r) = r + r^3 ... on [9.094947017729282379150390625e-13, 0.785888671875],
 * error 2^-57.9 */
static const double tan_sin_tail_f64[] = {
	-0x1.5555555555548p-3, 0x1.111111110f751p-7,   -0x1.a01a019befb93p-13,
	0x1.71de355c5f14p-19,  -0x1.ae5e52092adabp-26, 0x1.5d8d6e1090555p-33,
};

/* sin(r) = r + r^3 ... on [9.094947017729282379150390625e-13, 0.7900390625],
 * error 2^-32.2 */
static const float tan_sin_tail_f32[] = {
	-0x1.555556p-3f,
	0x1.111164p-7f,
	-0x1.a04824p-13f,
	0x1.77c182p-19f,
};

/* cos(r) = 1 - r^2/2 + r^4 ... on [9.094947017729282379150390625e-13,
 * 0.785888671875], error 2^-63.9 */
static const double tan_cos_tail_f64[] = {
	0x1.555555555554bp-5,   -0x1.6c16c16c1500cp-10, 0x1.a01a019c8d949p-16,
	-0x1.27e4f7f008783p-22, 0x1.1ee9da88f4795p-29,  -0x1.8fa5c165deabcp-37,
};

/* cos(r) = 1 - r^2/2 + r^4 ... on [9.094947017729282379150390625e-13,
 * 0.7900390625], error 2^-32.9 */
static const float tan_cos_tail_f32[] = {
	0x1.55554ap-5f,
	-0x1.6c0c1ep-10f,
	0x1.99e334p-16f,
};

/* asin(r) = r + r^3 ... on [9.094947017729282379150390625e-13, 0.5], error
 * 2^-59.9 */
static const double asin_tail_f64[] = {
	0x1.5555555555577p-3, 0x1.333333332e133p-4, 0x1.6db6db721247bp-5, 0x1.f1c71a95002fdp-6,
	0x1.6e8bdedebf929p-6, 0x1.1c49f077d744p-6,  0x1.ca1f8af1b8d2ap-7, 0x1.75859daf6a83dp-7,
	0x1.613c1e5e2f8a7p-7, 0x1.e5fbe9b6e03d6p-9, 0x1.639a88e7509b4p-6, -0x1.57fad03d2f5b6p-6,
	0x1.0b45e9c0352cfp-5,
};

/* asin(r) = r + r^3 ... on [9.094947017729282379150390625e-13, 0.5], error
 * 2^-27.6 */
static const float asin_tail_f32[] = {
	0x1.5555c8p-3f, 0x1.330206p-4f, 0x1.747b72p-5f, 0x1.8c415ap-6f, 0x1.5959aap-5f,
};

/* atan(r) = r + r^3 ... on [9.094947017729282379150390625e-13, 1], error
 * 2^-57.6 */
static const double atan_tail_f64[] = {
	-0x1.5555555555526p-2, 0x1.99999999955b4p-3,  -0x1.249249237f57dp-3,  0x1.c71c717fcf76cp-4,
	-0x1.745d11ae74c4cp-4, 0x1.3b13669a29c9ap-4,  -0x1.110e5126fa3b8p-4,  0x1.e1bba66bedb2p-5,
	-0x1.ae5e72bfe9e67p-5, 0x1.82dad798fe0acp-5,  -0x1.59a3ff1e0359cp-5,  0x1.2c2e5cb19de41p-5,
	-0x1.e9fa0d38f10fep-6, 0x1.683cc8eceb055p-6,  -0x1.c78fcc1616993p-7,  0x1.d7b925caa4892p-8,
	-0x1.7a3998a3a2487p-9, 0x1.b3fac8704d47dp-11, -0x1.3f364a25134c3p-13, 0x1.bbed9a0d9d2e7p-17,
};

/* atan(r) = r + r^3 ... on [9.094947017729282379150390625e-13, 1], error
 * 2^-28.5 */
static const float atan_tail_f32[] = {
	-0x1.55553ep-2f, 0x1.9991ecp-3f,  -0x1.24211ap-3f, 0x1.c0946cp-4f,   -0x1.5825f2p-4f,
	0x1.da9c2ep-5f,  -0x1.fe7d24p-6f, 0x1.6551e2p-7f,  -0x1.d5a1aap-10f,
};

/* m^(-1/3) on [1, 2], error 2^-14.7 */
static const double cbrt_first_f64[] = {
	0x1.ab859043f3107p0,   -0x1.2c41e23e0a922p0, 0x1.64165059f2197p-1,
	-0x1.c5186105b9f96p-3, 0x1.d46f7d330760fp-6,
};

/* m^(-1/3) on [1, 2], error 2^-14.7 */
static const float cbrt_first_f32[] = {
	0x1.ab85acp0f, -0x1.2c4234p0f, 0x1.641702p-1f, -0x1.c519b2p-3f, 0x1.d47154p-6f,
};

/* erf(x) = x + x ... on [9.094947017729282379150390625e-13, 0.85009765625],
 * error 2^-56.3 */
static const double erf_small_tail_f64[] = {
	0x1.06eba8214db69p-3,  -0x1.812746b037a01p-2,  0x1.ce2f21a0439e7p-4,  -0x1.b82ce312bf58dp-6,
	0x1.565bcd15ade62p-8,  -0x1.c02db525a6085p-11, 0x1.f9a34326f144cp-14, -0x1.f4d3efe5fd8bcp-17,
	0x1.b9f0d0900efa5p-20, -0x1.5f45d8d43c709p-23, 0x1.f2512e4f3df4ep-27, -0x1.078ab6f55645ep-30,
};

/* erf(x) = x + x ... on [9.094947017729282379150390625e-13, 0.85009765625],
 * error 2^-30.1 */
static const float erf_small_tail_f32[] = {
	0x1.06eba8p-3f, -0x1.812744p-2f,  0x1.ce2e7ep-4f,  -0x1.b81abcp-6f,
	0x1.55503p-8f,  -0x1.af948ap-11f, 0x1.7093a4p-14f,
};

/* -log(erfc(1 + u)) on [-0.15997314453125, 5], error times erfc 2^-57 */
static const double erf_large_f64[] = {
	0x1.d97fbf27aa2a1p0,    0x1.51c9b0006c23fp1,    0x1.afabc11a28f3dp-1,   0x1.5477f09ca2933p-5,
	-0x1.48c9d40bd2497p-7,  0x1.033f69a9416dfp-9,   -0x1.f1b4c1fd3348p-13,  -0x1.b8be8e4ed386dp-16,
	0x1.c75e4d6d00c57p-16,  -0x1.417c9ed043063p-17, 0x1.1001248c894ecp-19,  -0x1.e881a3de0b78ap-24,
	-0x1.f42d163bdf107p-24, 0x1.064069ec9ab9p-24,   -0x1.35ba48c7c56c3p-26, 0x1.f1a46d062a7b8p-29,
	-0x1.0d9f57338887ap-31, 0x1.64e461e52a2b7p-35,  -0x1.b3db9449ad9adp-40,
};

/* -log(erfc(1 + u)) on [-0.15997314453125, 3], error times erfc 2^-26.8 */
static const float erf_large_f32[] = {
	0x1.d97fcp0f,    0x1.51c9b2p1f,   0x1.afab8ap-1f,   0x1.546b9ap-5f,
	-0x1.4731ccp-7f, 0x1.f0ebbcp-10f, -0x1.aadf96p-13f,
};

/* 2/pi in binary, 32 bits a word, after 64 zero bits */
static const uint32_t two_over_pi[] = {
	0,           0,           2734261102u, 1313084713u, 4230436817u, 4113882560u, 3680671129u,
	1011060801u, 4266746795u, 3736847713u, 3072618042u, 1112396512u, 105459434u,  164729372u,
	4263373596u, 2972297022u, 3900847605u, 784024708u,  3919343654u, 3026157121u, 965858873u,
	2203269620u, 2625920907u, 3187222587u, 536385535u,  3724908559u, 4012839307u, 1510632735u,
	1832287951u, 667617719u,  1330003814u, 2657085997u, 1965537991u, 3957715323u, 1023883767u,
	2320667370u, 1811636145u, 529358088u,  1443049542u, 4235946923u, 4040145952u, 2599695901u};
