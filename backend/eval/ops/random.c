/* random.c - counter-based random bits.
 *
 * Needs: frame.h, philox.h.
 *
 * Contract:
 * - As in philox.h.
 * - The next state's counter is advanced by the number of elements.
 */
#include "backend/eval/core/frame.h"
#include "backend/kernels/philox.h"

Status eval_RANDOM(Frame *f, const Step *s) {
	int64_t length[MAX_RANK], two = 2;
	if (!dim_lengths(f, s, &s->fields[0], length)) return ST_ERROR;
	Tensor *state = operand_contiguous(f, s, 0);
	if (!state) return ST_NOMEM;
	const int64_t *words = (const int64_t *)(const void *)state->data;
	const uint64_t key = (uint64_t)words[0], counter = (uint64_t)words[1];
	tensor_unref(state);
	Tensor *next = tensor_new(f->ctx, DT_I64, 1, &two);
	Tensor *bits = tensor_new(f->ctx, DT_I64, s->fields[0].n, length);
	Status st = next && bits ? ST_OK : ST_NOMEM;
	if (st == ST_OK) {
		int64_t *state_out = (int64_t *)(void *)next->data;
		state_out[0] = (int64_t)key;
		state_out[1] = (int64_t)(counter + (uint64_t)bits->count);
		count_operations(f, (double)bits->count);
	}
	for (int64_t at = 0; st == ST_OK && at < bits->count; at += 4096) {
		int64_t n = bits->count - at < 4096 ? bits->count - at : 4096;
		random_fill(key, counter + (uint64_t)at, n, (uint64_t *)(void *)bits->data + at);
		st = spend(f->be, (uint64_t)n);
	}
	if (st == ST_OK) {
		put_tensor(f, s, 0, bits);
		return put_tensor(f, s, 1, next);
	}
	tensor_unref(bits);
	tensor_unref(next);
	return st;
}
