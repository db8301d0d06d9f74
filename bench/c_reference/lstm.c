/* lstm.c - C reference: loss of the LSTM network of ADBench, and its gradient.
 *
 * Method: units in the SIMD lanes, 14 of them in vectors of 16; one thread,
 * because each letter depends on the previous one. Reverse mode stores the
 * intermediate values of each letter.
 *
 * Needs: limit.h, vecmath.h.
 */
#include "limit.h"
#include "vecmath.h"

#define UNITS 14
#define LAYERS 2
#define VECTORS ((UNITS + VD - 1) / VD)

typedef vd Units[VECTORS];

typedef struct Layer { /* of one letter */
	Units x, hidden, cell, forget, enter, leave, change, squashed;
} Layer;

typedef struct Letter {
	Layer layer[LAYERS];
	Units in, top, share; /* share: exp(y) / (sum + 2) */
} Letter;

typedef struct Work {
	Units weights[LAYERS][2][4], extra[3], state[LAYERS][2], dweights[LAYERS][2][4], dextra[3];
	Letter *letters;
} Work;

INLINE void take(const double *from, vd *to) {
	for (int i = 0; i < VECTORS * VD; i++) to[i / VD][i % VD] = i < UNITS ? from[i] : 0;
}

INLINE void give(const vd *from, double *to) {
	for (int i = 0; i < UNITS; i++) to[i] = from[i / VD][i % VD];
}

INLINE vd gate(vd x) { return 1.0 / (1.0 + vd_exp(-x)); }

/* Computes the mean of text[t + 1] . (y - log(sum exp y + 2)), letter by
 * letter. */
INLINE double forward(Case *c, Work *w, bool keep) {
	const double *text = c->in[3].data;
	Units hidden[LAYERS], cell[LAYERS];
	for (int l = 0; l < LAYERS; l++) {
		memcpy(hidden[l], w->state[l][0], sizeof(Units));
		memcpy(cell[l], w->state[l][1], sizeof(Units));
	}
	double total = 0;
	Units next, in;
	take(text, in);
	for (int64_t t = 0; t + 1 < c->n; t++) {
		Letter *at = keep ? &w->letters[t] : NULL;
		take(text + (t + 1) * UNITS, next);
		Units x;
		for (int i = 0; i < VECTORS; i++) x[i] = in[i] * w->extra[0][i];
		if (keep) memcpy(at->in, in, sizeof in);
		for (int l = 0; l < LAYERS; l++) {
			Units *m = w->weights[l][0], *b = w->weights[l][1];
			for (int i = 0; i < VECTORS; i++) {
				const vd h = hidden[l][i], old = cell[l][i];
				const vd forget = gate(x[i] * m[0][i] + b[0][i]),
						 enter = gate(h * m[1][i] + b[1][i]),
						 leave = gate(x[i] * m[2][i] + b[2][i]);
				const vd change = vd_tanh(h * m[3][i] + b[3][i]),
						 now = old * forget + enter * change, squashed = vd_tanh(now);
				if (keep) {
					Layer *k = &at->layer[l];
					k->x[i] = x[i], k->hidden[i] = h, k->cell[i] = old, k->forget[i] = forget,
					k->enter[i] = enter, k->leave[i] = leave;
					k->change[i] = change, k->squashed[i] = squashed;
				}
				cell[l][i] = now;
				x[i] = hidden[l][i] = leave * squashed;
			}
		}
		vd along = vd_zero(), sum = vd_zero(), all = vd_zero();
		Units e;
		for (int i = 0; i < VECTORS; i++) {
			const vd y = x[i] * w->extra[1][i] + w->extra[2][i];
			e[i] = vd_exp(y);
			for (int k = 0; k < VD; k++) e[i][k] = i * VD + k < UNITS ? e[i][k] : 0;
			along += next[i] * y;
			all += next[i];
			sum += e[i];
		}
		const double s = vd_sum(sum) + 2, letters = vd_sum(all);
		total += vd_sum(along) - letters * log(s);
		if (keep) {
			memcpy(at->top, x, sizeof x);
			/* derivative of the loss with respect to y */
			for (int i = 0; i < VECTORS; i++) at->share[i] = next[i] - e[i] * (letters / s);
		}
		memcpy(in, next, sizeof in);
	}
	return -total / ((double)(c->n - 1) * UNITS);
}

INLINE void backward(Case *c, Work *w) {
	const double scale = -1 / ((double)(c->n - 1) * UNITS);
	Units dhidden[LAYERS], dcell[LAYERS];
	memset(dhidden, 0, sizeof dhidden);
	memset(dcell, 0, sizeof dcell);
	memset(w->dweights, 0, sizeof w->dweights);
	memset(w->dextra, 0, sizeof w->dextra);
	for (int64_t t = c->n - 1; t-- > 0;) {
		const Letter *at = &w->letters[t];
		Units dx;
		for (int i = 0; i < VECTORS; i++) {
			const vd dy = at->share[i] * scale;
			w->dextra[1][i] += dy * at->top[i];
			w->dextra[2][i] += dy;
			dx[i] = dy * w->extra[1][i];
		}
		for (int l = LAYERS; l-- > 0;) {
			const Layer *k = &at->layer[l];
			Units *m = w->weights[l][0], *dm = w->dweights[l][0], *db = w->dweights[l][1];
			for (int i = 0; i < VECTORS; i++) {
				const vd dh = dx[i] + dhidden[l][i], forget = k->forget[i], enter = k->enter[i],
						 leave = k->leave[i], change = k->change[i], squashed = k->squashed[i];
				const vd dc = dcell[l][i] + dh * leave * (1.0 - squashed * squashed);
				const vd zf = dc * k->cell[i] * forget * (1.0 - forget),
						 ze = dc * change * enter * (1.0 - enter),
						 zl = dh * squashed * leave * (1.0 - leave);
				const vd zc = dc * enter * (1.0 - change * change);
				dm[0][i] += zf * k->x[i], dm[1][i] += ze * k->hidden[i], dm[2][i] += zl * k->x[i],
					dm[3][i] += zc * k->hidden[i];
				db[0][i] += zf, db[1][i] += ze, db[2][i] += zl, db[3][i] += zc;
				dx[i] = zf * m[0][i] + zl * m[2][i];
				dhidden[l][i] = ze * m[1][i] + zc * m[3][i];
				dcell[l][i] = dc * forget;
			}
		}
		for (int i = 0; i < VECTORS; i++) w->dextra[0][i] += dx[i] * at->in[i];
	}
}

static void lstm_run(Case *c) {
	Work *w = c->own;
	const double *main = c->in[0].data, *extra = c->in[1].data, *state = c->in[2].data;
	for (int k = 0; k < LAYERS * 8; k++) take(main + k * UNITS, ((Units *)w->weights)[k]);
	for (int k = 0; k < 3; k++) take(extra + k * UNITS, w->extra[k]);
	for (int k = 0; k < LAYERS * 2; k++) take(state + k * UNITS, ((Units *)w->state)[k]);
	if (!c->row->variant) {
		*(double *)c->out[0].data = forward(c, w, false);
		return;
	}
	*(double *)c->out[0].data = forward(c, w, true);
	backward(c, w);
	for (int k = 0; k < LAYERS * 8; k++)
		give(((Units *)w->dweights)[k], (double *)c->out[1].data + k * UNITS);
	for (int k = 0; k < 3; k++) give(w->dextra[k], (double *)c->out[2].data + k * UNITS);
}

static void lstm_setup(Case *c) {
	Work *w = c->own = limit_memory(sizeof(Work));
	w->letters = limit_memory((size_t)c->n * sizeof(Letter));
	c->lengths[0] = c->n;
	c->in[0] = limit_array(REAL64, LAYERS * 8 * UNITS, 0, 0), c->in[0].rank = 4;
	memcpy(c->in[0].shape, (int64_t[]){LAYERS, 2, 4, UNITS}, sizeof c->in[0].shape);
	c->in[1] = limit_array(REAL64, 3, UNITS, 0), c->in[2] = limit_array(REAL64, LAYERS, 2, UNITS),
	c->in[3] = limit_array(REAL64, c->n, UNITS, 0);
	limit_fill(&c->in[0], 110, -1, 1), limit_fill(&c->in[1], 111, -1, 1),
		limit_fill(&c->in[2], 112, -1, 1), limit_fill(&c->in[3], 113, 0, 1);
	c->ins = 4;
	c->out[0] = limit_array(REAL64, 1, 0, 0), c->out[0].rank = 0;
	c->outs = 1;
	if (!c->row->variant) return;
	c->out[1] = limit_array(REAL64, LAYERS * 8 * UNITS, 0, 0), c->out[1].rank = 4;
	memcpy(c->out[1].shape, c->in[0].shape, sizeof c->in[0].shape);
	c->out[2] = limit_array(REAL64, 3, UNITS, 0);
	c->outs = 3;
}

#define LSTM                                                                                       \
	.program = "lstm", .goal = 1.5, .tolerance = 1e-11, .full = 1024, .quick = 60,                 \
	.setup = lstm_setup, .run = lstm_run
#define LSTM_TYPE "(f64[2, 2, 4, 14], f64[3, 14], f64[2, 2, 14], f64[n, 14]) -> "

const Row lstm_rows[] = {
	{.name = "lstm-value",
     .title = "recurrent network, 2 layers of 14, 1024 letters: the value",
     LSTM,
     .function = "objective",
     .type = LSTM_TYPE "f64"},
	{.name = "lstm",
     .title = "recurrent network, value and gradient, 2 layers of 14, 1024 letters",
     LSTM,
     .function = "step",
     .type = LSTM_TYPE "(f64, f64[2, 2, 4, 14], f64[3, 14])",
     .variant = 1},
	{0},
};
