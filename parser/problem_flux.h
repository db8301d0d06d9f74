/* problem_flux.h - the terms of an equation of a problem, as functions.
 *
 * Needs: spec.h. Guarantees: those of problem_flux.c.
 */
#ifndef ATLED_PARSER_PROBLEM_FLUX_H
#define ATLED_PARSER_PROBLEM_FLUX_H

#include "parser/builtins.h"

/* A tuple of records (coord, factor, f, part, derivative, text), one for each term of left - right: factor times the derivative of f by coordinate `coord`, or, where
 * coord is -1, factor times f. part: f is a vector (or tuple, or matrix) under div, and this is its component for this coordinate; -1 otherwise.
 * jets: the numbers of those that f mentions. text: f, as it is written. */
Av *problem_terms(Sp *sp, Av *problem, const Ast *equation);
Av *problem_jets_of(Sp *sp, Av *problem, const Ast *e); /* problem.c: the numbers of the jets that an expression mentions, a tuple */

#endif
